/* What the files of a session share.
 *
 * Theory of operation. A session is a living cell (cell/live.h) and three lists: tasks, what was asked for
 * and is not answered yet; contexts, the names under which interpreters keep state; processes, the runners
 * and commands in the cell. A run waits in its context's queue, is handed to the runner that serves the
 * context, and is finished by the runner's result or by its death. A command is a task with a process of its
 * own.
 *
 * To finish a task is to judge it and move it to the list of finished ones; `done` is called at the end of
 * the step, when no list is being walked. A process leaves its list when the agent says that nothing of it is
 * left, which may be long after its task was answered. When the cell itself dies, its processes go without an
 * end of their own, and their tasks wait for the reason, which comes last.
 */
#ifndef SC_SNAP_SESSION_PARTS_H
#define SC_SNAP_SESSION_PARTS_H

#include "base/buf.h"
#include "cell/run.h"
#include "snap/checker.h"
#include "snap/runner.h"
#include "snap/session.h"

/* From the start of an interpreter to its first word. */
#define SC_READY_PATIENCE_NS (20 * SC_NS_PER_S)
/* How long an interrupted run may take to end by itself. */
#define SC_INTERRUPT_PATIENCE_NS (500 * SC_NS_PER_MS)
/* For all of a prelude. */
#define SC_PRELUDE_PATIENCE_NS (60 * SC_NS_PER_S)
/* From the kill of a process tree to its end; then the cell ends. */
#define SC_DEATH_PATIENCE_NS (20 * SC_NS_PER_S)

/* Why we are ending a task; the first reason stays. */
enum sc_stop { SC_STOP_NONE = 0, SC_STOP_WALL, SC_STOP_CPU, SC_STOP_OUTPUT, SC_STOP_CANCEL };
enum sc_task_state { SC_TASK_READING, SC_TASK_WAITING, SC_TASK_RUNNING, SC_TASK_FINISHED };

struct sc_task {
    struct sc_task *next;
    struct sc_session *session;
    uint32_t id;
    enum sc_task_state state;
    enum sc_stop stop;
    bool background;
    struct sc_task_events events;
    void *userdata;
    struct sc_run_limits limits;
    struct sc_context *context; /* NULL: of a command */
    struct sc_process *process; /* that serves it, or starts for it */
    char run_id[SC_RUNNER_ID_LEN + 1];
    struct sc_buf input; /* what is sent to the process, and how much of it is */
    size_t input_done;
    uint64_t asked_ns, begun_ns, started_ns; /* 0: not yet */
    uint64_t kill_ns;                        /* the interrupt's patience ends; 0: none was sent */
    uint64_t cpu_ns;                         /* its share so far */
    struct sc_live_view base;                /* the cell as it was at the hand-over */
    struct sc_result result;
    struct sc_err refusal; /* kind NONE: there is none */
    bool is_unserved;      /* a run that nobody has had the whole of, while its interpreter or cell died */
};

struct sc_context {
    struct sc_context *next;
    char name[SC_SESSION_NAME_MAX + 1];
    enum sc_lang lang;
    enum sc_mode mode;
    struct sc_process *runner;        /* NULL: not started, or gone */
    bool forget;                      /* with its runner, unless runs wait by then */
    const struct sc_prelude *prelude; /* that its runner loads before the first run; NULL: none, or all is */
    size_t prelude_at;                /* the piece that is under way, or next */
    struct sc_buf piece;              /* what was not sent of it */
    size_t piece_done;
    bool is_zygote;  /* its runner runs nothing, and is forked into cells below this one */
    bool is_forked;  /* its runner is a fork */
    bool is_serving; /* it takes orders */
    bool lost;       /* its state went while nothing ran: the next run is told */
    unsigned runs;
};

struct sc_process {
    struct sc_process *next;
    struct sc_session *session;
    uint16_t op;
    struct sc_context *context; /* of a runner */
    struct sc_task *task;       /* whose output is taken; NULL: nobody's */
    bool started, exited;
    bool killed;          /* and everything that came from it */
    bool lost_input;      /* the end of what it was given was read by nobody */
    bool is_unread;       /* memory of ours ran out reading what it said */
    bool is_ours;         /* its end: it had not exited by itself when it was killed */
    uint64_t patience_ns; /* by then it is ready, or dead; 0: no hurry */
    struct sc_command_end end;
    struct sc_runner_reader reader;
};

struct sc_session {
    struct sc_works *works;
    const struct sc_plan *plan;
    struct sc_live *live;
    struct sc_session *above; /* below whose cell this one's is; NULL: none */
    unsigned n_below;
    bool is_forkable;           /* its interpreters take orders */
    bool is_copy;               /* of the session above, as far as it is born */
    bool is_retired;            /* it is over; its cell stays for those below */
    struct sc_birth *birth;     /* while it is being made a copy; else NULL */
    struct sc_checker *checker; /* NULL: nobody asked for code to be read yet */
    struct sc_reading *readings;
    int epoll;                         /* of live and checker */
    struct sc_session_options options; /* resolved */
    struct sc_session_events events;
    struct sc_task *tasks, *finished; /* in the order of their coming, of their ending */
    struct sc_context *contexts;
    struct sc_process *processes;
    uint32_t last_id;
    unsigned n_tasks, n_contexts;
    uint64_t opened_ns, touched_ns;
    uint64_t cpu_seen_ns, next_cpu_check_ns;
    struct sc_live_view seen; /* at the last look; a look takes as long as a small run */
    const char *ending;       /* why it ends, once it is known; NULL: it lives */
    bool is_over, is_told;
    enum sc_status end_status; /* of tasks that end with it */
    char end_message[256];
    char *trouble; /* of a prelude; NULL: none */
};

/* ---- session.c ---- */

/* Kills the cell, for this reason, unless it is ending already. */
void sc_session_fail(struct sc_session *session, const char *why, enum sc_status status, const char *message);

/* ---- session_task.c ---- */

/* Refuses when the session is over, too much waits, or a limit is out of its row. */
int sc_task_allowed(const struct sc_session *session, const struct sc_run_limits *limits, struct sc_err *err);
/* One that waits, and is in no list yet. NULL: memory ran out. */
struct sc_task *sc_task_new(struct sc_session *session, const struct sc_run_limits *limits,
                            const struct sc_task_events *events, void *userdata);
void sc_task_free(struct sc_task *task); /* one that is in no list */
void sc_task_add(struct sc_task *task);  /* to the session's list */
/* The clock starts: it is handed over. */
void sc_task_start(struct sc_task *task);
/* Into the session's list of finished ones; its result must tell how it ended. */
void sc_task_finish(struct sc_task *task);
/* Its interpreter or cell is dead. Known from outside: the kernel says that the end of the run was read by
 * nobody, or it was never sent. An interpreter begins when it has all of it. */
void sc_task_unserve(struct sc_task *task, bool is_unread);
void sc_task_take(struct sc_task *task, int stream, const void *data, size_t len);
/* Interrupts or kills, as its kind asks for. */
void sc_task_stop(struct sc_task *task, enum sc_stop why);
/* Writes as much of the input as is taken. */
void sc_task_push(struct sc_task *task);
/* Brings every running task's processor time up to date. */
void sc_tasks_share_cpu(struct sc_session *session);
/* Calls `done` of the finished ones. */
void sc_tasks_deliver(struct sc_session *session);
/* What is due of the running ones, and when something is next. */
void sc_tasks_check(struct sc_session *session, uint64_t now);
uint64_t sc_tasks_next_ns(const struct sc_session *session);

/* ---- session_process.c ---- */

/* Of a command: context is NULL. Of a runner: task may be NULL, as when it is started ahead. */
int sc_process_start(struct sc_session *session, struct sc_context *context, struct sc_task *task,
                     const struct sc_command *command, struct sc_process **ret_process, struct sc_err *err);
/* A fork of `program`, a runner of the session above. */
int sc_process_fork(struct sc_session *session, struct sc_context *context, const struct sc_process *program,
                    const struct sc_command *like, struct sc_process **ret_process, struct sc_err *err);
void sc_process_kill(struct sc_process *process); /* with all that came from it */
/* Its context, which has another one from now on; what is left of it lives on only for what was forked. */
void sc_process_leave(struct sc_process *process);
void sc_process_interrupt(struct sc_process *process);
void sc_process_free(struct sc_process *process);
void sc_processes_check(struct sc_session *session, uint64_t now);
uint64_t sc_processes_next_ns(const struct sc_session *session);

/* ---- session_context.c ---- */

/* Finds or makes the context of this kind that needs no name. */
int sc_context_of(struct sc_session *session, enum sc_lang lang, enum sc_mode mode,
                  struct sc_context **ret_context, struct sc_err *err);
const struct sc_context *sc_context_find(const struct sc_session *session, enum sc_lang lang,
                                         enum sc_mode mode); /* NULL: there is none */
int sc_context_start(struct sc_session *session, struct sc_context *context, struct sc_err *err);

/* Hands over what waits, starts a runner where one is missing. */
void sc_context_pump(struct sc_session *session, struct sc_context *context);
/* What its runner said, and how it went. */
void sc_context_hear(struct sc_process *runner, const void *data, size_t len);
void sc_context_gone(struct sc_process *runner);
void sc_context_not_started(struct sc_process *runner, const struct sc_msg_failed *failed);

/* ---- session_prelude.c ---- */

/* The runner is ready: sends the next piece of its context's prelude. False: there is none left. */
bool sc_prelude_next(struct sc_process *runner);
/* It has loaded the last one, or failed: then it is killed. */
void sc_prelude_loaded(struct sc_process *runner, json_t *error);
void sc_prelude_push(struct sc_process *runner);
/* A zygote's runner says whether it can be forked. */
void sc_prelude_forkable(struct sc_process *runner, const char *reason);

/* ---- session_fork.c ---- */

/* A copy's interpreter is ready (`why` NULL) or will never be. Nothing happens when it is born already. */
void sc_birth_over(struct sc_session *session, const char *why);
/* The same, as the cell's agent or the program above tells it. */
void sc_birth_failed(struct sc_session *session, const struct sc_msg_failed *failed);

/* ---- session_check.c ---- */

int sc_session_open_events(struct sc_session *session, struct sc_err *err);
void sc_session_close_events(struct sc_session *session);
/* Has the run's code read, if the session's spec asks for it: until then it is READING. */
int sc_task_read_first(struct sc_task *task, const struct sc_session_run *run, struct sc_err *err);

/* ---- session_judge.c ---- */

/* Each sets status, exit code, signal and message. */
void sc_judge_said(struct sc_task *task, const struct sc_runner_result *said);
void sc_judge_dead(struct sc_task *task, const struct sc_process *process);
void sc_judge_failed(struct sc_task *task, const struct sc_msg_failed *failed);
void sc_judge_say(struct sc_task *task, enum sc_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Usage and limits, from outside; before the above. */
void sc_judge_count(struct sc_task *task);

#endif
