/* AppArmor: whether it is on, and whether our profile is loaded. */
#include "host/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"

#define PROFILE "snapcell-cell"

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

/* In a child: asking for a change of profile at the next exec is refused with ENOENT when there is no such
 * profile. Linux 5.8 has the file below attr/apparmor, older ones only the one that all modules share. */
static void ask_for_profile(void *arg, int report_fd)
{
    (void)arg;
    int r = sc_write_file(AT_FDCWD, "/proc/thread-self/attr/apparmor/exec", "exec " PROFILE);
    if (r == -ENOENT && access("/proc/thread-self/attr/apparmor/exec", F_OK) < 0)
        r = sc_write_file(AT_FDCWD, "/proc/thread-self/attr/exec", "exec " PROFILE);
    sc_write_all(report_fd, &r, sizeof r);
}

/* One line a profile: "snapcell-cell (enforce)". -ENOENT when it is not there, others when the list cannot be
 * read. */
static int look_in_list(void)
{
    struct sc_buf list;
    sc_buf_init(&list, 1 << 20);
    int r = sc_buf_read_file(&list, AT_FDCWD, "/sys/kernel/security/apparmor/profiles");
    const char *at = r == 0 ? (const char *)list.data : NULL;
    if (r == 0)
        r = -ENOENT;
    for (; at && r == -ENOENT; at = strchr(at, '\n'), at = at ? at + 1 : NULL)
        if (!strncmp(at, PROFILE " ", strlen(PROFILE " ")))
            r = 0;
    sc_buf_fini(&list);
    return r;
}

void sc_probe_apparmor(struct sc_host *host)
{
    host->apparmor_enabled = is_on();
    host->apparmor_profile_loaded = false;
    if (!host->apparmor_enabled)
        return;
    int answer = -ENOENT;
    if (sc_host_try(ask_for_profile, NULL, &answer, sizeof answer) == 0 && answer != -ENOENT &&
        answer != -EACCES) {
        host->apparmor_profile_loaded = answer == 0;
        return;
    }
    host->apparmor_profile_loaded = look_in_list() == 0;
}
