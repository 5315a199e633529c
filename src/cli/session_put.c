/* `snapcell session put`. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/say.h"
#include "cli/session.h"
#include "cli/tree.h"

struct put {
    struct sc_cli_session *session;
    int fd; /* what is sent */
};

static ssize_t read_source(void *userdata, void *room, size_t size)
{
    struct put *put = userdata;
    ssize_t n = read(put->fd, room, size);
    if (n < 0)
        return errno == EINTR || errno == EAGAIN ? -EAGAIN : -errno;
    return n;
}

/* The name behind the last slash, without slashes at its end; "" for "/" and "". */
static void base_name(const char *path, char ret_name[NAME_MAX + 1])
{
    size_t len = strlen(path);
    while (len > 0 && path[len - 1] == '/')
        len--;
    size_t start = len;
    while (start > 0 && path[start - 1] != '/')
        start--;
    snprintf(ret_name, NAME_MAX + 1, "%.*s", (int)(len - start), path + start);
}

/* Where SRC goes: DST, the name in DST when that ends with a slash, or the name in the work folder. */
static char *target_of(const char *source, const char *given)
{
    char name[NAME_MAX + 1], *target = NULL;
    base_name(source, name);
    if (!given)
        return strdup(name);
    bool into = *given && given[strlen(given) - 1] == '/';
    return asprintf(&target, "%s%s", given, into ? name : "") < 0 ? NULL : target;
}

static int send_bytes(struct sc_cli_session *session, json_t *request, int fd, struct sc_err *err)
{
    struct put put = {.session = session, .fd = fd};
    const struct sc_keeper_exchange exchange = {
        .userdata = &put, .input = read_source, .input_fd = fd, .stop_fd = session->signal_fd};
    return sc_keeper_ask(session->client, request, &exchange, NULL, err);
}

static int put_file(struct sc_cli_session *session, int fd, const struct stat *st, const char *target,
                    struct sc_err *err)
{
    char mode[8];
    json_t *request = sc_cli_session_request_with(session, "file.write", "path", target);
    snprintf(mode, sizeof mode, "%04o", st->st_mode & 0777);
    if (S_ISREG(st->st_mode) && (st->st_mode & 0777) &&
        json_object_set_new(request, "mode", json_string(mode)) < 0) {
        json_decref(request);
        request = NULL;
    }
    return send_bytes(session, request, fd, err);
}

static int make_folder(struct sc_cli_session *session, const char *path, struct sc_err *err)
{
    json_t *request = sc_cli_session_request_with(session, "file.mkdir", "path", path);
    if (json_object_set_new(request, "parents", json_true()) < 0) {
        json_decref(request);
        request = NULL;
    }
    return sc_cli_session_do(session, request, err);
}

static int put_folder(struct sc_cli_session *session, const char *source, const char *target,
                      struct sc_err *err)
{
    struct sc_cli_tree tree;
    int r = make_folder(session, target, err);
    if (r == 0)
        r = sc_cli_tree_send(&tree, source, err);
    if (r < 0)
        return r;
    r = send_bytes(session, sc_cli_session_request_with(session, "file.tar_in", "path", target), tree.pipe,
                   err);
    /* What could not be read here has been told, and comes before what the session made of half a stream. */
    if (!sc_cli_tree_finish(&tree) && r == 0)
        r = sc_err_set(err, SC_ERR_SANDBOX, -EIO, "%s: not all of it was sent", source);
    return r;
}

/* ---- archives ---- */

/* What unpacks each kind inside; tar itself is the session's own work. */
static const struct archive {
    const char *suffix;
    const char *command[7];
    size_t file_at, folder_at; /* words of the command that are filled in */
} ARCHIVES[] = {
    {".tar", {NULL}, 0, 0},
    {".tar.gz", {"tar", "-xzf", NULL, "-C", NULL}, 2, 4},
    {".tgz", {"tar", "-xzf", NULL, "-C", NULL}, 2, 4},
    {".zip", {"python3", "-m", "zipfile", "-e", NULL, NULL}, 4, 5},
};

static const struct archive *archive_of(const char *path)
{
    size_t len = strlen(path);
    for (size_t i = 0; i < sizeof ARCHIVES / sizeof *ARCHIVES; i++) {
        size_t n = strlen(ARCHIVES[i].suffix);
        if (len > n && !strcmp(path + len - n, ARCHIVES[i].suffix))
            return &ARCHIVES[i];
    }
    return NULL;
}

/* Runs the archive's own program in the session. */
static int run_unpacker(struct sc_cli_session *session, const struct archive *archive, const char *file,
                        const char *folder, struct sc_err *err)
{
    json_t *words = json_array(), *reply = NULL;
    for (size_t i = 0; archive->command[i] || i == archive->file_at || i == archive->folder_at; i++)
        json_array_append_new(words, json_string(i == archive->file_at     ? file
                                                 : i == archive->folder_at ? folder
                                                                           : archive->command[i]));
    json_t *request = sc_cli_session_request_with(session, "exec", "output", "reply");
    if (json_object_set_new(request, "command", words) < 0)
        return sc_err_sys(err, -ENOMEM, "session put");
    const struct sc_keeper_exchange exchange = {.stop_fd = session->signal_fd};
    int r = sc_keeper_ask(session->client, request, &exchange, &reply, err);
    if (r < 0)
        return r;
    json_int_t code = json_integer_value(json_object_get(reply, "exit_code"));
    const char *said = json_string_value(json_object_get(reply, "stderr"));
    bool ok = json_is_integer(json_object_get(reply, "exit_code")) && code == 0;
    if (code == 127)
        r = sc_err_set(err, SC_ERR_HOST, -ENOENT,
                       "session put: the session has no %s, which unpacks %s files", archive->command[0],
                       archive->suffix);
    else if (!ok)
        r = sc_err_set(err, SC_ERR_SANDBOX, -EIO, "session put: %s could not unpack it: %s",
                       archive->command[0], said ? said : "");
    json_decref(reply);
    return r;
}

static int put_archive(struct sc_cli_session *session, const char *source, int fd, const struct stat *st,
                       const char *folder, struct sc_err *err)
{
    const struct archive *archive = archive_of(source);
    char file[64];
    if (!archive)
        return sc_err_usage(err, "unpack", "unpack: %s: must be a .tar, .tar.gz, .tgz or .zip", source);
    int r = make_folder(session, folder, err);
    if (r < 0)
        return r;
    if (!archive->command[0])
        return send_bytes(session, sc_cli_session_request_with(session, "file.tar_in", "path", folder), fd,
                          err);
    snprintf(file, sizeof file, "/tmp/.snapcell-put-%d%s", (int)getpid(), archive->suffix);
    r = put_file(session, fd, st, file, err);
    if (r < 0)
        return r;
    r = run_unpacker(session, archive, file, folder, err);
    (void)sc_cli_session_do(session, sc_cli_session_request_with(session, "file.remove", "path", file), NULL);
    return r;
}

static int put_any(struct sc_cli_session *session, const char *source, const char *given, struct sc_err *err)
{
    bool own = !strcmp(source, "-"), unpack = session->args.flags & SC_FLAG_UNPACK;
    struct stat st;
    int fd = own ? STDIN_FILENO : open(source, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0 || fstat(fd, &st) < 0)
        return sc_err_usage(err, "", "%s: must be a file or folder that can be read, or -: %s", source,
                            strerror(errno));
    char *target = unpack ? strdup(given ? given : ".") : target_of(source, given);
    int r;
    if (!target)
        r = sc_err_sys(err, -ENOMEM, "session put");
    else if (unpack)
        r = put_archive(session, source, fd, &st, target, err);
    else if (S_ISDIR(st.st_mode))
        r = put_folder(session, source, *target ? target : ".", err);
    else
        r = put_file(session, fd, &st, target, err);
    free(target);
    if (!own)
        close(fd);
    return r;
}

int sc_cli_session_put(struct sc_cli_session *session)
{
    char **operands = session->args.operands;
    size_t n = session->args.n_operands;
    struct sc_err err = {0};
    if (n < 1 || n > 2)
        return sc_cli_session_usage(session, "needs SRC, a file or folder of yours, and at most one DST");
    if (n == 1 && !strcmp(operands[0], "-"))
        return sc_cli_session_usage(session, "-: needs DST, the path in the session");
    return put_any(session, operands[0], operands[1], &err) < 0 ? sc_cli_session_fail(&err) : SC_CLI_EXIT_OK;
}
