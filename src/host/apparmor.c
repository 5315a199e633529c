/* AppArmor: whether it is on, and whether our profiles are loaded, both of them. */
#include "host/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"

static const char *const PROFILES[] = {"snapcell-cell", "snapcell-forkable"};
#define N_PROFILES (sizeof PROFILES / sizeof PROFILES[0])

static bool is_on(void)
{
    char answer = 'N';
    int fd = open("/sys/module/apparmor/parameters/enabled", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, &answer, 1);
    close(fd);
    return n == 1 && answer == 'Y';
}

/* Asking for a change of profile at the next exec is refused with ENOENT when there is no such profile.
 * Linux 5.8 has the file below attr/apparmor, older ones only the one that all modules share. */
static int ask_for(const char *profile)
{
    char request[64];
    snprintf(request, sizeof request, "exec %s", profile);
    int r = sc_write_file(AT_FDCWD, "/proc/thread-self/attr/apparmor/exec", request);
    if (r == -ENOENT && access("/proc/thread-self/attr/apparmor/exec", F_OK) < 0)
        r = sc_write_file(AT_FDCWD, "/proc/thread-self/attr/exec", request);
    return r;
}

/* In a child. */
static void ask_for_profiles(void *arg, int report_fd)
{
    int r = 0;
    (void)arg;
    for (size_t i = 0; i < N_PROFILES && r == 0; i++)
        r = ask_for(PROFILES[i]);
    sc_write_all(report_fd, &r, sizeof r);
}

/* One line a profile: "snapcell-cell (enforce)". */
static bool is_listed(const char *list, const char *profile)
{
    size_t len = strlen(profile);
    for (const char *at = list; at; at = strchr(at, '\n'), at = at ? at + 1 : NULL)
        if (!strncmp(at, profile, len) && at[len] == ' ')
            return true;
    return false;
}

static bool are_all_listed(void)
{
    struct sc_buf list;
    sc_buf_init(&list, 1 << 20);
    bool all = sc_buf_read_file(&list, AT_FDCWD, "/sys/kernel/security/apparmor/profiles") == 0;
    for (size_t i = 0; i < N_PROFILES && all; i++)
        all = is_listed((const char *)list.data, PROFILES[i]);
    sc_buf_fini(&list);
    return all;
}

void sc_probe_apparmor(struct sc_host *host)
{
    host->apparmor_enabled = is_on();
    host->apparmor_profile_loaded = false;
    if (!host->apparmor_enabled)
        return;
    int answer = -ENOENT;
    if (sc_host_try(ask_for_profiles, NULL, &answer, sizeof answer) == 0 && answer != -ENOENT &&
        answer != -EACCES) {
        host->apparmor_profile_loaded = answer == 0;
        return;
    }
    host->apparmor_profile_loaded = are_all_listed();
}
