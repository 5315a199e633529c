/* Which control files get which values, on hosts that do not exist. */
#include <errno.h>

#include "../host/made_up.h"
#include "plan/cgroup_values.h"

static struct sc_limits standard(void)
{
    return (struct sc_limits){
        .memory = 512 * SC_MIB, .tasks = 128, .cpus = 1000, .io_read = SC_UNSET, .io_write = SC_UNSET};
}

static struct sc_host v1_server(void)
{
    struct sc_host host = made_up_server();
    for (int i = 0; i < SC_CTL_COUNT; i++)
        host.controllers[i].version = SC_CGROUP_V1;
    return host;
}

struct expected {
    enum sc_controller controller;
    const char *file, *value;
};

static void expect(const struct sc_host *host, const struct sc_limits *limits, const char *pin,
                   const struct expected *expected, int n)
{
    struct sc_plan_cgroup values[SC_PLAN_CGROUP_MAX];
    struct sc_err err = {0};
    int got = sc_plan_cgroup_values(host, limits, pin, false, values, SC_PLAN_CGROUP_MAX, &err);
    if (got < 0)
        fail_msg("%s", err.message);
    for (int i = 0; i < n && i < got; i++) {
        assert_int_equal(values[i].controller, expected[i].controller);
        assert_string_equal(values[i].file, expected[i].file);
        assert_string_equal(values[i].value, expected[i].value);
    }
    assert_int_equal(got, n);
}
#define EXPECT(host, limits, pin, ...)                                                                       \
    do {                                                                                                     \
        const struct expected list[] = {__VA_ARGS__};                                                        \
        expect(host, limits, pin, list, sizeof list / sizeof *list);                                         \
    } while (0)

/* A cell that stays outlives a program that took too much. */
static void test_stay(void **state)
{
    (void)state;
    struct sc_host host = made_up_server();
    struct sc_limits limits = standard();
    struct sc_plan_cgroup values[SC_PLAN_CGROUP_MAX];
    struct sc_err err = {0};
    assert_true(sc_plan_cgroup_values(&host, &limits, NULL, true, values, SC_PLAN_CGROUP_MAX, &err) > 2);
    assert_string_equal(values[2].file, "memory.oom.group");
    assert_string_equal(values[2].value, "0");
}

static void test_v2(void **state)
{
    (void)state;
    struct sc_host host = made_up_server();
    struct sc_limits limits = standard();
    EXPECT(&host, &limits, NULL, {SC_CTL_MEMORY, "memory.max", "536870912"},
           {SC_CTL_MEMORY, "memory.swap.max", "0"}, {SC_CTL_MEMORY, "memory.oom.group", "1"},
           {SC_CTL_PIDS, "pids.max", "129"}, {SC_CTL_CPU, "cpu.max", "100000 100000"});
    limits.io_read = 1 << 20;
    limits.cpus = 250;
    EXPECT(&host, &limits, "0,2-3", {SC_CTL_MEMORY, "memory.max", "536870912"},
           {SC_CTL_MEMORY, "memory.swap.max", "0"}, {SC_CTL_MEMORY, "memory.oom.group", "1"},
           {SC_CTL_PIDS, "pids.max", "129"}, {SC_CTL_CPU, "cpu.max", "25000 100000"},
           {SC_CTL_IO, "io.max", "8:0 rbps=1048576"}, {SC_CTL_IO, "io.max", "259:0 rbps=1048576"},
           {SC_CTL_CPUSET, "cpuset.cpus", "0,2-3"});
}

static void test_v1(void **state)
{
    (void)state;
    struct sc_host host = v1_server();
    struct sc_limits limits = standard();
    limits.io_write = 4096;
    host.n_disks = 1;
    EXPECT(&host, &limits, "1", {SC_CTL_MEMORY, "memory.limit_in_bytes", "536870912"},
           {SC_CTL_MEMORY, "memory.memsw.limit_in_bytes", "536870912"},
           {SC_CTL_MEMORY, "memory.swappiness", "0"}, {SC_CTL_PIDS, "pids.max", "129"},
           {SC_CTL_CPU, "cpu.cfs_period_us", "100000"}, {SC_CTL_CPU, "cpu.cfs_quota_us", "100000"},
           {SC_CTL_IO, "blkio.throttle.write_bps_device", "8:0 4096"}, {SC_CTL_CPUSET, "cpuset.cpus", "1"});
}

/* The kernel takes no quota below one millisecond. */
static void test_small_rates(void **state)
{
    (void)state;
    struct sc_host host = made_up_server();
    struct sc_limits limits = standard();
    for (int i = 0; i < SC_CTL_COUNT; i++)
        if (i != SC_CTL_CPU)
            host.controllers[i].version = SC_CGROUP_NONE;
    limits.cpus = 10;
    EXPECT(&host, &limits, NULL, {SC_CTL_CPU, "cpu.max", "1000 100000"});
    limits.cpus = 9;
    EXPECT(&host, &limits, NULL, {SC_CTL_CPU, "cpu.max", "9000 1000000"});
    limits.cpus = 1024000;
    EXPECT(&host, &limits, NULL, {SC_CTL_CPU, "cpu.max", "102400000 100000"});
}

static void test_what_lacks_is_left_out(void **state)
{
    (void)state;
    struct sc_host host = made_up_server();
    struct sc_limits limits = standard();
    limits.io_read = limits.io_write = 1ull << 43;
    for (int i = 0; i < SC_CTL_COUNT; i++)
        host.controllers[i].version = SC_CGROUP_NONE;
    expect(&host, &limits, "0", NULL, 0);
    host.controllers[SC_CTL_IO].version = SC_CGROUP_V2;
    host.n_disks = 1;
    EXPECT(&host, &limits, "0", {SC_CTL_IO, "io.max", "8:0 rbps=8796093022208 wbps=8796093022208"});
}

static void test_refused(void **state)
{
    (void)state;
    struct sc_plan_cgroup values[SC_PLAN_CGROUP_MAX];
    struct sc_err err = {0};
    struct sc_host host = made_up_server();
    struct sc_limits limits = standard();
    char pin[80] = "";
    limits.io_write = 4096;
    host.disks_left_out = true;
    assert_true(sc_plan_cgroup_values(&host, &limits, NULL, false, values, SC_PLAN_CGROUP_MAX, &err) < 0);
    assert_int_equal(err.kind, SC_ERR_HOST);
    assert_non_null(strstr(err.message, "--allow-degraded io"));
    host.disks_left_out = false;
    host.n_disks = 0;
    assert_true(sc_plan_cgroup_values(&host, &limits, NULL, false, values, SC_PLAN_CGROUP_MAX, &err) < 0);
    assert_non_null(strstr(err.message, "no disk"));
    limits.io_write = SC_UNSET;
    memset(pin, '1', sizeof pin - 1);
    assert_true(sc_plan_cgroup_values(&host, &limits, pin, false, values, SC_PLAN_CGROUP_MAX, &err) < 0);
    assert_int_equal(err.kind, SC_ERR_USAGE);
    assert_string_equal(err.field, "pin");
    assert_int_equal(sc_plan_cgroup_values(&host, &limits, NULL, false, values, 3, &err), -ENOSPC);
    /* All disks, both ways, both versions: fits. */
    host = v1_server();
    host.n_disks = SC_HOST_DISKS_MAX;
    limits.io_read = limits.io_write = 4096;
    assert_true(sc_plan_cgroup_values(&host, &limits, "0", false, values, SC_PLAN_CGROUP_MAX, &err) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stay),
        cmocka_unit_test(test_v2),
        cmocka_unit_test(test_v1),
        cmocka_unit_test(test_small_rates),
        cmocka_unit_test(test_what_lacks_is_left_out),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
