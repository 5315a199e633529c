/* What goes into the cell before the program starts: its source, files and folders, as messages to the agent,
 * which writes them as the program's user and on the cell's account. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/proto.h"
#include "base/fd.h"
#include "base/frame.h"
#include "cell/feed.h"
#include "spec/lang.h"

/* Of one --dir that is copied. */
#define TREE_FILES_MAX 100000
#define TREE_DEPTH_MAX 64

struct feeder {
    int control;
    struct sc_err *err;
    unsigned files; /* so far */
};

/* An agent that died takes no more: not our failure to report, whoever watches the cell will tell why. */
static int say(struct feeder *feeder, uint16_t type, const void *payload, size_t len)
{
    int r = sc_frame_send(feeder->control, type, 0, payload, len);
    if (r == -EAGAIN)
        return sc_err_sys(feeder->err, -ETIMEDOUT, "the agent does not take its files");
    return r;
}

static int say_path(struct feeder *feeder, uint16_t type, const char *path, uint32_t mode)
{
    char payload[sizeof(struct sc_msg_file) + PATH_MAX];
    struct sc_msg_file head = {.mode = mode};
    size_t len = strlen(path) + 1;
    if (len > PATH_MAX)
        return sc_err_usage(feeder->err, "file", "%.80s…: path is longer than %d bytes", path, PATH_MAX - 1);
    memcpy(payload, &head, sizeof head);
    memcpy(payload + sizeof head, path, len);
    return say(feeder, type, payload, sizeof head + len);
}

static int send_bytes(struct feeder *feeder, const char *path, uint32_t mode, const void *data, size_t len)
{
    int r = say_path(feeder, SC_MSG_FILE, path, mode);
    for (const char *at = data; r == 0 && len > 0;) {
        size_t n = len < SC_FRAME_MAX ? len : SC_FRAME_MAX;
        r = say(feeder, SC_MSG_DATA, at, n);
        at += n;
        len -= n;
    }
    return r == 0 ? say(feeder, SC_MSG_CLOSE, NULL, 0) : r;
}

static int send_open_file(struct feeder *feeder, int fd, const char *path, uint32_t mode)
{
    char chunk[SC_FRAME_MAX];
    int r = say_path(feeder, SC_MSG_FILE, path, mode);
    while (r == 0) {
        ssize_t n = read(fd, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return sc_err_sys(feeder->err, -errno, "reading %s", path);
        if (n == 0)
            return say(feeder, SC_MSG_CLOSE, NULL, 0);
        r = say(feeder, SC_MSG_DATA, chunk, (size_t)n);
    }
    return r;
}

/* The caller's file is at fault, unless it is us who have no descriptors left. */
static int not_opened(struct feeder *feeder, const char *field, const char *path, int code)
{
    if (code == -EMFILE || code == -ENFILE || code == -ENOMEM)
        return sc_err_sys(feeder->err, code, "opening %s", path);
    return sc_err_usage(feeder->err, field, "%s: cannot be read: %s", path, strerror(-code));
}

static int send_host_file(struct feeder *feeder, const char *host, const char *path, uint32_t mode)
{
    struct stat st;
    /* O_NONBLOCK: a name that has become a fifo since the check must not hold us. */
    int fd = open(host, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return not_opened(feeder, "file", host, -errno);
    int r;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        r = sc_err_usage(feeder->err, "file", "%s: is not a regular file", host);
    else
        r = send_open_file(feeder, fd, path, mode ? mode : st.st_mode & 0777);
    close(fd);
    return r;
}

static int send_tree(struct feeder *feeder, int dir, const char *path, unsigned depth);

/* Regular files and folders are copied; a link or a special file inside a folder is refused, not followed. */
static int send_entry(struct feeder *feeder, int dir, const char *name, const char *path, unsigned depth)
{
    struct stat st;
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY);
    if (fd < 0 || fstat(fd, &st) < 0) {
        int r = -errno;
        sc_close(&fd);
        return r == -ELOOP ? sc_err_usage(feeder->err, "dir",
                                          "%s: is a symbolic link; a copied folder may hold only "
                                          "files and folders",
                                          path)
                           : not_opened(feeder, "dir", path, r);
    }
    int r;
    if (++feeder->files > TREE_FILES_MAX)
        r = sc_err_usage(feeder->err, "dir", "%s: more than %d files; mount it with :ro instead", path,
                         TREE_FILES_MAX);
    else if (S_ISDIR(st.st_mode))
        r = send_tree(feeder, fd, path, depth + 1);
    else if (S_ISREG(st.st_mode))
        r = send_open_file(feeder, fd, path, st.st_mode & 0777);
    else
        r = sc_err_usage(feeder->err, "dir", "%s: is neither a file nor a folder", path);
    close(fd);
    return r;
}

static int send_tree(struct feeder *feeder, int dir, const char *path, unsigned depth)
{
    char inner[PATH_MAX];
    if (depth > TREE_DEPTH_MAX)
        return sc_err_usage(feeder->err, "dir", "%s: more than %d folders deep", path, TREE_DEPTH_MAX);
    int r = *path ? say_path(feeder, SC_MSG_DIR, path, 0755) : 0;
    int copy = fcntl(dir, F_DUPFD_CLOEXEC, 3);
    DIR *stream = copy < 0 ? NULL : fdopendir(copy);
    if (!stream) {
        sc_close(&copy);
        return sc_err_sys(feeder->err, -errno, "reading folder %s", path);
    }
    errno = 0;
    for (struct dirent *entry; r == 0 && (entry = readdir(stream)); errno = 0) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        int len = snprintf(inner, sizeof inner, "%s%s%s", path, *path ? "/" : "", entry->d_name);
        r = len < (int)sizeof inner ? send_entry(feeder, dir, entry->d_name, inner, depth)
                                    : sc_err_usage(feeder->err, "dir", "%s: path is too long", path);
    }
    if (r == 0 && errno)
        r = sc_err_sys(feeder->err, -errno, "reading folder %s", path);
    closedir(stream);
    return r;
}

static int send_dirs(struct feeder *feeder, const struct sc_spec *spec)
{
    int r = 0;
    for (size_t i = 0; i < spec->n_dirs && r == 0; i++) {
        if (spec->dirs[i].read_only_mount)
            continue;
        int fd = open(spec->dirs[i].host, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
            return not_opened(feeder, "dir", spec->dirs[i].host, -errno);
        r = send_tree(feeder, fd, spec->dirs[i].path, 0);
        close(fd);
    }
    return r;
}

static int send_program(struct feeder *feeder, const struct sc_spec *spec)
{
    /* A runner is handed the code itself. */
    if (spec->code && spec->mode != SC_MODE_PLAIN)
        return 0;
    if (spec->code)
        return send_bytes(feeder, sc_lang_row(spec->lang)->source_name, 0644, spec->code, spec->code_len);
    if (!spec->program)
        return 0;
    const char *name = strrchr(spec->program, '/');
    name = name ? name + 1 : spec->program;
    return send_host_file(feeder, spec->program, name, spec->lang == SC_LANG_NATIVE ? 0755 : 0);
}

static int send_files(struct feeder *feeder, const struct sc_spec_file *files, size_t n_files)
{
    int r = 0;
    for (const struct sc_spec_file *file = files; file < files + n_files && r == 0; file++)
        r = file->host
                ? send_host_file(feeder, file->host, file->path, file->mode)
                : send_bytes(feeder, file->path, file->mode ? file->mode : 0644, file->data, file->len);
    return r;
}

int sc_feed(int control, const struct sc_spec *spec, struct sc_err *err)
{
    struct feeder feeder = {control, err, 0};
    int r = send_program(&feeder, spec);
    if (r == 0)
        r = send_files(&feeder, spec->files, spec->n_files);
    return r < 0 ? r : send_dirs(&feeder, spec);
}

int sc_feed_files(int control, const struct sc_spec_file *files, size_t n_files, struct sc_err *err)
{
    struct feeder feeder = {control, err, 0};
    return send_files(&feeder, files, n_files);
}

int sc_feed_refused(const struct sc_msg_failed *failed, struct sc_err *err)
{
    if (failed->code == -ENOSPC || failed->code == -EDQUOT)
        return sc_err_usage(
            err, "disk",
            "the files given do not fit into the work folder; --disk or --disk-inodes must be "
            "larger");
    if (failed->code == -EEXIST)
        return sc_err_usage(err, "file", "%s: two files of this name were given", failed->object);
    return sc_err_sys(err, failed->code, "putting %s into the work folder", failed->object);
}
