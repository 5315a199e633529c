/* Process 1 of every cell. Starts programs, moves files in, buries orphans, and tells the supervisor what
 * ended. */
#ifndef SC_AGENT_AGENT_H
#define SC_AGENT_AGENT_H

#include <sys/types.h>

#include "agent/image.h"
#include "agent/proto.h"

/* What the one who set the cell up hands over. */
struct sc_agent {
    const struct sc_image *image;
    int control;
    int supervisor; /* its pidfd; -1: only the stream tells of its end */
    int work_fd;    /* the work folder */
    /* Runs in a new program's process, before exec: the program stages. Fills `failed` when it returns < 0.
     */
    int (*enter_program)(void *data, struct sc_msg_failed *failed);
    void *data;
    int pty_master; /* -1: no terminal */
};

/* Serves until the supervisor is gone; never returns. */
__attribute__((noreturn)) void sc_agent_serve(struct sc_agent *agent);

/* Starts the image's program. Its pid, or negative errno with `failed` filled. */
pid_t sc_agent_spawn(struct sc_agent *agent, struct sc_msg_failed *failed);

/* Files of the work folder, written with the program's id: SC_MSG_FILE, DATA, CLOSE, DIR. */
struct sc_agent_files {
    int open_fd;
};
int sc_agent_file_message(struct sc_agent *agent, struct sc_agent_files *files, uint16_t type,
                          const uint8_t *payload, uint32_t len);

/* Says what failed and ends the cell. */
__attribute__((noreturn)) void sc_agent_fail(int control, const char *stage, const char *object, int code);
void sc_agent_describe(struct sc_msg_failed *failed, const char *stage, const char *object, int code);

#endif
