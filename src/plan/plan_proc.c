/* /proc and the little of /sys that programs ask: what would tell of the host is covered, what programs size
 * themselves by is answered for the cell. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "plan/plan_internal.h"

/* World-readable, and telling what the host is or does. What only host root may read needs no cover, for no
 * cell has that id; what lists the kernel's own abilities (crypto, devices, filesystems, …) is the same for
 * everybody. Each cover costs several microseconds a cell. */
static const char *const COVERED[] = {
    "/proc/acpi",       "/proc/buddyinfo",     "/proc/bus",
    "/proc/cgroups",    "/proc/cmdline",       "/proc/config.gz",
    "/proc/diskstats",  "/proc/driver",        "/proc/fs",
    "/proc/interrupts", "/proc/iomem",         "/proc/ioports",
    "/proc/irq",        "/proc/kallsyms",      "/proc/key-users",
    "/proc/keys",       "/proc/latency_stats", "/proc/locks",
    "/proc/mdstat",     "/proc/modules",       "/proc/partitions",
    "/proc/pressure",   "/proc/sched_debug",   "/proc/schedstat",
    "/proc/scsi",       "/proc/slabinfo",      "/proc/softirqs",
    "/proc/swaps",      "/proc/timer_list",    "/proc/vmstat",
    "/proc/xen",        "/proc/zoneinfo",      NULL,
};

/* This boot's identity is not the cell's. */
static const char BOOT_ID[] = "/proc/sys/kernel/random/boot_id";

unsigned sc_plan_cpus(const struct sc_plan *plan)
{
    uint64_t cpus = (plan->limits.cpus + 999) / 1000;
    /* The same on every host. */
    bool as_asked = plan->spec->deterministic.on || cpus < plan->host->cpus;
    return as_asked ? (unsigned)cpus : plan->host->cpus;
}

/* `r` is how making the text went. Takes it, also on failure. */
static int answer(struct sc_plan *plan, int r, const char *name, const char *path, struct sc_buf *text)
{
    static const char prefix[] = SC_PLAN_ANSWERS "/";
    char place[64];
    snprintf(place, sizeof place, "%s%s", prefix, name);
    if (r == 0)
        r = sc_plan_add_mount(plan, SC_MOUNT_FILE, place, NULL, (const char *)text->data, 0444);
    sc_buf_fini(text);
    if (r < 0)
        return r;
    if (plan->n_masks == SC_PLAN_MASK_MAX)
        return -ENOSPC;
    /* The plan's own copy of the path lives as long as the plan; `path` is a constant. */
    plan->masks[plan->n_masks++] = (struct sc_plan_mask){path, plan->mounts[plan->n_mounts - 1].path};
    return 0;
}

static int answer_meminfo(struct sc_plan *plan)
{
    struct sc_buf text;
    uint64_t kib = plan->limits.memory / 1024;
    sc_buf_init(&text, 4096);
    int r = sc_buf_printf(
        &text,
        "MemTotal:       %8" PRIu64 " kB\nMemFree:        %8" PRIu64 " kB\nMemAvailable:   %8" PRIu64
        " kB\nBuffers:               0 kB\nCached:                0 kB\nSwapCached:            0 kB\n"
        "SwapTotal:             0 kB\nSwapFree:              0 kB\nShmem:                 0 kB\n"
        "HugePages_Total:       0\nHugePages_Free:        0\nHugepagesize:       2048 kB\n",
        kib, kib, kib);
    return answer(plan, r, "meminfo", "/proc/meminfo", &text);
}

static int answer_stat(struct sc_plan *plan)
{
    struct sc_buf text;
    sc_buf_init(&text, 1 << 20);
    int r = sc_buf_add_str(&text, "cpu  0 0 0 0 0 0 0 0 0 0\n");
    for (unsigned i = 0; i < sc_plan_cpus(plan) && r == 0; i++)
        r = sc_buf_printf(&text, "cpu%u 0 0 0 0 0 0 0 0 0 0\n", i);
    if (r == 0)
        r = sc_buf_add_str(
            &text, "intr 0\nctxt 0\nbtime 0\nprocesses 1\nprocs_running 1\nprocs_blocked 0\nsoftirq 0\n");
    return answer(plan, r, "stat", "/proc/stat", &text);
}

/* The host's first processor as often as the cell has whole ones. */
static int answer_cpuinfo(struct sc_plan *plan)
{
    struct sc_buf host, text;
    sc_buf_init(&host, 4 << 20);
    sc_buf_init(&text, 4 << 20);
    int r = sc_buf_read_file(&host, -100 /* AT_FDCWD */, "/proc/cpuinfo");
    char *end = r == 0 && host.data ? strstr((char *)host.data, "\n\n") : NULL;
    if (end)
        *end = '\0';
    for (unsigned i = 0; i < sc_plan_cpus(plan) && r == 0; i++) {
        const char *rest = host.data ? strchr((char *)host.data, '\n') : NULL;
        r = sc_buf_printf(&text, "processor\t: %u%s\n\n", i, rest ? rest : "");
    }
    sc_buf_fini(&host);
    return answer(plan, r, "cpuinfo", "/proc/cpuinfo", &text);
}

static int answer_loadavg(struct sc_plan *plan)
{
    struct sc_buf text;
    sc_buf_init(&text, 64);
    int r = sc_buf_add_str(&text, "0.00 0.00 0.00 1/1 1\n");
    return answer(plan, r, "loadavg", "/proc/loadavg", &text);
}

static int answer_boot_id(struct sc_plan *plan)
{
    struct sc_buf text;
    sc_buf_init(&text, 64);
    int r = sc_buf_add_str(&text, "00000000-0000-4000-8000-000000000000\n");
    return answer(plan, r, "boot_id", BOOT_ID, &text);
}

static int cover(struct sc_plan *plan)
{
    int r = sc_plan_add_mount(plan, SC_MOUNT_FILE, SC_PLAN_ANSWERS "/none", NULL, "", 0);
    if (r == 0)
        r = sc_plan_add_mount(plan, SC_MOUNT_DIR, SC_PLAN_ANSWERS "/empty", NULL, NULL, 0);
    if (r < 0)
        return r;
    for (size_t i = 0; COVERED[i]; i++) {
        struct stat st;
        if (stat(COVERED[i], &st) < 0 || !(st.st_mode & 0004))
            continue;
        if (plan->n_masks == SC_PLAN_MASK_MAX)
            return -ENOSPC;
        plan->masks[plan->n_masks++] = (struct sc_plan_mask){
            COVERED[i], S_ISDIR(st.st_mode) ? SC_PLAN_ANSWERS "/empty" : SC_PLAN_ANSWERS "/none"};
    }
    return 0;
}

static int add_sys_file(struct sc_plan *plan, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static int add_sys_file(struct sc_plan *plan, const char *path, const char *format, ...)
{
    char text[64];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    return sc_plan_add_mount(plan, SC_MOUNT_FILE, path, NULL, text, 0444);
}

static int answer_cpu_lists(struct sc_plan *plan)
{
    static const char *const lists[] = {"online", "possible", "present"};
    unsigned last = sc_plan_cpus(plan) - 1;
    char path[64];
    int r = 0;
    for (size_t i = 0; i < 3 && r == 0; i++) {
        snprintf(path, sizeof path, "/sys/devices/system/cpu/%s", lists[i]);
        r = last ? add_sys_file(plan, path, "0-%u\n", last) : add_sys_file(plan, path, "0\n");
    }
    for (unsigned i = 0; i <= last && r == 0; i++) {
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%u", i);
        r = sc_plan_add_mount(plan, SC_MOUNT_DIR, path, NULL, NULL, 0755);
    }
    return r;
}

static int answer_sys(struct sc_plan *plan)
{
    int r = answer_cpu_lists(plan);
    if (r == 0)
        r = add_sys_file(plan, "/sys/fs/cgroup/cpu.max", "%" PRIu64 " 100000\n", plan->limits.cpus * 100);
    if (r == 0)
        r = add_sys_file(plan, "/sys/fs/cgroup/memory.max", "%" PRIu64 "\n", plan->limits.memory);
    if (r == 0)
        r = add_sys_file(plan, "/sys/fs/cgroup/pids.max", "%" PRIu64 "\n", plan->limits.tasks);
    return r;
}

int sc_plan_proc(struct sc_plan *plan, struct sc_err *err)
{
    int (*const parts[])(struct sc_plan *) = {answer_meminfo, answer_stat, answer_cpuinfo, answer_loadavg,
                                              answer_boot_id, cover,       answer_sys};
    (void)err;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        int r = parts[i](plan);
        if (r < 0)
            return sc_err_sys(err, r, "plan of /proc");
    }
    return 0;
}
