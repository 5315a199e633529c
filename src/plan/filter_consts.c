/* Owns the names that policies may use for numbers. Written out, since installed kernel headers are often
 * older than the kernels Snapcell meets; the unit test compares those that the headers do know. */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "plan/filter_rules.h"

struct constant {
    const char *name;
    uint64_t value;
};

static const struct constant CONSTANTS[] = {
    /* clone */
    {"CLONE_NEWNS", 0x00020000},
    {"CLONE_NEWTIME", 0x00000080},
    {"CLONE_NEWCGROUP", 0x02000000},
    {"CLONE_NEWUTS", 0x04000000},
    {"CLONE_NEWIPC", 0x08000000},
    {"CLONE_NEWUSER", 0x10000000},
    {"CLONE_NEWPID", 0x20000000},
    {"CLONE_NEWNET", 0x40000000},
    /* socket */
    {"AF_UNIX", 1},
    {"AF_INET", 2},
    {"AF_INET6", 10},
    {"AF_NETLINK", 16},
    {"AF_PACKET", 17},
    {"SOCK_TYPE_MASK", 0xf},
    {"SOCK_STREAM", 1},
    {"SOCK_DGRAM", 2},
    {"SOCK_RAW", 3},
    {"SOCK_SEQPACKET", 5},
    {"IPPROTO_TCP", 6},
    {"IPPROTO_UDP", 17},
    {"IPPROTO_MPTCP", 262},
    {"NETLINK_ROUTE", 0},
    {"SOL_IP", 0},
    {"SOL_IPV6", 41},
    {"SOL_TCP", 6},
    {"IP_XFRM_POLICY", 17},
    {"IPV6_XFRM_POLICY", 35},
    {"IPT_SO_REPLACE", 64}, /* of both families, as the next three */
    {"IPT_SO_COUNTERS", 65},
    {"IPT_SO_INFO", 64},
    {"IPT_SO_ENTRIES", 65},
    {"TCP_REPAIR", 19},
    {"TCP_ULP", 31},
    /* mknod */
    {"S_IFMT", 0170000},
    {"S_IFREG", 0100000},
    {"S_IFIFO", 0010000},
    {"S_IFSOCK", 0140000},
    /* madvise, personality, priorities */
    {"MADV_MERGEABLE", 12},
    {"ADDR_NO_RANDOMIZE", 0x0040000},
    {"SCHED_OTHER", 0},
    {"SCHED_BATCH", 3},
    {"SCHED_IDLE", 5},
    {"PRIO_PROCESS", 0},
    {"IOPRIO_WHO_PROCESS", 1},
    /* prctl */
    {"PR_SET_PDEATHSIG", 1},
    {"PR_GET_PDEATHSIG", 2},
    {"PR_GET_DUMPABLE", 3},
    {"PR_SET_DUMPABLE", 4},
    {"PR_GET_KEEPCAPS", 7},
    {"PR_SET_KEEPCAPS", 8},
    {"PR_SET_NAME", 15},
    {"PR_GET_NAME", 16},
    {"PR_GET_SECCOMP", 21},
    {"PR_SET_SECCOMP", 22},
    {"PR_CAPBSET_READ", 23},
    {"PR_CAPBSET_DROP", 24},
    {"PR_GET_TSC", 25},
    {"PR_SET_TSC", 26},
    {"PR_GET_SECUREBITS", 27},
    {"PR_SET_SECUREBITS", 28},
    {"PR_SET_TIMERSLACK", 29},
    {"PR_GET_TIMERSLACK", 30},
    {"PR_SET_MM", 35},
    {"PR_SET_CHILD_SUBREAPER", 36},
    {"PR_GET_CHILD_SUBREAPER", 37},
    {"PR_SET_NO_NEW_PRIVS", 38},
    {"PR_GET_NO_NEW_PRIVS", 39},
    {"PR_GET_TID_ADDRESS", 40},
    {"PR_SET_THP_DISABLE", 41},
    {"PR_GET_THP_DISABLE", 42},
    {"PR_CAP_AMBIENT", 47},
    {"PR_GET_SPECULATION_CTRL", 52},
    {"PR_SET_SPECULATION_CTRL", 53},
    {"PR_SET_IO_FLUSHER", 57},
    {"PR_GET_IO_FLUSHER", 58},
    {"PR_SCHED_CORE", 62},
    {"PR_SET_MDWE", 65},
    {"PR_GET_MDWE", 66},
    {"PR_SET_MEMORY_MERGE", 67},
    {"PR_GET_MEMORY_MERGE", 68},
    {"PR_GET_AUXV", 0x41555856},
    {"PR_SET_VMA", 0x53564d41},
    {"PR_SET_PTRACER", 0x59616d61},
    /* ioctl: kinds */
    {"IOC_TYPE", 0xff00},
    {"IOC_BLOCK", 0x1200},
    {"IOC_KEYBOARD", 0x4b00},
    {"IOC_LOOP", 0x4c00},
    {"IOC_CONSOLE", 0x5600},
    {"IOC_FS", 0x6600},
    {"IOC_SOCKET", 0x8900},
    {"IOC_WIRELESS", 0x8b00},
    {"IOC_BTRFS", 0x9400},
    /* ioctl: terminals */
    {"TIOCSTI", 0x5412},
    {"TIOCLINUX", 0x541c},
    {"TIOCCONS", 0x541d},
    {"TIOCSSERIAL", 0x541f},
    {"TIOCSETD", 0x5423},
    {"TIOCVHANGUP", 0x5437},
    {"TIOCSERCONFIG", 0x5453},
    /* ioctl: sockets */
    {"FIOSETOWN", 0x8901},
    {"SIOCSPGRP", 0x8902},
    {"FIOGETOWN", 0x8903},
    {"SIOCGPGRP", 0x8904},
    {"SIOCATMARK", 0x8905},
    {"SIOCGSTAMP_OLD", 0x8906},
    {"SIOCGSTAMPNS_OLD", 0x8907},
    {"SIOCGSTAMP", 0x80108906},
    {"SIOCGSTAMPNS", 0x80108907},
    {"SIOCGIFNAME", 0x8910},
    {"SIOCGIFCONF", 0x8912},
    {"SIOCGIFFLAGS", 0x8913},
    {"SIOCGIFADDR", 0x8915},
    {"SIOCGIFDSTADDR", 0x8917},
    {"SIOCGIFBRDADDR", 0x8919},
    {"SIOCGIFNETMASK", 0x891b},
    {"SIOCGIFMETRIC", 0x891d},
    {"SIOCGIFMTU", 0x8921},
    {"SIOCGIFHWADDR", 0x8927},
    {"SIOCGIFINDEX", 0x8933},
    {"SIOCGIFTXQLEN", 0x8942},
    {"SIOCETHTOOL", 0x8946},
    {"SIOCOUTQNSD", 0x894b},
    {"SIOCGIFMAP", 0x8970},
    /* ioctl: file systems */
    {"FIBMAP", 1},
    {"FICLONE", 0x40049409},
    {"FICLONERANGE", 0x4020940d},
    {"FIDEDUPERANGE", 0xc0189436},
    {"FIFREEZE", 0xc0045877},
    {"FITHAW", 0xc0045878},
    {"FITRIM", 0xc0185879},
    {"FS_IOC_GETFLAGS", 0x80086601},
    {"FS_IOC_FIEMAP", 0xc020660b},
    {"FS_IOC_FSSETXATTR", 0x401c5820},
    {"FS_IOC_SHUTDOWN", 0x8004587d},
};

static const struct constant ERRORS[] = {
    {"EPERM", EPERM},
    {"EACCES", EACCES},
    {"EINVAL", EINVAL},
    {"ENOTTY", ENOTTY},
    {"ENOSYS", ENOSYS},
    {"EOPNOTSUPP", EOPNOTSUPP},
    {"ENOPROTOOPT", ENOPROTOOPT},
    {"EAFNOSUPPORT", EAFNOSUPPORT},
    {"EPROTONOSUPPORT", EPROTONOSUPPORT},
};

static const struct constant *find(const struct constant *table, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(table[i].name, name) == 0)
            return &table[i];
    return NULL;
}

int sc_filter_constant(const char *name, uint64_t *ret_value)
{
    const struct constant *found = find(CONSTANTS, sizeof CONSTANTS / sizeof *CONSTANTS, name);

    if (!found)
        return -ENOENT;
    *ret_value = found->value;
    return 0;
}

int sc_filter_errno(const char *name, int *ret_error)
{
    const struct constant *found = find(ERRORS, sizeof ERRORS / sizeof *ERRORS, name);

    if (!found)
        return -ENOENT;
    *ret_error = (int)found->value;
    return 0;
}

bool sc_filter_answerable(const char *call)
{
    static const char *const answered[] = {"sysinfo"};

    for (size_t i = 0; i < sizeof answered / sizeof *answered; i++)
        if (strcmp(answered[i], call) == 0)
            return true;
    return false;
}

int sc_filter_arch_highest(const struct sc_filter_arch *arch)
{
    int highest = -1;

    for (size_t i = 0; i < arch->n_calls; i++)
        if (arch->calls[i].nr > highest)
            highest = arch->calls[i].nr;
    return highest;
}

const struct sc_filter_call *sc_filter_arch_by_name(const struct sc_filter_arch *arch, const char *name)
{
    for (size_t i = 0; i < arch->n_calls; i++)
        if (strcmp(arch->calls[i].name, name) == 0)
            return &arch->calls[i];
    return NULL;
}

const struct sc_filter_call *sc_filter_arch_by_nr(const struct sc_filter_arch *arch, int nr)
{
    for (size_t i = 0; i < arch->n_calls; i++)
        if (arch->calls[i].nr == nr)
            return &arch->calls[i];
    return NULL;
}
