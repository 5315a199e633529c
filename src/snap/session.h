/* A session: a living cell with interpreters that keep their state. Runs of code go into contexts; commands
 * and file operations stand beside them. It ends by sc_session_end, by its idle or total time-out, or when
 * its cell dies.
 *
 * An event source like sc_live (cell/live.h), which it drives: same rules for the loop and for callbacks.
 */
#ifndef SC_SNAP_SESSION_H
#define SC_SNAP_SESSION_H

#include "cell/cell.h"
#include "cell/live.h"
#include "result/result.h"
#include "snap/prelude.h"
#include "spec/spec.h"

struct sc_session;

#define SC_SESSION_CONTEXTS_MAX 16
#define SC_SESSION_TASKS_MAX 256 /* runs and commands, waiting or under way */
#define SC_SESSION_NAME_MAX 64   /* of a context: letters, digits, "-", "_", "." */

struct sc_session_options {
    uint64_t idle_ns;   /* without a request; 0: SC_SESSION_IDLE_NS. From 1 s to 24 h */
    uint64_t total_ns;  /* 0: SC_SESSION_TOTAL_NS. From 1 s to 7 d */
    bool end_on_memory; /* the kernel's first kill for memory ends the session, as it ends a single run */
};
#define SC_SESSION_IDLE_NS (300 * SC_NS_PER_S)
#define SC_SESSION_TOTAL_NS (3600 * SC_NS_PER_S)

struct sc_session_events {
    void *userdata;
    /* Once: the session is over, all its runs have been answered. why: "ended", "paused", "idle", "total",
     * "out_of_memory", "failed". */
    void (*ended)(void *userdata, const char *why, const char *message);
};

/* `works` is of a plan that stays; it must outlive the session. The spec's files and folders are put into the
 * work folder first: the one thing here that waits, while the cell takes them. */
int sc_session_open(struct sc_works *works, const struct sc_session_options *options,
                    const struct sc_session_events *events, struct sc_session **ret_session,
                    struct sc_err *err);
/* The same with rules of its own, where the works' plan has a network. */
int sc_session_open_networked(struct sc_works *works, const struct sc_net *net,
                              const struct sc_session_options *options,
                              const struct sc_session_events *events, struct sc_session **ret_session,
                              struct sc_err *err);
/* The same in a cell below `above`, which is of the same works, of a forkable plan. It ends with it, and must
 * be closed before it. */
int sc_session_open_below(struct sc_works *works, struct sc_session *above,
                          const struct sc_session_options *options, const struct sc_session_events *events,
                          struct sc_session **ret_session, struct sc_err *err);
/* The same for a copy of `above`, as sc_session_fork makes it: it is empty. A `forkable` one can be forked in
 * turn. */
int sc_session_open_copy(struct sc_session *above, bool forkable, const struct sc_session_options *options,
                         const struct sc_session_events *events, struct sc_session **ret_session,
                         struct sc_err *err);
void sc_session_close(struct sc_session *session); /* kills what is left; NULL is fine */
int sc_session_fd(const struct sc_session *session);
uint64_t sc_session_next_ns(const struct sc_session *session);
int sc_session_step(struct sc_session *session, struct sc_err *err);
void sc_session_end(struct sc_session *session);        /* `ended` follows */
void sc_session_end_paused(struct sc_session *session); /* the same; it says "paused" */
/* For file operations and commands of the caller's own; sc_session_touch afterwards, as they are requests. */
struct sc_live *sc_session_live(struct sc_session *session);
void sc_session_touch(struct sc_session *session);

/* What one run may use. From the session's plan unless the request lowers or raises them. */
struct sc_run_limits {
    uint64_t wall, cpu; /* ns */
    uint64_t stdout, stderr;
};
void sc_session_default_limits(const struct sc_session *session, struct sc_run_limits *ret_limits);
/* The same with times of a request's own; 0: not given. Without one, the processor time follows from the wall
 * clock given, as in a spec. */
void sc_session_limits(const struct sc_session *session, uint64_t wall_ns, uint64_t cpu_ns,
                       struct sc_run_limits *ret_limits);

struct sc_task_events {
    void (*output)(void *userdata, int stream, const void *data, size_t len); /* kept part, as it comes */
    /* One display as JSON text (docs/runner-protocol.md), as it comes. Said from inside. */
    void (*display)(void *userdata, const char *json, size_t len);
    /* Once, the last: `result` is the callee's for the call; sc_result_move takes it along. */
    void (*done)(void *userdata, struct sc_result *result);
    /* Instead of `done`: it was asked wrongly, which only its reading told, and nothing of it ran. NULL: that
     * is a result as well. */
    void (*refused)(void *userdata, const struct sc_err *err);
    /* Instead of `done`: its interpreter, or the cell, died before it could have had all of the run, so that
     * nothing of it ran, and nobody had asked for its end. NULL: that is a result as well. */
    void (*unserved)(void *userdata);
};

/* Code in a context. Runs of one context wait for each other in their order; contexts run side by side. */
struct sc_session_run {
    enum sc_lang lang;   /* PYTHON, NODE, BASH */
    enum sc_mode mode;   /* RICH or RESTRICTED; a context keeps the mode it was made with */
    const char *context; /* NULL: the language's own. Made at its first run */
    const char *code;
    size_t code_len;
    const char *stdin_data; /* NULL: at its end */
    size_t stdin_len;
    struct sc_run_limits limits;
    const struct sc_validate *validate; /* of this run; NULL: what the session's spec asks for */
    const char *const *env; /* NULL-ended NAME=VALUE, added to the interpreter's own; NULL: none */
};
int sc_session_run(struct sc_session *session, const struct sc_session_run *run,
                   const struct sc_task_events *events, void *userdata, uint32_t *ret_task,
                   struct sc_err *err);

/* Starts an interpreter ahead of the first run of its kind, which needs no context's name then. It loads the
 * prelude first, which stays until then; NULL: none. */
int sc_session_prepare(struct sc_session *session, enum sc_lang lang, enum sc_mode mode,
                       const struct sc_prelude *prelude, struct sc_err *err);
/* A context whose state is gone: its next run, of this language and mode only, is told so. */
int sc_session_remember(struct sc_session *session, const char *name, enum sc_lang lang, enum sc_mode mode,
                        struct sc_err *err);
/* The same for one that runs nothing, but is forked; the session's plan is `forkable`. */
int sc_session_prepare_zygote(struct sc_session *session, enum sc_lang lang, enum sc_mode mode,
                              const struct sc_prelude *prelude, struct sc_err *err);
/* Into a session that was opened below the zygote's: a fork of its interpreter, which is as one that was
 * prepared. When it cannot be, as is told later, the next run starts an interpreter of its own. */
int sc_session_fork_runner(struct sc_session *session, enum sc_lang lang, enum sc_mode mode,
                           struct sc_err *err);
/* False also when the fork failed, and an interpreter was started in its place. */
bool sc_session_is_forked(const struct sc_session *session, enum sc_lang lang, enum sc_mode mode);
/* Sessions below it that are not closed. A session with some ends as any, but its cell stays, without
 * programs: it is to be stepped on, and closed after them. */
unsigned sc_session_below(const struct sc_session *session);
/* 1: it waits for its run, or to be forked; 0: not yet; -ESRCH: it, or the cell, is gone; -EBADMSG: its
 * prelude failed, as sc_session_trouble tells. */
int sc_session_is_prepared(const struct sc_session *session, enum sc_lang lang, enum sc_mode mode);
#define SC_NOT_FORKABLE "not forkable: "
/* What of a prelude failed, with its traceback, or why a zygote can not be forked, after the words above;
 * NULL: nothing did. Said from inside. */
const char *sc_session_trouble(const struct sc_session *session);
/* What of a session can be copied: its files, and the memory of its Python context, when no other context has
 * an interpreter and nothing is under way. 0; USAGE -EBUSY: not now; USAGE -EOPNOTSUPP: not it. */
int sc_session_may_fork(const struct sc_session *session, struct sc_err *err);
/* `r` 0: the copies are ready. Negative: the copies are to be ended; the session is as before. */
typedef void sc_session_forked(void *userdata, int r, const struct sc_err *err);
/* Makes copies of what sc_session_open_copy has opened below it. `done` follows from a step of any of them,
 * which are all stepped by this thread; until then nothing else may be asked of them. */
int sc_session_fork(struct sc_session *session, struct sc_session *const *copies, size_t n_copies,
                    sc_session_forked *done, void *userdata, struct sc_err *err);
/* The times that it was opened with. */
void sc_session_times(const struct sc_session *session, uint64_t *ret_idle_ns, uint64_t *ret_total_ns);
/* Whether it was started so that it can be. */
bool sc_session_is_forkable(const struct sc_session *session);
/* Of one in whose cell nothing was asked for yet. 1: it is sealed; 0: not yet; -ESRCH: it is gone. */
int sc_session_is_sealed(const struct sc_session *session);
/* A closer look at the same, just before it is used: it is still as it was made (sc_live_is_blank). */
bool sc_session_is_blank(const struct sc_session *session);
/* Another owner takes it, with other events (NULL: none); its clocks start anew. */
int sc_session_adopt(struct sc_session *session, const struct sc_session_options *options,
                     const struct sc_session_events *events, struct sc_err *err);

/* A command, its stdin given whole. With `background` its end does not end its children. */
struct sc_session_exec {
    const char *const *argv;
    const char *const *env; /* on top of the session's; NULL: none */
    const char *cwd;
    const char *stdin_data;
    size_t stdin_len;
    struct sc_run_limits limits;
    bool background;
};
int sc_session_exec(struct sc_session *session, const struct sc_session_exec *exec,
                    const struct sc_task_events *events, void *userdata, uint32_t *ret_task,
                    struct sc_err *err);

/* Reads code by rules and runs nothing of it; `done` as of sc_checker_check (snap/checker.h), unless the
 * session is closed before. It waits for no run. */
struct sc_check_report;
int sc_session_check(struct sc_session *session, enum sc_lang lang, const char *code, size_t len,
                     const struct sc_validate *validate,
                     void (*done)(void *userdata, const struct sc_check_report *report,
                                  const struct sc_err *err),
                     void *userdata, struct sc_err *err);

/* Interrupts a run (its state stays) or kills a command; the task then ends with status CANCELLED. A run that
 * does not heed it is killed with its context. -ESRCH: no such task. */
int sc_session_cancel(struct sc_session *session, uint32_t task);
/* Forgets a context's state: its interpreter is killed, the next run starts a new one. -ENOENT. */
int sc_session_restart(struct sc_session *session, const char *context);
/* As sc_live_set_network, sc_live_take_network. */
int sc_session_set_network(struct sc_session *session, const struct sc_net *net, struct sc_err *err);
int sc_session_take_network(struct sc_session *session, const struct sc_net *net, struct sc_err *err);
/* Its total time ends so long from now. USAGE when it would then live longer than any may. */
int sc_session_set_left(struct sc_session *session, uint64_t left_ns, struct sc_err *err);
uint64_t sc_session_age_ns(const struct sc_session *session);
/* Heap JSON text: contexts, tasks, age, time left, usage. NULL when memory ran out. */
char *sc_session_describe(const struct sc_session *session);

/* One run in a fresh cell of `works`, whatever the spec's mode: SC_MODE_PLAIN by sc_cell_run, the others by a
 * session that ends with it. Blocking; same contract as sc_cell_run. */
int sc_run_once(struct sc_works *works, const struct sc_callbacks *callbacks, uint64_t queue_ns,
                struct sc_result *result, struct sc_err *err);

#endif
