/* Sessions that were paused, on disk. FOLDER/paused/NAME/ (FOLDER as of snap/shelf.h; of a tenant's
 * FOLDER/paused/.tenant-TENANT/NAME/, so that no two can meet) holds a folder for each
 * generation, named by the hash of its manifest, and the link `current` to the one that counts. The manifest
 * holds the hash of every piece, so that one name vouches for all.
 *
 * A generation is written beside the others, brought to the disk, read back and compared, and only then takes
 * its place in one step; the one before is removed after that. Whoever is killed at any moment leaves the old
 * one or the new one whole. One writer or reader at a time has a session: its lock.
 */
#ifndef SC_SNAP_VAULT_H
#define SC_SNAP_VAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "base/sha256.h"

#define SC_VAULT_SESSIONS_MAX 256
#define SC_VAULT_MANIFEST_MAX (16u * 1024 * 1024)
#define SC_VAULT_NAME_MAX 64
#define SC_VAULT_TENANT_MAX 64 /* letters, digits, "-", "_", "."; NULL: they are the user's own */
#define SC_VAULT_PIECES 2

/* What is kept of a session: tar streams of folders of its cell. */
struct sc_vault_place {
    const char *file; /* in the generation's folder */
    const char *path; /* in the cell */
};
extern const struct sc_vault_place SC_VAULT_PLACES[SC_VAULT_PIECES];

/* Letters, digits, "-", "_", ".", no dot first: a folder's name. */
bool sc_vault_name_ok(const char *name);

/* ---- writing ---- */

struct sc_vault_piece {
    uint64_t bytes;
    char sha256[SC_SHA256_TEXT];
};

struct sc_vault_writer {
    char tenant[SC_VAULT_TENANT_MAX + 1]; /* "": none */
    char name[SC_VAULT_NAME_MAX + 1];
    int folder; /* of the session; -1: nothing is open */
    int lock;
    int work;  /* of the generation that is being written */
    int piece; /* -1: none is open */
    size_t at; /* of the piece that is open, or is next */
    uint64_t bytes, bytes_max;
    struct sc_sha256 sum;
    struct sc_vault_piece pieces[SC_VAULT_PIECES];
};

/* `lock`: what sc_vault_open gave, or -1: it is taken now. The writer has it from then on, also on failure.
 * -EBUSY: somebody else has the session. */
int sc_vault_begin(const char *tenant, const char *name, int lock, struct sc_vault_writer *ret_writer,
                   struct sc_err *err);
int sc_vault_piece_begin(struct sc_vault_writer *writer, uint64_t bytes_max, struct sc_err *err);
int sc_vault_piece_add(struct sc_vault_writer *writer, const void *data, size_t len, struct sc_err *err);
int sc_vault_piece_end(struct sc_vault_writer *writer, struct sc_err *err);
/* All pieces are there. Waits for the disk, which may take seconds, so that a caller with a loop has a child
 * do it. `facts`, whose reference is taken, becomes the manifest with the pieces added. The writer stays
 * open: sc_vault_close. */
int sc_vault_commit(struct sc_vault_writer *writer, json_t *facts, struct sc_err *err);
/* Something of the session's counts already. */
bool sc_vault_is_there(const struct sc_vault_writer *writer);
/* Removes what was not committed, unless somebody has the session now. */
void sc_vault_abandon(struct sc_vault_writer *writer);
void sc_vault_close(struct sc_vault_writer *writer); /* leaves everything as it is */

/* ---- reading ---- */

struct sc_vault_reader {
    int folder; /* of the generation; -1: nothing is open */
    int lock;   /* the caller may take it */
    int piece;
    size_t at;
    uint64_t bytes; /* of this piece, so far */
    struct sc_sha256 sum;
    json_t *manifest; /* its hash was compared */
};

/* -ENOENT: there is none. -EBUSY: somebody has it. -EBADMSG: what is there is not what was written. */
int sc_vault_open(const char *tenant, const char *name, struct sc_vault_reader *ret_reader,
                  struct sc_err *err);
int sc_vault_piece_open(struct sc_vault_reader *reader, struct sc_err *err);
/* Bytes of the piece; 0: its end, and it is what was written. */
ssize_t sc_vault_piece_read(struct sc_vault_reader *reader, void *data, size_t size, struct sc_err *err);
void sc_vault_reader_close(struct sc_vault_reader *reader);

/* What there is: {"session", "paused_ms", "uid", "tenant", "bytes", "contexts"}, by name; of one that is
 * damaged
 * {"session", "damaged": why}. A new reference, NULL when memory ran out or the store cannot be read. */
json_t *sc_vault_list(const char *tenant, struct sc_err *err);
/* The same of one; NULL: there is none of this name. */
json_t *sc_vault_tell(const char *tenant, const char *name);
/* How many there are beside `name`; negative errno. */
int sc_vault_count(const char *tenant, const char *name, struct sc_err *err);
/* Everything of a session. 1: there was something. -EBUSY: somebody has it; `lock`, if not -1, is the
 * caller's own and stays so. */
int sc_vault_remove(const char *tenant, const char *name, int lock, struct sc_err *err);

#endif
