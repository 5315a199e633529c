/* What the agent says about its cell as a whole, taken as from a stranger. */
#ifndef SC_CELL_READY_H
#define SC_CELL_READY_H

#include "agent/proto.h"
#include "base/frame.h"

/* READY with its descriptors, into ret_ready by enum sc_ready_fd (-1: not had). Takes all of `fds`, also when
 * it fails. 0, or -EPROTO: they are not what READY says, or the work folder is none. */
int sc_ready_take(const struct sc_frame *frame, const uint8_t *payload, const int *fds, size_t n_fds,
                  int ret_ready[SC_READY_COUNT]);
/* FAILED, its texts ended. 0, or -EPROTO: of a wrong size, or its code is no negative errno. */
int sc_failed_take(const struct sc_frame *frame, const uint8_t *payload, struct sc_msg_failed *ret_failed);
static inline int sc_is_errno(int32_t code)
{
    return code < 0 && code >= -4095;
}

#endif
