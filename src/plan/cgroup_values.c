#include "plan/cgroup_values.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define CPU_PERIOD_US 100000u
#define CPU_PERIOD_LONG_US 1000000u
#define CPU_QUOTA_MIN_US 1000u /* the kernel takes no less */

struct values {
    struct sc_plan_cgroup *at;
    size_t n, max;
    bool full;
};

static void add(struct values *values, enum sc_controller controller, const char *file, const char *format,
                ...) __attribute__((format(printf, 4, 5)));

static void add(struct values *values, enum sc_controller controller, const char *file, const char *format,
                ...)
{
    if (values->n == values->max) {
        values->full = true;
        return;
    }
    struct sc_plan_cgroup *one = &values->at[values->n];
    va_list ap;
    *one = (struct sc_plan_cgroup){.controller = controller, .file = file};
    va_start(ap, format);
    int n = vsnprintf(one->value, sizeof one->value, format, ap);
    va_end(ap);
    values->full |= n < 0 || (size_t)n >= sizeof one->value;
    values->n++;
}

/* A cell that stays outlives a program that took too much; else all of it ends with the one.
 * v1 checks that memory plus swap is not below memory, so the order matters. */
static void add_memory(struct values *values, enum sc_cgroup_version version, uint64_t bytes, bool stay)
{
    if (version == SC_CGROUP_V2) {
        add(values, SC_CTL_MEMORY, "memory.max", "%" PRIu64, bytes);
        add(values, SC_CTL_MEMORY, "memory.swap.max", "0");
        add(values, SC_CTL_MEMORY, "memory.oom.group", stay ? "0" : "1");
    } else {
        add(values, SC_CTL_MEMORY, "memory.limit_in_bytes", "%" PRIu64, bytes);
        add(values, SC_CTL_MEMORY, "memory.memsw.limit_in_bytes", "%" PRIu64, bytes);
        add(values, SC_CTL_MEMORY, "memory.swappiness", "0");
    }
}

static void add_cpu(struct values *values, enum sc_cgroup_version version, uint64_t cpus_milli)
{
    uint64_t period = CPU_PERIOD_US;
    if (cpus_milli * period / 1000 < CPU_QUOTA_MIN_US)
        period = CPU_PERIOD_LONG_US;
    uint64_t quota = cpus_milli * period / 1000;
    if (version == SC_CGROUP_V2) {
        add(values, SC_CTL_CPU, "cpu.max", "%" PRIu64 " %" PRIu64, quota, period);
    } else {
        add(values, SC_CTL_CPU, "cpu.cfs_period_us", "%" PRIu64, period);
        add(values, SC_CTL_CPU, "cpu.cfs_quota_us", "%" PRIu64, quota);
    }
}

static void add_disk(struct values *values, enum sc_cgroup_version version, const struct sc_host_disk *disk,
                     const struct sc_limits *limits)
{
    bool reads = limits->io_read != SC_UNSET, writes = limits->io_write != SC_UNSET;
    if (version == SC_CGROUP_V1) {
        if (reads)
            add(values, SC_CTL_IO, "blkio.throttle.read_bps_device", "%u:%u %" PRIu64, disk->major,
                disk->minor, limits->io_read);
        if (writes)
            add(values, SC_CTL_IO, "blkio.throttle.write_bps_device", "%u:%u %" PRIu64, disk->major,
                disk->minor, limits->io_write);
    } else if (reads && writes) {
        add(values, SC_CTL_IO, "io.max", "%u:%u rbps=%" PRIu64 " wbps=%" PRIu64, disk->major, disk->minor,
            limits->io_read, limits->io_write);
    } else {
        add(values, SC_CTL_IO, "io.max", "%u:%u %cbps=%" PRIu64, disk->major, disk->minor, reads ? 'r' : 'w',
            reads ? limits->io_read : limits->io_write);
    }
}

static int add_io(struct values *values, const struct sc_host *host, const struct sc_limits *limits,
                  struct sc_err *err)
{
    if (limits->io_read == SC_UNSET && limits->io_write == SC_UNSET)
        return 0;
    if (host->disks_left_out || !host->n_disks)
        return sc_err_set(err, SC_ERR_HOST, -ENOTSUP,
                          "io-read, io-write: %s; leave the limit out, or accept its absence with "
                          "--allow-degraded io",
                          host->n_disks ? "this host has more disks than can be limited"
                                        : "no disk was found that the limit could be set on");
    for (unsigned i = 0; i < host->n_disks; i++)
        add_disk(values, host->controllers[SC_CTL_IO].version, &host->disks[i], limits);
    return 0;
}

int sc_plan_cgroup_disk(const struct sc_plan *plan, const struct sc_host_disk *disk,
                        struct sc_plan_cgroup ret_values[SC_PLAN_DISK_VALUES_MAX])
{
    struct values values = {.at = ret_values, .max = SC_PLAN_DISK_VALUES_MAX};
    const struct sc_limits *limits = &plan->limits;
    if ((limits->io_read == SC_UNSET && limits->io_write == SC_UNSET) || (plan->degraded & SC_DEGRADE_IO))
        return 0;
    add_disk(&values, plan->host->controllers[SC_CTL_IO].version, disk, limits);
    return (int)values.n;
}

int sc_plan_cgroup_values(const struct sc_host *host, const struct sc_limits *limits, const char *pin,
                          bool stay, struct sc_plan_cgroup *ret_values, size_t max, struct sc_err *err)
{
    struct values values = {.at = ret_values, .max = max};
    const struct sc_host_controller *c = host->controllers;
    int r = 0;
    if (c[SC_CTL_MEMORY].version)
        add_memory(&values, c[SC_CTL_MEMORY].version, limits->memory, stay);
    if (c[SC_CTL_PIDS].version) /* one more for the agent */
        add(&values, SC_CTL_PIDS, "pids.max", "%" PRIu64, limits->tasks + 1);
    if (c[SC_CTL_CPU].version)
        add_cpu(&values, c[SC_CTL_CPU].version, limits->cpus);
    if (c[SC_CTL_IO].version)
        r = add_io(&values, host, limits, err);
    if (r < 0)
        return r;
    if (pin && c[SC_CTL_CPUSET].version) {
        if (strlen(pin) >= sizeof ret_values->value)
            return sc_err_usage(err, "pin", "pin: '%.40s…' is longer than %zu characters", pin,
                                sizeof ret_values->value - 1);
        add(&values, SC_CTL_CPUSET, "cpuset.cpus", "%s", pin);
    }
    if (values.full)
        return sc_err_set(err, SC_ERR_SANDBOX, -ENOSPC, "more than %zu cgroup values, or one too long", max);
    return (int)values.n;
}

bool sc_plan_cgroup_is_swap(const char *file)
{
    return !strcmp(file, "memory.swap.max") || !strcmp(file, "memory.memsw.limit_in_bytes") ||
           !strcmp(file, "memory.swappiness");
}
