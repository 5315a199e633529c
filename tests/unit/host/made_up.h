/* Hosts that do not exist. */
#ifndef TEST_HOST_MADE_UP_H
#define TEST_HOST_MADE_UP_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/host.h"

/* A laptop with everything in order: an ordinary user with a delegated v2 group and subordinate ids. */
static inline struct sc_host made_up_laptop(void)
{
    struct sc_host host = {
        .uid = 1000,
        .gid = 1000,
        .kernel = "Linux 6.8.0",
        .kernel_major = 6,
        .kernel_minor = 8,
        .landlock_abi = 4,
        .seccomp_user_notif = true,
        .time_namespace = true,
        .cgroup_namespace = true,
        .pidfd = true,
        .cgroup_v2_kill = true,
        .systemd = true,
        .sub_uid = 100000,
        .sub_gid = 100000,
        .memory_bytes = 16ull << 30,
        .cpus = 8,
        .open_files_hard = 524288,
        .loop_devices = true,
        .initial_userns = true,
        .userns_tried = true,
        .id_map_helpers = true,
        .cgroup_layout = SC_LAYOUT_V2,
    };
    for (int i = 0; i < SC_CTL_COUNT; i++) {
        host.controllers[i].version = SC_CGROUP_V2;
        snprintf(host.controllers[i].dir, sizeof host.controllers[i].dir,
                 "/sys/fs/cgroup/user.slice/ours.scope");
    }
    return host;
}

static inline struct sc_host made_up_server(void)
{
    struct sc_host host = made_up_laptop();
    host.root = true;
    host.uid = 0;
    host.gid = 0;
    host.cell_uid_base = 0x70000000;
    host.cell_uid_count = 65536;
    host.disks[0] = (struct sc_host_disk){8, 0};
    host.disks[1] = (struct sc_host_disk){259, 0};
    host.n_disks = 2;
    return host;
}

#endif
