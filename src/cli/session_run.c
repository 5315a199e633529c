/* `snapcell session run`. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cli/say.h"
#include "cli/session.h"

static int add_stdin(const struct sc_cli_args *args, json_t *request, struct sc_err *err)
{
    const char *path = args->texts[SC_TEXT_STDIN];
    if (!path)
        return 0;
    bool own = !strcmp(path, "-");
    if (own && args->n_operands && !strcmp(args->operands[0], "-"))
        return sc_err_usage(err, "stdin", "stdin: -: must be a file here: the code itself comes on stdin");
    int fd = own ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return sc_err_usage(err, "stdin", "stdin: %s: must be a file that can be read, or -: %s", path,
                            strerror(errno));
    int r = sc_cli_session_stdin(fd, request, err);
    if (!own)
        close(fd);
    return r;
}

/* What becomes of options and operands; the request's reference stays the caller's. */
static int fill(struct sc_cli_session *session, json_t *request, struct sc_err *err)
{
    const struct sc_cli_args *args = &session->args;
    json_t *limits = NULL;
    int r = sc_cli_session_code(args, request, err);
    if (r == 0)
        r = add_stdin(args, request, err);
    if (r == 0)
        r = sc_cli_session_limits(args, &limits, err);
    if (r == 0 && limits && json_object_set_new(request, "limits", limits) < 0)
        r = sc_err_sys(err, -ENOMEM, "session run");
    if (r == 0 && (args->flags & SC_FLAG_JSON) &&
        json_object_set_new(request, "output", json_string("reply")) < 0)
        r = sc_err_sys(err, -ENOMEM, "session run");
    return r;
}

int sc_cli_session_run(struct sc_cli_session *session)
{
    struct sc_cli_stop stop = {.signal_fd = session->signal_fd};
    struct sc_keeper_exchange exchange = {
        .userdata = &stop, .stop_fd = session->signal_fd, .stop = sc_cli_session_stop};
    struct sc_err err = {0};
    json_t *request =
        sc_cli_session_request_with(session, "run", "context", session->args.texts[SC_TEXT_CONTEXT]);
    if (fill(session, request, &err) < 0) {
        json_decref(request);
        return sc_cli_fail(&err);
    }
    return sc_cli_session_relay(session, request, &exchange, NULL);
}
