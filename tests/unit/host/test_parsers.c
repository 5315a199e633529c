/* Texts of /proc and /etc, as hosts of different kinds have them. */
#include <errno.h>

#include "host/cgroup.h"
#include "host/probe.h"
#include "made_up.h"

static const char PURE_V2[] =
    "24 30 0:22 / /proc rw,nosuid - proc proc rw\n"
    "30 1 8:2 / / rw,relatime shared:1 - ext4 /dev/sda2 rw\n"
    "35 25 0:29 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";

static const char HYBRID[] =
    "31 25 0:28 / /sys/fs/cgroup ro shared:9 - tmpfs tmpfs ro,mode=755\n"
    "32 31 0:29 / /sys/fs/cgroup/unified rw shared:10 - cgroup2 cgroup2 rw\n"
    "33 31 0:30 / /sys/fs/cgroup/systemd rw shared:11 - cgroup cgroup rw,xattr,name=systemd\n"
    "34 31 0:31 / /sys/fs/cgroup/cpu,cpuacct rw shared:12 - cgroup cgroup rw,cpu,cpuacct\n"
    "35 31 0:32 / /sys/fs/cgroup/memory rw shared:13 - cgroup cgroup rw,memory\n"
    "36 31 0:33 / /sys/fs/cgroup/blkio rw shared:14 - cgroup cgroup rw,blkio\n"
    "37 31 0:34 / /sys/fs/cgroup/pids rw shared:15 - cgroup cgroup rw,pids\n";

static const char HYBRID_OWN[] = "12:blkio:/user.slice\n"
                                 "5:memory:/user.slice/user-1000.slice/session-2.scope\n"
                                 "4:cpu,cpuacct:/user.slice\n"
                                 "3:pids:/user.slice/user-1000.slice/session-2.scope\n"
                                 "1:name=systemd:/user.slice/user-1000.slice/session-2.scope\n"
                                 "0::/user.slice/user-1000.slice/session-2.scope\n";

/* A container with the host's cgroup namespace: its mounts show a part of each hierarchy only. */
static const char CONTAINER_V1[] =
    "701 700 0:40 /docker/4f5e /sys/fs/cgroup/memory ro,nosuid master:13 - cgroup cgroup rw,memory\n"
    "702 700 0:41 /docker/4f5e /sys/fs/cgroup/my\\040pids\\134x ro,nosuid master:13 - cgroup cgroup "
    "rw,pids\n";

static void test_pure_v2(void **state)
{
    (void)state;
    struct sc_cgroup_view view = {0};
    char dir[SC_HOST_PATH_MAX];
    sc_cgroup_parse_mounts(&view, PURE_V2);
    sc_cgroup_parse_own(&view, "0::/user.slice/user-1000.slice/session-2.scope\n");
    assert_int_equal(view.n_mounts, 1);
    assert_int_equal(sc_cgroup_layout(&view), SC_LAYOUT_V2);
    assert_null(sc_cgroup_mount_v1(&view, SC_CTL_MEMORY));
    assert_int_equal(sc_cgroup_dir(sc_cgroup_mount_v2(&view), view.own_v2, dir, sizeof dir), 0);
    assert_string_equal(dir, "/sys/fs/cgroup/user.slice/user-1000.slice/session-2.scope");
    assert_int_equal(sc_cgroup_dir(sc_cgroup_mount_v2(&view), "/", dir, sizeof dir), 0);
    assert_string_equal(dir, "/sys/fs/cgroup");
    assert_int_equal(sc_cgroup_dir(sc_cgroup_mount_v2(&view), "/a", dir, 10), -ENAMETOOLONG);
}

static void test_hybrid(void **state)
{
    (void)state;
    struct sc_cgroup_view view = {0};
    sc_cgroup_parse_mounts(&view, HYBRID);
    sc_cgroup_parse_own(&view, HYBRID_OWN);
    assert_int_equal(sc_cgroup_layout(&view), SC_LAYOUT_HYBRID);
    assert_string_equal(sc_cgroup_mount_v2(&view)->point, "/sys/fs/cgroup/unified");
    assert_string_equal(sc_cgroup_mount_v1(&view, SC_CTL_CPU)->point, "/sys/fs/cgroup/cpu,cpuacct");
    assert_string_equal(sc_cgroup_mount_v1(&view, SC_CTL_CPUACCT)->point, "/sys/fs/cgroup/cpu,cpuacct");
    assert_string_equal(sc_cgroup_mount_v1(&view, SC_CTL_IO)->point, "/sys/fs/cgroup/blkio");
    assert_null(sc_cgroup_mount_v1(&view, SC_CTL_CPUSET));
    assert_string_equal(view.own_v1[SC_CTL_MEMORY], "/user.slice/user-1000.slice/session-2.scope");
    assert_string_equal(view.own_v1[SC_CTL_IO], "/user.slice");
    assert_string_equal(view.own_v1[SC_CTL_CPUSET], "");
}

static void test_container(void **state)
{
    (void)state;
    struct sc_cgroup_view view = {0};
    char dir[SC_HOST_PATH_MAX];
    sc_cgroup_parse_mounts(&view, CONTAINER_V1);
    sc_cgroup_parse_own(&view, "5:memory:/docker/4f5e\n3:pids:/docker/4f5e/sub\n");
    assert_int_equal(sc_cgroup_layout(&view), SC_LAYOUT_V1);
    const struct sc_cgroup_mount *memory = sc_cgroup_mount_v1(&view, SC_CTL_MEMORY);
    assert_int_equal(sc_cgroup_dir(memory, view.own_v1[SC_CTL_MEMORY], dir, sizeof dir), 0);
    assert_string_equal(dir, "/sys/fs/cgroup/memory");
    assert_int_equal(
        sc_cgroup_dir(sc_cgroup_mount_v1(&view, SC_CTL_PIDS), view.own_v1[SC_CTL_PIDS], dir, sizeof dir), 0);
    assert_string_equal(dir, "/sys/fs/cgroup/my pids\\x/sub");
    /* Not seen through this mount: another container, a name that only begins alike, above the namespace. */
    assert_int_equal(sc_cgroup_dir(memory, "/docker/999", dir, sizeof dir), -ENOENT);
    assert_int_equal(sc_cgroup_dir(memory, "/docker/4f5e7", dir, sizeof dir), -ENOENT);
    assert_int_equal(sc_cgroup_dir(memory, "/../other", dir, sizeof dir), -ENOENT);
    assert_int_equal(sc_cgroup_dir(memory, "/..", dir, sizeof dir), -ENOENT);
}

static void test_mounted_twice(void **state)
{
    (void)state;
    struct sc_cgroup_view view = {0};
    sc_cgroup_parse_mounts(&view, "1 0 0:9 /part /elsewhere rw - cgroup2 none rw\n"
                                  "2 0 0:9 / /whole rw - cgroup2 none rw\n"
                                  "3 0 0:9 /third /whole rw - cgroup2 none rw\n"
                                  "4 0 0:9 / /last rw - cgroup2 none rw\n");
    sc_cgroup_parse_own(&view, "0::/mine\n");
    assert_int_equal(view.n_mounts, 3); /* /whole was mounted over */
    assert_string_equal(sc_cgroup_mount_v2(&view)->point, "/last");
}

static void test_garbage(void **state)
{
    (void)state;
    struct sc_cgroup_view view = {0};
    static char longline[9000];
    memset(longline, 'x', sizeof longline - 1);
    sc_cgroup_parse_mounts(&view, "");
    sc_cgroup_parse_mounts(&view, " - \n - cgroup2\n1 2 - cgroup2 a b\n\n - cgroup cgroup rw,memory");
    assert_int_equal(view.n_mounts, 0);
    sc_cgroup_parse_mounts(&view, longline);
    sc_cgroup_parse_own(&view, longline);
    sc_cgroup_parse_own(&view, "0\n0:\n0::\n:::\n5:memory\n");
    assert_string_equal(view.own_v2, "");
    assert_int_equal(sc_cgroup_layout(&view), SC_LAYOUT_NONE);
    assert_null(sc_cgroup_mount_v2(&view));
}

static void test_subordinate_ids(void **state)
{
    (void)state;
    static const char text[] =
        "root:1:5\nalice:100000:65536\n# bob:1:1\nbob:0:5\nbob:165536:65536\n1003:300000:10\n"
        "carol:x:5\ndave:5\neve:400000:0\n";
    assert_int_equal(sc_subid_first(text, "alice", 1000), 100000);
    assert_int_equal(sc_subid_first(text, "bob", 1001), 165536);
    assert_int_equal(sc_subid_first(text, NULL, 1003), 300000);
    assert_int_equal(sc_subid_first(text, "ali", 1000), UINT32_MAX);
    assert_int_equal(sc_subid_first(text, "carol", 1004), UINT32_MAX);
    assert_int_equal(sc_subid_first(text, "dave", 1005), UINT32_MAX);
    assert_int_equal(sc_subid_first(text, "eve", 1006), UINT32_MAX);
    assert_int_equal(sc_subid_first("", "alice", 1000), UINT32_MAX);
}

static void test_cell_ids(void **state)
{
    (void)state;
    uint32_t base, count;
    assert_int_equal(sc_cell_id_range("         0          0 4294967295\n", &base, &count), 0);
    assert_int_equal(base, SC_CELL_UID_BASE);
    assert_int_equal(count, SC_CELL_UID_COUNT);
    /* Rootless podman: what is above the image's own ids, and below nobody. */
    assert_int_equal(sc_cell_id_range("0 1000 1\n1 100000 65536\n", &base, &count), 0);
    assert_int_equal(base, 1 + (65534 - 1) / 2);
    assert_true((uint64_t)base + count <= 65534 && count > 30000);
    /* unshare -r: one id is no range. */
    assert_int_equal(sc_cell_id_range("0 1000 1\n", &base, &count), -ENOENT);
    assert_int_equal(sc_cell_id_range("", &base, &count), -ENOENT);
    assert_int_equal(sc_outer_id("0 1000 1\n1 100000 65536\n", 0), 1000);
    assert_int_equal(sc_outer_id("0 1000 1\n1 100000 65536\n", 5), 100004);
    assert_int_equal(sc_outer_id("1000 0 1\n", 1000), 0);
    assert_true(sc_outer_id("0 1000 1\n", 7) == UINT64_MAX);
}

static void test_container_names(void **state)
{
    (void)state;
    assert_true(sc_cgroup_names_container("5:memory:/docker/4f5e\n"));
    assert_true(sc_cgroup_names_container("0::/kubepods.slice/kubepods-pod1.slice/x.scope\n"));
    assert_false(sc_cgroup_names_container("0::/init.scope\n"));
}

static void test_disks(void **state)
{
    (void)state;
    struct sc_host host = {0};
    /* Numbers that no machine has: taken as they are, once each; loop devices and file systems without a
     * device not. */
    sc_probe_disks(&host, "30 1 4000:2 / / rw - ext4 /dev/none rw\n31 1 4000:2 / /b rw - ext4 /dev/none rw\n"
                          "32 1 7:3 / /c rw - ext4 /dev/loop3 rw\n33 1 0:4 / /d rw - tmpfs tmpfs rw\n"
                          "34 1 0:5 / /e rw - btrfs /dev/no-such-device rw\n");
    assert_int_equal(host.n_disks, 1);
    assert_int_equal(host.disks[0].major, 4000);
    assert_false(host.disks_left_out);
    sc_probe_disks(&host, "1 1 4000:1 / / rw - e a r\n1 1 4000:2 / / rw - e a r\n1 1 4000:3 / / rw - e a r\n"
                          "1 1 4000:4 / / rw - e a r\n1 1 4000:5 / / rw - e a r\n1 1 4000:6 / / rw - e a r\n"
                          "1 1 4000:7 / / rw - e a r\n");
    assert_int_equal(host.n_disks, SC_HOST_DISKS_MAX);
    assert_true(host.disks_left_out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pure_v2),   cmocka_unit_test(test_hybrid),
        cmocka_unit_test(test_container), cmocka_unit_test(test_mounted_twice),
        cmocka_unit_test(test_garbage),   cmocka_unit_test(test_subordinate_ids),
        cmocka_unit_test(test_cell_ids),  cmocka_unit_test(test_container_names),
        cmocka_unit_test(test_disks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
