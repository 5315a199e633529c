/* System calls that the filter reports. Most are refused with the policy's errno, whatever the call's
 * arguments point to: nothing is decided here by looking at memory. The first exec under `compute` goes on
 * because it is the first; what the policy says to answer is answered by run_answer.c. */
#include <errno.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/ioctl.h>

#include "cell/run.h"

/* Answering costs the supervisor's time, not the cell's: who makes a habit of it waits for each. */
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

static void tell(struct sc_run *run, const struct sc_filter_notice *rule, const struct seccomp_notif *notice)
{
    struct sc_result *result = run->result;
    char resource[96];
    size_t before = result->n_denials;
    sc_filter_describe(notice->data.nr, (const uint64_t *)notice->data.args, resource, sizeof resource);
    sc_result_deny(result, "seccomp", rule->action, resource, rule->rule, rule->hint);
    if (result->n_denials > before && run->callbacks->denial)
        run->callbacks->denial(run->callbacks->userdata, &result->denials[before]);
}

void sc_run_notice(struct sc_run *run)
{
    struct seccomp_notif notice;
    int listener = run->ready[SC_READY_NOTIFY];
    memset(&notice, 0, sizeof notice);
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &notice) < 0)
        return; /* the caller is gone already */
    if (++run->notices > NOTICES_FREE)
        run->next_notice_ns = sc_now_ns() + NOTICE_PAUSE_NS;
    const struct sc_filter_notice *rule =
        sc_filter_notice_for(run->plan->filter, notice.data.nr, (const uint64_t *)notice.data.args);
    if (!rule) {
        answer(listener, &notice, EPERM, false);
        return;
    }
    if (rule->kind == SC_NOTICE_ANSWER) {
        answer(listener, &notice, -sc_run_answer(run, &notice), false);
        return;
    }
    if (rule->kind == SC_NOTICE_ONCE && !run->exec_used) {
        run->exec_used = true;
        answer(listener, &notice, 0, true);
        return;
    }
    tell(run, rule, &notice);
    answer(listener, &notice, rule->answer_errno, false);
}
