#include "keeper/keys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"
#include "keeper/fields.h"
#include "keeper/request.h"
#include "keeper/state.h"
#include "spec/json_read.h"

#define LOCK_NAME "keys.lock"
#define FILE_MAX (64u * 1024 * 1024)
#define VERSION 1
#define PREFIX "sck_"
#define HEX "0123456789abcdef"

static void hash_text(const char *text, char ret_hash[SC_SHA256_TEXT])
{
    struct sc_sha256 sum;
    sc_sha256_init(&sum);
    sc_sha256_add(&sum, text, strlen(text));
    sc_sha256_text(&sum, ret_hash);
}

/* ---- reading ---- */

static int read_hex(char *into, size_t size, const json_t *value, const char *path, struct sc_err *err)
{
    const char *text = sc_json_text(value, path, err);
    if (!text)
        return -EINVAL;
    if (strlen(text) != size - 1 || strspn(text, HEX) != size - 1)
        return sc_err_usage(err, path, "%s: must be %zu hexadecimal digits", path, size - 1);
    memcpy(into, text, size);
    return 0;
}

static int read_id(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    return read_hex(((struct sc_key *)into)->id, SC_KEY_ID, value, path, err);
}

static int read_hash(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    return read_hex(((struct sc_key *)into)->hash, SC_SHA256_TEXT, value, path, err);
}

static int read_tenant(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    struct sc_key *key = into;
    const char *text = sc_json_text(value, path, err);
    if (!text)
        return -EINVAL;
    if (!sc_keeper_name_ok(text))
        return sc_err_usage(err, path, "%s: must be 1 to %d letters, digits, -, _ or .", path,
                            SC_TENANT_NAME - 1);
    snprintf(key->tenant, sizeof key->tenant, "%.*s", SC_TENANT_NAME - 1, text);
    return 0;
}

static int read_note(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    return sc_field_text(&((struct sc_key *)into)->note, value, path, SC_KEY_NOTE_MAX, err);
}

static int read_time(int64_t *into, const json_t *value, const char *path, struct sc_err *err)
{
    uint64_t number = 0;
    int r = sc_field_u64(&number, value, path, INT64_MAX, err);
    if (r == 0)
        *into = (int64_t)number;
    return r;
}

static int read_made(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    return read_time(&((struct sc_key *)into)->made_s, value, path, err);
}

static int read_expires(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    return read_time(&((struct sc_key *)into)->expires_s, value, path, err);
}

static int read_key(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    static const struct sc_json_field fields[] = {
        {"id", read_id},     {"hash", read_hash}, {"tenant", read_tenant},
        {"note", read_note}, {"made", read_made}, {"expires", read_expires},
        {NULL, NULL}};
    struct sc_keys *keys = into;
    struct sc_key *key = &keys->v[keys->n++];
    int r = sc_json_read_object(key, value, path, fields, err);
    if (r == 0 && (!*key->id || !*key->hash || !*key->tenant))
        r = sc_err_usage(err, path, "%s: id, hash and tenant must be given", path);
    return r;
}

static int read_keys(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    struct sc_keys *keys = into;
    if (keys->v || json_array_size(value) > SC_KEYS_MAX)
        return sc_err_usage(err, path, "%s: at most %d are allowed", path, SC_KEYS_MAX);
    keys->v = calloc(json_array_size(value) + 1, sizeof *keys->v);
    if (!keys->v)
        return sc_err_sys(err, -ENOMEM, SC_KEYS_FILE);
    return sc_json_read_list(keys, value, path, read_key, err);
}

static int read_version(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    uint64_t version = 0;
    (void)into;
    int r = sc_field_u64(&version, value, path, UINT32_MAX, err);
    if (r == 0 && version != VERSION)
        r = sc_err_usage(err, path, "%s: %llu: must be %d", path, (unsigned long long)version, VERSION);
    return r;
}

static int parse(struct sc_keys *keys, const struct sc_buf *text, struct sc_err *err)
{
    static const struct sc_json_field fields[] = {
        {"version", read_version}, {"keys", read_keys}, {NULL, NULL}};
    json_t *object = NULL;
    json_error_t where;
    int r = sc_json_load((const char *)text->data, text->len, JSON_REJECT_DUPLICATES, &object, &where);
    if (r == -ENOMEM)
        sc_err_sys(err, r, SC_KEYS_FILE);
    else if (r < 0)
        r = sc_json_parse_error(&where, err);
    else
        r = sc_json_read_object(keys, object, "", fields, err);
    json_decref(object);
    return r < 0 ? sc_err_wrap(err, r, SC_KEYS_FILE) : 0;
}

int sc_keys_load(int folder, struct sc_keys *ret_keys, struct sc_err *err)
{
    struct sc_buf text;
    *ret_keys = (struct sc_keys){0};
    int r = sc_state_read(folder, SC_KEYS_FILE, FILE_MAX, &text, err);
    if (r == 0)
        r = parse(ret_keys, &text, err);
    else if (r == -ENOENT)
        r = 0;
    sc_buf_fini(&text);
    if (r < 0)
        sc_keys_fini(ret_keys);
    return r;
}

void sc_keys_fini(struct sc_keys *keys)
{
    for (size_t i = 0; i < keys->n; i++)
        free(keys->v[i].note);
    free(keys->v);
    *keys = (struct sc_keys){0};
}

/* ---- finding ---- */

/* Looks at every byte, whatever the first ones are. */
static bool is_same(const char *a, const char *b, size_t len)
{
    volatile unsigned char differs = 0;
    for (size_t i = 0; i < len; i++)
        differs |= (unsigned char)(a[i] ^ b[i]);
    return differs == 0;
}

const struct sc_key *sc_keys_by_id(const struct sc_keys *keys, const char *id)
{
    for (size_t i = 0; i < keys->n; i++)
        if (!strcmp(keys->v[i].id, id))
            return &keys->v[i];
    return NULL;
}

const struct sc_key *sc_keys_find(const struct sc_keys *keys, const char *text, int64_t now_s)
{
    static const struct sc_key nobody = {.hash = "-"};
    char hash[SC_SHA256_TEXT], id[SC_KEY_ID] = "";
    bool formed = strlen(text) == SC_KEY_TEXT - 1 && !strncmp(text, PREFIX, strlen(PREFIX));
    if (formed)
        memcpy(id, text + strlen(PREFIX), SC_KEY_ID - 1);
    hash_text(text, hash);
    const struct sc_key *key = sc_keys_by_id(keys, id);
    bool right = is_same(hash, key ? key->hash : nobody.hash, SC_SHA256_TEXT - 1);
    if (!key || !right || (key->expires_s && key->expires_s <= now_s))
        return NULL;
    return key;
}

/* ---- changing ---- */

static json_t *value_of(const struct sc_key *key)
{
    return json_pack("{s:s, s:s, s:s, s:s*, s:I, s:I}", "id", key->id, "hash", key->hash, "tenant",
                     key->tenant, "note", key->note, "made", (json_int_t)key->made_s, "expires",
                     (json_int_t)key->expires_s);
}

static int save(int folder, const struct sc_keys *keys, struct sc_err *err)
{
    json_t *list = json_array();
    int r = list ? 0 : -ENOMEM;
    for (size_t i = 0; i < keys->n && r == 0; i++)
        r = json_array_append_new(list, value_of(&keys->v[i])) < 0 ? -ENOMEM : 0;
    json_t *file = r == 0 ? json_pack("{s:i, s:O}", "version", VERSION, "keys", list) : NULL;
    char *text = sc_json_dump(file, JSON_INDENT(1));
    if (text)
        r = sc_state_write(folder, SC_KEYS_FILE, text, strlen(text), err);
    else
        r = sc_err_sys(err, -ENOMEM, SC_KEYS_FILE);
    free(text);
    json_decref(file);
    json_decref(list);
    return r;
}

static int make_text(char ret_text[SC_KEY_TEXT], char ret_id[SC_KEY_ID], struct sc_err *err)
{
    uint8_t bytes[40];
    char digits[2 * sizeof bytes + 1];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return sc_err_sys(err, -errno, "key: random number");
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(digits + 2 * i, 3, "%02x", bytes[i]);
    snprintf(ret_id, SC_KEY_ID, "%.16s", digits);
    snprintf(ret_text, SC_KEY_TEXT, PREFIX "%.16s_%.64s", digits, digits + 16);
    explicit_bzero(bytes, sizeof bytes);
    explicit_bzero(digits, sizeof digits);
    return 0;
}

/* With room for one more. */
static int append(struct sc_keys *keys, const struct sc_key *key, struct sc_err *err)
{
    struct sc_key *more = realloc(keys->v, (keys->n + 1) * sizeof *more);
    if (!more)
        return sc_err_sys(err, -ENOMEM, "key");
    keys->v = more;
    keys->v[keys->n] = *key;
    keys->v[keys->n].note = key->note ? strdup(key->note) : NULL;
    keys->n++;
    return 0;
}

static int check_new(const struct sc_keys *keys, const char *tenant, const char *note, struct sc_err *err)
{
    if (!sc_keeper_name_ok(tenant))
        return sc_err_usage(err, "tenant", "tenant: must be 1 to %d letters, digits, -, _ or .",
                            SC_TENANT_NAME - 1);
    if (note && strlen(note) > SC_KEY_NOTE_MAX)
        return sc_err_usage(err, "note", "note: at most %d bytes are allowed", SC_KEY_NOTE_MAX);
    if (keys->n >= SC_KEYS_MAX)
        return sc_err_usage(err, "key", "key: there are %zu, at most %d are allowed; revoke some", keys->n,
                            SC_KEYS_MAX);
    return 0;
}

int sc_keys_add(int folder, const char *tenant, const char *note, int64_t expires_s,
                char ret_text[SC_KEY_TEXT], char ret_id[SC_KEY_ID], struct sc_err *err)
{
    struct sc_keys keys = {0};
    struct sc_key key = {.note = (char *)note, .made_s = time(NULL), .expires_s = expires_s};
    int lock = sc_state_lock(folder, LOCK_NAME, err);
    if (lock < 0)
        return lock;
    int r = sc_keys_load(folder, &keys, err);
    if (r == 0)
        r = check_new(&keys, tenant, note, err);
    if (r == 0)
        r = make_text(ret_text, ret_id, err);
    if (r == 0) {
        snprintf(key.tenant, sizeof key.tenant, "%s", tenant);
        snprintf(key.id, sizeof key.id, "%s", ret_id);
        hash_text(ret_text, key.hash);
        r = append(&keys, &key, err);
    }
    if (r == 0)
        r = save(folder, &keys, err);
    sc_keys_fini(&keys);
    close(lock);
    return r;
}

int sc_keys_revoke(int folder, const char *id, struct sc_err *err)
{
    struct sc_keys keys = {0};
    int lock = sc_state_lock(folder, LOCK_NAME, err);
    if (lock < 0)
        return lock;
    int r = sc_keys_load(folder, &keys, err);
    if (r == 0) {
        struct sc_key *key = (struct sc_key *)sc_keys_by_id(&keys, id);
        if (key) {
            free(key->note);
            memmove(key, key + 1, (size_t)(keys.v + keys.n - (key + 1)) * sizeof *key);
            keys.n--;
            r = save(folder, &keys, err);
        } else {
            r = sc_err_set(err, SC_ERR_USAGE, -ENOENT, "key: %.40s: there is none of this id", id);
        }
    }
    sc_keys_fini(&keys);
    close(lock);
    return r;
}

void sc_key_e2b(const char *text, char ret_text[SC_KEY_TEXT])
{
    const char *id = text + strlen(PREFIX), *secret = strchr(id, '_');
    snprintf(ret_text, SC_KEY_TEXT, "e2b_%.*s%s", (int)(secret ? secret - id : 0), id,
             secret ? secret + 1 : "");
}
