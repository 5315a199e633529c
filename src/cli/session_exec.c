/* `snapcell session exec`.
 *
 * A command that gets no stdin, or a file's, is given whole: the session does it within the limits of a run.
 * One that reads from a pipe or a terminal keeps us at its streams until it ends. A terminal is relayed by
 * the relay of `shell`: here it gets one end of a socket pair for the cell's terminal, and we carry the bytes
 * on. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/job.h"
#include "cli/relay.h"
#include "cli/say.h"
#include "cli/session.h"

struct exec {
    struct sc_cli_stop stop; /* first: sc_cli_session_stop takes it */
    struct sc_cli_session *session;
    int input;  /* stdin, or our end of the relay's pair */
    int opened; /* what we opened of it, or -1 */
    bool pty;
};

/* How stdin reaches the command. */
enum feed { FEED_NONE, FEED_WHOLE, FEED_LIVE };

static enum feed feed_of(int fd)
{
    struct stat st, null;
    if (isatty(fd) || fstat(fd, &st) < 0)
        return FEED_NONE;
    if (stat("/dev/null", &null) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == null.st_rdev)
        return FEED_NONE;
    return S_ISREG(st.st_mode) && st.st_size <= SC_CLI_SESSION_STDIN_MAX ? FEED_WHOLE : FEED_LIVE;
}

static ssize_t read_input(void *userdata, void *room, size_t size)
{
    struct exec *exec = userdata;
    ssize_t n = read(exec->input, room, size);
    if (n < 0)
        return errno == EINTR ? -EAGAIN : -errno;
    return n;
}

/* ---- the terminal ---- */

static bool own_size(struct sc_keeper_size *ret_size)
{
    struct winsize size;
    if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size) < 0)
        return false;
    *ret_size = (struct sc_keeper_size){.rows = size.ws_row, .cols = size.ws_col};
    return true;
}

static enum sc_keeper_stop take_signal(void *userdata, struct sc_keeper_size *ret_resize)
{
    struct exec *exec = userdata;
    struct signalfd_siginfo info = {0};
    (void)!read(exec->stop.signal_fd, &info, sizeof info);
    if (info.ssi_signo == SIGWINCH)
        return own_size(ret_resize), SC_KEEPER_GO_ON;
    if (exec->stop.stopped)
        return SC_KEEPER_LEAVE;
    exec->stop.stopped = true;
    return SC_KEEPER_STOP;
}

/* To the relay, which may be slower than the cell: it holds us up, and we the keeper. */
static int to_relay(void *userdata, const void *data, size_t len)
{
    struct exec *exec = userdata;
    return sc_write_all(exec->input, data, len);
}

static int watch_size(int signal_fd)
{
    sigset_t set;
    sigemptyset(&set);
    const int wanted[] = {SIGINT, SIGTERM, SIGHUP, SIGWINCH};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        sigaddset(&set, wanted[i]);
    if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
        return -errno;
    return signalfd(signal_fd, &set, 0) < 0 ? -errno : 0;
}

static int run_on_terminal(struct exec *exec, json_t *request)
{
    struct sc_cli_relay relay = {.pid = -1, .sock = -1};
    struct sc_err err = {0};
    int ends[2];
    const struct sc_cli_relay_events events = {.userdata = exec, .output = to_relay};
    struct sc_keeper_exchange exchange = {
        .userdata = exec, .input = read_input, .stop_fd = exec->stop.signal_fd, .stop = take_signal};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
        json_decref(request);
        sc_err_sys(&err, -errno, "session exec: terminal");
        return sc_cli_fail(&err);
    }
    int status;
    exec->input = exchange.input_fd = ends[0];
    int r = watch_size(exec->stop.signal_fd);
    if (r == 0)
        r = sc_cli_relay_start(&relay, &err);
    if (r == 0)
        r = sc_cli_relay_give(&relay, ends[1]);
    close(ends[1]);
    if (r < 0) {
        json_decref(request);
        sc_err_sys(&err, r, "session exec: terminal");
        status = sc_cli_fail(&err);
    } else {
        status = sc_cli_session_relay(exec->session, request, &exchange, &events);
    }
    close(ends[0]);
    sc_cli_relay_stop(&relay);
    return status;
}

/* ---- the request ---- */

static json_t *texts(char **words)
{
    json_t *list = json_array();
    for (; *words; words++)
        if (json_array_append_new(list, json_string(*words)) < 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

static json_t *variables(const struct sc_strv *env)
{
    json_t *object = json_object();
    for (size_t i = 0; i < env->n; i++) {
        char *equals = strchr(env->v[i], '=');
        *equals = '\0';
        int r = json_object_set_new(object, env->v[i], json_string(equals + 1));
        *equals = '=';
        if (r < 0) {
            json_decref(object);
            return NULL;
        }
    }
    return object;
}

static int set(json_t *request, const char *name, json_t *value, struct sc_err *err)
{
    return json_object_set_new(request, name, value) < 0 ? sc_err_sys(err, -ENOMEM, "session exec") : 0;
}

static int add_terminal(json_t *request, struct sc_err *err)
{
    struct sc_keeper_size size = {.rows = 24, .cols = 80};
    (void)own_size(&size);
    int r = set(request, "pty", json_true(), err);
    if (r == 0)
        r = set(request, "rows", json_integer(size.rows), err);
    return r == 0 ? set(request, "cols", json_integer(size.cols), err) : r;
}

static int fill(const struct sc_cli_args *args, json_t *request, struct sc_err *err)
{
    struct sc_spec spec;
    json_t *limits = NULL;
    sc_spec_init(&spec);
    int r = sc_cli_apply(&spec, args, err);
    if (r == 0)
        r = set(request, "command", texts(args->operands), err);
    if (r == 0 && spec.env.n)
        r = set(request, "env", variables(&spec.env), err);
    if (r == 0 && spec.cwd)
        r = set(request, "cwd", json_string(spec.cwd), err);
    if (r == 0)
        r = sc_cli_session_limits(args, &limits, err);
    if (r == 0 && limits)
        r = set(request, "limits", limits, err);
    if (r == 0 && (args->flags & SC_FLAG_PTY))
        r = add_terminal(request, err);
    if (r == 0 && (args->flags & SC_FLAG_BACKGROUND))
        r = set(request, "background", json_true(), err);
    sc_spec_fini(&spec);
    return r;
}

static int open_stdin(struct exec *exec, const char *path, struct sc_err *err)
{
    exec->input = STDIN_FILENO;
    if (!path || !strcmp(path, "-"))
        return 0;
    exec->input = exec->opened = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (exec->opened < 0)
        return sc_err_usage(err, "stdin", "stdin: %s: must be a file that can be read, or -: %s", path,
                            strerror(errno));
    return 0;
}

static int run_command(struct exec *exec, struct sc_err *err)
{
    const struct sc_cli_args *args = &exec->session->args;
    bool live = args->flags & (SC_FLAG_PTY | SC_FLAG_BACKGROUND), json = args->flags & SC_FLAG_JSON;
    enum feed feed = live ? FEED_NONE : feed_of(exec->input);
    if (json && feed == FEED_LIVE)
        feed = FEED_WHOLE;
    live = live || feed == FEED_LIVE;
    json_t *request = sc_cli_session_request(exec->session, live ? "command" : "exec");
    int r = fill(args, request, err);
    if (r == 0 && feed == FEED_WHOLE)
        r = sc_cli_session_stdin(exec->input, request, err);
    if (r == 0 && json && !live)
        r = set(request, "output", json_string("reply"), err);
    if (r < 0) {
        json_decref(request);
        return sc_cli_fail(err);
    }
    if (args->flags & SC_FLAG_PTY)
        return run_on_terminal(exec, request);
    struct sc_keeper_exchange exchange = {.userdata = exec,
                                          .input = feed == FEED_LIVE ? read_input : NULL,
                                          .input_fd = exec->input,
                                          .stop_fd = exec->stop.signal_fd,
                                          .stop = sc_cli_session_stop};
    return sc_cli_session_relay(exec->session, request, &exchange, NULL);
}

int sc_cli_session_exec(struct sc_cli_session *session)
{
    const struct sc_cli_args *args = &session->args;
    struct exec exec = {
        .stop = {.signal_fd = session->signal_fd}, .session = session, .input = -1, .opened = -1};
    struct sc_err err = {0};
    if (!args->dashes || args->n_operands == 0)
        return sc_cli_session_usage(session, "needs the ID of a session, and a COMMAND behind --");
    if ((args->flags & SC_FLAG_PTY) && (args->flags & (SC_FLAG_BACKGROUND | SC_FLAG_JSON)))
        return sc_cli_session_usage(session, "--pty does not go with --background or --json");
    if (open_stdin(&exec, args->texts[SC_TEXT_STDIN], &err) < 0)
        return sc_cli_fail(&err);
    int status = run_command(&exec, &err);
    sc_close(&exec.opened);
    return status;
}
