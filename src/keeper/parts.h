/* The keeper's parts, private to this folder.
 *
 *     client ── peer ── call ── session ── sc_session, sc_live
 *
 * A peer is one connection. A call is one request that was not answered at once; it belongs to its session
 * and holds its peer for as long as that is there. Everything happens on the one thread of the event loop.
 * The callbacks of a session come from sc_session_step only, so that nothing here is called while it works on
 * a request.
 */
#ifndef SC_KEEPER_PARTS_H
#define SC_KEEPER_PARTS_H

#include <event2/bufferevent.h>
#include <event2/event.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "host/host.h"
#include "keeper/entries.h"
#include "keeper/identity.h"
#include "keeper/keeper.h"
#include "keeper/notes.h"
#include "keeper/place.h"
#include "keeper/request.h"
#include "keeper/wire.h"
#include "plan/plan.h"
#include "snap/fill.h"
#include "snap/pool.h"
#include "snap/session.h"

#define SC_ACCESS 65 /* 64 hexadecimal digits, with its NUL */

struct admission {
    TAILQ_HEAD(, tenant) turns; /* those for whom something waits */
    struct event *turn, *tick;
    unsigned n_queued, n_running;
    uint64_t virtual_ns; /* of the tenant whose turn was last */
    struct sc_pressure pressure;
    uint64_t looked_ns;
};

struct keeper {
    const struct sc_keeper_options *options;
    struct event_base *base;
    struct event *idle;
    struct event *door;            /* NULL: no gate */
    int state;                     /* folder, or -1 */
    struct identities *identities; /* with a gate */
    struct admission admission;
    struct counts counts;
    struct sc_audit *audit;       /* with a gate */
    uint64_t nobodies, nobody_ns; /* refused since the last record of them, and when that was */
    uint64_t since_ns;
    TAILQ_HEAD(, watcher) watchers;
    TAILQ_HEAD(, judging) judgings;
    struct journal *journal; /* with a gate */
    struct sc_keeper_place place;
    TAILQ_HEAD(, peer) peers;
    TAILQ_HEAD(, keeper_session) sessions;
    TAILQ_HEAD(, shape) shapes;
    struct event *refill, *hatch; /* warm.c: cells that wait; zygotes that do not */
    unsigned n_peers, n_gates, n_sessions, n_judgings, n_shapes;
    uid_t uid;
};

/* Starts or stops the idle clock. To be called when a peer or a session came or went. */
void keeper_watch_idle(struct keeper *keeper);

/* Who asks: a user at the keeper's own socket, or a tenant that a gate speaks for. */
struct caller {
    struct keeper *keeper;
    uid_t uid;
    struct tenant *tenant; /* NULL: at the keeper's own socket */
    char key[SC_KEY_ID];   /* of the tenant; "": a user */
};

/* ---- door.c: a gate's way in ---- */

int door_open(struct keeper *keeper, struct sc_err *err);
void door_close(struct keeper *keeper);
/* Takes what waits there. */
void door_look(struct keeper *keeper);

/* ---- policy.c: what a tenant may ask for ---- */

/* NULL: this request is fine. Else the reply that refuses it. */
char *policy_refuse(const struct sc_quota *quota, const struct sc_keeper_request *request);

/* The same of a session that is resumed: what its tenant may do may have changed. */
char *policy_refuse_stored(const struct sc_quota *quota, const struct sc_spec *spec);
/* The total time of a session: what was asked for, or 0: what is usual, within what the tenant may have.
 * `tenant` NULL: a user's. */
uint64_t policy_total_ns(const struct tenant *tenant, uint64_t asked_ns, uint64_t usual_ns);

/* Once, after the template's rules were added to the request's: adds the tenant's. */
int policy_network(const struct caller *caller, struct sc_spec *spec, struct sc_err *err);

/* ---- room.c: what cells take of their tenant's quota ---- */

/* Now, and when nothing else of the tenant's is there. */
bool room_has(const struct tenant *tenant, const struct need *need);
bool room_may_ever(const struct sc_quota *quota, const struct need *need);
void room_need_of(const struct sc_limits *limits, struct need *ret_need);
/* Of a request's cell, or a task's cells, by the limits that they will have; a template is applied, or what
 * is stored read. */
int room_need(const struct caller *caller, struct sc_keeper_request *request, struct need *ret_need,
              struct sc_err *err);
/* More than the tenant may ever have is no matter of waiting: the reply that refuses it, or NULL. `whole`:
 * what the limits stand in, "spec" or "judge". */
char *room_refuse(const struct sc_quota *quota, const struct need *need, const char *whole);

/* ---- admission.c: whose turn it is ---- */

struct ticket; /* a request that waits for a cell */

int admission_open(struct keeper *keeper);
/* Looked at once in a while. */
bool admission_is_pressed(struct keeper *keeper);
void admission_close(struct keeper *keeper); /* answers who waits */
/* NULL: a request more is within the tenant's rate. Else the reply that refuses it. */
char *admission_rate(const struct caller *caller);
/* Of `once` and `session.start` of a tenant: takes what is in `request`, and answers or calls call_admitted,
 * now or later. */
void admission_ask(const struct caller *caller, struct peer *peer, uint16_t channel,
                   struct sc_keeper_request *request);
/* NULL: a tenant's session may be copied so many times now, as copies do not wait. Else the reply that
 * refuses it. */
char *admission_copies(const struct keeper_session *from, size_t n);
/* What a tenant has of its quota for one thing that was asked for; zeroed: nothing. */
struct share {
    struct need need;
    uint64_t charged_ns, since_ns;
    bool once; /* a single run, or a task */
};
void share_take(const struct caller *caller, const struct need *need, bool once, struct share *ret_share);
void share_give_back(const struct caller *caller,
                     struct share *share); /* once; of nothing: nothing happens */
/* The session has its cell. */
void admission_take(struct keeper_session *session, const struct need *need, bool once);
/* Its cell is gone. Nothing happens when it was not taken. */
void admission_give_back(struct keeper_session *session);
struct ticket *ticket_by_channel(const struct peer *peer, uint16_t channel);
void ticket_cancel(struct ticket *ticket); /* answers */
void tickets_drop(struct peer *peer);      /* without a word */

bool admission_is_pressed(struct keeper *keeper);

/* ---- events.c, metrics.c: what is told of all that happens ---- */

struct watcher;
void events_watch(const struct caller *caller, struct peer *peer, uint16_t channel);
struct watcher *watcher_by_channel(const struct peer *peer, uint16_t channel);
void watcher_cancel(struct watcher *watcher); /* answers */
void watchers_drop(struct peer *peer);
void events_close(struct keeper *keeper); /* answers who watches */
/* `tenant` NULL: it is nobody's. */
void events_tell(struct keeper *keeper, const struct tenant *tenant, const json_t *record);
char *metrics_tell(const struct caller *caller); /* the reply */

/* ---- judging.c: tasks of the judge ---- */

struct judging;
/* Takes nothing of `request`. `need` NULL: it is not a tenant's. */
void judging_begin(const struct caller *caller, struct peer *peer, uint16_t channel,
                   struct sc_keeper_request *request, const struct need *need);
struct judging *judging_by_channel(const struct peer *peer, uint16_t channel);
void judging_cancel(struct judging *judging); /* it still answers */
void judgings_drop(struct peer *peer);        /* without an answer */
void judgings_close(struct keeper *keeper);   /* answers */

/* ---- journal.c: sessions of a keeper that was killed ---- */

/* Takes away what it left. */
int journal_open(struct keeper *keeper, struct sc_err *err);
void journal_close(struct keeper *keeper);
void journal_began(const struct keeper_session *session);
void journal_ended(const struct keeper_session *session); /* called when it is out of the list */
/* Was this one the caller's, and lost? */
bool journal_lost(const struct caller *caller, const char *id);

/* ---- peer.c: one connection ---- */

struct peer {
    TAILQ_ENTRY(peer) entry;
    struct keeper *keeper;
    struct bufferevent *stream;
    enum sc_keeper_kind kind;
    uid_t uid;
    enum sc_keeper_state state;
    struct sc_keeper_text text; /* a request that is not whole */
    TAILQ_HEAD(, call) calls;
    TAILQ_HEAD(, ticket) tickets;
    TAILQ_HEAD(, watcher) watchers;
    TAILQ_HEAD(, judging) judgings;
    unsigned n_calls; /* with tickets, watchers and judgings */
    bool broken;      /* ends as soon as nobody is at work with it */
};

/* Takes `sock` if its other end may speak here. */
void peer_accept(struct keeper *keeper, int sock);
/* Takes `sock`, which came through the door. */
void peer_accept_gate(struct keeper *keeper, int sock);
/* Cancels what it asked for. */
void peer_free(struct peer *peer);
/* Takes nothing more from it. Is there something that still has to go out? */
bool peer_let_out(struct peer *peer);
void peer_output(struct peer *peer, uint16_t channel, enum sc_keeper_stream stream, const void *data,
                 size_t len);
void peer_credit(struct peer *peer, uint16_t channel, size_t bytes);
/* Frees `text`; NULL says that memory ran out. */
void peer_reply(struct peer *peer, uint16_t channel, char *text);
/* Is there room for more output of a cell? */
bool peer_has_room(const struct peer *peer);

/* ---- call.c: one request that takes a while ---- */

struct call {
    TAILQ_ENTRY(call) of_peer;
    TAILQ_ENTRY(call) of_session;
    struct peer *peer; /* NULL: gone, or answered already (background) */
    struct keeper_session *session;
    uint16_t channel;
    struct sc_keeper_request request;
    uint64_t since_ns;
    bool cancelled;
    bool noted; /* its result is in the audit stream */

    bool live; /* a command or file operation: `id`; else a task of the session: `task` */
    uint16_t id;
    uint32_t task;
    uint32_t process; /* of a command: its number in the session */
    pid_t pid;        /* inside the cell */
    struct sc_command_end end;
    bool exited;
    uint64_t written[2], passed[2]; /* bytes of stdout, stderr */
    size_t untaken[2];              /* passed on, but sc_live_took was not told */

    struct evbuffer *input; /* came, but did not fit into the cell yet */
    size_t input_credit;    /* what the client may still send */
    bool input_ended, input_closed;
    struct sc_keeper_entries *entries; /* of listings and watches */
};

/* Takes what is in `request` and answers at once, or makes a call of it. */
void call_begin(struct peer *peer, uint16_t channel, struct sc_keeper_request *request);
/* The turn of a request has come. Takes what is in `request`. */
void call_admitted(const struct caller *caller, struct peer *peer, uint16_t channel,
                   struct sc_keeper_request *request, const struct need *need, uint64_t queued_ns);
struct call *call_by_channel(struct peer *peer, uint16_t channel);
/* Answers (frees `text`) and ends the call. */
void call_finish(struct call *call, char *text);
void call_cancel(struct call *call);
/* False: more than the credit. */
bool call_input(struct call *call, const void *data, size_t len);
void call_input_end(struct call *call);
void call_resize(struct call *call, const struct sc_keeper_size *size);
/* The client has room again. */
void call_room(struct call *call);

extern const struct sc_task_events TASK_EVENTS; /* of a call's task; userdata: the call */
/* Each starts what the call's request asks for; 0, or the story in `err`. */
int task_start(struct call *call, struct sc_err *err); /* task.c: runs, and commands given whole */
int command_start(struct call *call,
                  struct sc_err *err); /* command.c: commands with a client at their streams */
int file_start(struct call *call, struct sc_err *err);  /* file.c */
int check_start(struct call *call, struct sc_err *err); /* check.c */

/* stream.c: what commands and file operations have in common. */
void stream_output(struct call *call, enum sc_stream_number stream, size_t raw);
void stream_input(struct call *call);

/* ---- sessions.c ---- */

struct keeper_session {
    TAILQ_ENTRY(keeper_session) entry;
    struct keeper *keeper;
    char id[SC_KEEPER_NAME_MAX + 1];
    json_t *metadata; /* the client's own words, told again; or NULL */
    uid_t owner;
    struct tenant *tenant; /* NULL: the user's above, at the keeper's own socket */
    char key[SC_KEY_ID];   /* that it was started with; or "" */
    json_t *subject;       /* what the audit stream tells of its spec; or NULL */
    struct need need;      /* of the tenant's quota, while it has it */
    uint64_t charged_ns, queued_ns;
    bool once;
    uint64_t since_ns;
    struct sc_spec spec;
    struct sc_host host;
    struct sc_plan *plan;
    struct sc_works *works;
    struct sc_session *session;
    struct shape *shape;     /* of one run: where its cell is from; plan and works above are not used then */
    struct sc_fill *fill;    /* its files, on their way */
    struct call *unserved;   /* its run, which another cell shall serve */
    unsigned cells_lost;     /* before this one, for the same run */
    struct rest *rest;       /* while it is packed or unpacked */
    struct forking *forking; /* while copies of it are made, or its place is taken; else NULL */
    struct keeper_session *above; /* that it is a copy of; it stays for as long. NULL: none */
    char parent[SC_KEEPER_NAME_MAX + 1], snapshot[SC_KEEPER_NAME_MAX + 1]; /* whose copy it is; "": none */
    unsigned generation;          /* how many copies from the first */
    bool is_unborn;               /* a copy that is not ready yet, or never will be: told to nobody */
    bool wants_forks;             /* was asked to be forkable; a rollback asks for its session */
    bool is_snapshot, is_retired; /* the latter: over, answered, and there for its copies only */
    const char *busy;             /* why nothing else can be asked of it now, or NULL */
    int vault_lock;               /* of what lies on disk under its name; -1: nothing of its own */
    bool is_resumed, is_paused, is_forgotten; /* the last: what lies on disk goes with it */
    uint64_t paused_bytes;
    char access[SC_ACCESS]; /* who has this may work in it; "": nobody asked for it yet */
    enum sc_start start;
    uint64_t zygote_age_ns;
    uint64_t parked_ns, before_ns; /* from the request to the hand-over */
    struct event *readable, *timer;
    TAILQ_HEAD(, call) calls;
    uint32_t last_process;
    bool ending; /* its end was asked for */
    bool over;
    char why[32], message[256];
};

/* Takes request->spec. */
int session_open(const struct caller *caller, struct sc_keeper_request *request,
                 struct keeper_session **ret_session, struct sc_err *err);
/* Kills what is left; calls that were not answered are now. */
void session_close(struct keeper_session *session);
/* One for a single run: without a name, in no list that is told. */
int session_open_once(const struct caller *caller, struct sc_keeper_request *request,
                      struct keeper_session **ret_session, struct sc_err *err);
/* NULL: there is none that the caller may use. */
struct keeper_session *session_find(const struct caller *caller, const char *id);
/* After anything was asked of it: its clocks may have changed. */
void session_arm(struct keeper_session *session);
/* After a step: a run whose parked cell died before it could have had it is served by another cell. */
void session_serve_again(struct keeper_session *session);
/* Heap JSON texts. */
char *session_describe(const struct keeper_session *session);
char *session_list(const struct caller *caller);

/* One that is paused, in a new cell; its files are not in it yet. `need`: what was found before its turn;
 * NULL of users. */
int session_open_paused(const struct caller *caller, struct sc_keeper_request *request,
                        const struct need *need, struct keeper_session **ret_session, struct sc_err *err);

/* A copy of a session, in the list but not told of yet. */
struct keeper_copy {
    struct keeper_session *from;
    const char *name;           /* NULL: a random one */
    uint64_t idle_ns, total_ns; /* 0: as ever */
    bool is_forkable, is_nameless, is_snapshot;
};
int session_open_copy(const struct keeper_copy *how, struct keeper_session **ret_session, struct sc_err *err);

/* ---- access.c: a session's own secret ---- */

/* The request `session.access`: makes the secret when it is asked for first. */
char *access_tell(const struct caller *caller, struct keeper_session *session,
                  struct sc_keeper_request *request);
/* Whom a request with `access` is for. Else the reply that refuses it. */
char *access_use(const struct sc_keeper_request *request, struct caller *ret_caller);

/* ---- time.c ---- */

/* The request `session.time`: when the session ends in any case. */
char *time_set(const struct caller *caller, struct keeper_session *session,
               struct sc_keeper_request *request);

/* ---- fork.c: copies of living sessions ---- */

int fork_start(struct call *call, struct sc_err *err); /* snapshots, too */
int rollback_start(struct call *call, struct sc_err *err);
void fork_let_go(struct keeper_session *session); /* its calls are answered */

/* ---- rest.c, rest_list.c: sessions that are paused ---- */

int pause_start(struct call *call, struct sc_err *err);
int resume_start(struct call *call, struct sc_err *err);
void rest_cancel(struct call *call); /* either of them */
/* For a session that is being made: finds what is stored, and takes spec and times from it. */
int rest_open(const struct caller *caller, struct keeper_session *session, struct sc_keeper_request *request,
              struct sc_err *err);
/* The same before its turn, with nothing held: the spec becomes the request's. */
int rest_spec(const struct caller *caller, struct sc_keeper_request *request, struct sc_err *err);
/* Whose folder of the store: NULL of users. */
const char *rest_store(const struct tenant *tenant);
/* Of a manifest, or of what is told of one. */
bool rest_may_use(const struct caller *caller, const json_t *manifest);
/* Its session is freed. */
void rest_let_go(struct keeper_session *session);
/* One that is paused and that the caller may use: a new reference, or NULL. */
json_t *rest_tell(const struct caller *caller, const char *name);
int rest_list(const struct caller *caller, json_t *list); /* adds them all; 0 or -1 */
/* Removes it: the reply, or NULL when there is none. */
char *rest_end(const struct caller *caller, const char *name);

/* ---- about.c: what there is, before a cell is asked for ---- */

char *about_templates(const struct caller *caller, struct keeper_session *none,
                      struct sc_keeper_request *request);
char *about_host(const struct caller *caller, struct keeper_session *none, struct sc_keeper_request *request);

/* ---- once.c: a single run in a session of its own ---- */

int once_start(struct call *call, struct sc_err *err);
/* What its result tells beside a session's. Its cell is ended. */
void once_done(struct call *call, struct sc_result *result);
/* The same, when nothing of it ran because it was asked wrongly. */
void once_refused(struct call *call);
/* The call: its parked cell died before it could have had the run. session_serve_again does the rest. */
void once_unserved(void *userdata);
extern const struct sc_task_events ONCE_WARM_EVENTS; /* of a run in a cell that was parked */

/* ---- warm.c: what cells of one run are made from, and those that are made ahead ---- */

/* A plan and its works; with a key also a pool, and kept for the next requests of its shape. */
struct shape {
    TAILQ_ENTRY(shape) entry;
    struct keeper *keeper;
    char *key; /* NULL: it serves one request */
    uid_t owner;
    struct tenant *tenant; /* as a session's */
    struct sc_spec spec;
    struct sc_host host;
    struct sc_plan *plan;
    struct sc_works *works;
    struct sc_spec fork_spec; /* the same, forkable: of its zygotes */
    struct sc_plan *fork_plan;
    struct sc_works *fork_works; /* NULL: none are wanted, or fork_err tells why there are none */
    struct sc_err fork_err;
    struct sc_prelude prelude; /* that the pool's interpreters load */
    bool is_own_prelude;       /* all of it is the template's */
    bool is_noted;             /* its trouble stands in the store */
    struct sc_pool *pool;
    struct event *readable, *timer;
    unsigned users; /* sessions */
    uint64_t made_ns, used_ns;
};

/* Checks `spec` and finds or makes the shape it is served by, with one user more. When that serves only this
 * request, it has taken what was in `spec`. */
int shape_get(const struct caller *caller, struct sc_spec *spec, struct shape **ret_shape,
              struct sc_err *err);
void shape_let_go(struct shape *shape); /* one user less; NULL is fine */
/* A parked cell, or NULL. */
struct sc_session *shape_take(struct shape *shape, const struct sc_session_options *options,
                              const struct sc_session_events *events, struct sc_pool_origin *ret_origin);
/* Why a run of this shape was not served by a fork, or cold; NULL: it was, or there is nothing to tell. */
const char *shape_trouble(const struct shape *shape, const struct keeper_session *session);
unsigned warm_parked(const struct keeper *keeper); /* cells of all pools */
unsigned warm_blanks(const struct keeper *keeper); /* blank ones */
int warm_open(struct keeper *keeper);
void warm_close(struct keeper *keeper); /* after the sessions */

#endif
