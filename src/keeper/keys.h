/* Keys of clients, on disk: `keys.json` in the state folder. Only their hashes are kept; docs/keeper.md has
 * the format. */
#ifndef SC_KEEPER_KEYS_H
#define SC_KEEPER_KEYS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/sha256.h"

#define SC_KEYS_FILE "keys.json"
#define SC_KEYS_MAX 100000
#define SC_KEY_ID 17      /* 16 hexadecimal digits, with its NUL: no secret */
#define SC_KEY_TEXT 86    /* "sck_" ID "_" 64 hexadecimal digits, with its NUL */
#define SC_TENANT_NAME 65 /* with its NUL */
#define SC_KEY_NOTE_MAX 200

struct sc_key {
    char id[SC_KEY_ID];
    char hash[SC_SHA256_TEXT]; /* SHA-256 of the key's whole text */
    char tenant[SC_TENANT_NAME];
    char *note;                /* or NULL */
    int64_t made_s, expires_s; /* since 1970, UTC; expires 0: never */
};
struct sc_keys {
    struct sc_key *v;
    size_t n;
};

/* A folder without the file has no keys. On failure nothing is to be freed. */
int sc_keys_load(int folder, struct sc_keys *ret_keys, struct sc_err *err);
void sc_keys_fini(struct sc_keys *keys);
/* The key that has this text and has not expired at `now_s`, or NULL. It takes as long for a wrong one as for
 * a right one, as far as its hash is concerned. */
const struct sc_key *sc_keys_find(const struct sc_keys *keys, const char *text, int64_t now_s);
const struct sc_key *sc_keys_by_id(const struct sc_keys *keys, const char *id);

/* "sck_ID_SECRET" as "e2b_" and its digits, which is how clients of E2B take it. */
void sc_key_e2b(const char *text, char ret_text[SC_KEY_TEXT]);
/* Makes a key of 256 random bits for `tenant` and keeps its hash. `note` may be NULL. The text is in ret_text
 * and nowhere else. */
int sc_keys_add(int folder, const char *tenant, const char *note, int64_t expires_s,
                char ret_text[SC_KEY_TEXT], char ret_id[SC_KEY_ID], struct sc_err *err);
/* -ENOENT, with a story: there is none of this id. */
int sc_keys_revoke(int folder, const char *id, struct sc_err *err);

#endif
