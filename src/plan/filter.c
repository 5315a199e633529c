/* Owns the built-in filters and what can be asked about them. The programs themselves are written by
 * tools/mkfilter when Snapcell is built. */
#include "plan/filter.h"

#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "plan/filter_built.h"

static const struct sc_filter *find(const char *name)
{
    for (size_t i = 0; i < sc_filters_built_n; i++)
        if (strcmp(sc_filters_built[i].name, name) == 0)
            return &sc_filters_built[i];
    return NULL;
}

const struct sc_filter *sc_filter_for(enum sc_profile profile)
{
    return find(profile == SC_PROFILE_COMPUTE ? "compute" : "default");
}

const struct sc_filter *sc_filter_forkable(bool zygote)
{
    return find(zygote ? "forkable" : "forkable_session");
}

const struct sc_filter_notice *sc_filter_find_notice(const struct sc_filter *filter, int nr)
{
    for (size_t i = 0; i < filter->n_notices; i++)
        if (filter->notices[i].nr == nr)
            return &filter->notices[i];
    return NULL;
}

static bool cond_holds(const struct sc_filter_cond *cond, const uint64_t args[6])
{
    uint64_t value = args[cond->arg] & cond->mask;

    if (!cond->wide)
        value = (uint32_t)value;
    for (size_t i = 0; i < cond->n_values; i++)
        if (cond->values[i] == value)
            return !cond->negated;
    return cond->negated;
}

static bool notice_holds(const struct sc_filter_notice *notice, const uint64_t args[6])
{
    for (size_t i = 0; i < notice->n_conds; i++)
        if (!cond_holds(&notice->conds[i], args))
            return false;
    return true;
}

/* Rules that allow or refuse quietly need no look: the kernel has found that a reporting one came first. */
const struct sc_filter_notice *sc_filter_notice_for(const struct sc_filter *filter, int nr,
                                                    const uint64_t args[6])
{
    for (size_t i = 0; i < filter->n_notices; i++)
        if (filter->notices[i].nr == nr && notice_holds(&filter->notices[i], args))
            return &filter->notices[i];
    return NULL;
}

void sc_filter_describe(int nr, const uint64_t args[6], char *ret_text, size_t size)
{
    const unsigned a = (unsigned)args[0], b = (unsigned)args[1], c = (unsigned)args[2];

    switch (nr) {
    case SYS_socket:
    case SYS_socketpair:
        snprintf(ret_text, size, "family %u, type %u, protocol %u", a, b & 0xf, c);
        break;
    case SYS_ioctl:
        snprintf(ret_text, size, "command 0x%x", b);
        break;
    case SYS_clone:
    case SYS_unshare:
        snprintf(ret_text, size, "flags 0x%x", a);
        break;
    case SYS_setns:
        snprintf(ret_text, size, "flags 0x%x", b);
        break;
    case SYS_personality:
        snprintf(ret_text, size, "personality 0x%x", a);
        break;
    case SYS_mknod:
        snprintf(ret_text, size, "mode 0%o", b & 0xffff);
        break;
    case SYS_mknodat:
        snprintf(ret_text, size, "mode 0%o", c & 0xffff);
        break;
    case SYS_ptrace:
        snprintf(ret_text, size, "request 0x%x", a);
        break;
    case SYS_bpf:
    case SYS_keyctl:
        snprintf(ret_text, size, "command %u", a);
        break;
    case SYS_prlimit64:
    case SYS_sched_setaffinity:
    case SYS_sched_setparam:
    case SYS_sched_setattr:
    case SYS_sched_setscheduler:
        snprintf(ret_text, size, "pid %d", (int)a);
        break;
    case SYS_setpriority:
    case SYS_ioprio_set:
        snprintf(ret_text, size, "which %u, who %d", a, (int)b);
        break;
    default:
        snprintf(ret_text, size, "%s", "");
    }
}

/* --- a small classic-BPF machine: what seccomp programs use --- */

static uint32_t load(const struct seccomp_data *data, uint32_t offset)
{
    uint32_t word = 0;

    if (offset % 4 == 0 && offset <= sizeof *data - 4)
        memcpy(&word, (const uint8_t *)data + offset, 4);
    return word;
}

static bool compare(uint16_t code, uint32_t a, uint32_t k)
{
    switch (BPF_OP(code)) {
    case BPF_JEQ:
        return a == k;
    case BPF_JGT:
        return a > k;
    case BPF_JGE:
        return a >= k;
    case BPF_JSET:
        return (a & k) != 0;
    default:
        return false;
    }
}

/* Anything this machine does not know, and falling off the end, ends the process, as a refusal that cannot be
 * missed. */
static uint32_t run(const struct sock_filter *insns, uint32_t n, const struct seccomp_data *data)
{
    uint32_t a = 0;

    for (uint32_t pc = 0; pc < n; pc++) {
        const struct sock_filter *i = &insns[pc];
        switch (i->code) {
        case BPF_LD | BPF_W | BPF_ABS:
            a = load(data, i->k);
            break;
        case BPF_ALU | BPF_AND | BPF_K:
            a &= i->k;
            break;
        case BPF_JMP | BPF_JA:
            pc += i->k;
            break;
        case BPF_JMP | BPF_JEQ | BPF_K:
        case BPF_JMP | BPF_JGT | BPF_K:
        case BPF_JMP | BPF_JGE | BPF_K:
        case BPF_JMP | BPF_JSET | BPF_K:
            pc += compare(i->code, a, i->k) ? i->jt : i->jf;
            break;
        case BPF_RET | BPF_K:
            return i->k;
        default:
            return SECCOMP_RET_KILL_PROCESS;
        }
    }
    return SECCOMP_RET_KILL_PROCESS;
}

uint32_t sc_filter_evaluate(const struct sc_filter *filter, uint32_t arch, int nr, const uint64_t args[6])
{
    struct seccomp_data data = {.nr = nr, .arch = arch};

    for (int i = 0; i < 6; i++)
        data.args[i] = args[i];
    return run(filter->insns, filter->n_insns, &data);
}
