/* A cell that lives across requests: many commands, one after another or at once, and file operations, all
 * through the agent's one stream.
 *
 * An event source of one thread's loop: wait until sc_live_fd is readable or sc_live_next_ns has come, then
 * call sc_live_step, which does what is due and never waits. Callbacks are called from sc_live_step only, and
 * may call any function here but sc_live_step and sc_live_close. What the agent says is taken as hostile: a
 * broken protocol ends the cell.
 */
#ifndef SC_CELL_LIVE_H
#define SC_CELL_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/proto.h"
#include "base/err.h"
#include "result/result.h"

struct sc_works;
struct sc_live;

struct sc_live_events {
    void *userdata;
    /* A refused call, each by itself; any member may be NULL. */
    void (*denial)(void *userdata, const struct sc_denial *denial);
    /* The kernel killed for memory inside the cell. The cell goes on if its agent lives. */
    void (*out_of_memory)(void *userdata);
    /* Once: every process of the cell is dead. All its commands have been told `gone` or `failed` before.
     * `why` is OUT_OF_MEMORY, CANCELLED (sc_live_kill) or SANDBOX_ERROR. */
    void (*ended)(void *userdata, enum sc_status why, const char *message);
};

/* Makes a cell of `works` (one made ahead if there is one) whose plan was made for a session. Returns before
 * it is sealed; commands may be given at once. `works` must outlive it. */
int sc_live_open(struct sc_works *works, const struct sc_live_events *events, struct sc_live **ret_live,
                 struct sc_err *err);
/* Kills what is left, waits for its death, frees. NULL is fine. */
void sc_live_close(struct sc_live *live);

int sc_live_fd(const struct sc_live *live);           /* an epoll descriptor, owned by live */
uint64_t sc_live_next_ns(const struct sc_live *live); /* monotonic; UINT64_MAX: nothing is timed */
int sc_live_step(struct sc_live *live, struct sc_err *err);
/* Ends the cell; `ended` follows from a later step. */
void sc_live_kill(struct sc_live *live);
/* Puts the program, files and folders of the plan's spec into the work folder; before the first command, and
 * waiting while the agent takes them. 0 also when the cell has died meanwhile, as `ended` will tell. */
int sc_live_feed(struct sc_live *live, struct sc_err *err);
/* The work folder as the agent handed it over, valid until sc_live_close; -1: it did not come. */
int sc_live_work(const struct sc_live *live);

/* ---- commands ---- */

struct sc_command {
    const char *const *argv; /* NULL-ended; argv[0] is looked up inside the cell */
    const char *const *env;  /* NULL-ended NAME=VALUE on top of the cell's own, or NULL */
    const char *cwd;         /* NULL: the plan's; relative to the plan's */
    uint32_t flags;          /* enum sc_command_flag */
    uint16_t rows, cols;
    uint64_t wall_ns; /* 0: none */
    uint32_t window;  /* bytes of each output stream that may come before sc_live_took; 0: 1 MiB */
};

struct sc_command_end {
    int wait_status;
    bool timed_out;
    uint64_t cpu_user_ns, cpu_system_ns, rss_peak_bytes, wall_ns;
};

/* One operation's story; any member may be NULL. Ends with exactly one of gone, failed, done, after which its
 * id means nothing. */
struct sc_live_op_events {
    void (*started)(void *userdata, pid_t pid_inside);
    void (*output)(void *userdata, enum sc_stream_number stream, const void *data, size_t len);
    void (*room)(void *userdata, enum sc_stream_number stream); /* sc_live_write may take more again */
    /* Before `exited`, or before `gone` when the cell died: the end of what was written to the runner's
     * stream was read by nobody. Known from the kernel, not from inside. */
    void (*unread)(void *userdata);
    void (*exited)(void *userdata, const struct sc_command_end *end);
    void (*gone)(void *userdata);
    void (*failed)(void *userdata, const struct sc_msg_failed *failed); /* never started */
    void (*done)(void *userdata, const struct sc_msg_file_done *done);  /* of a file operation */
};

/* `events` must stay until the operation's end. -EMFILE: SC_COMMANDS_MAX run already. */
int sc_live_command(struct sc_live *live, const struct sc_command *command,
                    const struct sc_live_op_events *events, void *userdata, uint16_t *ret_id,
                    struct sc_err *err);

struct sc_file_op {
    enum sc_file_kind kind;
    const char *path, *to; /* `to`: RENAME */
    uint32_t flags, mode;
    uint64_t offset, length;
    uint32_t window; /* as above */
};
int sc_live_file(struct sc_live *live, const struct sc_file_op *op, const struct sc_live_op_events *events,
                 void *userdata, uint16_t *ret_id, struct sc_err *err);

/* Bytes taken, within the credit: 0 means wait for `room`. -EPIPE: no such open operation or input. */
ssize_t sc_live_write(struct sc_live *live, uint16_t id, enum sc_stream_number stream, const void *data,
                      size_t len);
/* After everything that was written. */
int sc_live_close_input(struct sc_live *live, uint16_t id);
/* The consumer is done with so many bytes of an output stream: as many more may come. */
int sc_live_took(struct sc_live *live, uint16_t id, enum sc_stream_number stream, size_t bytes);
int sc_live_signal(struct sc_live *live, uint16_t id, int number, enum sc_signal_whom whom);
int sc_live_resize(struct sc_live *live, uint16_t id, uint16_t rows, uint16_t cols);

/* ---- forks ----
 *
 * A plan whose spec says `forkable` makes cells whose programs can be forked into other cells: sc_live_open
 * makes one, and sc_live_open_child makes cells below it, which a fork may live in. A program that can be
 * forked is a command with SC_COMMAND_SOCKET that serves orders with runners/fork/. Decision 0029 tells how,
 * and what it costs: a forkable cell's system-call filter keeps `setns` and `chroot`, its refused calls are
 * answered ENOSYS without a record, and it has power over the cells below it (never the other way round).
 *
 *   sc_live_open(works) ──▶ zygote ◀──sc_live_command(SOCKET | RUNNER …)
 *   sc_live_open_child(works, zygote) ──▶ child cell, empty: may be made long before
 *   sc_live_adopt(child, zygote, command) ──▶ a fork of that command lives in the child cell
 *
 * All three are stepped by the same thread, each by its own descriptor. */

/* Makes a cell below `parent`, of the same works. It is empty: commands of its own can be given, and one fork
 * at a time can be adopted. With `forkable` its programs can be forked in turn. As root ids set bounds: a
 * forkable cell has room for 4,095 cells below it; a forkable one takes a quarter of the longest stretch that
 * is left, for those below it. It ends with its parent. The caller closes it before its parent; sc_live_close
 * of a parent ends those that are left. Waits for helper processes, about two milliseconds. Errors: USAGE
 * when the plan is not forkable, -EOPNOTSUPP when it would have no room for any below it; HOST -EAGAIN when
 * there is no room; -ESHUTDOWN when the parent has ended; -EAGAIN when it is not sealed yet
 * (sc_live_is_sealed). */
int sc_live_open_child(struct sc_works *works, struct sc_live *parent, bool forkable,
                       const struct sc_live_events *events, struct sc_live **ret_live, struct sc_err *err);

/* Forks the program of command `from_id` of `from` (with SC_COMMAND_SOCKET, and started) into `live`, a child
 * cell of `from`. Of `like` count: flags STDIN, RUNNER, MERGE, and SOCKET for a forkable cell; cwd, wall_ns,
 * window; argv[0] is its name in lists. env must be NULL: what a fork is told, it is told on its runner's
 * stream. Returns at once; the operation is a command like any other from then on: started   the child is
 * sealed, has been checked from outside and goes on; its streams are open exited    with the true wait status
 * and usage gone      nothing that came from it is left failed    it never ran. stage "fork": the program
 * refused (code -EBUSY, object: why) or could not be forked; another stage: the child could not be sealed,
 * and was killed. The cell `live` stays empty and may be used again, except when a child of a hostile program
 * lied about itself: then it ends. `from` may be adopted from again at once; orders wait in line. */
int sc_live_adopt(struct sc_live *live, struct sc_live *from, uint16_t from_id, const struct sc_command *like,
                  const struct sc_live_op_events *events, void *userdata, uint16_t *ret_id,
                  struct sc_err *err);

/* ---- what is known from outside ---- */

/* Processor time of the whole cell so far: the group's, else of what the agent has waited for. */
uint64_t sc_live_cpu_ns(const struct sc_live *live);
/* Memory that the cell's group holds now. -ENODATA: it has none. */
int sc_live_memory(const struct sc_live *live, uint64_t *ret_bytes);
/* Usage of the cell so far, and at its end: memory peak, tasks, disk. Wall and output are the caller's. */
void sc_live_usage(const struct sc_live *live, struct sc_usage *ret_usage);
/* Limits touched so far: enum sc_limit_hit bits. */
uint32_t sc_live_limits_hit(const struct sc_live *live);
/* Where the cell has a network: every decision of its egress process so far, into the result.
 * Refusals that were not told before are told now. Waits for the process, a second at most. */
void sc_live_network(struct sc_live *live, struct sc_result *result);
/* Other rules of the network, from now on: what they do not allow is cut. Only of a cell that has one. When
 * it fails for another reason than a usage error, the cell has no network any more. */
int sc_live_set_network(struct sc_live *live, const struct sc_net *net, struct sc_err *err);
/* The same for a cell that nobody has used yet, and for no other of its works. Waits until its egress process
 * is sealed. */
int sc_live_take_network(struct sc_live *live, const struct sc_net *net, struct sc_err *err);
/* How often the kernel refused, or killed for memory, since the cell was made: who compares two of these
 * knows what happened between. */
struct sc_live_counts {
    uint64_t tasks;   /* a process or thread */
    uint64_t network; /* an address outside the cell */
    uint64_t memory_kills;
};
void sc_live_counts(const struct sc_live *live, struct sc_live_counts *ret_counts);
/* All three in one look, for what one of them takes. */
struct sc_live_view {
    struct sc_usage usage;
    uint32_t hits; /* enum sc_limit_hit bits */
    struct sc_live_counts counts;
};
void sc_live_look(const struct sc_live *live, struct sc_live_view *ret_view);
/* Asks the kernel whether it has killed for memory, and tells `out_of_memory` if so: its word of it may lie
 * unread when what came of the kill is known already. */
void sc_live_look_at_memory(struct sc_live *live);
/* What of a stage or of the files fed the agent said had failed; NULL: it did not. */
const struct sc_msg_failed *sc_live_failed(const struct sc_live *live);
bool sc_live_is_alive(const struct sc_live *live);
/* All its walls stand, and its agent takes orders. */
bool sc_live_is_sealed(const struct sc_live *live);
/* It is as it was made: sealed and alive, nothing under way in it, and no process in it but its agent, as the
 * kernel tells where it counts the cell's processes. */
bool sc_live_is_blank(const struct sc_live *live);

#endif
