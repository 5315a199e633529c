/* Process 1 of every cell. Starts programs, moves files in, buries orphans, and tells the supervisor what
 * ended. */
#ifndef SC_AGENT_AGENT_H
#define SC_AGENT_AGENT_H

#include <stdbool.h>
#include <sys/types.h>

#include "agent/image.h"
#include "agent/proto.h"

#define SC_AGENT_ARGS_MAX 8192 /* arguments of one program; also its environment's entries */
enum { SC_AGENT_FD_RULESET, SC_AGENT_FD_PROC, SC_AGENT_STAGE_FDS };

/* What a command has of its own in the program stages. */
struct sc_agent_entry {
    const char *cwd; /* NULL: the image's */
    int pty_slave;   /* -1: no terminal */
    bool in_process; /* a file operation: no exec follows */
};

/* What the one who set the cell up hands over. */
struct sc_agent {
    const struct sc_image *image;
    int control;
    int supervisor; /* its pidfd; -1: only the stream tells of its end */
    int work_fd;    /* the work folder */
    /* Runs in a new program's process, before exec: the program stages. `entry` NULL: as the image says.
     * Fills `failed` when it returns < 0. */
    int (*enter_program)(void *data, const struct sc_agent_entry *entry, struct sc_msg_failed *failed);
    void *data;
    int stage_fds[SC_AGENT_STAGE_FDS]; /* descriptors that the program stages use; -1: none */
    int pty_master;                    /* -1: no terminal */
};

/* Serves until the supervisor is gone; never returns. */
__attribute__((noreturn)) void sc_agent_serve(struct sc_agent *agent);

struct sc_agent_program {
    char **argv, **env;
    const struct sc_agent_entry *entry;
    int runner; /* becomes descriptor 3; -1: it has three only */
    int socket; /* becomes descriptor 4: its fork socket; -1: none */
};
/* Starts a program as a child of the caller. Its pid, or negative errno with `failed` filled. */
pid_t sc_agent_spawn(struct sc_agent *agent, const struct sc_agent_program *program,
                     struct sc_msg_failed *failed);
/* The same with the image's program. */
pid_t sc_agent_spawn_image(struct sc_agent *agent, struct sc_msg_failed *failed);
/* Texts of the image as a NULL-ended list; `ret_list` has room for count + 1. */
void sc_agent_image_texts(const struct sc_image *image, uint32_t at, uint32_t count, char **ret_list);

/* Files of the work folder, written with the program's id: SC_MSG_FILE, DATA, CLOSE, DIR; TRUST, which lies
 * elsewhere. */
struct sc_agent_files {
    int open_fd;
};
int sc_agent_file_message(struct sc_agent *agent, struct sc_agent_files *files, uint16_t type,
                          const uint8_t *payload, uint32_t len);

/* From here on what the agent makes (files, pipes) is the program's. Until sc_agent_be_sealed. */
void sc_agent_be_program(const struct sc_agent *agent);
/* Back to the agent's own id, and not dumpable, whatever the change of ids did to that. */
void sc_agent_be_sealed(const struct sc_agent *agent);

/* Says what failed and ends the cell. */
__attribute__((noreturn)) void sc_agent_fail(int control, const char *stage, const char *object, int code);
/* Ends the cell: everybody else first. */
__attribute__((noreturn)) void sc_agent_end(void);
void sc_agent_describe(struct sc_msg_failed *failed, const char *stage, const char *object, int code);

#endif
