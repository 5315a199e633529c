/* What this host can do: probed once by trying, then passed in. Tests pass a made-up one. */
#ifndef SC_HOST_HOST_H
#define SC_HOST_HOST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define SC_HOST_PATH_MAX 512

enum sc_cgroup_version { SC_CGROUP_NONE = 0, SC_CGROUP_V1, SC_CGROUP_V2 };

/* One controller a cell needs, and the directory below which its group is made. */
enum sc_controller {
    SC_CTL_MEMORY,
    SC_CTL_PIDS,
    SC_CTL_CPU,
    SC_CTL_CPUACCT,
    SC_CTL_IO,
    SC_CTL_CPUSET,
    SC_CTL_COUNT
};
extern const char *const SC_CONTROLLER_NAMES[SC_CTL_COUNT];

/* Which cgroup file systems are mounted: told by the doctor; what a cell uses stands in `controllers`. */
enum sc_cgroup_layout { SC_LAYOUT_NONE = 0, SC_LAYOUT_V1, SC_LAYOUT_V2, SC_LAYOUT_HYBRID };

/* A whole disk that holds a mounted file system: what io limits are written for. */
struct sc_host_disk {
    unsigned major, minor;
};
#define SC_HOST_DISKS_MAX 6

struct sc_host_controller {
    enum sc_cgroup_version version; /* NONE: cannot be had here; `why` says the reason */
    char dir[SC_HOST_PATH_MAX]; /* parent directory in the cgroup file system; all v2 controllers share one */
    char why[160];
};

/* What would keep the memory of processes; only a thorough probe looks. */
enum sc_host_criu { SC_CRIU_UNKNOWN = 0, SC_CRIU_MISSING, SC_CRIU_FAILS, SC_CRIU_STARTS };

struct sc_host {
    bool root; /* effective uid 0 in the initial user namespace, able to make cells with uids of their own */
    uid_t uid;
    gid_t gid;
    char kernel[128];
    int kernel_major, kernel_minor;
    bool in_container;

    /* User namespaces: 0, or the negative errno of the first step that failed and its name. Not needed as
     * root only for the outer one; the cell's own is needed always. */
    int userns_errno;
    char userns_step[64];

    int landlock_abi; /* 0: none */
    bool seccomp_user_notif;
    bool time_namespace;
    bool cgroup_namespace;
    bool pidfd; /* clone3 with CLONE_PIDFD, pidfd_send_signal */
    bool apparmor_enabled;
    bool apparmor_restricts_userns; /* Ubuntu 24.04's kernel.apparmor_restrict_unprivileged_userns */
    bool apparmor_profile_loaded;   /* ours: "snapcell-cell" */

    struct sc_host_controller controllers[SC_CTL_COUNT];
    bool cgroup_v2_kill; /* cgroup.kill exists */
    bool systemd;        /* systemd is init and its manager answers */

    uid_t sub_uid; /* one subordinate id for the agent (rootless), or (uid_t)-1 */
    gid_t sub_gid;
    uint64_t memory_bytes;
    unsigned cpus;
    uint64_t open_files_hard; /* RLIMIT_NOFILE, hard */
    bool loop_devices;        /* --disk on an image: loop control opens and mkfs.ext4 is there */
    /* Root: the range of host uids (and gids) that cells live in; 0x70000000 and 4,194,304 long on a host,
     * what the map leaves inside a container's user namespace. Read at the probe; a front may set others. */
    uid_t cell_uid_base;
    uint32_t cell_uid_count;

    bool initial_userns; /* this process is in the host's own user namespace */
    /* Not `root`, but our uid is 0 outside of the user namespace we are in (or we are in the first one): a
     * cell of this process would be uid 0 behind a map, perhaps the host's. Plans must refuse to be made. */
    bool bare_uid0;
    /* The user-namespace steps were really tried. Not so for root in a quick probe: then userns_errno only
     * tells whether user.max_user_namespaces forbids them. */
    bool userns_tried;
    char
        missing_call[32]; /* first of the system calls that every cell needs which this kernel lacks, or "" */
    enum sc_host_criu criu;
    bool no_new_privs;   /* set-user-id helpers (newuidmap) cannot work for this process */
    bool id_map_helpers; /* newuidmap and newgidmap are there */
    enum sc_cgroup_layout cgroup_layout;
    bool in_scope;       /* systemd moved this process into a scope during the probe */
    uint64_t swap_bytes; /* 0: no swap is on, so a kernel without swap accounting does no harm */
    struct sc_host_disk disks[SC_HOST_DISKS_MAX];
    unsigned n_disks;
    bool disks_left_out; /* there are more: io limits cannot be complete */

    /* Who probed: goes into the names of groups, so that stale ones show. Zero in a made-up host. */
    pid_t maker_pid;
    uint64_t maker_start;  /* field 22 of /proc/<pid>/stat */
    uint64_t maker_pid_ns; /* inode number of the pid namespace */
};

struct sc_host_options {
    const char *cgroup_parent; /* NULL: SNAPCELL_CGROUP_PARENT is not looked at here; fronts pass it */
    bool want_scope; /* may ask systemd for a delegated scope for this process when nothing else helps */
    bool thorough;   /* the doctor's look: also tries what costs milliseconds (see userns_tried) */
};

/* Looks at the host. Never fails for what is merely missing; fails (kind HOST) only when it cannot look.
 * Side effects: may move this process into a leaf group below its own delegated cgroup, or into a systemd
 * scope when options->want_scope, because groups with processes in them cannot have limited children. */
int sc_host_probe(struct sc_host *host, const struct sc_host_options *options, struct sc_err *err);
/* When a process began, in ticks since boot (field 22 of its stat): with the pid it names a process for good.
 */
int sc_host_start_time(pid_t pid, uint64_t *ret_start);

/* One finding of the doctor. */
/* BLOCKER: `snapcell run` with its defaults is refused here. DEGRADED: it runs, but something is weaker than
 * it could be or an option (--disk, --pin, io limits) cannot be had. */
enum sc_finding_level { SC_FINDING_OK, SC_FINDING_DEGRADED, SC_FINDING_BLOCKER };
struct sc_finding {
    enum sc_finding_level level;
    char name[40];
    char what[256]; /* what is there or lacks */
    char fix[320];  /* how to mend it, or "" */
};
#define SC_FINDINGS_MAX 24
/* Judges a probed (or made-up) host. Returns the number of findings: OK ones too, one for each
 * thing that was looked at. */
int sc_host_findings(const struct sc_host *host, struct sc_finding ret_findings[SC_FINDINGS_MAX]);
/* Heap text of all findings, for people and as JSON. */
char *sc_host_report_text(const struct sc_host *host);
char *sc_host_report_json(const struct sc_host *host);

#endif
