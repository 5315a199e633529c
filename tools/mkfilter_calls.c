#include "mkfilter_calls.h"

#include <errno.h>
#include <linux/audit.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>

/* Calls that packaged libseccomp (2.5.4 in Debian 12) may not know. Since 424 all architectures share the
 * numbers. The last one says how new this table is: what is newer is answered ENOSYS, as by a kernel that
 * lacks it. */
static const struct sc_filter_call NEWER[] = {
    {"cachestat", 451},         {"fchmodat2", 452},         {"map_shadow_stack", 453}, {"futex_wake", 454},
    {"futex_wait", 455},        {"futex_requeue", 456},     {"statmount", 457},        {"listmount", 458},
    {"lsm_get_self_attr", 459}, {"lsm_set_self_attr", 460}, {"lsm_list_modules", 461}, {"mseal", 462},
    {"setxattrat", 463},        {"getxattrat", 464},        {"listxattrat", 465},      {"removexattrat", 466},
    {"open_tree_attr", 467},    {"file_getattr", 468},      {"file_setattr", 469},     {"listns", 470},
    {"rseq_slice_yield", 471},
};

static const struct sc_filter_call X86_64_ONLY[] = {
    {"uretprobe", 335},
    {"uprobe", 336},
};

struct table {
    const char *name;
    uint32_t audit_arch, scmp_arch;
    bool has_x32;
    const struct sc_filter_call *own;
    size_t n_own;
};

/* aarch64 would be one more row (and a run of the tests there). */
static const struct table TABLES[] = {
    {"x86_64", AUDIT_ARCH_X86_64, SCMP_ARCH_X86_64, true, X86_64_ONLY,
     sizeof X86_64_ONLY / sizeof *X86_64_ONLY},
};

#define N_NEWER (sizeof NEWER / sizeof *NEWER)

static const char *own_name(const struct table *table, int nr)
{
    for (size_t i = 0; i < N_NEWER; i++)
        if (NEWER[i].nr == nr)
            return NEWER[i].name;
    for (size_t i = 0; i < table->n_own; i++)
        if (table->own[i].nr == nr)
            return table->own[i].name;
    return NULL;
}

/* The name of `nr`, to be freed; NULL when there is no such call. */
static char *call_name(const struct table *table, int nr)
{
    const char *own = own_name(table, nr);

    return own ? strdup(own) : seccomp_syscall_resolve_num_arch(table->scmp_arch, nr);
}

static const struct table *find_table(const char *name)
{
    for (size_t i = 0; i < sizeof TABLES / sizeof *TABLES; i++)
        if (strcmp(TABLES[i].name, name) == 0)
            return &TABLES[i];
    return NULL;
}

int sc_mkfilter_arch_init(const char *name, struct sc_filter_arch *ret_arch)
{
    const struct table *table = find_table(name);
    const int highest = NEWER[N_NEWER - 1].nr;
    struct sc_filter_call *calls;
    size_t n = 0;

    if (!table)
        return -ENOENT;
    calls = calloc((size_t)highest + 1, sizeof *calls);
    if (!calls)
        return -ENOMEM;
    for (int nr = 0; nr <= highest; nr++) {
        char *call = call_name(table, nr);
        if (call)
            calls[n++] = (struct sc_filter_call){.name = call, .nr = nr};
    }
    *ret_arch = (struct sc_filter_arch){.name = table->name,
                                        .audit_arch = table->audit_arch,
                                        .has_x32 = table->has_x32,
                                        .calls = calls,
                                        .n_calls = n};
    return 0;
}

void sc_mkfilter_arch_fini(struct sc_filter_arch *arch)
{
    for (size_t i = 0; i < arch->n_calls; i++)
        free((char *)arch->calls[i].name);
    free((struct sc_filter_call *)arch->calls);
    *arch = (struct sc_filter_arch){0};
}
