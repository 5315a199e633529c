/* Reading a generation: nothing of it is believed before its hash was compared. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "snap/shelf.h"
#include "snap/vault_parts.h"

#define PIECE 65536

int sc_vault_damaged(const char *name, const char *what, struct sc_err *err)
{
    return sc_err_set(err, SC_ERR_USAGE, -EBADMSG,
                      "session: %s: %s: what is stored is not what was written, and is not used", name, what);
}

int sc_vault_current(int folder, char ret_hash[SC_SHA256_TEXT])
{
    char text[SC_SHA256_TEXT + 1];
    ssize_t n = readlinkat(folder, SC_VAULT_CURRENT, text, sizeof text - 1);
    if (n < 0)
        return -errno;
    text[n] = '\0';
    if (strspn(text, "0123456789abcdef") != SC_SHA256_TEXT - 1 || text[SC_SHA256_TEXT - 1])
        return -EBADMSG;
    memcpy(ret_hash, text, SC_SHA256_TEXT);
    return 0;
}

/* ---- the manifest ---- */

static int read_text(int generation, struct sc_buf *text)
{
    int fd = openat(generation, SC_VAULT_MANIFEST, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int r = 0;
    for (ssize_t n = 1; r == 0 && n > 0;) {
        uint8_t *room = sc_buf_reserve(text, PIECE);
        n = room ? read(fd, room, PIECE) : -1;
        if (!room || (n < 0 && errno != EINTR))
            r = room ? -errno : -ENOMEM;
        else if (n > 0)
            sc_buf_took(text, (size_t)n);
        else if (n < 0)
            n = 1;
    }
    close(fd);
    return r;
}

static const json_t *piece_of(const json_t *manifest, size_t i)
{
    const json_t *piece = json_array_get(json_object_get(manifest, "pieces"), i);
    const char *file = json_string_value(json_object_get(piece, "file"));
    const char *hash = json_string_value(json_object_get(piece, "sha256"));
    bool is_ours = file && !strcmp(file, SC_VAULT_PLACES[i].file) && hash &&
                   json_is_integer(json_object_get(piece, "bytes"));
    return is_ours ? piece : NULL;
}

static bool is_whole(const json_t *manifest, const char *name)
{
    const char *told = json_string_value(json_object_get(manifest, "name"));
    bool whole = json_integer_value(json_object_get(manifest, "version")) == 1 && told &&
                 !strcmp(told, name) && json_is_integer(json_object_get(manifest, "uid")) &&
                 json_is_object(json_object_get(manifest, "spec"));
    for (size_t i = 0; i < SC_VAULT_PIECES; i++)
        whole = whole && piece_of(manifest, i);
    return whole;
}

static int parse(const struct sc_buf *text, const char *name, json_t **ret_manifest, struct sc_err *err)
{
    json_error_t where;
    json_t *manifest = NULL;
    int r = sc_json_load((const char *)text->data, text->len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL,
                         &manifest, &where);
    if (r == -ENOMEM)
        return sc_err_sys(err, r, "paused session: %s", name);
    if (r < 0 || !is_whole(manifest, name)) {
        json_decref(manifest);
        return sc_vault_damaged(name, SC_VAULT_MANIFEST, err);
    }
    *ret_manifest = manifest;
    return 0;
}

static int read_manifest(int generation, const char *hash, const char *name, json_t **ret_manifest,
                         struct sc_err *err)
{
    char found[SC_SHA256_TEXT];
    struct sc_sha256 sum;
    struct sc_buf text;
    sc_buf_init(&text, SC_VAULT_MANIFEST_MAX);
    int r = read_text(generation, &text);
    if (r == -ENOENT || r == -EMSGSIZE || r == -ELOOP)
        r = sc_vault_damaged(name, SC_VAULT_MANIFEST, err);
    else if (r < 0)
        r = sc_err_sys(err, r, "paused session: %s: %s", name, SC_VAULT_MANIFEST);
    if (r == 0) {
        sc_sha256_init(&sum);
        sc_sha256_add(&sum, text.data, text.len);
        sc_sha256_text(&sum, found);
        r = strcmp(found, hash) ? sc_vault_damaged(name, SC_VAULT_MANIFEST, err)
                                : parse(&text, name, ret_manifest, err);
    }
    sc_buf_fini(&text);
    return r;
}

int sc_vault_open_generation(int folder, const char *hash, const char *name,
                             struct sc_vault_reader *ret_reader, struct sc_err *err)
{
    struct sc_vault_reader reader = {.folder = -1, .lock = -1, .piece = -1};
    reader.folder = openat(folder, hash, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (reader.folder < 0)
        return errno == ENOENT || errno == ENOTDIR ? sc_vault_damaged(name, SC_VAULT_CURRENT, err)
                                                   : sc_err_sys(err, -errno, "paused session: %s", name);
    int r = read_manifest(reader.folder, hash, name, &reader.manifest, err);
    if (r < 0) {
        sc_vault_reader_close(&reader);
        return r;
    }
    *ret_reader = reader;
    return 0;
}

/* ---- pieces ---- */

int sc_vault_open(const char *tenant, const char *name, struct sc_vault_reader *ret_reader,
                  struct sc_err *err)
{
    char hash[SC_SHA256_TEXT];
    int folder = sc_vault_folder(tenant, name, false, err);
    if (folder < 0)
        return folder;
    int lock = sc_vault_take_lock(folder, name, err);
    int r = lock < 0 ? lock : sc_vault_current(folder, hash);
    if (lock >= 0 && r < 0 && r != -ENOENT)
        r = sc_vault_damaged(name, SC_VAULT_CURRENT, err);
    if (r == 0)
        r = sc_vault_open_generation(folder, hash, name, ret_reader, err);
    close(folder);
    if (r < 0)
        sc_close(&lock);
    else
        ret_reader->lock = lock;
    return r;
}

static const char *name_of(const struct sc_vault_reader *reader)
{
    return json_string_value(json_object_get(reader->manifest, "name"));
}

int sc_vault_piece_open(struct sc_vault_reader *reader, struct sc_err *err)
{
    const char *file = SC_VAULT_PLACES[reader->at].file;
    struct stat st;
    reader->piece = openat(reader->folder, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (reader->piece < 0 || fstat(reader->piece, &st) < 0)
        return errno == ENOENT || errno == ELOOP ? sc_vault_damaged(name_of(reader), file, err)
                                                 : sc_err_sys(err, -errno, "paused session: %s", file);
    if (!S_ISREG(st.st_mode))
        return sc_vault_damaged(name_of(reader), file, err);
    reader->bytes = 0;
    sc_sha256_init(&reader->sum);
    return 0;
}

/* The piece is at its end: is it what was written? */
static int compare(struct sc_vault_reader *reader, struct sc_err *err)
{
    const json_t *piece = piece_of(reader->manifest, reader->at);
    char found[SC_SHA256_TEXT];
    sc_sha256_text(&reader->sum, found);
    if ((json_int_t)reader->bytes != json_integer_value(json_object_get(piece, "bytes")) ||
        strcmp(found, json_string_value(json_object_get(piece, "sha256"))) != 0)
        return sc_vault_damaged(name_of(reader), SC_VAULT_PLACES[reader->at].file, err);
    sc_close(&reader->piece);
    reader->at++;
    return 0;
}

ssize_t sc_vault_piece_read(struct sc_vault_reader *reader, void *data, size_t size, struct sc_err *err)
{
    ssize_t n;
    do
        n = read(reader->piece, data, size);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return sc_err_sys(err, -errno, "paused session: %s", SC_VAULT_PLACES[reader->at].file);
    if (n == 0)
        return compare(reader, err);
    reader->bytes += (uint64_t)n;
    sc_sha256_add(&reader->sum, data, (size_t)n);
    return n;
}

int sc_vault_prove(struct sc_vault_reader *reader, struct sc_err *err)
{
    char *data = malloc(PIECE);
    int r = data ? 0 : sc_err_sys(err, -ENOMEM, "paused session");
    for (size_t i = 0; i < SC_VAULT_PIECES && r == 0; i++) {
        r = sc_vault_piece_open(reader, err);
        for (ssize_t n = 1; r == 0 && n > 0;) {
            n = sc_vault_piece_read(reader, data, PIECE, err);
            if (n < 0)
                r = (int)n;
        }
    }
    free(data);
    return r;
}

void sc_vault_reader_close(struct sc_vault_reader *reader)
{
    json_decref(reader->manifest);
    reader->manifest = NULL;
    sc_close(&reader->piece);
    sc_close(&reader->folder);
    sc_close(&reader->lock);
}

/* ---- what there is ---- */

static json_t *told(const char *name, const json_t *manifest)
{
    json_int_t bytes = 0;
    for (size_t i = 0; i < SC_VAULT_PIECES; i++)
        bytes += json_integer_value(json_object_get(piece_of(manifest, i), "bytes"));
    return json_pack("{s:s, s:O*, s:O*, s:O*, s:I, s:O*, s:O*}", "session", name, "paused_ms",
                     json_object_get(manifest, "paused_ms"), "uid", json_object_get(manifest, "uid"),
                     "tenant", json_object_get(manifest, "tenant"), "bytes", bytes, "contexts",
                     json_object_get(manifest, "contexts"), "metadata",
                     json_object_get(manifest, "metadata"));
}

json_t *sc_vault_tell(const char *tenant, const char *name)
{
    char hash[SC_SHA256_TEXT];
    struct sc_vault_reader reader;
    struct sc_err err = {0};
    int folder = sc_vault_name_ok(name) ? sc_vault_folder(tenant, name, false, &err) : -ENOENT;
    if (folder < 0)
        return NULL;
    int r = sc_vault_current(folder, hash);
    bool is_there = r != -ENOENT;
    if (r == 0)
        r = sc_vault_open_generation(folder, hash, name, &reader, &err);
    else if (is_there)
        sc_vault_damaged(name, SC_VAULT_CURRENT, &err);
    close(folder);
    if (!is_there)
        return NULL;
    if (r < 0)
        return json_pack("{s:s, s:s}", "session", name, "damaged", err.message);
    json_t *value = told(name, reader.manifest);
    sc_vault_reader_close(&reader);
    return value;
}

json_t *sc_vault_list(const char *tenant, struct sc_err *err)
{
    char path[PATH_MAX];
    struct dirent **names = NULL;
    int fd = sc_vault_top(tenant, false, path, err);
    if (fd < 0)
        return fd == -ENOENT ? json_array() : NULL;
    close(fd);
    int n = scandir(path, &names, NULL, alphasort);
    json_t *list = json_array();
    for (int i = 0; i < n; i++) {
        json_t *one = *names[i]->d_name == '.' ? NULL : sc_vault_tell(tenant, names[i]->d_name);
        if (one && json_array_append_new(list, one) < 0) {
            json_decref(list);
            list = NULL;
        }
        free(names[i]);
    }
    free(names);
    return list;
}
