/* What a child cell's midwife (init_child.c) says to the supervisor, on SC_SLOT_MIDWIFE: once. With it come
 * the agent's pidfd and its pid namespace, if the agent was born. */
#ifndef SC_CELL_MIDWIFE_H
#define SC_CELL_MIDWIFE_H

#include "agent/proto.h"

struct sc_midwife_report {
    int32_t second; /* a process of the supervisor's that it must wait for; 0: none */
    uint32_t pad;
    struct sc_msg_failed failed; /* code 0: all is well */
};

#endif
