/* The disks that io limits are written for: whole disks below mounted file systems. The kernel takes no
 * partition there. Loop devices are left out: their traffic shows at the disk that holds the image. */
#include "host/probe.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"

#define LOOP_MAJOR 7

static void add_disk(struct sc_host *host, unsigned major, unsigned minor)
{
    for (unsigned i = 0; i < host->n_disks; i++)
        if (host->disks[i].major == major && host->disks[i].minor == minor)
            return;
    if (host->n_disks < SC_HOST_DISKS_MAX)
        host->disks[host->n_disks++] = (struct sc_host_disk){major, minor};
    else
        host->disks_left_out = true;
}

/* "/sys/dev/block/8:1" is a link into ".../sda/sda1"; a partition has a file "partition", and its disk is
 * above. */
static void add_device(struct sc_host *host, unsigned major, unsigned minor)
{
    char path[96], text[32];
    unsigned whole_major = major, whole_minor = minor;
    if (major == 0 || major == LOOP_MAJOR)
        return;
    snprintf(path, sizeof path, "/sys/dev/block/%u:%u/partition", major, minor);
    if (access(path, F_OK) == 0) {
        struct sc_buf dev;
        snprintf(path, sizeof path, "/sys/dev/block/%u:%u/../dev", major, minor);
        sc_buf_init(&dev, sizeof text);
        if (sc_buf_read_file(&dev, AT_FDCWD, path) < 0 || !dev.data ||
            sscanf((const char *)dev.data, "%u:%u", &whole_major, &whole_minor) != 2) {
            whole_major = major;
            whole_minor = minor;
        }
        sc_buf_fini(&dev);
    }
    add_disk(host, whole_major, whole_minor);
}

/* File systems of several devices (btrfs, overlay) have no device number of their own: their source may. */
static void add_source(struct sc_host *host, const char *source)
{
    struct stat st;
    if (!strncmp(source, "/dev/", 5) && stat(source, &st) == 0 && S_ISBLK(st.st_mode))
        add_device(host, major(st.st_rdev), minor(st.st_rdev));
}

void sc_probe_disks(struct sc_host *host, const char *mountinfo)
{
    host->n_disks = 0;
    host->disks_left_out = false;
    for (const char *at = mountinfo; *at; at += strcspn(at, "\n"), at += *at == '\n') {
        unsigned major, minor;
        char source[128];
        const char *dash = strstr(at, " - ");
        if (sscanf(at, "%*u %*u %u:%u", &major, &minor) != 2)
            continue;
        if (major)
            add_device(host, major, minor);
        else if (dash && dash < at + strcspn(at, "\n") && sscanf(dash, " - %*s %127s", source) == 1)
            add_source(host, source);
    }
}
