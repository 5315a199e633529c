/* The E2B front's parts, private to this folder.
 *
 *     route ── handler ── e2b_ask ── keeper ── next step of the handler … ── answer in E2B's form
 *
 * A sandbox is a session. What E2B's clients call its id is the session's, and their token for it is that id
 * and the session's secret (docs/keeper.md, `session.access`) behind one another. Nothing here is remembered
 * that the keeper could tell, but the processes that are followed; docs/e2b.md tells what a client sees.
 */
#ifndef SC_GATE_E2B_H
#define SC_GATE_E2B_H

#include "gate/follow.h"
#include "gate/parts.h"

#define E2B_ID 32     /* hexadecimal digits of a sandbox's id */
#define E2B_SECRET 64 /* of a session's secret */
#define E2B_TOKEN (E2B_ID + E2B_SECRET)
#define E2B_HOME "/home/user"
#define E2B_USER "user"
#define E2B_TIMEOUT_STANDARD_S 15
#define E2B_TIMEOUT_MOST_S 86400
/* The version of their daemon whose features are served: what came with later ones is not. */
#define E2B_ENVD_VERSION "0.5.7"

/* ---- ask.c: a handler's steps ---- */

/* What the keeper said: `ok` or `error`; `lines` is an array of what stood on its stream of events. All are
 * valid during the call only. */
struct e2b_said {
    const json_t *ok, *error;
    const json_t *lines;
};
typedef void e2b_next(struct request *request, const struct e2b_said *said);

struct seeking;
/* One request's own; request->of_handler. */
struct e2b_call {
    char session[65];            /* the sandbox it is about; "": none yet */
    char access[E2B_SECRET + 1]; /* its secret; "": asked for with the tenant's token */
    json_t *body;
    struct lines lines;
    json_t *collected;
    e2b_next *next;
    struct seeking *seeking; /* of find.c */
    void *state;             /* the handler's */
    void (*free_state)(struct request *request);
};

/* The request's own; made at the first call. NULL: it was answered that memory ran out. */
struct e2b_call *e2b_call(struct request *request);
/* Takes `message`, to which the session and whom it is for are added. `next` follows, unless the client goes.
 */
void e2b_ask(struct request *request, json_t *message, bool streams, e2b_next *next);
/* Puts who asks into a message about the request's session, as e2b_ask does. 0 or -ENOMEM. */
int e2b_address(struct request *request, json_t *message);
/* True: it went well. Else it was answered. */
bool e2b_fine(struct request *request, const struct e2b_said *said);
/* `state` of so many bytes, zeroed; NULL: answered. */
void *e2b_state(struct request *request, size_t size, void (*free_state)(struct request *request));

/* ---- body.c: what clients send ---- */

/* The body, or the one frame of it, as a JSON object in call->body. False: it was answered. */
bool e2b_read_body(struct request *request);
/* All of its fields are in the NULL-ended list. False: it was answered which is not. */
bool e2b_only(struct request *request, const json_t *object, const char *const *names);
/* A text, or NULL when it is not there or of another type. */
const char *e2b_text(const json_t *object, const char *name);
/* Heap text of the query's value, decoded; NULL: not there. The n-th of that name, from 0. */
char *e2b_query(const struct request *request, const char *name, unsigned n);
const char *e2b_header(const struct request *request, const char *name);

/* ---- place.c: which sandbox, which user, which path ---- */

/* "49983-ID.domain" → 49983 and ID; -EINVAL: not of that form. */
int e2b_read_host(const char *host, unsigned *ret_port, char ret_id[65]);
/* "ID" and "SECRET" of a token; -EINVAL. */
int e2b_read_token(const char *token, char ret_id[E2B_ID + 1], char ret_secret[E2B_SECRET + 1]);
/* Finds the sandbox of a request to one. False: it was answered. */
bool e2b_enter(struct request *request);
/* The user that was asked for is the one there is. False: answered. `name`: of the query, or NULL. */
bool e2b_user(struct request *request, const char *name);
/* Their path as an absolute one, into heap text; NULL when memory ran out. */
char *e2b_path(const char *path);

/* ---- refuse.c: how errors look ---- */

void e2b_refuse_control(struct request *request, const char *kind, const char *field, const char *message,
                        const json_t *more);
void e2b_refuse_envd(struct request *request, const char *kind, const char *field, const char *message,
                     const json_t *more);
void e2b_refuse_text(struct request *request, const char *kind, const char *field, const char *message,
                     const json_t *more);
void e2b_refuse_rpc(struct request *request, const char *kind, const char *field, const char *message,
                    const json_t *more);

void e2b_refuse_port(struct request *request, const char *kind, const char *field, const char *message,
                     const json_t *more);

/* ---- connect.c: the Connect protocol, JSON codec ---- */

#define CONNECT_HEAD 5
/* The payload's length of the one frame that a client's stream has. -EINVAL: it is another thing. */
int connect_read(const void *data, size_t len, const char **ret_payload, size_t *ret_len);
void connect_head(uint8_t ret_head[CONNECT_HEAD], uint8_t flags, uint32_t len);
/* One message of a stream; begins it. Takes `value`. */
void connect_send(struct request *request, json_t *value);
void connect_end(struct request *request, const char *code, const char *message); /* NULL: it went well */
/* The code of an error of ours; `more` as of refuse. */
const char *connect_code(const char *kind, const char *field, const json_t *more);
unsigned connect_status(const char *code);
/* An error by its own code, as message or as end of a stream. */
void connect_refuse(struct request *request, const char *code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- sandbox.c, describe.c, create.c ---- */

/* The `session.start` of call->body; NULL: it was answered. */
json_t *e2b_start_message(struct request *request);
/* The body's seconds in ms; 0: it was answered. */
json_int_t e2b_timeout(struct request *request, const char *name);
/* Is the session one of this front's? */
bool e2b_is_sandbox(const json_t *info);
/* Takes the `session.info` to what a list tells of it. */
json_t *e2b_describe(const json_t *info);
/* A time in milliseconds from now as RFC 3339. */
void e2b_time(json_int_t ms_from_now, char *ret_text, size_t size);
/* Their metadata as a session's, added to `into`; 0, -EINVAL: names or values that cannot be kept, *ret_name
 * says which; -ENOMEM. */
int e2b_put_metadata(json_t *into, const json_t *metadata, const char **ret_name);
json_t *e2b_take_metadata(const json_t *of_session);
/* Heap text of the name that a template of theirs has here, or NULL: there is none to name. */
const char *e2b_template(const char *template_id);
/* Their lists as a `network` of ours. 0; -EINVAL: *ret_why says why not; -ENOMEM. */
int e2b_network(const json_t *asked, json_t **ret_network, char *ret_why, size_t size);

/* ---- entry.c ---- */

/* An entry of the keeper's as E2B's EntryInfo. `target`: what the link at its end points to, or NULL. */
json_t *e2b_entry(const char *path, const json_t *entry, const json_t *target, const char *target_path);
/* Begins at `path`, follows links at its end, and calls `next` with the entry; state is kept in the call. */
struct e2b_found {
    char *path;    /* where it really lies */
    json_t *entry; /* what is there */
    json_t *link;  /* the entry at the path that was asked for, where that is a link; else NULL */
    bool dangles;  /* what the link names is not there */
};
typedef void e2b_found_next(struct request *request, const struct e2b_found *found);
void e2b_find(struct request *request, const char *path, e2b_found_next *next);
void seeking_free(struct seeking *seeking); /* NULL is fine */

/* ---- results.c: what a run says ---- */

/* Forms by media type → their names; NULL when memory ran out. */
json_t *e2b_result(const json_t *forms, bool is_main);

/* ---- handlers ---- */

/* clang-format off */
#define E2B_HANDLERS(X)                                                                                       \
    X(create) X(list) X(get) X(kill) X(timeout) X(refresh) X(connect) X(pause) X(resume) X(network)           \
    X(snapshot) X(snapshots) X(template_delete) X(fork) X(metrics) X(all_metrics) X(logs) X(unserved)         \
    X(health) X(envs) X(inside_metrics) X(read) X(write) X(stat) X(list_dir) X(make_dir) X(move) X(remove)    \
    X(watch) X(watcher_new) X(watcher_events) X(watcher_remove) X(process_list) X(process_start)              \
    X(process_connect) X(process_update) X(process_input) X(process_close) X(process_signal)                  \
    X(rpc_unserved) X(execute) X(context_new) X(context_list) X(context_restart) X(context_remove) X(port)
#define X(name) void e2b_handle_##name(struct request *request);
E2B_HANDLERS(X)
#undef X
/* clang-format on */

#endif
