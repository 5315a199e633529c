/* The state folder's files are looked at when somebody identifies or uses a token, at most ten times a
 * second: a key that was revoked is refused a tenth of a second later. A file that cannot be read leaves in
 * force what was read before it. */
#include "keeper/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"

#define LOOK_NS (100 * SC_NS_PER_MS)
#define PEERS_MAX 1024
#define PEER_NS (30 * SC_NS_PER_S)
#define IDENTITIES_MAX (SC_KEYS_MAX + 65536)
#define BUCKETS 4096u

struct peer_uid {
    uint8_t nonce[SC_KEEPER_NONCE];
    uid_t uid;
    uint64_t since_ns; /* 0: taken, or never used */
};

/* How a file was when it was read. */
struct stamp {
    struct timespec changed;
    ino_t inode;
    off_t size;
};

struct identities {
    int folder;
    struct sc_keys keys;
    struct sc_quotas quotas;
    struct stamp keys_stamp, quotas_stamp;
    uint64_t looked_ns;
    struct sc_err trouble;
    TAILQ_HEAD(, tenant) tenants;
    TAILQ_HEAD(identity_list, identity) by_token[BUCKETS];
    size_t n;
    struct peer_uid peers[PEERS_MAX];
    size_t next_peer;
};

/* ---- the files ---- */

static struct stamp stamp_of(int folder, const char *name)
{
    struct stat st;
    if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return (struct stamp){0};
    return (struct stamp){.changed = st.st_mtim, .inode = st.st_ino, .size = st.st_size};
}

static bool is_same(const struct stamp *a, const struct stamp *b)
{
    return a->inode == b->inode && a->size == b->size && a->changed.tv_sec == b->changed.tv_sec &&
           a->changed.tv_nsec == b->changed.tv_nsec;
}

static struct identity_list *bucket_of(struct identities *all, const char *token)
{
    char digits[4] = {token[0], token[1], token[2], '\0'};
    return &all->by_token[strtoul(digits, NULL, 16) % BUCKETS];
}

static void identity_free(struct identities *all, struct identity *identity)
{
    TAILQ_REMOVE(bucket_of(all, identity->token), identity, entry);
    all->n--;
    free(identity);
}

/* Is its key still there, and the same tenant's? Its end is taken over. */
static bool is_there(const struct identities *all, struct identity *identity)
{
    if (!*identity->key)
        return true;
    const struct sc_key *key = sc_keys_by_id(&all->keys, identity->key);
    if (!key || strcmp(key->tenant, identity->tenant->name))
        return false;
    identity->expires_s = key->expires_s;
    return true;
}

/* Those of keys that are gone. */
static void drop_invalid(struct identities *all)
{
    for (size_t i = 0; i < BUCKETS; i++) {
        struct identity *identity, *next;
        for (identity = TAILQ_FIRST(&all->by_token[i]); identity; identity = next) {
            next = TAILQ_NEXT(identity, entry);
            if (!is_there(all, identity))
                identity_free(all, identity);
        }
    }
}

static int load_keys(struct identities *all, struct sc_err *err)
{
    struct sc_keys keys;
    struct stamp stamp = stamp_of(all->folder, SC_KEYS_FILE);
    int r = sc_keys_load(all->folder, &keys, err);
    if (r < 0)
        return r;
    sc_keys_fini(&all->keys);
    all->keys = keys;
    all->keys_stamp = stamp;
    drop_invalid(all);
    return 0;
}

static int load_quotas(struct identities *all, struct sc_err *err)
{
    struct sc_quotas quotas;
    struct stamp stamp = stamp_of(all->folder, SC_QUOTAS_FILE);
    struct tenant *tenant;
    int r = sc_quotas_load(all->folder, &quotas, err);
    if (r < 0)
        return r;
    sc_quotas_fini(&all->quotas);
    all->quotas = quotas;
    all->quotas_stamp = stamp;
    TAILQ_FOREACH(tenant, &all->tenants, entry)
    {
        tenant->quota = sc_quotas_of(&all->quotas, tenant->name);
    }
    return 0;
}

static void look(struct identities *all)
{
    all->looked_ns = sc_now_ns();
    struct stamp keys = stamp_of(all->folder, SC_KEYS_FILE), quotas = stamp_of(all->folder, SC_QUOTAS_FILE);
    struct sc_err err = {0};
    int r = is_same(&keys, &all->keys_stamp) ? 0 : load_keys(all, &err);
    if (r == 0 && !is_same(&quotas, &all->quotas_stamp))
        r = load_quotas(all, &err);
    if (r == 0)
        sc_err_clear(&all->trouble);
    else
        all->trouble = err;
}

static void look_at_times(struct identities *all)
{
    if (sc_now_ns() - all->looked_ns >= LOOK_NS)
        look(all);
}

int identities_open(int folder, struct identities **ret_all, struct sc_err *err)
{
    struct identities *all = calloc(1, sizeof *all);
    if (!all)
        return sc_err_sys(err, -ENOMEM, "identities");
    all->folder = folder;
    TAILQ_INIT(&all->tenants);
    for (size_t i = 0; i < BUCKETS; i++)
        TAILQ_INIT(&all->by_token[i]);
    int r = load_keys(all, err);
    if (r == 0)
        r = load_quotas(all, err);
    if (r < 0) {
        identities_free(all);
        return r;
    }
    *ret_all = all;
    return 0;
}

void identities_free(struct identities *all)
{
    struct tenant *tenant;
    struct identity *identity;
    if (!all)
        return;
    for (size_t i = 0; i < BUCKETS; i++)
        while ((identity = TAILQ_FIRST(&all->by_token[i])))
            identity_free(all, identity);
    while ((tenant = TAILQ_FIRST(&all->tenants))) {
        TAILQ_REMOVE(&all->tenants, tenant, entry);
        free(tenant);
    }
    sc_keys_fini(&all->keys);
    sc_quotas_fini(&all->quotas);
    free(all);
}

struct tenant *identities_first(struct identities *all)
{
    return TAILQ_FIRST(&all->tenants);
}

const char *identities_trouble(const struct identities *all)
{
    return all->trouble.kind == SC_ERR_NONE ? NULL : all->trouble.message;
}

/* ---- tenants ---- */

static struct tenant *tenant_of(struct identities *all, const char *name)
{
    struct tenant *tenant;
    TAILQ_FOREACH(tenant, &all->tenants, entry)
    {
        if (!strcmp(tenant->name, name))
            return tenant;
    }
    tenant = calloc(1, sizeof *tenant);
    if (!tenant)
        return NULL;
    snprintf(tenant->name, sizeof tenant->name, "%s", name);
    tenant->quota = sc_quotas_of(&all->quotas, name);
    TAILQ_INIT(&tenant->tickets);
    TAILQ_INSERT_TAIL(&all->tenants, tenant, entry);
    return tenant;
}

/* ---- tokens ---- */

static struct identity *find_known(struct identities *all, const char *key, uid_t uid)
{
    for (size_t i = 0; i < BUCKETS; i++) {
        struct identity *identity;
        TAILQ_FOREACH(identity, &all->by_token[i], entry)
        {
            if (*key ? !strcmp(identity->key, key) : !*identity->key && identity->uid == uid)
                return identity;
        }
    }
    return NULL;
}

static int make_identity(struct identities *all, const char *key, uid_t uid, const char *tenant,
                         struct identity **ret_identity, struct sc_err *err)
{
    uint8_t bytes[(SC_TOKEN - 1) / 2];
    if (all->n >= IDENTITIES_MAX)
        return sc_err_set(err, SC_ERR_HOST, -EAGAIN, "identify: too many users have come");
    struct identity *identity = calloc(1, sizeof *identity);
    struct tenant *of = identity ? tenant_of(all, tenant) : NULL;
    if (!of || getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes) {
        int r = of ? -errno : -ENOMEM;
        free(identity);
        return sc_err_sys(err, r, "identify");
    }
    snprintf(identity->key, sizeof identity->key, "%s", key);
    identity->uid = uid;
    identity->tenant = of;
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(identity->token + 2 * i, 3, "%02x", bytes[i]);
    TAILQ_INSERT_HEAD(bucket_of(all, identity->token), identity, entry);
    all->n++;
    *ret_identity = identity;
    return 0;
}

static int take_key(struct identities *all, const char *text, struct identity **ret_identity,
                    struct sc_err *err)
{
    const struct sc_key *key = sc_keys_find(&all->keys, text, time(NULL));
    if (!key)
        return 0;
    *ret_identity = find_known(all, key->id, 0);
    int r = *ret_identity ? 0 : make_identity(all, key->id, 0, key->tenant, ret_identity, err);
    if (*ret_identity)
        (*ret_identity)->expires_s = key->expires_s;
    return r;
}

static int read_nonce(const char *text, uint8_t ret_nonce[SC_KEEPER_NONCE])
{
    if (strlen(text) != (size_t)2 * SC_KEEPER_NONCE || text[strspn(text, "0123456789abcdef")])
        return -EINVAL;
    for (size_t i = 0; i < SC_KEEPER_NONCE; i++) {
        const char digits[3] = {text[2 * i], text[2 * i + 1], '\0'};
        ret_nonce[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
    return 0;
}

static int take_peer(struct identities *all, const char *text, struct identity **ret_identity,
                     struct sc_err *err)
{
    uint8_t nonce[SC_KEEPER_NONCE];
    uint64_t now = sc_now_ns();
    if (read_nonce(text, nonce) < 0)
        return 0;
    for (size_t i = 0; i < PEERS_MAX; i++) {
        struct peer_uid *peer = &all->peers[i];
        char tenant[SC_TENANT_NAME];
        if (!peer->since_ns || now - peer->since_ns > PEER_NS ||
            memcmp(peer->nonce, nonce, sizeof nonce) != 0)
            continue;
        peer->since_ns = 0;
        snprintf(tenant, sizeof tenant, "uid-%u", peer->uid);
        *ret_identity = find_known(all, "", peer->uid);
        return *ret_identity ? 0 : make_identity(all, "", peer->uid, tenant, ret_identity, err);
    }
    return 0;
}

void identities_keep_peer(struct identities *all, const uint8_t nonce[SC_KEEPER_NONCE], uid_t uid)
{
    struct peer_uid *peer = &all->peers[all->next_peer++ % PEERS_MAX];
    memcpy(peer->nonce, nonce, SC_KEEPER_NONCE);
    peer->uid = uid;
    peer->since_ns = sc_now_ns();
}

int identities_take(struct identities *all, const char *key, const char *peer, struct identity **ret_identity,
                    struct sc_err *err)
{
    *ret_identity = NULL;
    look(all); /* a key may be new */
    return key ? take_key(all, key, ret_identity, err) : take_peer(all, peer, ret_identity, err);
}

struct identity *identities_find(struct identities *all, const char *token)
{
    struct identity *identity;
    if (strlen(token) != SC_TOKEN - 1)
        return NULL;
    look_at_times(all);
    TAILQ_FOREACH(identity, bucket_of(all, token), entry)
    {
        if (!strcmp(identity->token, token))
            return !identity->expires_s || identity->expires_s > time(NULL) ? identity : NULL;
    }
    return NULL;
}

bool identities_has_key(struct identities *all, const char *key, const struct tenant *tenant)
{
    if (!*key)
        return true;
    look_at_times(all);
    const struct sc_key *found = sc_keys_by_id(&all->keys, key);
    return found && !strcmp(found->tenant, tenant->name) &&
           (!found->expires_s || found->expires_s > time(NULL));
}
