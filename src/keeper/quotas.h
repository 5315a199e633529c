/* What each tenant may use: `tenants.json` in the state folder, written by the operator. docs/keeper.md has
 * the fields. */
#ifndef SC_KEEPER_QUOTAS_H
#define SC_KEEPER_QUOTAS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strv.h"
#include "keeper/keys.h"

#define SC_QUOTAS_FILE "tenants.json"
#define SC_QUOTAS_MAX 10000

/* SC_UNSET (spec/spec.h) is no bound. */
struct sc_quota {
    uint64_t cells;          /* alive at once: sessions, and single runs */
    uint64_t memory;         /* bytes: of the limits of its living cells together */
    uint64_t disk;           /* the same */
    uint64_t cpus;           /* thousandths of a processor, the same */
    uint64_t weight;         /* its share of the turns, beside the others' */
    uint64_t rate, burst;    /* requests: thousandths a second, and at once after a quiet time */
    uint64_t queued;         /* waiting at once */
    uint64_t paused;         /* sessions on disk */
    uint64_t session_ns;     /* the longest total time of a session */
    uint32_t allow_degraded; /* enum sc_degrade: what its requests may accept */
    bool forkable;           /* its sessions may be */
    bool is_operator;        /* sees what all tenants do in metrics and events */
    bool some_templates;     /* only those of `templates`, and never none at all … */
    struct sc_strv templates;
    json_t *network; /* ceiling of network rules, which reads as `network` of a spec; NULL: no network */
};

struct sc_quotas {
    struct sc_quota standard; /* of tenants without a row, and what rows do not say */
    struct sc_tenant_row {
        char name[SC_TENANT_NAME];
        struct sc_quota quota;
    } * v;
    size_t n;
};

/* A folder without the file: everybody has the standard. Every wrong field is named by its path. On failure
 * nothing is to be freed. */
int sc_quotas_load(int folder, struct sc_quotas *ret_quotas, struct sc_err *err);
void sc_quotas_fini(struct sc_quotas *quotas);
const struct sc_quota *sc_quotas_of(const struct sc_quotas *quotas, const char *tenant);

#endif
