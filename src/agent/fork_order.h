/* What a supervisor says to a program that lets itself be forked, on that program's fork socket (descriptor
 * 4, SOCK_SEQPACKET, one message a packet), and what is answered. The program's side is runners/fork/.
 *
 *   supervisor ──order + descriptors──▶ the program            on the fork socket
 *   the program ──answer──▶ supervisor                         the same; one for each order, in their order
 *   the child ──report (+ listener)──▶ supervisor              on the report socket that came with the order
 *   supervisor ──one byte, "go"──▶ the child                   the same; without it the child ends
 *
 * The child runs nothing of its own before "go": until then the supervisor has it looked at from outside.
 * What either says is taken as from a stranger. Little-endian, as both ends run on one machine. */
#ifndef SC_AGENT_FORK_ORDER_H
#define SC_AGENT_FORK_ORDER_H

#include <stdint.h>

#define SC_FORK_VERSION 1
#define SC_FORK_SOCKET 4      /* the fork socket's place in the program */
#define SC_FORK_GROUPS_MAX 6  /* groups that a child joins */
#define SC_FORK_CWD_MAX 4096  /* with its NUL */
#define SC_FORK_RANDOMNESS 64 /* bytes that nobody else gets */

/* The descriptors of an order, in this order; `fds` tells by bits which are there. */
enum sc_fork_fd {
    SC_FORK_FD_REPORT, /* always: SOCK_SEQPACKET, for the child alone */
    SC_FORK_FD_IN,     /* becomes 0 … */
    SC_FORK_FD_OUT,
    SC_FORK_FD_ERR,
    SC_FORK_FD_RUNNER, /* … 3, which is closed without it */
    SC_FORK_FD_SOCKET, /* … 4: the child can be forked too */
    SC_FORK_FD_IMAGE,  /* struct sc_image: limits, filter, ids; from here on not with PLAIN */
    SC_FORK_FD_USER,   /* namespaces of the cell that the child is to live in */
    SC_FORK_FD_PID,
    SC_FORK_FD_TIME,
    SC_FORK_FD_NET,
    SC_FORK_FD_IPC,
    SC_FORK_FD_UTS,
    SC_FORK_FD_CGROUP,
    SC_FORK_FD_ROOT,    /* O_PATH, the cell's root */
    SC_FORK_FD_RULESET, /* Landlock; absent where the host has none */
    SC_FORK_FD_GROUP,   /* first of the open `tasks` or `cgroup.procs` files */
    SC_FORK_FDS_MAX = SC_FORK_FD_GROUP + SC_FORK_GROUPS_MAX
};

enum sc_fork_flag {
    /* No cell: the fork and its descriptors only, nothing is sealed. Test builds of the library take it; any
     * other answers -EPERM. */
    SC_FORK_PLAIN = 1 << 0,
    /* The child stays forkable: it goes on under the filter that it has. */
    SC_FORK_FORKABLE = 1 << 1,
};

/* Followed by the child's working directory, ended by NUL; "": the image's. */
struct sc_fork_order {
    uint32_t version; /* SC_FORK_VERSION */
    uint32_t id;      /* comes back in the answer */
    uint32_t flags;   /* enum sc_fork_flag */
    uint32_t fds;     /* bits of enum sc_fork_fd */
    int32_t nice;     /* of programs */
    uint32_t pad;
    int64_t wall_ns; /* CLOCK_REALTIME when the order was written */
    uint8_t randomness[SC_FORK_RANDOMNESS];
    char mutant[64]; /* test builds only: the stages that are left out */
};

/* Where a fork failed, for the record. `object` is the stage's own word. */
#define SC_FORK_STEP_MAX 28
#define SC_FORK_OBJECT_MAX 96

struct sc_fork_answer {
    uint32_t id;
    int32_t pid;  /* of the child, in the program's own pid namespace; 0 with a code */
    int32_t code; /* 0, or negative errno; -EBUSY: the program cannot be forked now, `object` says why */
    char step[SC_FORK_STEP_MAX];
    char object[SC_FORK_OBJECT_MAX];
};

/* With code 0 the child is sealed and waits. A descriptor with it is the listener of its filter. */
struct sc_fork_report {
    int32_t code;
    char step[SC_FORK_STEP_MAX];
    char object[SC_FORK_OBJECT_MAX];
};

#endif
