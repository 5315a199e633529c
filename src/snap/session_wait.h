/* A session for callers without a loop of their own. */
#ifndef SC_SNAP_SESSION_WAIT_H
#define SC_SNAP_SESSION_WAIT_H

#include <poll.h>

#include "snap/session.h"

#define SC_SESSION_WAIT_MAX 4

/* Waits until the session, one of `others` (whose revents are set; a descriptor of -1 is none) or `until_ns`
 * (monotonic) has something, and does the session's step. 0 or negative errno. */
int sc_session_wait(struct sc_session *session, struct pollfd *others, size_t n_others, uint64_t until_ns,
                    struct sc_err *err);

#endif
