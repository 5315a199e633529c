/* The audit stream: append-only lines of JSON, each of which holds the hash of the one before, in the folder
 * `audit` of the state folder. docs/keeper.md has the format. */
#ifndef SC_KEEPER_AUDIT_H
#define SC_KEEPER_AUDIT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/sha256.h"

#define SC_AUDIT_ROTATE (64ull * 1024 * 1024)
#define SC_AUDIT_ROTATE_LEAST 4096
#define SC_AUDIT_ROTATE_MOST (1024ull * 1024 * 1024)

struct sc_audit;

/* Goes on behind the last whole line. One writer at a time: -EBUSY with a story. `rotate` bytes: a file that
 * would grow beyond is put aside and a new one begun. */
int sc_audit_open(int state, uint64_t rotate, struct sc_audit **ret_audit, struct sc_err *err);
void sc_audit_close(struct sc_audit *audit); /* NULL is fine */
/* Takes the reference of `record`, an object that begins with "event"; NULL says that memory ran out. 0, or
 * negative errno: it could not be written, is counted, and the next record that can be says so. */
int sc_audit_write(struct sc_audit *audit, json_t *record);
uint64_t sc_audit_lost(const struct sc_audit *audit); /* records, since it was opened */
bool sc_audit_fails(const struct sc_audit *audit);    /* the last one could not be written */

struct sc_audit_report {
    uint64_t records, lost; /* lost: as the records themselves tell */
    uint64_t first, last;   /* numbers; 0, 0: none */
    char head[SC_SHA256_TEXT];
    bool met;         /* the record asked for was there, with that hash */
    char broken[400]; /* where and why; "": it is whole */
};
/* Reads all files. `seq` 0: no record is asked for; else one with this number must have `hash`. 0 also when
 * it is broken. */
int sc_audit_verify(int state, uint64_t seq, const char *hash, struct sc_audit_report *ret_report,
                    struct sc_err *err);

#endif
