/* Inside the agent: the commands and file operations of a cell that stays. One table, no allocation.
 *
 * Each command has a process between it and the agent: its shepherd (shepherd.c), or, for a file operation,
 * the process that does it (operate.c). Both tell what happens on a socket of their own; the bytes of the
 * streams go straight between the agent and the program.
 *
 * A command's slot: FREE → TEXTS (more pieces of its texts must come) → RUNS → FREE again when GONE, FAILED
 * or FILE_DONE has been said.
 */
#ifndef SC_AGENT_COMMANDS_H
#define SC_AGENT_COMMANDS_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/agent.h"
#include "agent/shepherd.h"
#include "base/frame.h"

/* A stream into the cell. Of SC_INPUT_CREDIT bytes, at any time: used + owed + allowed. */
struct sc_input {
    int fd;
    bool is_open;         /* the supervisor may write */
    bool is_ended;        /* it said so; what is held is still passed on */
    uint32_t start, used; /* a ring: what the pipe had no room for */
    uint32_t owed;        /* passed on, and not yet given back as credit */
    uint32_t allowed;     /* the supervisor's credit */
    uint64_t passed;      /* ever */
    uint8_t ring[SC_INPUT_CREDIT];
};

/* A stream out of it. */
struct sc_output {
    int fd;
    uint64_t credit;
    uint64_t barrier;            /* so many bytes must be told before what waits for them */
    uint64_t passed_ns, rest_ns; /* when it was read last, and is to be read again at the earliest */
};

enum sc_command_state { SC_COMMAND_FREE, SC_COMMAND_TEXTS, SC_COMMAND_RUNS };
enum sc_owes { /* messages that wait for their turn */
               SC_OWES_STARTED = 1 << 0,
               SC_OWES_FAILED = 1 << 1,
               SC_OWES_EXIT = 1 << 2,
               SC_OWES_END = 1 << 3, /* GONE or FILE_DONE */
               SC_OWES_LISTED = 1 << 4,
};

enum { SC_INPUT_STDIN, SC_INPUT_RUNNER, SC_INPUTS };
enum { SC_OUTPUT_OUT, SC_OUTPUT_ERR, SC_OUTPUT_RUNNER, SC_OUTPUTS };

struct sc_command {
    enum sc_command_state state;
    uint16_t channel;
    bool is_file, has_started, has_exited;
    bool is_adopted, is_killed, is_own_killed; /* adopted.h; its tree is being killed */
    bool is_over;                              /* its shepherd or operation has said its last */
    uint32_t owes;
    uint32_t flags;
    struct sc_msg_command order;
    struct sc_msg_file_op file;
    int report;      /* socket to the shepherd or operation */
    int terminal;    /* master side; also stands in stdin and stdout */
    int socket;      /* the supervisor's end of a fork socket, until it is told */
    int main;        /* pidfd of an adopted process, while it lives */
    pid_t operation; /* process of a file operation; 0 when it is buried */
    pid_t helper;    /* that, or the shepherd; 0: none, or buried */
    pid_t pid;
    uint64_t start_ns, kill_ns, give_up_ns; /* 0: not set */
    uint64_t look_ns;                       /* at an adopted process's tree */
    uint64_t signals[SC_SIGNAL_WHOM_COUNT]; /* wanted, by enum sc_signal_whom; bit number − 1 */
    bool was_signaled, timed_out;
    bool is_unread; /* what stood in the runner's stream, when its reader went */
    char name[sizeof((struct sc_msg_listed *)0)->name];
    struct sc_input inputs[SC_INPUTS];
    struct sc_output outputs[SC_OUTPUTS];
    uint64_t runner_due;            /* of the runner's stream: seen, and ordered behind stdout and stderr */
    struct sc_shepherd_report last; /* FAILED's, EXIT's or FILE_DONE's content until it is said */
};

/* What a descriptor that is waited for belongs to. */
enum sc_watched { SC_WATCHED_REPORT, SC_WATCHED_MAIN, SC_WATCHED_INPUT, SC_WATCHED_OUTPUT };
struct sc_watch {
    struct sc_command *command; /* NULL: the supervisor's stream, for room */
    enum sc_watched what;
    int number; /* of the input or output */
};
/* The supervisor's stream; for each command its report, main process, inputs and outputs. */
#define SC_COMMANDS_POLLS (1 + SC_COMMANDS_MAX * (2 + SC_INPUTS + SC_OUTPUTS))

struct sc_commands {
    struct sc_agent *agent;
    bool any;     /* a COMMAND or FILE_OP has come */
    bool blocked; /* the supervisor's stream has no room */
    unsigned open;
    struct sc_command *assembling; /* the only one in TEXTS, or NULL */
    uint32_t text_have;
    char text[SC_COMMAND_TEXT_MAX];
    uint8_t was_open[SC_CHANNEL_MAX + 1]; /* channels that ended: what comes late for them is ignored */
    struct sc_watch watches[SC_COMMANDS_POLLS];
    struct sc_command list[SC_COMMANDS_MAX];
};

/* A message about a command, or LIST. A broken protocol ends the cell. */
void sc_commands_handle(struct sc_commands *commands, const struct sc_frame *frame, const uint8_t *payload);
/* What to wait for, at most SC_COMMANDS_POLLS; and until when on the monotonic clock, or 0. */
unsigned sc_commands_watch(struct sc_commands *commands, struct pollfd *ret_polls, uint64_t *ret_due_ns);
/* Does what is due after a wait on those `count`: never blocks, passes few frames of each stream. */
void sc_commands_step(struct sc_commands *commands, const struct pollfd *polls, unsigned count);
/* A child of the agent has ended. */
struct rusage;
void sc_commands_buried(struct sc_commands *commands, pid_t pid, int status, const struct rusage *usage);

/* ---- between the files of this part ---- */

/* All texts are here: makes the streams and the process. What fails is owed as COMMAND_FAILED. */
void sc_command_start(struct sc_commands *commands, struct sc_command *command);
/* The pipes and sockets of a command: the program's ends into *launch, whose descriptors are the caller's. 0,
 * or negative errno with *ret_object naming what it was about. */
int sc_command_open_streams(struct sc_commands *commands, struct sc_command *command,
                            struct sc_launch *launch, const char **ret_object);
/* Takes a free slot for `channel`. */
struct sc_command *sc_command_open(struct sc_commands *commands, uint16_t channel);
/* Closes all that it has; its slot is free. */
void sc_command_close(struct sc_commands *commands, struct sc_command *command);
/* Its main process ended: EXIT is owed, behind what stands in its outputs. */
void sc_command_exited(struct sc_command *command, const struct sc_msg_command_exit *end);
/* A process that was no child of a command's main process any more: for a supervisor that had it forked. */
void sc_command_orphan(struct sc_commands *commands, const struct sc_command *command,
                       const struct sc_msg_orphan *orphan);
/* Wants a signal sent; it is when the shepherd takes orders. */
void sc_command_signal(struct sc_command *command, int number, uint32_t whom);
/* Bytes for an input within its credit; the end after them. */
void sc_input_take(struct sc_command *command, struct sc_input *input, const uint8_t *data, uint32_t len);
void sc_input_end(struct sc_command *command, struct sc_input *input);
/* Nothing more goes into it. */
void sc_input_drop(struct sc_command *command, struct sc_input *input);
/* Moves what the pipe takes. */
void sc_input_flush(struct sc_command *command, struct sc_input *input);
/* Whether a frame may be sent without waiting; remembers when not. */
bool sc_commands_may_say(struct sc_commands *commands);
void sc_commands_say(struct sc_commands *commands, uint16_t type, uint16_t channel, const void *payload,
                     size_t len);
/* One frame of one output, if there is something and may be. */
void sc_output_pass(struct sc_commands *commands, struct sc_command *command, int number);
bool sc_output_is_wanted(struct sc_command *command, int number);
/* It is left alone for a moment, so that more comes together. */
bool sc_output_rests(const struct sc_output *output);
/* What stands in the outputs now must be told before what waits. */
void sc_outputs_bar(struct sc_command *command);
bool sc_outputs_are_told(const struct sc_command *command);

#endif
