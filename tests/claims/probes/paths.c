/* Attempts on paths. Where two paths are needed they are parted by a comma. */
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "probe.h"

static int with_fd(int fd)
{
    if (fd < 0)
        return errno;
    close(fd);
    return 0;
}

static char *second(char *arg)
{
    char *comma = strchr(arg, ',');
    if (!comma)
        return arg + strlen(arg);
    *comma = '\0';
    return comma + 1;
}

static int open_read(char *path)
{
    return with_fd(open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC));
}

static int open_write(char *path)
{
    return with_fd(open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC));
}

static int create(char *path)
{
    return with_fd(open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
}

static int make_dir(char *path)
{
    return TRIED(mkdir(path, 0700));
}

static int make_symlink(char *path)
{
    return TRIED(symlink("/etc/passwd", path));
}

static int make_fifo(char *path)
{
    return TRIED(mkfifo(path, 0600));
}

static int make_char_device(char *path)
{
    return TRIED(mknod(path, S_IFCHR | 0600, makedev(1, 3)));
}

static int make_block_device(char *path)
{
    return TRIED(mknod(path, S_IFBLK | 0600, makedev(7, 0)));
}

static int remove_path(char *path)
{
    return TRIED(unlink(path));
}

static int change_mode(char *path)
{
    return TRIED(chmod(path, 0777));
}

static int change_owner(char *path)
{
    return TRIED(chown(path, 0, 0));
}

static int give_to_agent(char *path)
{
    return TRIED(chown(path, 999, 999));
}

static int own_again(char *path)
{
    return TRIED(chown(path, getuid(), getgid()));
}

static int cut(char *path)
{
    return TRIED(truncate(path, 0));
}

static int see(char *path)
{
    struct stat st;
    return TRIED(stat(path, &st));
}

static int list(char *path)
{
    DIR *dir = opendir(path);
    if (!dir)
        return errno;
    closedir(dir);
    return 0;
}

static int read_byte(char *path)
{
    char byte;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return errno;
    ssize_t n = read(fd, &byte, 1);
    return n < 0 ? errno : n == 0 ? ENODATA : 0;
}

static int write_byte(char *path)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return errno;
    return TRIED(write(fd, "0", 1));
}

static int move(char *arg)
{
    char *to = second(arg);
    return TRIED(rename(arg, to));
}

static int hard_link(char *arg)
{
    char *to = second(arg);
    return TRIED(link(arg, to));
}

/* Copies this program to the path and runs it there; `set_id`: with set-user-id and set-group-id bits. */
static int run_copy(const char *path, mode_t mode, char *attempt)
{
    static char data[1 << 16];
    int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC),
        to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
    ssize_t n;

    if (from < 0 || to < 0)
        return errno;
    while ((n = read(from, data, sizeof data)) > 0)
        if (write(to, data, (size_t)n) != n)
            return errno;
    if (fchmod(to, mode) < 0)
        return errno;
    close(to);
    pid_t child = fork();
    if (child == 0) {
        char *argv[] = {(char *)path, attempt, NULL}, *envp[] = {NULL};
        int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
        dup2(null, 1);
        execve(path, argv, envp);
        _exit(errno);
    }
    int status;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

static int exec_copy(char *path)
{
    return run_copy(path, 0700, NULL);
}

/* Copy with both set-id bits, world-executable, run by the cell's own user: its effective ids must be the
 * real ones. */
static int exec_set_id(char *path)
{
    return run_copy(path, 06755, NULL);
}

/* PATH,MEBIBYTES: writes that much into a new file, which stays. */
static int fill(char *arg)
{
    static char block[1 << 16];
    long mib = atol(second(arg));
    int fd = open(arg, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), r = 0;

    if (fd < 0)
        return errno;
    memset(block, 'x', sizeof block);
    for (long i = 0; i < mib * 16 && !r; i++) {
        ssize_t n = write(fd, block, sizeof block);
        r = n < 0 ? errno : n < (ssize_t)sizeof block ? ENOSPC : 0;
    }
    close(fd);
    return r;
}

/* DIR,COUNT: makes that many empty files, which stay. */
static int many_files(char *arg)
{
    long count = atol(second(arg)), made = 0;
    char path[256];
    int r = 0;

    for (; made < count && !r; made++) {
        snprintf(path, sizeof path, "%s/many-%ld", arg, made);
        r = create(path);
    }
    return r;
}

static const struct attempt table[] = {
    {"open_read", open_read},
    {"open_write", open_write},
    {"create", create},
    {"mkdir", make_dir},
    {"symlink", make_symlink},
    {"mkfifo", make_fifo},
    {"mknod_char", make_char_device},
    {"mknod_block", make_block_device},
    {"unlink", remove_path},
    {"chmod", change_mode},
    {"chown_root", change_owner},
    {"chown_agent", give_to_agent},
    {"chown_self", own_again},
    {"truncate", cut},
    {"stat", see},
    {"list", list},
    {"read", read_byte},
    {"write", write_byte},
    {"rename", move},
    {"link", hard_link},
    {"exec_copy", exec_copy},
    {"exec_set_id", exec_set_id},
    {"fill", fill},
    {"many_files", many_files},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    if (argc == 1) /* as a set-id copy: were more rights had than before? */
        return getuid() == geteuid() && getgid() == getegid() ? 0 : 1;
    return probe_main(table, argc, argv);
}
