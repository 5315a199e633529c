/* The gate's parts, private to this folder.
 *
 *     client ── libmicrohttpd ── http ── route's handler ── ask ── link ── keeper
 *
 * One thread, one epoll. A request is suspended in libmicrohttpd while it waits for the keeper, and resumed
 * by what the keeper says. Whatever a client sends or does not send, a request holds no more than its body's
 * stated maximum, one link, and SC_GATE_WINDOW of output.
 */
#ifndef SC_GATE_PARTS_H
#define SC_GATE_PARTS_H

#include <jansson.h>
#include <microhttpd.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/frame.h"
#include "gate/gate.h"
#include "keeper/wire.h"

struct gate;
struct request;
struct ask;
struct link;
struct command;

/* ---- loop.c ---- */

/* Something of epoll's: `ready` is called with the events. */
struct watch {
    int fd;
    void (*ready)(void *userdata, uint32_t events);
    void *userdata;
};

struct counters {
    uint64_t requests, by_class[6]; /* answers of 1xx … 5xx */
    uint64_t asks, keeper_lost;
};

/* One listener, and libmicrohttpd's daemon for it. */
struct front {
    struct gate *gate;
    bool tcp, debug, quiet;
    struct MHD_Daemon *daemon;
    struct watch watch;
};

struct gate {
    const struct sc_gate_options *options;
    int epoll;
    struct front fronts[SC_GATE_LISTENERS_MAX];
    struct watch orders_watch;
    bool daemon_ready; /* a request was resumed: libmicrohttpd has something to do */
    bool draining;
    unsigned generation; /* changes when the keeper may be another one: its tokens are void then */
    unsigned n_requests, n_connections;
    TAILQ_HEAD(, link) links;
    TAILQ_HEAD(, ask) waiting; /* for a link */
    TAILQ_HEAD(, command) commands;
    TAILQ_HEAD(, person) people; /* connections */
    TAILQ_HEAD(, request) requests;
    struct e2b *e2b; /* what is remembered for that protocol; NULL: nothing yet */
    unsigned n_links, n_coming, n_waiting;
    struct counters counters;
    struct mcp_front *mcp; /* mcp_peer.h; NULL: nobody has come there yet */
};

int watch_add(struct gate *gate, struct watch *watch, uint32_t events);
int watch_change(struct gate *gate, struct watch *watch, uint32_t events);
void watch_remove(struct gate *gate, struct watch *watch);

/* ---- link.c: connections to the keeper ---- */

/* Asks of the shared kind on one link, and links; the keeper's own bounds are a little larger. */
#define LINK_CALLS_MAX (SC_KEEPER_GATE_CALLS_MAX - 24)
#define LINKS_MAX 250
#define WAITING_MAX 4096
#define IDLE_LINKS_MAX 8
#define PATIENCE_NS (5 * SC_NS_PER_S) /* how long an ask waits for a keeper that does not answer */

struct link {
    TAILQ_ENTRY(link) entry;
    struct gate *gate;
    struct watch watch;
    bool exclusive; /* of one ask with streams */
    bool paused;    /* nothing is read */
    bool lost;
    bool greeted; /* the keeper has said WELCOME */
    uint16_t last_channel;
    unsigned n_asks;
    TAILQ_HEAD(, ask) asks;
    struct sc_frame_reader *reader;
    struct sc_buf out;
    size_t sent;
};

/* Tells the keeper of a client's socket under a nonce: 0 or negative errno. */
int door_peer(struct gate *gate, int sock, const uint8_t nonce[SC_KEEPER_NONCE]);
/* Those that have waited too long are told so. */
void links_sweep(struct gate *gate);
void links_close(struct gate *gate);
/* Gives the ask a link now, or as soon as there is one. -EAGAIN: too many wait. */
int link_assign(struct gate *gate, struct ask *ask);
/* The ask is over. */
void link_leave(struct link *link, struct ask *ask);
int link_send(struct link *link, uint16_t type, uint16_t channel, const void *head, size_t head_len,
              const void *data, size_t len);
void link_pause(struct link *link, bool paused);
/* Bytes that wait to be written to the keeper. */
size_t link_backlog(const struct link *link);

/* ---- ask.c: one request to the keeper ---- */

/* What came of it: `ok` is JSON text (what stood under "ok"), or `error` is an object {kind, field, message,
 * …}. Both are valid during the call only. */
struct ask_events {
    void (*output)(void *userdata, enum sc_keeper_stream stream, const void *data, size_t len);
    void (*credit)(void *userdata); /* more input may go */
    /* Last, once; the ask is gone afterwards. */
    void (*done)(void *userdata, const char *ok, size_t len, const json_t *error);
};

struct ask {
    TAILQ_ENTRY(ask) entry; /* of the link's, or of the gate's waiting */
    struct gate *gate;
    struct link *link; /* NULL: waits for one */
    const struct ask_events *events;
    void *userdata; /* NULL: nobody listens any more */
    bool streams;   /* wants a link of its own */
    bool cancelled;
    uint64_t since_ns;
    uint16_t channel;
    char *text; /* what is asked, until it was sent */
    size_t len;
    size_t credit;
    struct sc_keeper_text reply;
};

/* `request` is taken; `as` is the token of whom it is for, or NULL. NULL: refused; *ret_why is an errno
 * (-ENOMEM, -EMSGSIZE, -EAGAIN: too many wait), and nothing will be called. */
struct ask *ask_begin(struct gate *gate, json_t *request, const char *as, bool streams,
                      const struct ask_events *events, void *userdata, int *ret_why);
/* At most ask->credit bytes. */
int ask_input(struct ask *ask, const void *data, size_t len);
int ask_input_end(struct ask *ask);
/* It ends early; `done` still comes. */
void ask_cancel(struct ask *ask);
int ask_resize(struct ask *ask, uint16_t rows, uint16_t cols);
/* Nobody listens any more: cancelled, and nothing is called. */
void ask_forget(struct ask *ask);
/* The link's side. */
void ask_send(struct ask *ask);
void ask_take(struct ask *ask, const struct sc_frame *frame, const uint8_t *payload);
void ask_fail(struct ask *ask, const char *kind, const char *message);

/* ---- fields.c: tables of what a request may hold ---- */

enum field_type {
    FIELD_TEXT,
    FIELD_BOOL,
    FIELD_INTEGER,
    FIELD_NUMBER,
    FIELD_NAME,   /* of a context or session: letters, digits, - _ . */
    FIELD_WORD,   /* one of `words` */
    FIELD_MODE,   /* permission bits as octal text */
    FIELD_LABELS, /* object of texts */
    FIELD_SPEC,   /* as the request's field of this name: read by the spec's own reader */
    FIELD_TASK,   /* of a judge's task: build, run, checker, tests */
};

struct field {
    const char *name;
    enum field_type type;
    const char *about; /* for the OpenAPI document */
    bool required;
    double least, most; /* of numbers; of texts the most bytes */
    const char *const *words;
};

/* The fields of `object` by the table, the rest by the spec's reader where rows say so. 0 or a usage error
 * that names the field. */
int fields_check(const struct field *fields, const json_t *object, struct sc_err *err);
/* nested.c: a FIELD_TASK, as far as the gate looks into it. */
int task_check_field(const char *name, const json_t *value, struct sc_err *err);
/* Query text → object with typed values. The caller's reference. */
int fields_from_query(const struct field *fields, const char *query, json_t **ret_object, struct sc_err *err);
/* Percent-decoding in place. `plus`: + is a space. -EINVAL: no such escape, or a NUL. */
int text_unescape(char *text, bool plus);

/* ---- route.c ---- */

enum body_kind {
    BODY_NONE,
    BODY_JSON,
    BODY_STREAM, /* passed on as it comes */
    BODY_LINES,  /* NDJSON: of a batch */
    BODY_WHOLE,  /* kept whole in `raw`, and read by its handler */
    BODY_FED,    /* given to `feed` as it comes */
};

#define ROUTE_PARAMS_MAX 3
#define ROUTE_OPEN (1u << 0)    /* needs no key */
#define ROUTE_SPEC (1u << 1)    /* body: the request of docs/spec.md, with `body` beside its fields */
#define ROUTE_STREAMS (1u << 2) /* answers as events when Accept asks for them */
#define ROUTE_FOLLOWS (1u << 3) /* always does; NDJSON where Accept says nothing */
#define ROUTE_TEXT (1u << 4)    /* its query is read by its handler */
#define ROUTE_E2B (1u << 5)     /* of that protocol: keys and hosts have other forms */
#define ROUTE_ORIGIN (1u << 6)  /* may come with an Origin that could be its Host */
#define ROUTE_PASSES (1u << 8)  /* the last of the path and the query stay as they came */
#define ROUTE_FOREIGN (1u << 7) /* a protocol of its own: not in the OpenAPI document */

struct route {
    const char *method;
    const char *path; /* "/v1/sessions/{session}/files/{path*}": the last takes the rest */
    unsigned flags;
    enum body_kind body_kind;
    const struct field *query, *body; /* or NULL: none */
    /* All of the body is there, or, of BODY_STREAM, its first bytes may come. Answers, or begins an ask. */
    void (*start)(struct request *request);
    const char *group, *summary, *answer; /* answer: schema's name, or a media type */
    unsigned status;                      /* of success */
    /* How its errors look; NULL: problem documents. `more`: the keeper's error object, or NULL. */
    void (*refuse)(struct request *request, const char *kind, const char *field, const char *message,
                   const json_t *more);
};

extern const struct route ROUTES[], E2B_ROUTES[], E2B_PORT_ROUTES[]; /* each ends with method NULL */
/* NULL: *ret_status is 404 or 405, and then *ret_allowed lists methods. */
const struct route *route_find(const struct route *table, const char *method, char *path,
                               char *ret_params[ROUTE_PARAMS_MAX], unsigned *ret_status, char *ret_allowed,
                               size_t size);

/* ---- http.c ---- */

#define SC_GATE_WINDOW (512u * 1024) /* of output that waits for a client */
#define URI_MAX 16384
#define SC_GATE_BATCH_LANES_MAX 64 /* jobs of one batch at once */

#define TOKEN_MAX 129

/* One connection of a client. */
struct person {
    TAILQ_ENTRY(person) entry;
    struct MHD_Connection *connection;
    int sock;
    bool tcp, debug;
    uint64_t since_ns;      /* idle since, or when its request began */
    char token[TOKEN_MAX];  /* whom the keeper takes it for; "": not asked yet */
    char tenant[TOKEN_MAX]; /* its name */
    char *key;              /* that the token was given for; NULL: the kernel's word */
    unsigned generation;    /* of the keeper that gave it */
    bool known;             /* has asked something already */
    bool operator;          /* of the service: sees what all do */
    bool has_network;       /* its cells may have some */
    bool busy, reading;     /* reading: a body that is kept */
};

struct request {
    TAILQ_ENTRY(request) entry;
    struct gate *gate;
    struct MHD_Connection *connection;
    struct person *person;
    const struct route *route;
    char *uri;    /* path and query as they came; cut and decoded in place */
    char key[96]; /* that was given in another form */
    char *params[ROUTE_PARAMS_MAX];
    const char *query_text; /* as it came; "" */
    json_t *query, *body;
    const char *raw_query; /* of a route that passes it on; NULL: none came */
    struct sc_buf raw;     /* of a JSON body */
    bool seen, headed, identified, started, answered, queued, suspended, counted;
    bool watched, ends_connection;
    size_t unwanted;   /* bytes of a body after the answer is known */
    struct watch gone; /* the client's socket, while suspended */
    struct ask *ask;
    unsigned success; /* status of what the ask brings */

    unsigned status;
    struct MHD_Response *response;

    /* Of a stream in either direction. */
    struct sc_buf out; /* waits for the client */
    size_t out_at;
    bool out_ended, out_broken, reader_sleeps, keeps;
    bool in_ended;
    enum { FRAMING_RAW, FRAMING_SSE, FRAMING_NDJSON } framing;
    char *visit; /* a session that is there for this request alone, or NULL */
    void (*go)(struct request *request);
    struct command *command;                 /* that this request follows */
    void (*forget)(struct request *request); /* the command is over, or nobody follows it */
    struct command *feeds;                   /* whose input this request's body is */
    /* Of BODY_FED: takes so many of the bytes; 0: none now, body_wake tells when. Then its end. */
    size_t (*feed)(struct request *request, const char *data, size_t len);
    void (*fed)(struct request *request);
    void (*more)(struct request *request); /* a stream may go on: its client took some, or a second passed */
    void (*cut)(struct request *request);  /* its connection is not libmicrohttpd's any more: ends it */
    void *of_handler;
    void (*free_handler)(struct request *request);
};

int http_open(struct gate *gate);
void http_close(struct gate *gate);
/* Requests may go on: called by the loop. */
void http_sweep(struct gate *gate);
/* Takes no new clients. */
void http_quiesce(struct gate *gate);
/* Nothing is under way, nor about to be. */
bool http_is_idle(const struct gate *gate);

/* ---- answer.c ---- */

/* Suspends the request until body_wake, or until its client is gone. */
void request_sleep(struct request *request);
void request_unwatch(struct request *request);
/* Hands the answer to libmicrohttpd. */
enum MHD_Result answer_queue(struct request *request);
/* Answers; each once. `text` is taken. */
void answer_text(struct request *request, unsigned status, const char *type, char *text, size_t len);
void answer_json(struct request *request, unsigned status, json_t *value);
void answer_empty(struct request *request, unsigned status);
/* From now on what stream_* say is the body. */
void answer_stream(struct request *request, unsigned status, const char *type);
/* The same of a body whose size is known. */
void answer_stream_of(struct request *request, unsigned status, const char *type, uint64_t size);
/* More headers; after the answer. */
/* 101, and then the connection's socket is the handler's. False: it was answered with a problem. */
bool answer_upgrade(struct request *request, MHD_UpgradeHandler handler, void *userdata);
void answer_header(struct request *request, const char *name, const char *value);
/* Bytes, or an event with a JSON value, whose reference is taken. */
void stream_bytes(struct request *request, const void *data, size_t len);
void stream_event(struct request *request, const char *event, json_t *value);
/* The same of JSON text. */
void stream_event_text(struct request *request, const char *event, const char *text, size_t len);
void stream_end(struct request *request);
/* Its end is an error: the client sees that the body is cut. */
void stream_break(struct request *request);
/* The body's next bytes may come. */
void body_wake(struct request *request);
/* Which events the client asked for: FRAMING_RAW when it asked for none. */
int accepted_framing(struct request *request);

/* ---- problem.c: RFC 9457 ---- */

void problem(struct request *request, const char *kind, const char *field, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void problem_err(struct request *request, const struct sc_err *err);
/* From an error of the keeper's. */
void problem_keeper(struct request *request, const json_t *error);
void problem_begin(struct request *request, int why); /* of ask_begin */
/* Heap text of a problem document and its status. */
char *problem_text(const char *kind, const char *field, const char *message, const json_t *more,
                   unsigned *ret_status);
struct problem_row {
    const char *kind;
    unsigned status;
    const char *title;
};
extern const struct problem_row PROBLEMS[]; /* ends with kind NULL */

/* ---- who.c ---- */

/* Host and Origin. True: may go on; else it was answered. */
bool who_may(struct request *request);
/* The name, and the port behind it, under which this client would reach PORT-ID.NAME; NULL: none is known. */
const char *who_domain(const struct request *request, char *room, size_t size);
/* Exchanges key or peer for a token. 1: there is one already; 0: it was asked for, and the request is woken
 * when it is there or answered when not. */
int who_identify(struct request *request);

/* ---- e2b/ ---- */

/* Is this one of that protocol's where both have the path? */
bool e2b_wants(const struct request *request);
/* A key in the form of that protocol's, "e2b_…", as ours; another one as it is. NULL: none can be made. */
const char *e2b_key(const char *given, char *room, size_t size);
/* The domain of "49983-ID.DOMAIN", with the port that stands behind it; NULL: of another form. */
const char *e2b_domain(const char *host);
/* Is this one for a port of a sandbox's, whatever its path? Then it has this route; NULL: not with that
 * method. */
bool e2b_wants_port(const struct request *request);
const struct route *e2b_port_route(const char *method);
/* Of a client in debug mode: as who_identify. */
int e2b_debug_enter(struct request *request);
/* The gate ends. */
void e2b_close(struct gate *gate);

/* ---- commands.c ---- */

struct ask *command_ask(const struct command *command);
/* The body that fed a command is at its end: answers. */
void command_fed(struct request *request);
/* The request goes before that. */
void command_unfed(struct request *request);

/* ---- batch.c ---- */

/* Bytes of the body, and its end. */
void batch_fed(struct request *request, const void *data, size_t len);
void batch_fed_all(struct request *request);

/* ---- mcp_peer.c: clients of /mcp, between their requests ---- */

uint64_t mcp_due_ns(const struct gate *gate); /* when mcp_tick has something to do */
void mcp_tick(struct gate *gate);
/* Ends those that are silent, and of a gate that is draining all that only wait. */
void mcp_sweep(struct gate *gate);
/* None is left. */
bool mcp_is_over(const struct gate *gate);
void mcp_end_all(struct gate *gate);
void mcp_close(struct gate *gate);

/* ---- handlers ---- */

/* clang-format off */
#define HANDLERS(X)                                                                                          \
    X(health) X(ready) X(openapi) X(docs) X(metrics) X(run) X(check) X(session_create) X(session_list)       \
    X(session_get) X(session_delete) X(session_run) X(session_exec) X(session_metrics) X(contexts)           \
    X(context_restart) X(network) X(interrupt) X(keepalive) X(session_fork) X(session_snapshot)              \
    X(session_pause) X(session_resume) X(session_rollback) X(snapshot_list) X(snapshot_get) X(snapshot_delete) X(command_start)                 \
    X(command_list) X(command_stdin) X(command_signal) X(command_resize) X(file_read) X(file_write)          \
    X(file_remove) X(file_change) X(list) X(stat) X(mkdir) X(events) X(templates) X(host) X(watch)           \
    X(tar_out) X(tar_in) X(batch) X(port) X(judge) X(mcp_post) X(mcp_get) X(mcp_delete)
#define X(name) void handle_##name(struct request *request);
HANDLERS(X)
/* clang-format on */
#undef X

/* The simplest use: begin, and answer with what came under "ok", or a problem. */
void ask_and_answer(struct request *request, json_t *message, unsigned status);
/* {"request": NAME, "session": of the path} */
json_t *message_of(struct request *request, const char *name);
/* The same with the body's fields. */
json_t *message_with_body(struct request *request, const char *name);
/* A session from a snapshot, as the body's `from` names it. */
void session_start_from(struct request *request);
/* 201 with the value, and where to find what was made: `prefix` and the value's text `member`. */
void answer_made(struct request *request, const char *ok, size_t len, const char *member, const char *prefix);
/* What the keeper tells of a session that is a snapshot, as clients are told it. */
json_t *snapshot_of(const json_t *session);

#endif
