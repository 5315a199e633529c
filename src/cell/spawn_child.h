/* The first instants of a cell: a child of the supervisor that arranges descriptors and becomes the agent. */
#ifndef SC_CELL_SPAWN_CHILD_H
#define SC_CELL_SPAWN_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

#include "agent/proto.h"

struct sc_spawn_order {
    int slots[SC_SLOT_END]; /* descriptor for each slot, or -1 */
    int user_ns, birth_ns;  /* rootless: joined first; else -1 */
    int cgroup;             /* v2: the group's directory, or -1 */
    bool is_midwife; /* it makes the namespaces and process 1 itself: user_ns, birth_ns and cgroup are -1 */
    /* answers */
    pid_t pid;
    const char *failed; /* step that failed, or NULL */
    int code;           /* its negative errno */
};

/* Starts the agent as process 1 of fresh pid, ipc and uts namespaces. The caller sleeps until the agent's
 * exec. Returns its pid, or negative errno with order->failed set. Wait for it with __WALL; exec has given it
 * the exit signal SIGCHLD, so a caller that ignores SIGCHLD or waits for any child may have taken its end:
 * then ECHILD. */
pid_t sc_spawn_agent(struct sc_spawn_order *order);

#endif
