/* Process 1 of the test VM's initramfs: loads the modules, lays a tmpfs over the host's read-only root, and
 * hands over to the job named on the kernel's command line. Static; the only file of the initramfs besides
 * modules. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void die(const char *what)
{
    printf("init: %s: %s\n", what, strerror(errno));
    fflush(stdout);
    sleep(1);
    _exit(1); /* the kernel panics and, with panic=-1, reboots: QEMU ends */
}

static void mount_or_die(const char *source, const char *target, const char *type, unsigned long flags,
                         const char *data)
{
    if (mkdir(target, 0755) < 0 && errno != EEXIST)
        die(target);
    if (mount(source, target, type, flags, data) < 0)
        die(target);
}

/* /modules lists them in the order in which they must be loaded. */
static void load_modules(void)
{
    FILE *list = fopen("/modules", "re");
    char name[128], path[160];

    if (!list)
        die("/modules");
    while (fscanf(list, "%127s", name) == 1) {
        snprintf(path, sizeof path, "/m/%s", name);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0 || (syscall(SYS_finit_module, fd, "", 0) < 0 && errno != EEXIST))
            die(path);
        close(fd);
    }
    fclose(list);
}

/* Value of snapcell.job= on the kernel's command line. */
static char *find_job(void)
{
    static char line[4096];
    int fd = open("/proc/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof line - 1);

    if (n <= 0)
        die("/proc/cmdline");
    close(fd);
    line[n] = '\0';
    char *job = strstr(line, "snapcell.job=");
    if (!job)
        die("no snapcell.job= on the command line");
    job += strlen("snapcell.job=");
    job[strcspn(job, " \n")] = '\0';
    return job;
}

static void enter_root(void)
{
    static const char *const moved[] = {"/dev", "/proc", "/sys"};
    char target[32];

    mount_or_die("root", "/lower", "9p", MS_RDONLY, "trans=virtio,version=9p2000.L,cache=loose,msize=512000");
    mount_or_die("tmpfs", "/upper", "tmpfs", 0, "size=75%");
    if (mkdir("/upper/files", 0755) < 0 || mkdir("/upper/work", 0755) < 0)
        die("/upper");
    mount_or_die("root", "/new", "overlay", 0, "lowerdir=/lower,upperdir=/upper/files,workdir=/upper/work");
    for (size_t i = 0; i < sizeof moved / sizeof moved[0]; i++) {
        snprintf(target, sizeof target, "/new%s", moved[i]);
        if (mount(moved[i], target, NULL, MS_MOVE, NULL) < 0)
            die(target);
    }
    if (chdir("/new") < 0 || mount(".", "/", NULL, MS_MOVE, NULL) < 0 || chroot(".") < 0 || chdir("/") < 0)
        die("switch root");
}

int main(void)
{
    mount_or_die("dev", "/dev", "devtmpfs", 0, NULL);
    mount_or_die("proc", "/proc", "proc", 0, NULL);
    mount_or_die("sys", "/sys", "sysfs", 0, NULL);
    load_modules();
    char *job = find_job();
    enter_root();
    execl("/bin/bash", "bash", job, NULL);
    die("/bin/bash");
}
