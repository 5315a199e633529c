/* What supervisor and agent say to each other, and the descriptors the agent starts with.
 * docs/agent-protocol.md tells the same in words. Little-endian, as both ends run on one machine. */
#ifndef SC_AGENT_PROTO_H
#define SC_AGENT_PROTO_H

#include <stdint.h>

#define SC_PROTO_VERSION 1

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
    SC_SLOT_USER,
    SC_SLOT_SUPERVISOR, /* pidfd: readable when the supervisor is dead */
    SC_SLOT_ID_LOCK,    /* holds this cell's host uid for as long as the agent lives */
    SC_SLOT_WORKDISK,   /* detached mount of a disk-backed work folder */
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
    SC_MSG_START,    /* runs the program; once; nothing but RESIZE follows */
    SC_MSG_RESIZE,   /* struct sc_msg_size */
    /* agent → supervisor */
    SC_MSG_READY = 64, /* every stage holds; descriptors: struct sc_ready_fds order */
    SC_MSG_STARTED,    /* exec succeeded */
    SC_MSG_EXIT,       /* struct sc_msg_exit: the program ended */
    SC_MSG_FAILED,     /* struct sc_msg_failed: a stage, a file or exec failed; the cell is over */
};

struct sc_boot {
    uint32_t version;
    uint32_t n_groups; /* tasks files at SC_SLOT_GROUP… */
    uint32_t host_uid,
        host_gid; /* the program's, as the template's user namespace names them: owner of fresh mounts */
    uint32_t pad;
    uint16_t rows, cols; /* of the terminal */
    char mutant[32];     /* test builds only: the stage that is left out */
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

#endif
