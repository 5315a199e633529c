/* What the words of `snapcell session` share. Each translates to one or more requests to the keeper. */
#ifndef SC_CLI_SESSION_H
#define SC_CLI_SESSION_H

#include <jansson.h>

#include "cli/options.h"
#include "keeper/client.h"
#include "result/result.h"
#include "spec/spec.h"

struct sc_cli_session {
    struct sc_cli_args args;
    const char *id; /* the first operand, or NULL */
    struct sc_keeper_client *client;
    struct sc_cli_http *http; /* in its place: a service; or NULL */
    int signal_fd;            /* signals that stop it */
};

/* session_start.c: a spec as JSON, its host paths absolute: the keeper has another folder. */
int sc_cli_session_spec(struct sc_spec *spec, json_t **ret_value, struct sc_err *err);

/* The same of what the options of `session start` say. `wall`: of runs, unless an option says it; or NULL. */
int sc_cli_session_spec_given(const struct sc_cli_args *args, const char *wall, json_t **ret_value,
                              struct sc_err *err);
/* Sets request.`member` to an option's time in milliseconds, if it was given. */
int sc_cli_session_time(json_t *request, const char *member, const char *option, double most_ms,
                        const char *text, struct sc_err *err);
/* --idle and --total, as members of a request. */
int sc_cli_session_add_times(json_t *request, const struct sc_cli_args *args, struct sc_err *err);

/* Each word: an exit status. */
int sc_cli_session_start(struct sc_cli_session *session);
int sc_cli_session_ls(struct sc_cli_session *session);
int sc_cli_session_fork(struct sc_cli_session *session);
int sc_cli_session_snapshot(struct sc_cli_session *session);
int sc_cli_session_rollback(struct sc_cli_session *session);
/* `session start --from ID`. */
int sc_cli_session_start_from(struct sc_cli_session *session);
int sc_cli_session_pause(struct sc_cli_session *session);
int sc_cli_session_resume(struct sc_cli_session *session);
int sc_cli_session_run(struct sc_cli_session *session);
int sc_cli_session_exec(struct sc_cli_session *session);
int sc_cli_session_put(struct sc_cli_session *session);
int sc_cli_session_get(struct sc_cli_session *session);
int sc_cli_session_watch(struct sc_cli_session *session);

/* A request about this session; NULL when memory ran out. `name` is a member beside it with a text, or NULL.
 */
json_t *sc_cli_session_request(const struct sc_cli_session *session, const char *request);
json_t *sc_cli_session_request_with(const struct sc_cli_session *session, const char *request,
                                    const char *name, const char *text);
/* Tells an error of a request and returns its exit status. */
int sc_cli_session_fail(const struct sc_err *err);
/* A usage error of this word, told. */
int sc_cli_session_usage(const struct sc_cli_session *session, const char *what);
/* Sends a request whose answer is not of interest. */
int sc_cli_session_do(struct sc_cli_session *session, json_t *request, struct sc_err *err);

/* Connects; with `start`, starts a keeper when none serves. */
int sc_cli_session_connect(struct sc_cli_session *session, bool start, struct sc_err *err);

/* For sc_keeper_exchange.stop, with a struct of this as its userdata's first member: the first signal stops,
 * the second leaves. */
struct sc_cli_stop {
    int signal_fd;
    bool stopped;
};
enum sc_keeper_stop sc_cli_session_stop(void *userdata, struct sc_keeper_size *ret_resize);

/* session_source.c: what a run or command reads, whole, as members of its request. 0, or the story in `err`.
 */
/* The code: -c, a FILE, or -; with its language and mode. */
int sc_cli_session_code(const struct sc_cli_args *args, json_t *request, struct sc_err *err);
/* All of `fd`, as stdin. */
int sc_cli_session_stdin(int fd, json_t *request, struct sc_err *err);
#define SC_CLI_SESSION_STDIN_MAX (32u * 1024 * 1024)

/* session_limits.c: the limits that were given as options, as the JSON object of a request: *ret_limits is
 * NULL when there are none. */
int sc_cli_session_limits(const struct sc_cli_args *args, json_t **ret_limits, struct sc_err *err);

/* session_result.c: what a reply says a run came to, as far as exit status and report need it. The bytes of
 * the streams are not in it. */
void sc_cli_session_result(const json_t *reply, struct sc_result *ret_result);

/* session_relay.c: sends `request` (its reference is taken) with input and stop of `exchange`, passes stdout
 * and stderr on as they come, tells what a person should know, and returns the exit status. With --json the
 * reply is printed and nothing else. */
struct sc_cli_relay_events {
    void *userdata;
    /* A line of the events stream; or NULL. */
    void (*event)(void *userdata, const json_t *event);
    /* Where stdout goes instead; negative errno: stop. Or NULL. */
    int (*output)(void *userdata, const void *data, size_t len);
};
int sc_cli_session_relay(struct sc_cli_session *session, json_t *request, struct sc_keeper_exchange *exchange,
                         const struct sc_cli_relay_events *events);

/* session_lines.c: JSON lines of a stream, whole ones handed on. 0, or negative errno: too long, or no JSON.
 */
struct sc_cli_lines {
    struct sc_buf buf;
    void *userdata;
    void (*line)(void *userdata, const json_t *value);
};
void sc_cli_lines_init(struct sc_cli_lines *lines, void (*line)(void *userdata, const json_t *value),
                       void *userdata);
int sc_cli_lines_add(struct sc_cli_lines *lines, const void *data, size_t len);
void sc_cli_lines_fini(struct sc_cli_lines *lines);

#endif
