/* Whom a gate speaks for: keys and peers exchanged for tokens, tokens for tenants. */
#ifndef SC_KEEPER_IDENTITY_H
#define SC_KEEPER_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "keeper/keys.h"
#include "keeper/quotas.h"
#include "keeper/wire.h"

#define SC_TOKEN 33 /* 32 hexadecimal digits, with its NUL */

/* What one cell takes of a quota; and what all of a tenant's do. */
struct need {
    uint64_t cells, memory, disk, cpus; /* in the quota's units */
};

/* Made when it is first identified, and kept for the keeper's life: at most as many as there are keys and
 * users that have come. */
struct tenant {
    TAILQ_ENTRY(tenant) entry;
    char name[SC_TENANT_NAME];
    const struct sc_quota *quota; /* in force now; never NULL */

    /* Of admission.c. */
    struct need used;
    TAILQ_ENTRY(tenant) of_turns; /* while n_queued */
    TAILQ_HEAD(, ticket) tickets; /* in the order in which they go */
    unsigned n_queued;
    uint64_t virtual_ns;        /* what it has had, by its weight */
    uint64_t usual_ns;          /* what its single runs take; 0: none has ended yet */
    uint64_t results, too_many; /* for `metrics` */
    double tokens;              /* requests that it may make now */
    uint64_t token_ns;          /* when that was; 0: never */
};

/* One key, or one user at a unix socket. */
struct identity {
    TAILQ_ENTRY(identity) entry;
    char token[SC_TOKEN];
    char key[SC_KEY_ID]; /* "": a user */
    int64_t expires_s;   /* 0: never */
    uid_t uid;
    struct tenant *tenant;
};

struct identities; /* all of it */

/* Reads keys and quotas from the state folder, a descriptor that is borrowed. */
int identities_open(int folder, struct identities **ret_all, struct sc_err *err);
void identities_free(struct identities *all);

/* Keeps the uid of a client of the gate's. */
void identities_keep_peer(struct identities *all, const uint8_t nonce[SC_KEEPER_NONCE], uid_t uid);
/* Exactly one of the two is given. *ret_identity NULL: no such key or peer. 0, or a story. */
int identities_take(struct identities *all, const char *key, const char *peer, struct identity **ret_identity,
                    struct sc_err *err);
/* NULL: not valid (any more). */
struct identity *identities_find(struct identities *all, const char *token);
/* Is the key still there, valid and this tenant's? "": of a user, who needs none. */
bool identities_has_key(struct identities *all, const char *key, const struct tenant *tenant);
/* All tenants, by TAILQ_NEXT(entry); NULL: none has come. */
struct tenant *identities_first(struct identities *all);
/* Why the files in the state folder are not in force as they are, or NULL. */
const char *identities_trouble(const struct identities *all);

#endif
