/* `snapcell session get`. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/frame.h"
#include "cli/say.h"
#include "cli/session.h"
#include "cli/sink.h"
#include "cli/tree.h"

/* What file.stat said. */
struct seen {
    struct sc_cli_lines lines;
    bool folder, file;
    mode_t mode;
};

static void take_entry(void *userdata, const json_t *entry)
{
    struct seen *seen = userdata;
    const char *type = json_string_value(json_object_get(entry, "type"));
    const char *mode = json_string_value(json_object_get(entry, "mode"));
    seen->folder = type && !strcmp(type, "folder");
    seen->file = type && !strcmp(type, "file");
    seen->mode = mode ? (mode_t)strtoul(mode, NULL, 8) & 0777 : 0;
}

static int take_events(void *userdata, enum sc_keeper_stream stream, const void *data, size_t len)
{
    struct seen *seen = userdata;
    return stream == SC_KEEPER_EVENTS ? sc_cli_lines_add(&seen->lines, data, len) : 0;
}

static int look_at(struct sc_cli_session *session, const char *path, struct seen *seen, struct sc_err *err)
{
    const struct sc_keeper_exchange exchange = {
        .output = take_events, .output_data = seen, .stop_fd = session->signal_fd};
    sc_cli_lines_init(&seen->lines, take_entry, seen);
    int r = sc_keeper_ask(session->client, sc_cli_session_request_with(session, "file.stat", "path", path),
                          &exchange, NULL, err);
    sc_cli_lines_fini(&seen->lines);
    return r;
}

struct shown {
    struct sc_cli_sink sink;
    int stop_fd;
};

static int to_terminal(void *userdata, enum sc_keeper_stream stream, const void *data, size_t len)
{
    struct shown *shown = userdata;
    if (stream != SC_KEEPER_STDOUT)
        return 0;
    sc_cli_sink_add(&shown->sink, data, len);
    sc_cli_sink_drain(&shown->sink, shown->stop_fd);
    return shown->sink.broken;
}

/* A file is as little to be trusted by a terminal as a program's output is. */
static int show_file(struct sc_cli_session *session, const char *path, struct sc_err *err)
{
    struct shown shown = {.stop_fd = session->signal_fd};
    const struct sc_keeper_exchange exchange = {
        .output = to_terminal, .output_data = &shown, .stop_fd = session->signal_fd};
    sc_cli_sink_init(&shown.sink, STDOUT_FILENO, false, SC_FRAME_MAX);
    int r = sc_keeper_ask(session->client, sc_cli_session_request_with(session, "file.read", "path", path),
                          &exchange, NULL, err);
    sc_cli_sink_finish(&shown.sink, session->signal_fd);
    sc_cli_sink_fini(&shown.sink);
    return r;
}

static int to_fd(void *userdata, enum sc_keeper_stream stream, const void *data, size_t len)
{
    return stream == SC_KEEPER_STDOUT ? sc_write_all(*(const int *)userdata, data, len) : 0;
}

static int take_bytes(struct sc_cli_session *session, const char *request, const char *path, int fd,
                      struct sc_err *err)
{
    const struct sc_keeper_exchange exchange = {
        .output = to_fd, .output_data = &fd, .stop_fd = session->signal_fd};
    return sc_keeper_ask(session->client, sc_cli_session_request_with(session, request, "path", path),
                         &exchange, NULL, err);
}

/* Beside its place first, so that a half one never stands there. */
static int get_file(struct sc_cli_session *session, const char *path, const char *target, mode_t mode,
                    struct sc_err *err)
{
    char *part = NULL;
    if (!strcmp(target, "-"))
        return isatty(STDOUT_FILENO) ? show_file(session, path, err)
                                     : take_bytes(session, "file.read", path, STDOUT_FILENO, err);
    if (asprintf(&part, "%s.%d.part", target, (int)getpid()) < 0)
        return sc_err_sys(err, -ENOMEM, "session get");
    int fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode | 0600);
    int r = fd < 0 ? sc_err_usage(err, "", "%s: cannot be written: %s", part, strerror(errno)) : 0;
    if (r == 0)
        r = take_bytes(session, "file.read", path, fd, err);
    if (fd >= 0 && close(fd) < 0 && r == 0)
        r = sc_err_sys(err, -errno, "%s", part);
    if (r == 0 && rename(part, target) < 0)
        r = sc_err_sys(err, -errno, "%s", target);
    if (r < 0 && fd >= 0)
        unlink(part);
    free(part);
    return r;
}

static int get_folder(struct sc_cli_session *session, const char *path, const char *target,
                      struct sc_err *err)
{
    struct sc_cli_tree tree;
    if (!strcmp(target, "-"))
        return sc_err_usage(err, "", "-: stdout takes a file, and %s is a folder", path);
    if (mkdir(target, 0777) < 0)
        return sc_err_usage(err, "", "%s: must be a new folder: %s", target, strerror(errno));
    int folder = open(target, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0)
        return sc_err_sys(err, -errno, "%s", target);
    int r = sc_cli_tree_take(&tree, folder, err);
    if (r == 0) {
        r = take_bytes(session, "file.tar_out", path, tree.pipe, err);
        /* What it could not unpack has been told, and made our writing fail. */
        if (!sc_cli_tree_finish(&tree))
            r = sc_err_set(err, SC_ERR_SANDBOX, -EIO, "%s: not all of it was taken", path);
    }
    close(folder);
    return r;
}

/* DST; below it, when it is a folder that is there; else the name in the current folder. */
static char *target_of(const char *path, const char *given)
{
    struct stat st;
    size_t len = strlen(path);
    while (len > 0 && path[len - 1] == '/')
        len--;
    size_t start = len;
    while (start > 0 && path[start - 1] != '/')
        start--;
    const char *name = path + start;
    char *target = NULL;
    int n = (int)(len - start);
    bool unnamed = n == 0 || (n == 1 && *name == '.') || (n == 2 && !strncmp(name, "..", 2));
    if (given && (unnamed || !strcmp(given, "-") || stat(given, &st) < 0 || !S_ISDIR(st.st_mode)))
        return strdup(given);
    if (unnamed)
        return strdup("");
    return asprintf(&target, "%s%s%.*s", given ? given : "", given ? "/" : "", n, name) < 0 ? NULL : target;
}

int sc_cli_session_get(struct sc_cli_session *session)
{
    char **operands = session->args.operands;
    size_t n = session->args.n_operands;
    struct sc_err err = {0};
    struct seen seen = {0};
    if (n < 1 || n > 2)
        return sc_cli_session_usage(session,
                                    "needs PATH, a file or folder of the session, and at most one DST");
    char *target = target_of(operands[0], operands[1]);
    if (!target || !*target) {
        free(target);
        return sc_cli_session_usage(session, "needs DST, as PATH has no name of its own");
    }
    int r = look_at(session, operands[0], &seen, &err);
    if (r == 0 && seen.folder)
        r = get_folder(session, operands[0], target, &err);
    else if (r == 0)
        r = get_file(session, operands[0], target, seen.mode, &err);
    free(target);
    return r < 0 ? sc_cli_session_fail(&err) : SC_CLI_EXIT_OK;
}
