/* The process between the agent and one command: it starts the program, gets every orphan of its tree, and
 * can therefore find, signal and outlive all of them. */
#ifndef SC_AGENT_SHEPHERD_H
#define SC_AGENT_SHEPHERD_H

#include "agent/agent.h"

enum sc_shepherd_news {
    SC_NEWS_STARTED = 1, /* pid */
    SC_NEWS_FAILED,      /* failed */
    SC_NEWS_EXIT,        /* exit: of the main process */
    SC_NEWS_GONE,        /* nothing of the tree is left: the last */
    SC_NEWS_UNKILLABLE,  /* the tree was still there after the patience for SIGKILL */
    SC_NEWS_ORPHAN,      /* orphan: of a command with a fork socket */
    SC_NEWS_DONE,        /* done: a file operation's last */
};
/* One packet to the agent. */
struct sc_shepherd_report {
    uint32_t news;
    int32_t pid;
    struct sc_msg_failed failed;
    struct sc_msg_command_exit exit;
    struct sc_msg_file_done done;
    struct sc_msg_orphan orphan;
};
/* One packet from it. */
struct sc_shepherd_order {
    int32_t number; /* signal */
    uint32_t whom;  /* enum sc_signal_whom */
};

/* What the agent's fork is given. Descriptors, -1: none. */
struct sc_launch {
    int report; /* the socket of the above */
    int in, out, err, runner, socket;
    int pty_slave;
    int folder; /* a file operation's: where its relative paths begin */
    /* A command's; the texts one after the other: arguments, environment, working directory. */
    uint32_t argc, envc;
    char *texts;
};

#define SC_LAUNCH_NONE                                                                                       \
    ((struct sc_launch){.report = -1,                                                                        \
                        .in = -1,                                                                            \
                        .out = -1,                                                                           \
                        .err = -1,                                                                           \
                        .runner = -1,                                                                        \
                        .socket = -1,                                                                        \
                        .pty_slave = -1,                                                                     \
                        .folder = -1})

/* Lays the streams at SC_SLOT_STDIN… and closes all else but what `launch` and the program stages need.
 * 0 or negative errno. */
int sc_launch_arrange(const struct sc_agent *agent, struct sc_launch *launch);

/* The shepherd's life, in the agent's fork. */
__attribute__((noreturn)) void sc_shepherd_main(struct sc_agent *agent, struct sc_launch *launch);

/* Signals every descendant of the caller. How many there were, as far as /proc tells. */
unsigned sc_tree_signal(int number);

/* The same without those that live in a pid namespace of their own, which are in a cell below this one. How
 * many others there are that live. */
unsigned sc_tree_signal_own(int number);

/* Signals every process of the caller's pid namespace but the caller, those helpers and all that is below
 * them; 0 only counts. How many there are that live. With `own`, those in cells below are left out. */
unsigned sc_tree_signal_others(const pid_t *helpers, size_t n_helpers, int number, bool own);

/* A file operation's life, in the agent's fork. `path` and, for RENAME, `to`. */
__attribute__((noreturn)) void sc_operate_main(struct sc_agent *agent, struct sc_launch *launch,
                                               const struct sc_msg_file_op *order, const char *path,
                                               const char *to);

#endif
