/* Artifacts: files the program left behind, taken after everything that could change them is dead. The tree
 * is hostile: every name is opened below the work folder, following no link and crossing no mount; only
 * regular files come out, within the limits on size, count and depth. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/sys.h"
#include "cell/artifacts.h"

#define BENEATH (SC_RESOLVE_BENEATH | SC_RESOLVE_NO_SYMLINKS | SC_RESOLVE_NO_MAGICLINKS | SC_RESOLVE_NO_XDEV)
/* Names looked at in all, so that a folder of millions ends. */
#define ENTRIES_MAX 200000

struct collector {
    const struct sc_limits *limits;
    const struct sc_callbacks *callbacks;
    struct sc_result *result;
    struct sc_err *err;
    const struct sc_spec_out *out;
    uint64_t bytes;   /* taken so far */
    uint64_t entries; /* names seen */
    bool stopped;     /* a limit was reached */
};

static int skip(struct collector *c, const char *path, const char *why)
{
    if (c->result->n_skipped >= 1000)
        return 0;
    return sc_result_add_skip(c->result, path, why);
}

static int hit_limit(struct collector *c, const char *path, const char *why)
{
    c->result->limits_hit |= SC_HIT_ARTIFACTS;
    return skip(c, path, why);
}

/* What cannot be opened is skipped, with its reason; that we have no descriptors or memory left is nobody's
 * fault but ours, and must not look as if the file had not been there. */
static int not_opened(struct collector *c, const char *path, const char *why, int code)
{
    if (code == -EMFILE || code == -ENFILE || code == -ENOMEM)
        return sc_err_sys(c->err, code, "opening artifact %s", *path ? path : "folder");
    return skip(c, path, why);
}

/* "path/name", or false when that is longer than any path may be. */
static bool join(char inner[PATH_MAX], const char *path, const char *name)
{
    return (size_t)snprintf(inner, PATH_MAX, "%s%s%s", path, *path ? "/" : "", name) < PATH_MAX;
}

/* A list of the folder's names, with a descriptor of its own. 0 or negative errno. */
static int open_list(int dir, DIR **ret_stream)
{
    int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = copy < 0 ? NULL : fdopendir(copy);
    if (!stream) {
        int r = -errno;
        sc_close(&copy);
        return r;
    }
    *ret_stream = stream;
    return 0;
}

/* Opens DIR/path for writing on the host, making folders on the way; never through a link of anybody's
 * making. The program chose the name: in a folder that was given for its artifacts they replace what is
 * there, in the caller's current one they never do. */
static int open_target(const char *dir, const char *path, char *ret_saved, size_t size)
{
    char part[PATH_MAX];
    if (mkdir(dir, 0777) < 0 && errno != EEXIST)
        return -errno;
    int at = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (at < 0)
        return -errno;
    if ((size_t)snprintf(ret_saved, size, "%s/%s", dir, path) >= size || strlen(path) >= sizeof part) {
        close(at);
        return -ENAMETOOLONG;
    }
    const char *name = path;
    for (const char *slash; (slash = strchr(name, '/')); name = slash + 1) {
        memcpy(part, name, (size_t)(slash - name));
        part[slash - name] = '\0';
        if (mkdirat(at, part, 0777) < 0 && errno != EEXIST)
            goto fail;
        int next = openat(at, part, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (next < 0)
            goto fail;
        close(at);
        at = next;
    }
    int over = strcmp(dir, ".") ? O_TRUNC : O_EXCL;
    int fd = openat(at, name, O_WRONLY | O_CREAT | over | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
    int r = fd < 0 ? -errno : fd;
    close(at);
    return r;
fail:;
    int failed = -errno;
    close(at);
    return failed;
}

static int copy_bytes(int from, int to, uint64_t size)
{
    char chunk[64 * 1024];
    for (uint64_t done = 0; done < size;) {
        size_t want = size - done < sizeof chunk ? (size_t)(size - done) : sizeof chunk;
        ssize_t n = read(from, chunk, want);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            return 0;
        int r = sc_write_all(to, chunk, (size_t)n);
        if (r < 0)
            return r;
        done += (uint64_t)n;
    }
    return 0;
}

static int save(struct collector *c, int fd, const char *path, uint64_t size)
{
    char saved[PATH_MAX];
    const struct sc_callbacks *callbacks = c->callbacks;
    if (callbacks->artifact) {
        int r = callbacks->artifact(callbacks->userdata, path, fd, size);
        return r < 0 ? sc_err_sys(c->err, r, "handing over artifact %s", path)
                     : sc_result_add_artifact(c->result, path, NULL, size);
    }
    int to = open_target(c->out->dir, path, saved, sizeof saved);
    if (to == -EEXIST)
        return skip(c, path,
                    "the current folder has a file of that name; --out GLOB:DIR names a folder of its own");
    if (to == -ENAMETOOLONG || to == -ELOOP || to == -EISDIR || to == -ENOTDIR)
        return skip(c, path, "its name cannot be used below the output folder");
    if (to < 0)
        return sc_err_sys(c->err, to, "saving artifact %s/%s", c->out->dir, path);
    int r = copy_bytes(fd, to, size);
    close(to);
    if (r < 0)
        return sc_err_sys(c->err, r, "saving artifact %s", saved);
    return sc_result_add_artifact(c->result, path, saved, size);
}

static int take_file(struct collector *c, int fd, const char *path, const struct stat *st)
{
    const struct sc_limits *limits = c->limits;
    uint64_t size = (uint64_t)st->st_size;
    if (c->result->n_artifacts >= limits->artifacts_count) {
        c->stopped = true;
        return hit_limit(c, path, "more files than artifacts-count");
    }
    if (size > limits->artifacts || c->bytes > limits->artifacts - size)
        return hit_limit(c, path, "more bytes than the limit on artifacts");
    c->bytes += size;
    return save(c, fd, path, size);
}

static int walk(struct collector *c, int dir, const char *path, unsigned depth);

/* One name of a folder that was already chosen. */
static int take_entry(struct collector *c, int dir, const char *name, const char *path, unsigned depth)
{
    struct stat st;
    /* O_PATH first: to open a fifo or a device would be to act on it. */
    int fd = sc_sys_openat2(dir, name, O_PATH | O_CLOEXEC | O_NOFOLLOW, 0,
                            SC_RESOLVE_BENEATH | SC_RESOLVE_NO_MAGICLINKS | SC_RESOLVE_NO_XDEV);
    if (fd < 0)
        return not_opened(c, path, "cannot be opened", fd);
    int r = fstat(fd, &st) < 0 ? -errno : 0;
    close(fd);
    if (r < 0)
        return skip(c, path, "cannot be looked at");
    if (S_ISLNK(st.st_mode))
        return skip(c, path, "symlink");
    if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
        return skip(c, path, "not a regular file");
    fd = sc_sys_openat2(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0, BENEATH);
    if (fd < 0)
        return not_opened(c, path, "cannot be read", fd);
    r = S_ISDIR(st.st_mode) ? walk(c, fd, path, depth + 1) : take_file(c, fd, path, &st);
    close(fd);
    return r;
}

static int walk(struct collector *c, int dir, const char *path, unsigned depth)
{
    char inner[PATH_MAX];
    if (depth > c->limits->artifacts_depth)
        return hit_limit(c, path, "deeper than artifacts-depth");
    DIR *stream;
    int r = open_list(dir, &stream);
    if (r < 0)
        return not_opened(c, path, "cannot be read", r);
    for (struct dirent *entry; r == 0 && !c->stopped && (entry = readdir(stream));) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        if (++c->entries > ENTRIES_MAX) {
            c->stopped = true;
            r = hit_limit(c, path, "too many names");
        } else if (join(inner, path, entry->d_name)) {
            r = take_entry(c, dir, entry->d_name, inner, depth);
        } else {
            r = skip(c, path, "holds a name whose path is too long");
        }
    }
    closedir(stream);
    return r;
}

static bool has_wildcard(const char *glob)
{
    return strpbrk(glob, "*?[") != NULL;
}

/* Names of `dir` that match the glob's next component; the rest of the glob goes on below them. */
static int match(struct collector *c, int dir, const char *path, const char *glob, unsigned depth)
{
    char part[SC_SPEC_NAME_MAX + 1], inner[PATH_MAX];
    const char *slash = strchr(glob, '/');
    size_t len = slash ? (size_t)(slash - glob) : strlen(glob);
    if (len >= sizeof part)
        return 0; /* no name is that long */
    if (depth > c->limits->artifacts_depth)
        return hit_limit(c, path, "deeper than artifacts-depth");
    memcpy(part, glob, len);
    part[len] = '\0';
    DIR *stream;
    int r = open_list(dir, &stream);
    if (r < 0)
        return not_opened(c, path, "cannot be read", r);
    for (struct dirent *entry; r == 0 && !c->stopped && (entry = readdir(stream));) {
        const char *name = entry->d_name;
        bool same = has_wildcard(part) ? fnmatch(part, name, FNM_PERIOD) == 0 : strcmp(part, name) == 0;
        if (!same || !strcmp(name, ".") || !strcmp(name, ".."))
            continue;
        if (++c->entries > ENTRIES_MAX) {
            c->stopped = true;
            r = hit_limit(c, path, "too many names");
        } else if (!join(inner, path, name)) {
            r = skip(c, path, "holds a name whose path is too long");
        } else if (!slash) {
            r = take_entry(c, dir, name, inner, depth);
        } else {
            int next = sc_sys_openat2(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0, BENEATH);
            if (next == -EMFILE || next == -ENFILE)
                r = not_opened(c, inner, "", next);
            if (next >= 0) {
                r = match(c, next, inner, slash + 1, depth + 1);
                close(next);
            }
        }
    }
    closedir(stream);
    return r;
}

int sc_artifacts_collect(const struct sc_plan *plan, const struct sc_callbacks *callbacks, int work,
                         struct sc_result *result, struct sc_err *err)
{
    const struct sc_spec *spec = plan->spec;
    if (spec->n_outs == 0)
        return 0;
    /* The descriptor from the agent holds the place only; this one can be read. */
    int folder = openat(work, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return sc_err_sys(err, -errno, "the work folder");
    struct collector c = {.limits = &plan->limits, .callbacks = callbacks, .result = result, .err = err};
    int r = 0;
    for (size_t i = 0; i < spec->n_outs && r == 0; i++) {
        c.out = &spec->outs[i];
        r = match(&c, folder, "", c.out->glob, 0);
    }
    close(folder);
    if (r == -ENOMEM)
        return sc_err_sys(err, r, "artifacts");
    return r;
}
