/* System calls that the filter reports. Most are refused with the policy's errno, whatever the call's
 * arguments point to: nothing is decided here by looking at memory. The first exec under `compute` goes on
 * because it is the first; what the policy says to answer is answered by notices_answer.c. */
#include <errno.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/clock.h"
#include "base/num.h"
#include "cell/notices.h"

/* Answering costs the supervisor's time, not the cell's: who makes a habit of it waits for each. Every pause
 * that passes forgives one, so that a cell may stay for days. */
#define NOTICES_FREE 10000
#define NOTICE_PAUSE_NS (1 * SC_NS_PER_MS)

static void answer(int listener, const struct seccomp_notif *notice, int error, bool go_on)
{
    struct seccomp_notif_resp response = {
        .id = notice->id,
        .error = go_on ? 0 : -error,
        .flags = go_on ? SECCOMP_USER_NOTIF_FLAG_CONTINUE : 0,
    };
    /* ENOENT: the caller was killed meanwhile. */
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
}

static void tell(struct sc_notices *notices, const struct sc_filter_notice *rule,
                 const struct seccomp_notif *notice)
{
    char resource[96];
    sc_filter_describe(notice->data.nr, (const uint64_t *)notice->data.args, resource, sizeof resource);
    notices->refused(notices->userdata, rule, resource);
}

static void count_one(struct sc_notices *notices)
{
    uint64_t now = sc_now_ns(), forgiven = (now - notices->counted_ns) / NOTICE_PAUSE_NS;
    notices->count -= sc_min_u64(notices->count, forgiven);
    notices->counted_ns = now;
    if (++notices->count > NOTICES_FREE)
        notices->next_ns = now + NOTICE_PAUSE_NS;
}

void sc_notices_take(struct sc_notices *notices)
{
    struct seccomp_notif notice;
    int listener = notices->listener;
    memset(&notice, 0, sizeof notice);
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &notice) < 0)
        return; /* the caller is gone already */
    count_one(notices);
    const struct sc_filter_notice *rule =
        sc_filter_notice_for(notices->plan->filter, notice.data.nr, (const uint64_t *)notice.data.args);
    if (!rule) {
        answer(listener, &notice, EPERM, false);
        return;
    }
    if (rule->kind == SC_NOTICE_ANSWER) {
        answer(listener, &notice, -sc_notices_answer(notices, &notice), false);
        return;
    }
    if (rule->kind == SC_NOTICE_ONCE && !notices->exec_used) {
        notices->exec_used = true;
        answer(listener, &notice, 0, true);
        return;
    }
    tell(notices, rule, &notice);
    answer(listener, &notice, rule->answer_errno, false);
}
