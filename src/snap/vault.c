/* Writing a generation, and removing. The order of the steps is the promise: nothing that counts names
 * anything that is not on disk and compared. */
#include "snap/vault.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "snap/shelf.h"
#include "snap/vault_parts.h"

static const char NEXT[] = ".next"; /* the link, before it takes its place */
static const char WORK[] = ".work";

const struct sc_vault_place SC_VAULT_PLACES[SC_VAULT_PIECES] = {
    {"work.tar", "/home/user"},
    {"tmp.tar", "/tmp"},
};

/* Test builds only: dies at the step that SC_VAULT_DIE names, with its parent where a "!" follows. */
static void passed(const char *step)
{
#ifdef SC_MUTANTS
    const char *die = getenv("SC_VAULT_DIE");
    size_t len = strlen(step);
    if (!die || strncmp(die, step, len) != 0 || (die[len] && strcmp(die + len, "!") != 0))
        return;
    if (die[len])
        kill(getppid(), SIGKILL);
    kill(getpid(), SIGKILL);
#else
    (void)step;
#endif
}

static int failed(const struct sc_vault_writer *writer, int r, const char *what, struct sc_err *err)
{
    return sc_err_sys(err, r, "pause: %s: %s", writer->name, what);
}

/* ---- pieces ---- */

static int too_many(const char *name, struct sc_err *err)
{
    return sc_err_usage(err, "session",
                        "session: %s: %d sessions are paused already, more are not allowed: end one", name,
                        SC_VAULT_SESSIONS_MAX);
}

int sc_vault_begin(const char *tenant, const char *name, int lock, struct sc_vault_writer *ret_writer,
                   struct sc_err *err)
{
    struct sc_vault_writer writer = {.folder = -1, .lock = lock, .work = -1, .piece = -1};
    snprintf(writer.name, sizeof writer.name, "%s", name);
    snprintf(writer.tenant, sizeof writer.tenant, "%s", tenant ? tenant : "");
    int r = sc_vault_count(tenant, name, err);
    if (r >= 0)
        r = r >= SC_VAULT_SESSIONS_MAX ? too_many(name, err) : 0;
    if (r == 0) {
        writer.folder = sc_vault_folder(tenant, name, true, err);
        r = writer.folder < 0 ? writer.folder : 0;
    }
    if (r == 0 && writer.lock < 0) {
        writer.lock = sc_vault_take_lock(writer.folder, name, err);
        r = writer.lock < 0 ? writer.lock : 0;
    }
    if (r < 0) {
        sc_vault_close(&writer);
        return r;
    }
    r = sc_shelf_remove_tree(writer.folder, WORK); /* of one that was killed */
    if (r == 0 && mkdirat(writer.folder, WORK, 0700) < 0)
        r = -errno;
    writer.work = r < 0 ? -1 : openat(writer.folder, WORK, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (r < 0 || writer.work < 0) {
        r = failed(&writer, r < 0 ? r : -errno, "a folder for it", err);
        sc_vault_close(&writer);
        return r;
    }
    passed("begun");
    *ret_writer = writer;
    return 0;
}

int sc_vault_piece_begin(struct sc_vault_writer *writer, uint64_t bytes_max, struct sc_err *err)
{
    const char *file = SC_VAULT_PLACES[writer->at].file;
    writer->piece = openat(writer->work, file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (writer->piece < 0)
        return failed(writer, -errno, file, err);
    writer->bytes = 0;
    writer->bytes_max = bytes_max;
    sc_sha256_init(&writer->sum);
    return 0;
}

int sc_vault_piece_add(struct sc_vault_writer *writer, const void *data, size_t len, struct sc_err *err)
{
    const struct sc_vault_place *place = &SC_VAULT_PLACES[writer->at];
    if (len > writer->bytes_max - writer->bytes)
        return sc_err_usage(
            err, "session",
            "session: what is in %s takes more than %llu bytes when it is packed: it cannot be "
            "paused",
            place->path, (unsigned long long)writer->bytes_max);
    int r = sc_write_all(writer->piece, data, len);
    if (r < 0)
        return failed(writer, r, place->file, err);
    /* On its way to the disk while more comes. */
    (void)sync_file_range(writer->piece, (off_t)writer->bytes, (off_t)len, SYNC_FILE_RANGE_WRITE);
    writer->bytes += len;
    sc_sha256_add(&writer->sum, data, len);
    passed(writer->at ? "second-piece" : "first-piece");
    return 0;
}

int sc_vault_piece_end(struct sc_vault_writer *writer, struct sc_err *err)
{
    struct sc_vault_piece *piece = &writer->pieces[writer->at];
    int r = close(writer->piece) < 0 ? -errno : 0;
    writer->piece = -1;
    if (r < 0)
        return failed(writer, r, SC_VAULT_PLACES[writer->at].file, err);
    piece->bytes = writer->bytes;
    sc_sha256_text(&writer->sum, piece->sha256);
    writer->at++;
    passed(writer->at == 1 ? "first-whole" : "second-whole");
    return 0;
}

/* ---- taking its place ---- */

static char *manifest_text(const struct sc_vault_writer *writer, json_t *facts)
{
    json_t *list = json_array();
    int r = 0;
    for (size_t i = 0; i < SC_VAULT_PIECES && r == 0; i++)
        r = json_array_append_new(list, json_pack("{s:s, s:I, s:s}", "file", SC_VAULT_PLACES[i].file, "bytes",
                                                  (json_int_t)writer->pieces[i].bytes, "sha256",
                                                  writer->pieces[i].sha256));
    if (r == 0)
        r = json_object_set_new(facts, "version", json_integer(1));
    if (r == 0)
        r = json_object_set_new(facts, "name", json_string(writer->name));
    if (r == 0)
        r = json_object_set(facts, "pieces", list);
    json_decref(list);
    return r == 0 ? sc_json_dump(facts, JSON_INDENT(1) | JSON_SORT_KEYS) : NULL;
}

static int write_manifest(const struct sc_vault_writer *writer, const char *text)
{
    int fd =
        openat(writer->work, SC_VAULT_MANIFEST, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    int r = sc_write_all(fd, text, strlen(text));
    if (r == 0 && fsync(fd) < 0)
        r = -errno;
    if (close(fd) < 0 && r == 0)
        r = -errno;
    return r;
}

static int bring_to_disk(const struct sc_vault_writer *writer)
{
    for (size_t i = 0; i < SC_VAULT_PIECES; i++) {
        int fd = openat(writer->work, SC_VAULT_PLACES[i].file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        int r = fd < 0 || fsync(fd) < 0 ? -errno : 0;
        sc_close(&fd);
        if (r < 0)
            return r;
    }
    return fsync(writer->work) < 0 ? -errno : 0;
}

static int use(int folder, const char *hash)
{
    if (unlinkat(folder, NEXT, 0) < 0 && errno != ENOENT)
        return -errno;
    if (symlinkat(hash, folder, NEXT) < 0)
        return -errno;
    passed("linked");
    if (renameat(folder, NEXT, folder, SC_VAULT_CURRENT) < 0)
        return -errno;
    return fsync(folder) < 0 ? -errno : 0;
}

/* Every generation but this one. */
static int remove_others(int folder, const char *hash)
{
    int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    int r = 0;
    if (!dir) {
        r = -errno;
        sc_close(&fd);
        return r;
    }
    for (const struct dirent *entry; r == 0 && (entry = readdir(dir));)
        if (*entry->d_name != '.' && strcmp(entry->d_name, SC_VAULT_CURRENT) && strcmp(entry->d_name, hash))
            r = sc_shelf_remove_tree(folder, entry->d_name);
    closedir(dir);
    return r;
}

/* Read back under the name it will have, from where it lies now. */
static int prove(const struct sc_vault_writer *writer, const char *hash, struct sc_err *err)
{
    struct sc_vault_reader reader;
    int r = sc_vault_open_generation(writer->folder, hash, writer->name, &reader, err);
    if (r < 0)
        return r;
    r = sc_vault_prove(&reader, err);
    sc_vault_reader_close(&reader);
    return r;
}

static int take_place(struct sc_vault_writer *writer, const char *hash, struct sc_err *err)
{
    char now[SC_SHA256_TEXT] = "";
    (void)sc_vault_current(writer->folder, now);
    if (strcmp(now, hash) == 0)
        return failed(writer, -EEXIST, "it is paused as it is", err); /* its time is part of it: never */
    int r = sc_shelf_remove_tree(writer->folder, hash);
    if (r == 0 && renameat(writer->folder, WORK, writer->folder, hash) < 0)
        r = -errno;
    if (r == 0 && fsync(writer->folder) < 0)
        r = -errno;
    if (r < 0)
        return failed(writer, r, "giving it its name", err);
    passed("named");
    r = prove(writer, hash, err);
    if (r < 0) {
        (void)sc_shelf_remove_tree(writer->folder, hash);
        return r;
    }
    passed("proven");
    r = use(writer->folder, hash);
    if (r < 0)
        return failed(writer, r, SC_VAULT_CURRENT, err);
    passed("current");
    (void)remove_others(writer->folder, hash); /* the next pause tries again */
    passed("cleaned");
    return 0;
}

int sc_vault_commit(struct sc_vault_writer *writer, json_t *facts, struct sc_err *err)
{
    char hash[SC_SHA256_TEXT];
    struct sc_sha256 sum;
    char *text = manifest_text(writer, facts);
    json_decref(facts);
    int r = text ? 0 : -ENOMEM;
    if (r == 0 && strlen(text) > SC_VAULT_MANIFEST_MAX)
        r = -EFBIG;
    if (r == 0)
        r = write_manifest(writer, text);
    passed("manifest");
    if (r == 0)
        r = bring_to_disk(writer);
    if (r < 0) {
        free(text);
        return failed(writer, r, SC_VAULT_MANIFEST, err);
    }
    passed("synced");
    sc_sha256_init(&sum);
    sc_sha256_add(&sum, text, strlen(text));
    sc_sha256_text(&sum, hash);
    free(text);
    return take_place(writer, hash, err);
}

void sc_vault_close(struct sc_vault_writer *writer)
{
    sc_close(&writer->piece);
    sc_close(&writer->work);
    sc_close(&writer->folder);
    sc_close(&writer->lock); /* last: who waits for it finds everything as it stays */
}

bool sc_vault_is_there(const struct sc_vault_writer *writer)
{
    char hash[SC_SHA256_TEXT];
    return writer->folder >= 0 && sc_vault_current(writer->folder, hash) == 0;
}

/* A folder in which nothing was ever paused goes with it. */
static void remove_empty(const struct sc_vault_writer *writer)
{
    char path[PATH_MAX];
    if (sc_vault_is_there(writer))
        return;
    int above = sc_vault_top(*writer->tenant ? writer->tenant : NULL, true, path, NULL);
    if (above >= 0 && unlinkat(writer->folder, SC_VAULT_LOCK, 0) == 0)
        (void)unlinkat(above, writer->name, AT_REMOVEDIR);
    sc_close(&above);
}

void sc_vault_abandon(struct sc_vault_writer *writer)
{
    if (writer->folder >= 0) {
        (void)sc_shelf_remove_tree(writer->folder, WORK);
        remove_empty(writer);
    }
    sc_vault_close(writer);
}

/* ---- removing ---- */

int sc_vault_remove(const char *tenant, const char *name, int lock, struct sc_err *err)
{
    char path[PATH_MAX];
    int folder = sc_vault_folder(tenant, name, false, err);
    if (folder < 0)
        return folder == -ENOENT ? 0 : folder;
    int own = lock >= 0 ? -1 : sc_vault_take_lock(folder, name, err);
    int r = lock >= 0 || own >= 0 ? 0 : own;
    int above = r < 0 ? -1 : sc_vault_top(tenant, true, path, err);
    if (r == 0 && above < 0)
        r = above;
    /* What counts goes first: half of a session is none. */
    if (r == 0 && unlinkat(folder, SC_VAULT_CURRENT, 0) < 0 && errno != ENOENT)
        r = sc_err_sys(err, -errno, "paused session: %s", name);
    if (r == 0 && (r = sc_shelf_remove_tree(above, name)) < 0)
        sc_err_sys(err, r, "paused session: %s", name);
    sc_close(&above);
    sc_close(&folder);
    sc_close(&own);
    return r < 0 ? r : 1;
}
