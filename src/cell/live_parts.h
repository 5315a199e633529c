/* A living cell, from the supervisor's side: what the files of src/cell/live*.c share.
 *
 *   LIVES ──the stream or process 1 ended──▶ LOST ──▶ ENDED
 *     └──sc_live_kill, or the agent broke a rule──▶ KILLED ──▶ ENDED
 *
 * In LIVES everything is served, also before READY: what is said then waits in the stream. LOST gives process
 * 1 a moment to be dead, so that wait can tell why, and is killed after it. KILLED has no stream any more.
 * Both become ENDED when process 1 is dead, which it is only after every other process of the cell.
 *
 * An operation is known by its channel. A slot's channels come in turn, so that one is used again only after
 * 63 others: a message that is late meets nobody, and breaks the protocol.
 */
#ifndef SC_CELL_LIVE_PARTS_H
#define SC_CELL_LIVE_PARTS_H

#include "base/buf.h"
#include "base/fd.h"
#include "base/frame.h"
#include "cell/live.h"
#include "cell/make.h"
#include "cell/notices.h"

enum sc_live_phase { SC_LIVE_LIVES, SC_LIVE_LOST, SC_LIVE_KILLED, SC_LIVE_ENDED };

/* After these, one for each operation's slot: its fork socket. */
enum sc_live_source {
    SC_LIVE_CONTROL,
    SC_LIVE_PIDFD,
    SC_LIVE_MEMORY,
    SC_LIVE_NOTICE,      /* refused calls of what the agent started */
    SC_LIVE_NOTICE_FORK, /* of what was forked into the cell */
    SC_LIVE_REPORT,      /* of a process that is being forked into it */
    SC_LIVE_EGRESS,
    SC_LIVE_SOURCES
};

enum sc_live_op_state {
    SC_OP_FREE = 0,
    SC_OP_ASKED,      /* a command of which nothing was heard yet */
    SC_OP_STARTED,    /* its main process runs */
    SC_OP_EXITED,     /* others of its tree may run */
    SC_OP_FILE_ASKED, /* a file operation */
    SC_OP_FILE_STARTED,
};

/* Into the cell. */
struct sc_live_input {
    bool is_open;
    bool wants_room; /* a write took less than was there */
    uint32_t credit; /* of the agent's, at most SC_INPUT_CREDIT */
    uint64_t sent;   /* ever */
};

/* Out of it: credit + untaken + taken is the window, always. */
struct sc_live_output {
    uint64_t window;  /* 0: the operation has no such stream */
    uint64_t credit;  /* so much more may come */
    uint64_t untaken; /* came, and the consumer is not done with it */
    uint64_t taken;   /* is done with, and not yet given back to the agent */
};

struct sc_live_op {
    enum sc_live_op_state state;
    uint16_t id; /* channel */
    uint32_t flags;
    int fork_socket; /* ours; -1: none */
    const struct sc_live_op_events *events;
    void *userdata;
    struct sc_live_input in[SC_STREAM_RUNNER + 1]; /* by stream number: IN, RUNNER */
    struct sc_live_output out[SC_STREAM_RUNNER + 1];
};

struct sc_live_place {
    uint64_t device, inode, mount;
};

/* The process that is forked into this cell: there is one at a time. */
struct sc_live_fork {
    uint16_t op;   /* the operation's channel; 0: there is none */
    uint16_t from; /* the program's, in the cell above */
    uint32_t id;   /* of the order */
    char *cwd;     /* of the order */
    int report;    /* ours; at the end a bell: the cell above told; -1: closed, or at its end */
    int socket;    /* ours, of a forkable child's fork socket, until it has started */
    int listener;  /* the child's filter's */
    bool is_ordered, has_answer, has_report, may_go;
    pid_t above;       /* its number in the cell above */
    uint64_t since_ns; /* of what is waited for: answer and report, then the cell above's word of its end */
    bool has_failed;
    struct sc_msg_failed failed;
    struct sc_live_place places[SC_ADOPT_COUNT]; /* where the child is to be: what was lent */
    bool has_ended;                              /* the report's socket, without one */
    pid_t sender;                                /* who reported, in our own namespace */
    bool has_exit, has_orphan, is_gone, is_told;
    struct sc_msg_command_exit exit;
    struct sc_msg_orphan orphan;
};
#define SC_LIVE_FORK_NONE ((struct sc_live_fork){.report = -1, .socket = -1, .listener = -1})

struct sc_live {
    struct sc_works *works;
    const struct sc_plan *plan;
    struct sc_live_events events;
    struct sc_cell cell;
    int ready[SC_READY_COUNT]; /* descriptors from the agent, by enum sc_ready_fd */
    bool has_ready;

    enum sc_live_phase phase;
    bool has_failed; /* by the agent's own word */
    struct sc_msg_failed failed;
    bool has_reason; /* the first one stays */
    enum sc_status why;
    char message[256];
    uint64_t begun_ns, ready_ns;
    uint64_t over_ns; /* when it became LOST or KILLED */

    int epoll;
    uint32_t watched[SC_LIVE_SOURCES + SC_COMMANDS_MAX]; /* events asked for; SC_LIVE_UNWATCHED */
    struct sc_frame_reader reader;
    struct sc_buf queue; /* what the stream had no room for */
    size_t queue_done;   /* of it, sent */
    uint64_t queue_ns;   /* when it last got shorter, or began */
    bool is_unread;      /* the end of what was said to the agent was read by nobody, as the kernel tells */
    uint16_t last_type, last_channel; /* of what was said last */

    struct sc_live_op ops[SC_COMMANDS_MAX];
    uint8_t turns[SC_COMMANDS_MAX]; /* of the slot's channels */

    struct sc_notices notices, fork_notices;
    bool forkable; /* its programs can be forked into cells below it */
    struct sc_live *parent, *children,
        *other;      /* the cell above; the first below; the next of the same parent */
    uint32_t orders; /* so many were sent to its programs */
    struct sc_live_fork fork;
    int fork_listener;   /* of what was forked into it, as long as anything lives under it */
    int fds[SC_FDS_MAX]; /* came, and no message has taken them yet */
    size_t n_fds;
    struct sc_result told;                       /* its last denial, and limits that were hit */
    uint64_t memory_kills, memory_ns;            /* as counted so far, and when that was last more */
    uint64_t look_ns, look_until_ns;             /* at the count again; 0: not */
    uint64_t user_ns, system_ns, rss_peak_bytes; /* of the commands that ended */
    struct sc_cell_death death;
};

#define SC_LIVE_UNWATCHED UINT32_MAX

/* Takes `cell`, which is being sealed: sc_live_open does this with one of `works`. */
int sc_live_begin(struct sc_works *works, struct sc_cell *cell, const struct sc_live_events *events,
                  struct sc_live **ret_live, struct sc_err *err);
/* live_watch.c: waits for what matters in the state of now. */
void sc_live_watch(struct sc_live *live);
/* Kills the cell for this reason, if it has none yet. */
void sc_live_end(struct sc_live *live, enum sc_status why, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* live_memory.c: whether the kernel had killed for memory shortly before. */
bool sc_live_lacked_memory(const struct sc_live *live, uint64_t at_ns);
/* The event of the cell's group, which only wakes us; and the looks that follow one that came early. */
void sc_live_memory_event(struct sc_live *live);
void sc_live_memory_clock(struct sc_live *live, uint64_t now);

/* live_read.c: what the agent says, as much as one step may take. False: the stream is at its end. */
bool sc_live_read(struct sc_live *live, unsigned fills);
/* Closes descriptors that no message has taken. */
void sc_live_drop_fds(struct sc_live *live);

/* live_send.c: a frame of up to two pieces, now or when the stream has room. */
void sc_live_say(struct sc_live *live, uint16_t type, uint16_t channel, const void *head, size_t head_len,
                 const void *body, size_t body_len);
void sc_live_flush(struct sc_live *live);
size_t sc_live_queued(const struct sc_live *live);
/* Whether so many bytes that can wait may be queued now. */
bool sc_live_has_room(const struct sc_live *live, size_t len);

/* live_watch.c: waits for a source with its descriptor; SC_LIVE_UNWATCHED: no more. */
void sc_live_watch_source(struct sc_live *live, unsigned source, int fd, uint32_t events);
/* live_fork.c, and `lent` in live_fork_order.c: what else is watched, and when the next of it is due. */
void sc_live_fork_watch(struct sc_live *live);
uint64_t sc_live_fork_next_ns(const struct sc_live *live);
void sc_live_fork_clock(struct sc_live *live, uint64_t now);
/* What the agent says of it: 0 or -EPROTO. Lent descriptors are taken, also on failure. */
int sc_live_fork_lent(struct sc_live *live, struct sc_live_op *op, uint32_t mask);
bool sc_live_fork_has(const struct sc_live *live, const struct sc_live_op *op);
int sc_live_fork_started(struct sc_live *live, struct sc_live_op *op);
int sc_live_fork_exited(struct sc_live *live, struct sc_live_op *op, const struct sc_msg_command_exit *told);
/* True: `gone` has to wait until `exited` was told. */
bool sc_live_fork_gone(struct sc_live *live, struct sc_live_op *op);
void sc_live_fork_failed(struct sc_live *live, struct sc_msg_failed *failed);
/* It does not come: the child, if there is one, ends without our "go". */
void sc_live_fork_fail(struct sc_live *live, const char *stage, const char *object, int code);
void sc_live_fork_orphan(struct sc_live *live, const struct sc_live_op *op,
                         const struct sc_msg_orphan *orphan);
/* Readable: the report's socket, or a program's fork socket. */
void sc_live_fork_report(struct sc_live *live);
void sc_live_fork_answer(struct sc_live *live, struct sc_live_op *op);
/* Closes what it has; the operation is over. */
void sc_live_fork_over(struct sc_live *live);
/* live_kin.c: waits for those of its children that are dead; the kernel lets a cell end only then. */
void sc_live_reap_children(struct sc_live *live);
/* Before it is closed: ends its children, and leaves its parent. */
void sc_live_leave_kin(struct sc_live *live);
/* live_fork_check.c: which file this is, and on which mount: every cell's root is the same folder, on a mount
 * of its own. False: it cannot be told. */
bool sc_live_fork_place(int folder, const char *path, struct sc_live_place *ret_place);
/* Is it the listener of a filter? It comes from the child, or whoever poses as that. */
bool sc_live_fork_is_listener(int fd);
/* Whether that process is what a program of the cell is. 0 with its number inside, -EPERM
 * with *ret_what naming what it is not, or another negative errno. */
int sc_live_fork_check(const struct sc_live *live, pid_t pid, pid_t *ret_inside, const char **ret_what);

/* live_read.c: tells `exited`, and counts. */
void sc_live_tell_exit(struct sc_live *live, struct sc_live_op *op, const struct sc_msg_command_exit *told);
/* live_ops.c: what opens an operation. */
int sc_live_may_open(const struct sc_live *live, size_t len, struct sc_err *err);
struct sc_live_op *sc_live_take_slot(struct sc_live *live, const struct sc_live_op_events *events,
                                     void *userdata);
void sc_live_open_streams(struct sc_live_op *op, const struct sc_command *command,
                          struct sc_msg_command *order);
/* live_ops.c: NULL when there is no such operation. */
struct sc_live_op *sc_live_find(struct sc_live *live, uint16_t id);
/* Frees the slot and returns what its last callback needs. */
struct sc_live_op sc_live_op_over(struct sc_live *live, struct sc_live_op *op);
/* Tells every operation that is open that it is over. */
void sc_live_ops_abandon(struct sc_live *live);
/* Those whose writes had to wait for the queue. */
void sc_live_ops_room(struct sc_live *live);

/* live_network.c: it said something, or is gone. */
void sc_live_hear_egress(struct sc_live *live);

#endif
