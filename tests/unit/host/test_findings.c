/* The doctor's judgement of hosts that lack one thing each, and its reports. */
#include <errno.h>
#include <jansson.h>

#include "made_up.h"

static const struct sc_finding *find(const struct sc_host *host, const char *name)
{
    static struct sc_finding findings[SC_FINDINGS_MAX];
    int n = sc_host_findings(host, findings);
    assert_in_range(n, 1, SC_FINDINGS_MAX);
    for (int i = 0; i < n; i++)
        if (!strcmp(findings[i].name, name))
            return &findings[i];
    fail_msg("no finding %s", name);
    return NULL;
}

static int count(const struct sc_host *host, enum sc_finding_level level)
{
    struct sc_finding findings[SC_FINDINGS_MAX];
    int n = sc_host_findings(host, findings), found = 0;
    for (int i = 0; i < n; i++) {
        found += findings[i].level == level;
        /* What lacks has a cure; what is in order has none; nothing was cut off. */
        assert_int_equal(findings[i].fix[0] != '\0', findings[i].level != SC_FINDING_OK);
        assert_true(findings[i].what[0] != '\0');
        assert_true(strlen(findings[i].what) < sizeof findings[i].what - 1);
        assert_true(strlen(findings[i].fix) < sizeof findings[i].fix - 1);
    }
    return found;
}

static void expect_only_blocker(const struct sc_host *host, const char *name, const char *what,
                                const char *fix)
{
    const struct sc_finding *f = find(host, name);
    assert_int_equal(f->level, SC_FINDING_BLOCKER);
    if (!strstr(f->what, what))
        fail_msg("'%s' does not say '%s'", f->what, what);
    if (!strstr(f->fix, fix))
        fail_msg("'%s' does not say '%s'", f->fix, fix);
    assert_int_equal(count(host, SC_FINDING_BLOCKER), 1);
}

static void test_all_in_order(void **state)
{
    (void)state;
    struct sc_host laptop = made_up_laptop(), server = made_up_server();
    assert_int_equal(count(&laptop, SC_FINDING_BLOCKER), 0);
    assert_int_equal(count(&laptop, SC_FINDING_DEGRADED), 1); /* --disk needs root */
    assert_int_equal(count(&server, SC_FINDING_BLOCKER), 0);
    assert_int_equal(count(&server, SC_FINDING_DEGRADED), 0);
}

static struct sc_host without_userns(int error, const char *step)
{
    struct sc_host host = made_up_laptop();
    host.userns_errno = error;
    snprintf(host.userns_step, sizeof host.userns_step, "%s", step);
    return host;
}

static void test_user_namespaces(void **state)
{
    (void)state;
    struct sc_host host = without_userns(-ENOSPC, "unshare(CLONE_NEWUSER)");
    expect_only_blocker(&host, "user-namespaces", "unshare(CLONE_NEWUSER) failed",
                        "user.max_user_namespaces=");
    host = without_userns(-EPERM, "unshare(CLONE_NEWUSER)");
    expect_only_blocker(&host, "user-namespaces", "not permitted", "kernel.unprivileged_userns_clone=1");
    host.in_container = true;
    expect_only_blocker(&host, "user-namespaces", "not permitted", "--security-opt seccomp=unconfined");
    host = without_userns(-EINVAL, "unshare(CLONE_NEWUSER)");
    expect_only_blocker(&host, "user-namespaces", "Invalid argument", "built without");
    host = without_userns(-EPERM, "mount proc");
    host.in_container = true;
    expect_only_blocker(&host, "user-namespaces", "mount proc", "systempaths=unconfined");
}

static void test_apparmor_restricts(void **state)
{
    (void)state;
    struct sc_host host = without_userns(-EACCES, "mount propagation");
    host.apparmor_enabled = host.apparmor_profile_loaded = host.apparmor_restricts_userns = true;
    expect_only_blocker(&host, "user-namespaces", "mount propagation failed",
                        "kernel.apparmor_restrict_unprivileged_userns=0");
}

static void test_apparmor_profile(void **state)
{
    (void)state;
    struct sc_host host = made_up_laptop();
    host.apparmor_enabled = true;
    expect_only_blocker(&host, "apparmor", "not loaded", "apparmor_parser -r");
    host.apparmor_profile_loaded = true;
    assert_int_equal(find(&host, "apparmor")->level, SC_FINDING_OK);
}

static void test_kernel(void **state)
{
    (void)state;
    struct sc_host host = made_up_laptop();
    snprintf(host.kernel, sizeof host.kernel, "Linux 4.19.0");
    host.kernel_major = 4;
    host.kernel_minor = 19;
    snprintf(host.missing_call, sizeof host.missing_call, "clone3");
    expect_only_blocker(&host, "kernel", "Linux 4.19.0 is too old: it has no clone3", "5.12");
    host.kernel_major = 5;
    host.kernel_minor = 11;
    expect_only_blocker(&host, "kernel", "too old", "5.12");
    host.kernel_minor = 12;
    expect_only_blocker(&host, "kernel", "clone3 is refused", "seccomp=unconfined");
    host.missing_call[0] = '\0';
    assert_int_equal(find(&host, "kernel")->level, SC_FINDING_OK);
    host.pidfd = false;
    expect_only_blocker(&host, "kernel", "pidfds", "pidfd");
}

static void test_kernel_features(void **state)
{
    (void)state;
    struct sc_host host = made_up_laptop();
    host.landlock_abi = 0;
    expect_only_blocker(&host, "landlock", "no Landlock", "--allow-degraded landlock");
    host = made_up_laptop();
    host.seccomp_user_notif = false;
    expect_only_blocker(&host, "seccomp-notify", "no seccomp", "CONFIG_SECCOMP_FILTER");
    host = made_up_laptop();
    host.time_namespace = false;
    expect_only_blocker(&host, "time-namespace", "no time", "CONFIG_TIME_NS");
    host = made_up_laptop();
    host.cgroup_namespace = false;
    expect_only_blocker(&host, "cgroup-namespace", "no cgroup", "CONFIG_CGROUPS");
    host = made_up_laptop();
    host.open_files_hard = 256;
    expect_only_blocker(&host, "open-files", "256", "--allow-degraded open_files");
}

static void take_away_groups(struct sc_host *host, const char *why)
{
    for (int i = 0; i < SC_CTL_COUNT; i++) {
        host->controllers[i] = (struct sc_host_controller){0};
        snprintf(host->controllers[i].why, sizeof host->controllers[i].why, "%s", why);
    }
}

static void expect_no_groups(struct sc_host *host, const char *fix)
{
    static const char *const blockers[] = {"cgroup-memory", "cgroup-cpu", "cgroup-cpuacct"};
    take_away_groups(host, "no delegated cgroup: /user.slice is not writable");
    for (size_t i = 0; i < 3; i++) {
        const struct sc_finding *f = find(host, blockers[i]);
        assert_int_equal(f->level, SC_FINDING_BLOCKER);
        assert_non_null(strstr(f->what, "no delegated cgroup"));
        if (!strstr(f->fix, fix))
            fail_msg("'%s' does not say '%s'", f->fix, fix);
        assert_non_null(strstr(f->fix, "--allow-degraded memory,cpu,cpus"));
    }
    assert_int_equal(count(host, SC_FINDING_BLOCKER), 3);
    assert_int_equal(find(host, "cgroup-pids")->level, SC_FINDING_OK); /* RLIMIT_NPROC */
    assert_int_equal(find(host, "cgroup-io")->level, SC_FINDING_DEGRADED);
}

static void test_cgroups(void **state)
{
    (void)state;
    struct sc_host host = made_up_laptop();
    expect_no_groups(&host, "systemd-run --user --scope");
    host.systemd = false;
    expect_no_groups(&host, "cgroup.subtree_control");
    host.cgroup_layout = SC_LAYOUT_V1;
    expect_no_groups(&host, "chown -R");
    host.cgroup_layout = SC_LAYOUT_HYBRID;
    expect_no_groups(&host, "systemd.unified_cgroup_hierarchy=1");
    host.in_container = true;
    expect_no_groups(&host, "--cgroupns=private");
}

/* The rest is there: then it is a matter of passing one more on. */
static void test_one_controller_lacks(void **state)
{
    (void)state;
    struct sc_host host = made_up_laptop();
    host.controllers[SC_CTL_IO].version = SC_CGROUP_NONE;
    snprintf(host.controllers[SC_CTL_IO].why, sizeof host.controllers[0].why, "not passed on");
    assert_int_equal(find(&host, "cgroup-io")->level, SC_FINDING_DEGRADED);
    assert_non_null(strstr(find(&host, "cgroup-io")->fix, "Delegate=cpu cpuset io memory pids"));
    host.systemd = false;
    assert_non_null(strstr(find(&host, "cgroup-io")->fix, "cgroup.subtree_control"));
}

static void test_layouts(void **state)
{
    (void)state;
    struct sc_host host = made_up_laptop();
    assert_string_equal(find(&host, "cgroup-layout")->what, "cgroup v2");
    host.cgroup_layout = SC_LAYOUT_HYBRID;
    host.controllers[SC_CTL_MEMORY].version = SC_CGROUP_V1;
    snprintf(host.controllers[SC_CTL_MEMORY].dir, sizeof host.controllers[0].dir, "/sys/fs/cgroup/memory/x");
    assert_non_null(strstr(find(&host, "cgroup-layout")->what, "hybrid"));
    assert_string_equal(find(&host, "cgroup-memory")->what,
                        "memory of the whole cell by cgroup v1 below /sys/fs/cgroup/memory/x");
    host.cgroup_layout = SC_LAYOUT_NONE;
    assert_int_equal(find(&host, "cgroup-layout")->level, SC_FINDING_DEGRADED);
    host.cgroup_layout = SC_LAYOUT_V2;
    host.in_scope = true;
    assert_non_null(strstr(find(&host, "cgroup-layout")->what, "scope"));
}

static void test_identity(void **state)
{
    (void)state;
    struct sc_host host = made_up_laptop();
    host.sub_uid = (uid_t)-1;
    assert_int_equal(find(&host, "identity")->level, SC_FINDING_DEGRADED);
    assert_non_null(strstr(find(&host, "identity")->fix, "/etc/subuid"));
    assert_int_equal(count(&host, SC_FINDING_BLOCKER), 0);
    host.no_new_privs = true;
    assert_non_null(strstr(find(&host, "identity")->fix, "no_new_privs"));
    host = made_up_laptop();
    host.uid = 0;
    host.bare_uid0 = true;
    expect_only_blocker(&host, "identity", "root behind a map", "ordinary user");
    host = made_up_server();
    assert_non_null(strstr(find(&host, "identity")->what, "1879048192 to 1879113727"));
}

static void test_container_and_disk(void **state)
{
    (void)state;
    struct sc_host host = made_up_server();
    host.in_container = true;
    host.loop_devices = false;
    assert_non_null(strstr(find(&host, "container")->what, "container"));
    assert_int_equal(find(&host, "disk-image")->level, SC_FINDING_DEGRADED);
    assert_non_null(strstr(find(&host, "disk-image")->fix, "e2fsprogs"));
    host.disks_left_out = true;
    assert_int_equal(find(&host, "io-disks")->level, SC_FINDING_DEGRADED);
}

/* The worst host of all: every finding at once still fits. */
static void test_everything_lacks(void **state)
{
    (void)state;
    struct sc_host host = without_userns(-EPERM, "unshare(CLONE_NEWUSER)");
    host.in_container = host.apparmor_enabled = host.disks_left_out = true;
    host.landlock_abi = 0;
    host.seccomp_user_notif = host.time_namespace = host.cgroup_namespace = false;
    host.open_files_hard = 10;
    host.kernel_major = 3;
    host.sub_uid = (uid_t)-1;
    memset(host.controllers[0].dir, 'd', sizeof host.controllers[0].dir - 1);
    take_away_groups(
        &host, "a reason as long as reasons get: 0123456789012345678901234567890123456789012345678901234"
               "567890123456789012345678901234567890123456789012345678901234567890");
    assert_int_equal(count(&host, SC_FINDING_BLOCKER), 11);
    char *text = sc_host_report_text(&host);
    assert_non_null(strstr(text, "is refused here: 11 blockers"));
    free(text);
}

static void test_json(void **state)
{
    (void)state;
    struct sc_host host = made_up_laptop();
    take_away_groups(&host, "bytes that are no UTF-8: \xff\xfe");
    snprintf(host.controllers[SC_CTL_PIDS].dir, sizeof host.controllers[0].dir, "/odd/\xc3");
    host.controllers[SC_CTL_PIDS].version = SC_CGROUP_V1;
    host.open_files_hard = UINT64_MAX; /* unlimited */
    char *text = sc_host_report_json(&host);
    json_error_t error;
    json_t *report = json_loads(text, 0, &error);
    assert_non_null(report);
    assert_string_equal(json_string_value(json_object_get(report, "kernel")), "Linux 6.8.0");
    assert_true(json_is_false(json_object_get(report, "root")));
    assert_int_equal(json_integer_value(json_object_get(report, "landlock_abi")), 4);
    assert_true(json_integer_value(json_object_get(report, "open_files_hard")) > 0);
    json_t *memory = json_object_get(json_object_get(report, "cgroup"), "memory");
    assert_int_equal(json_integer_value(json_object_get(memory, "version")), 0);
    assert_non_null(strstr(json_string_value(json_object_get(memory, "why")), "no UTF-8"));
    json_t *findings = json_object_get(report, "findings"), *finding;
    size_t i;
    assert_true(json_array_size(findings) > 10);
    json_array_foreach(findings, i, finding)
    {
        assert_true(json_is_string(json_object_get(finding, "level")));
        assert_true(json_is_string(json_object_get(finding, "name")));
        assert_true(json_is_string(json_object_get(finding, "what")));
        assert_true(json_is_string(json_object_get(finding, "fix")));
    }
    json_decref(report);
    free(text);
}

static void test_text(void **state)
{
    (void)state;
    struct sc_host host = made_up_server();
    char *text = sc_host_report_text(&host);
    assert_non_null(strstr(text, "Cells have every layer on this host."));
    free(text);
    host = made_up_laptop();
    text = sc_host_report_text(&host);
    assert_non_null(strstr(text, "1 thing is weaker"));
    free(text);
    expect_no_groups(&host, "systemd-run");
    text = sc_host_report_text(&host);
    assert_non_null(strstr(text, "is refused here: 3 blockers."));
    assert_non_null(strstr(text, "fix: the same"));
    free(text);
}

/* Told only where it was looked for, and no reason to think less of a host. */
static void test_session_memory(void **state)
{
    (void)state;
    static const struct {
        enum sc_host_criu criu;
        const char *what;
    } cases[] = {
        {SC_CRIU_MISSING, "is not installed"},
        {SC_CRIU_FAILS, "does not start on this kernel"},
        {SC_CRIU_STARTS, "cannot take a cell's namespaces"},
    };
    struct sc_host host = made_up_server();
    int before = count(&host, SC_FINDING_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        host.criu = cases[i].criu;
        assert_non_null(strstr(find(&host, "session-memory")->what, cases[i].what));
        assert_int_equal(count(&host, SC_FINDING_OK), before + 1);
        assert_int_equal(count(&host, SC_FINDING_DEGRADED), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_in_order),
        cmocka_unit_test(test_user_namespaces),
        cmocka_unit_test(test_apparmor_restricts),
        cmocka_unit_test(test_apparmor_profile),
        cmocka_unit_test(test_kernel),
        cmocka_unit_test(test_kernel_features),
        cmocka_unit_test(test_cgroups),
        cmocka_unit_test(test_one_controller_lacks),
        cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_identity),
        cmocka_unit_test(test_container_and_disk),
        cmocka_unit_test(test_everything_lacks),
        cmocka_unit_test(test_session_memory),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
