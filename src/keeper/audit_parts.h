/* What the writer and the reader of the audit stream share. */
#ifndef SC_KEEPER_AUDIT_PARTS_H
#define SC_KEEPER_AUDIT_PARTS_H

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/sha256.h"

#define AUDIT_FOLDER "audit"
#define AUDIT_FILE "audit.jsonl"
#define AUDIT_ROTATED "audit-%020" PRIu64 ".jsonl" /* number of its first record */
#define AUDIT_NAME_MAX 64
#define AUDIT_LINE_MAX (1024u * 1024)
#define AUDIT_READ_MAX ((size_t)2 * 1024 * 1024 * 1024)

void audit_hash(const void *line, size_t len, char ret_hash[SC_SHA256_TEXT]);
uint64_t audit_seq(const char *line); /* the number that it begins with; 0: none */
int audit_open_folder(int state, bool make, struct sc_err *err);
/* Names of the files that were put aside, oldest first: a heap list ended by NULL, each to be freed. */
int audit_rotated(int folder, char ***ret_names);
/* 1: the newest of them; 0: there is none. */
int audit_last_rotated(int folder, char ret_name[AUDIT_NAME_MAX]);

#endif
