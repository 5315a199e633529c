/* Who we are, and which ids cells can have. */
#include "host/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/num.h"

#define NOBODY 65534u

/* What making a cell as root needs; the rest (SYS_RESOURCE, SYS_PTRACE, …) is done without. */
static const int NEEDED_CAPABILITIES[] = {CAP_SYS_ADMIN,    CAP_SETUID, CAP_SETGID,    CAP_CHOWN,
                                          CAP_DAC_OVERRIDE, CAP_KILL,   CAP_SYS_CHROOT};

static bool has_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {{0}};
    if (syscall(SYS_capget, &header, data) < 0)
        return false;
    uint64_t effective = (uint64_t)data[1].effective << 32 | data[0].effective;
    for (size_t i = 0; i < sizeof NEEDED_CAPABILITIES / sizeof *NEEDED_CAPABILITIES; i++)
        if (!(effective & 1ull << NEEDED_CAPABILITIES[i]))
            return false;
    return true;
}

/* One line of a map: inside, outside, length. Returns where the next begins, or NULL. */
static const char *map_line(const char *text, uint64_t ret_line[3])
{
    for (int i = 0; i < 3; i++) {
        char *end;
        ret_line[i] = strtoull(text, &end, 10);
        if (end == text)
            return NULL;
        text = end;
    }
    return text;
}

/* The number our own id has outside of this user namespace. */
uint64_t sc_outer_id(const char *uid_map, uint32_t id)
{
    uint64_t line[3];
    for (const char *at = uid_map; (at = map_line(at, line));)
        if (id >= line[0] && id < line[0] + line[2])
            return line[1] + (id - line[0]);
    return UINT64_MAX;
}

/* The kernel gives its first user namespace a number of its own (PROC_USER_INIT_INO); a full map alone does
 * not tell. */
static bool is_initial_userns(void)
{
    struct stat ns;
    return stat("/proc/self/ns/user", &ns) == 0 && ns.st_ino == 0xEFFFFFFDu;
}

/* On a host: far above what accounts, subordinate ids and systemd's dynamic users take. Inside a map that
 * lacks those ids (a container's user namespace): the upper half of its longest stretch, below "nobody", if
 * that leaves at least 256. */
int sc_cell_id_range(const char *uid_map, uint32_t *ret_base, uint32_t *ret_count)
{
    uint64_t line[3], best_first = 0, best_end = 0;
    for (const char *at = uid_map; (at = map_line(at, line));) {
        uint64_t first = line[0], end = line[0] + line[2];
        if (first <= SC_CELL_UID_BASE && end >= (uint64_t)SC_CELL_UID_BASE + SC_CELL_UID_COUNT) {
            *ret_base = SC_CELL_UID_BASE;
            *ret_count = SC_CELL_UID_COUNT;
            return 0;
        }
        if (first <= NOBODY && end > NOBODY)
            end = NOBODY;
        if (end - first > best_end - best_first) {
            best_first = first;
            best_end = end;
        }
    }
    uint64_t half = best_first + (best_end - best_first) / 2;
    if (best_end - half < 256)
        return -ENOENT;
    *ret_base = (uint32_t)half;
    *ret_count = (uint32_t)sc_min_u64(best_end - half, SC_CELL_UID_COUNT);
    return 0;
}

/* Ids that both maps hold: cells use the same numbers for users and groups. */
static bool probe_cell_ids(struct sc_host *host, const char *uid_map)
{
    uint32_t base, count, gid_base, gid_count;
    struct sc_buf gid_map;
    sc_buf_init(&gid_map, 1 << 16);
    bool ok = sc_cell_id_range(uid_map, &base, &count) == 0 &&
              sc_buf_read_file(&gid_map, AT_FDCWD, "/proc/self/gid_map") == 0 && gid_map.data &&
              sc_cell_id_range((const char *)gid_map.data, &gid_base, &gid_count) == 0;
    sc_buf_fini(&gid_map);
    if (!ok || base != gid_base)
        return false;
    host->cell_uid_base = base;
    host->cell_uid_count = count < gid_count ? count : gid_count;
    return true;
}

uint32_t sc_subid_first(const char *text, const char *name, uint32_t id)
{
    char number[16];
    snprintf(number, sizeof number, "%" PRIu32, id);
    for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n') {
        size_t len = strcspn(at, ":\n");
        bool ours = (strlen(number) == len && !memcmp(at, number, len)) ||
                    (name && strlen(name) == len && !memcmp(at, name, len));
        if (!ours || at[len] != ':')
            continue;
        char *end, *last;
        uint64_t first = strtoull(at + len + 1, &end, 10);
        uint64_t count = *end == ':' ? strtoull(end + 1, &last, 10) : 0;
        if (end != at + len + 1 && count > 0 && first > 0 && first < UINT32_MAX)
            return (uint32_t)first;
    }
    return UINT32_MAX;
}

/* Our account's name. /etc/passwd first: the name service would load libraries and may ask the network. */
static bool own_name(uid_t uid, char *ret_name, size_t size)
{
    struct sc_buf text;
    sc_buf_init(&text, 1 << 20);
    bool found = false;
    sc_buf_read_file(&text, AT_FDCWD, "/etc/passwd");
    for (const char *at = (const char *)text.data; at && *at && !found;
         at += strcspn(at, "\n"), at += *at == '\n') {
        size_t len = strcspn(at, ":\n");
        const char *id = at[len] == ':' ? strchr(at + len + 1, ':') : NULL;
        if (!id || len == 0 || len >= size || strtoull(id + 1, NULL, 10) != uid || id[1] < '0' || id[1] > '9')
            continue;
        memcpy(ret_name, at, len);
        ret_name[len] = '\0';
        found = true;
    }
    sc_buf_fini(&text);
    return found;
}

static uint32_t read_subid(const char *path, const char *name, uint32_t id)
{
    struct sc_buf text;
    sc_buf_init(&text, 1 << 20);
    uint32_t first = UINT32_MAX;
    if (sc_buf_read_file(&text, AT_FDCWD, path) == 0 && text.data)
        first = sc_subid_first((const char *)text.data, name, id);
    sc_buf_fini(&text);
    return first;
}

static bool is_helper(const char *name)
{
    static const char *const folders[] = {"/usr/bin", "/bin", "/usr/local/bin"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        char path[64];
        snprintf(path, sizeof path, "%s/%s", folders[i], name);
        if (access(path, X_OK) == 0)
            return true;
    }
    return false;
}

static void probe_subordinate_ids(struct sc_host *host)
{
    char name[64];
    host->sub_uid = (uid_t)-1;
    host->sub_gid = (gid_t)-1;
    host->id_map_helpers = is_helper("newuidmap") && is_helper("newgidmap");
    /* The helpers are set-user-id: without that they can do no more than we can. */
    if (!host->id_map_helpers || host->no_new_privs || host->root)
        return;
    bool named = own_name(host->uid, name, sizeof name);
    uint32_t uid = read_subid("/etc/subuid", named ? name : NULL, host->uid);
    uint32_t gid = read_subid("/etc/subgid", named ? name : NULL, host->uid);
    if (uid == UINT32_MAX || gid == UINT32_MAX)
        return;
    host->sub_uid = uid;
    host->sub_gid = gid;
}

/* The name before it may hold anything, so fields are counted from its last parenthesis. */
int sc_host_start_time(pid_t pid, uint64_t *ret_start)
{
    char path[48], stat[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    ssize_t n = sc_read_text(AT_FDCWD, path, stat, sizeof stat);
    if (n < 0)
        return (int)n;
    const char *at = strrchr(stat, ')');
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    if (!at)
        return -EBADMSG;
    *ret_start = strtoull(at + 1, NULL, 10);
    return 0;
}

int sc_probe_identity(struct sc_host *host, struct sc_err *err)
{
    struct sc_buf map;
    struct stat ns;
    sc_buf_init(&map, 1 << 16);
    int r = sc_buf_read_file(&map, AT_FDCWD, "/proc/self/uid_map");
    if (r < 0 || !map.data) {
        sc_buf_fini(&map);
        return sc_err_set(err, SC_ERR_HOST, r < 0 ? r : -ENODATA,
                          "reading /proc/self/uid_map: %s; Snapcell needs /proc mounted",
                          strerror(r < 0 ? -r : ENODATA));
    }
    host->uid = geteuid();
    host->gid = getegid();
    host->initial_userns = is_initial_userns();
    bool capable = host->uid == 0 && has_capabilities();
    host->root = capable && probe_cell_ids(host, (const char *)map.data);
    host->bare_uid0 = !host->root && sc_outer_id((const char *)map.data, host->uid) == 0;
    sc_buf_fini(&map);
    probe_subordinate_ids(host);
    host->maker_pid = getpid();
    sc_host_start_time(host->maker_pid, &host->maker_start);
    host->maker_pid_ns = stat("/proc/self/ns/pid", &ns) == 0 ? ns.st_ino : 0;
    return 0;
}
