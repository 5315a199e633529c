/* What supervisor and agent say to each other, and the descriptors the agent starts with.
 * docs/agent-protocol.md tells the same in words. Little-endian, as both ends run on one machine. */
#ifndef SC_AGENT_PROTO_H
#define SC_AGENT_PROTO_H

#include <stdint.h>

#define SC_PROTO_VERSION 3

/* Whom programs trust in TLS, where the cell has an authority of its own: a file system of its own, which no
 * rule lets programs write to. */
#define SC_TRUST_FOLDER "/run/snapcell"
#define SC_TRUST_FILE "ca.pem"

/* Descriptors at the agent's start. Those that a cell does not need are simply not open. */
enum sc_slot {
    SC_SLOT_NULL = 0, /* 0–2: /dev/null */
    SC_SLOT_CONTROL = 3,
    SC_SLOT_IMAGE,
    SC_SLOT_STDIN,
    SC_SLOT_STDOUT,
    SC_SLOT_STDERR,
    SC_SLOT_TEMPLATE, /* mount namespace of the template */
    SC_SLOT_VACANT,   /* mount namespace with nothing in it */
    SC_SLOT_NET,
    SC_SLOT_TIME,
    SC_SLOT_USER,       /* the cell's own user namespace */
    SC_SLOT_SUPERVISOR, /* pidfd: readable when the supervisor is dead */
    SC_SLOT_ID_LOCK,    /* holds this cell's host uid for as long as the agent lives */
    SC_SLOT_WORKDISK,   /* detached mount of a disk-backed work folder */
    SC_SLOT_BUILDER,    /* a child cell's agent: the stream to who makes its mounts */
    SC_SLOT_MIDWIFE,    /* a child cell's midwife (src/cell/init_child.c): its socket to the supervisor */
    SC_SLOT_PARENT,     /* the same: pid namespace of the parent cell, or pidfd of its agent */
    SC_SLOT_OWNER,      /* the same, rootless: the user namespace that owns the template */
    SC_SLOT_BIRTH,      /* the same, rootless: a mount namespace of it that shows a whole /proc */
    SC_SLOT_V2,         /* the same: directory of the cell's v2 group */
    SC_SLOT_GROUP,      /* first of the v1 `tasks` files */
    SC_SLOT_GROUP_END = SC_SLOT_GROUP + 6,
    SC_SLOT_AGENT = SC_SLOT_GROUP_END, /* the agent's own image, close-on-exec */
    SC_SLOT_END,
};

enum sc_message {
    /* supervisor → agent */
    SC_MSG_BOOT = 1, /* struct sc_boot; first, once */
    SC_MSG_FILE,     /* struct sc_msg_file + path + NUL: opens a file of the work folder for writing */
    SC_MSG_DATA,     /* bytes of the open file */
    SC_MSG_CLOSE,    /* the open file is whole */
    SC_MSG_DIR,      /* struct sc_msg_file + path + NUL */
    SC_MSG_START,    /* runs the image's program; once, in a cell without commands; only RESIZE follows */
    SC_MSG_RESIZE,   /* struct sc_msg_size; channel 0: of the program's terminal */
    SC_MSG_TRUST, /* as FILE, without payload: opens SC_TRUST_FILE, which only some plans have a place for */
    /* supervisor → agent, about the command on `channel` (1…SC_CHANNEL_MAX), in a cell without START */
    SC_MSG_COMMAND = 16, /* struct sc_msg_command + first piece of its texts: opens the channel */
    SC_MSG_FILE_OP,      /* struct sc_msg_file_op + its one or two paths: opens the channel */
    SC_MSG_MORE,         /* next piece of the texts; nothing else may come on this channel before the last */
    SC_MSG_INPUT,        /* bytes for stdin, or for the file being written; within the credit */
    SC_MSG_INPUT_END,    /* stdin is at its end; the file is whole */
    SC_MSG_RUNNER_INPUT, /* bytes for the runner's stream; within the credit */
    SC_MSG_CREDIT,       /* struct sc_msg_credit: so much more output of a stream may come */
    SC_MSG_SIGNAL,       /* struct sc_msg_signal */
    SC_MSG_LIST,         /* channel 0: asks for LISTED */
    SC_MSG_END,          /* channel 0: kills everybody and ends the cell */
    SC_MSG_ADOPT,   /* as COMMAND, with one argument, its name: opens the channel for a process that is forked
                       into the cell from outside */
    SC_MSG_ADOPTED, /* struct sc_msg_started: that process; pid 0: there is none, the channel ends by FAILED
                     */
    /* agent → supervisor */
    SC_MSG_READY = 64, /* every stage holds; descriptors: struct sc_ready_fds order */
    SC_MSG_STARTED,    /* exec succeeded */
    SC_MSG_EXIT,       /* struct sc_msg_exit: the program ended */
    SC_MSG_FAILED,     /* struct sc_msg_failed: a stage, a file or exec failed; the cell is over */
    /* agent → supervisor, about the command on `channel` */
    SC_MSG_COMMAND_STARTED = 80, /* struct sc_msg_started: exec succeeded, or the file is open */
    SC_MSG_OUTPUT,               /* bytes of stdout, of the terminal, or of a file operation */
    SC_MSG_OUTPUT_ERR,           /* bytes of stderr */
    SC_MSG_RUNNER_OUTPUT, /* bytes of the runner's stream; all stdout and stderr written before them are told
                             first */
    SC_MSG_INPUT_CREDIT,  /* struct sc_msg_credit: so much more input of a stream is taken */
    SC_MSG_COMMAND_EXIT, /* struct sc_msg_command_exit: the main process ended; what it wrote was told before,
                            whoever still holds its pipes */
    SC_MSG_COMMAND_GONE, /* nothing of its tree is left and nothing more comes: the channel is free */
    SC_MSG_COMMAND_FAILED, /* struct sc_msg_failed: it did not start; the channel is free */
    SC_MSG_FILE_DONE,      /* struct sc_msg_file_done: the operation ended; the channel is free */
    SC_MSG_LISTED,         /* channel 0: struct sc_msg_listed, one for each open channel */
    SC_MSG_ADOPTING, /* answers ADOPT; descriptors: enum sc_adopt_fd, as `mask` of struct sc_msg_ready tells
                      */
    SC_MSG_ORPHAN,   /* struct sc_msg_orphan: a process of a command with SOCKET ended that was no child of
                        its main process any more */
};

enum sc_boot_flag {
    SC_BOOT_CHILD =
        1 << 0, /* born in its own user namespace, below another cell; its mounts are made for it */
    SC_BOOT_FORKABLE = 1 << 1, /* its programs can be forked into cells below it */
};

struct sc_boot {
    uint32_t version;
    uint32_t n_groups; /* tasks files at SC_SLOT_GROUP… */
    uint32_t host_uid,
        host_gid;   /* the program's, as the template's user namespace names them: owner of fresh mounts */
    uint32_t flags; /* enum sc_boot_flag */
    uint16_t rows, cols; /* of the terminal */
    char mutant[64];     /* test builds only: the stages that are left out */
};

/* Descriptors of a child cell for the process that is forked into it: the ends of its streams, then where it
 * is to live. `mask` tells which are there. */
enum sc_adopt_fd {
    SC_ADOPT_IN,
    SC_ADOPT_OUT,
    SC_ADOPT_ERR,
    SC_ADOPT_RUNNER,
    SC_ADOPT_USER,
    SC_ADOPT_PID,
    SC_ADOPT_TIME,
    SC_ADOPT_NET,
    SC_ADOPT_IPC,
    SC_ADOPT_UTS,
    SC_ADOPT_CGROUP,
    SC_ADOPT_ROOT,
    SC_ADOPT_RULESET,
    SC_ADOPT_COUNT
};

/* Descriptors that come with READY, in this order; `mask` in the payload tells which are there. */
enum sc_ready_fd {
    SC_READY_WORK,
    SC_READY_TMP,
    SC_READY_SHM,
    SC_READY_MOUNTS, /* the cell's mount namespace: whoever watches the cell die holds it, see enter_vacant.c
                      */
    SC_READY_NOTIFY,
    SC_READY_PTY,
    SC_READY_COUNT
};
struct sc_msg_ready {
    uint32_t mask;
};

struct sc_msg_file {
    uint32_t mode;
    uint32_t pad;
};
struct sc_msg_size {
    uint16_t rows, cols;
};
struct sc_msg_exit {
    int32_t wait_status; /* as waitpid gives it */
    uint32_t pad;
    uint64_t user_ns, system_ns, rss_peak_bytes;
};
struct sc_msg_failed {
    int32_t code;   /* negative errno */
    char stage[28]; /* "mounts", "exec", "file", … */
    char object[96];
};

/* ---- commands (version 2) ---- */

#define SC_CHANNEL_MAX 4096                /* highest channel number */
#define SC_COMMANDS_MAX 64                 /* channels open at once */
#define SC_COMMAND_TEXT_MAX (1280u * 1024) /* bytes of one command's texts */
#define SC_COMMAND_ARGS_MAX 8192           /* arguments, and entries of the environment */
/* Each input stream starts with this much credit; the agent holds at most this much of it. */
#define SC_INPUT_CREDIT (64u * 1024)

enum sc_stream_number { SC_STREAM_IN = 0, SC_STREAM_OUT = 1, SC_STREAM_ERR = 2, SC_STREAM_RUNNER = 3 };

enum sc_command_flag {
    SC_COMMAND_STDIN = 1 << 0,  /* stdin is open; else it is at its end */
    SC_COMMAND_PTY = 1 << 1,    /* a terminal of its own: stdin and OUTPUT are its master side */
    SC_COMMAND_RUNNER = 1 << 2, /* descriptor 3 is a stream to the supervisor */
    SC_COMMAND_MERGE = 1 << 3,  /* stderr goes where stdout goes */
    /* Descriptor 4 is a fork socket (src/agent/fork_order.h), whose other end comes with COMMAND_STARTED;
     * orphans of the command are told. With ADOPT the supervisor has made it. */
    SC_COMMAND_SOCKET = 1 << 4,
};

struct sc_msg_command {
    uint32_t flags; /* enum sc_command_flag */
    uint32_t argc,
        envc;           /* at least one argument; NAME=VALUE entries come on top of the image's environment */
    uint32_t text_len;  /* of all texts: arguments, environment, working directory (""), each with its NUL */
    uint32_t credit[4]; /* first output credit by stream number */
    uint16_t rows, cols; /* with a terminal */
    uint32_t pad;
    uint64_t wall_ns; /* then the whole tree is killed; 0: no limit */
};
struct sc_msg_started {
    int32_t pid; /* inside the cell */
    uint32_t pad;
};
struct sc_msg_credit {
    uint32_t stream; /* enum sc_stream_number */
    uint32_t bytes;
};
enum sc_signal_whom {
    SC_SIGNAL_TREE,  /* every process that came from the command, wherever it went */
    SC_SIGNAL_MAIN,  /* its first process */
    SC_SIGNAL_GROUP, /* the process group of its first process */
    SC_SIGNAL_OWN,   /* as TREE, but not what was forked into cells below this one */
    SC_SIGNAL_WHOM_COUNT
};
struct sc_msg_signal {
    int32_t number;
    uint32_t whom;
};
#define SC_EXIT_TIMED_OUT 0x1 /* the agent killed it at its wall_ns */
#define SC_EXIT_UNREAD 0x2    /* the end of what stood in the runner's stream was read by nobody */
struct sc_msg_command_exit {
    int32_t wait_status; /* of the main process, as waitpid gives it */
    uint32_t flags;
    uint64_t user_ns, system_ns; /* of the main process and what it waited for */
    uint64_t rss_peak_bytes, wall_ns;
    uint64_t runner_bytes; /* so much input went into the runner's stream; no more will */
};
struct sc_msg_orphan {
    int32_t pid;         /* inside the cell */
    int32_t wait_status; /* as waitpid gives it */
    uint64_t user_ns, system_ns, rss_peak_bytes;
};
struct sc_msg_listed {
    uint32_t channel, flags;
    int32_t pid; /* 0: not started yet */
    uint32_t ended;
    uint64_t age_ns;
    char name[48]; /* of argv[0], cut */
};

/* ---- files (version 2): done by a process with the program's rights, inside the cell's root ---- */

enum sc_file_kind {
    SC_FILE_READ,    /* OUTPUT: bytes from `offset`, at most `length` (0: to the end) */
    SC_FILE_WRITE,   /* INPUT until INPUT_END becomes the file in one step (rename over it) */
    SC_FILE_APPEND,  /* INPUT until INPUT_END is added at its end */
    SC_FILE_LIST,    /* OUTPUT: struct sc_entry + name (+ link target) for each entry, by name */
    SC_FILE_STAT,    /* OUTPUT: one struct sc_entry + name */
    SC_FILE_MKDIR,   /* with SC_FILE_PARENTS also those above it, and one that is there is fine */
    SC_FILE_RENAME,  /* second path: the new name; replaces a file */
    SC_FILE_REMOVE,  /* with SC_FILE_RECURSIVE a folder and all in it */
    SC_FILE_CHMOD,   /* `mode` */
    SC_FILE_WATCH,   /* OUTPUT: struct sc_change + name, until SIGNAL or the end; STARTED when it watches */
    SC_FILE_TAR_IN,  /* INPUT: a tar stream, unpacked below the folder `path` */
    SC_FILE_TAR_OUT, /* OUTPUT: a tar stream of the file or folder `path` */
    SC_FILE_PORT,    /* no file: INPUT goes to the port of the cell's loopback that `path` is in digits, and
                        OUTPUT    comes from it until that side ends; STARTED when it is connected */
    SC_FILE_KINDS
};
#define SC_FILE_PARENTS 0x1
#define SC_FILE_RECURSIVE 0x2
/* TAR_OUT, TAR_IN: a folder that shall be again what it was: hard links stay ones, links may point anywhere,
 * folders get mode and time back, long runs of zeros become holes. */
#define SC_FILE_AS_IT_WAS 0x4

struct sc_msg_file_op {
    uint32_t kind; /* enum sc_file_kind */
    uint32_t flags;
    uint32_t mode;   /* of what is made; 0: 0644, or 0755 for a folder */
    uint32_t credit; /* first output credit */
    uint64_t offset, length;
    /* then: path NUL, and for RENAME another; absolute, or relative to the work folder */
};
struct sc_entry {
    uint64_t size;
    int64_t mtime_ns;
    uint32_t mode;                 /* as stat gives it, type included */
    uint16_t name_len, target_len; /* bytes that follow, without NUL */
};
enum sc_change_kind {
    SC_CHANGE_MADE = 1,
    SC_CHANGE_WRITTEN,
    SC_CHANGE_REMOVED,
    SC_CHANGE_RENAMED,
    SC_CHANGE_MODE,
    SC_CHANGE_LOST
};
struct sc_change {
    uint16_t kind, is_folder;
    uint32_t name_len; /* path relative to the watched folder */
};
struct sc_msg_file_done {
    int32_t code; /* 0, or the negative errno: -EACCES, -ENOENT, -EISDIR, -ENOSPC, … */
    uint32_t pad;
    uint64_t bytes, files;
    char object[96]; /* the path at fault, cut */
};

#endif
