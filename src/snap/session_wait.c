#include "snap/session_wait.h"

#include <errno.h>
#include <string.h>

#include "base/num.h"

int sc_session_wait(struct sc_session *session, struct pollfd *others, size_t n_others, uint64_t until_ns,
                    struct sc_err *err)
{
    struct pollfd polls[SC_SESSION_WAIT_MAX + 1] = {{sc_session_fd(session), POLLIN, 0}};
    uint64_t next = sc_min_u64(sc_session_next_ns(session), until_ns), now = sc_now_ns();
    uint64_t wait = next - sc_min_u64(next, now);
    const struct timespec timeout = {(time_t)(wait / SC_NS_PER_S), (long)(wait % SC_NS_PER_S)};
    if (n_others > SC_SESSION_WAIT_MAX)
        return sc_err_sys(err, -EINVAL, "waiting for %zu descriptors", n_others);
    for (size_t i = 0; i < n_others; i++)
        polls[i + 1] = (struct pollfd){others[i].fd, others[i].events, 0};
    int r = ppoll(polls, n_others + 1, next == UINT64_MAX ? NULL : &timeout, NULL);
    if (r < 0 && errno != EINTR)
        return sc_err_sys(err, -errno, "poll");
    for (size_t i = 0; i < n_others; i++)
        others[i].revents = r < 0 ? 0 : polls[i + 1].revents;
    return sc_session_step(session, err);
}
