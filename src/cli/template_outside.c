#include "cli/template.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/sys.h"
#include "cli/say.h"
#include "snap/shelf.h"

#define NOBODY 65534
#define SAID_MAX 8192 /* of what a failed program said */

int sc_cli_outside_open(struct sc_cli_outside *outside, int signal_fd, struct sc_err *err)
{
    const char *place = getenv("TMPDIR");
    *outside = (struct sc_cli_outside){.folder = -1, .signal_fd = signal_fd};
    if (!place || *place != '/')
        place = "/tmp";
    int n = snprintf(outside->path, sizeof outside->path, "%s/snapcell-build-XXXXXX", place);
    if (n < 0 || n >= PATH_MAX || !mkdtemp(outside->path)) {
        int r = n >= PATH_MAX ? -ENAMETOOLONG : -errno;
        *outside->path = '\0';
        return sc_err_sys(err, r, "template: folder in %s", place);
    }
    outside->folder = open(outside->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (outside->folder < 0 || fchmod(outside->folder, 0755) < 0 ||
        (geteuid() == 0 && fchown(outside->folder, NOBODY, NOBODY) < 0)) {
        int r = sc_err_sys(err, -errno, "template: %s", outside->path);
        sc_cli_outside_close(outside);
        return r;
    }
    return 0;
}

void sc_cli_outside_close(struct sc_cli_outside *outside)
{
    if (*outside->path) {
        int r = sc_shelf_remove_tree(AT_FDCWD, outside->path);
        if (r < 0)
            sc_cli_say("template: %s: left behind: %s", outside->path, strerror(-r));
    }
    sc_close(&outside->folder);
    *outside->path = '\0';
}

static int make_file(struct sc_cli_outside *outside, const char *name)
{
    int fd = openat(outside->folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    return fd < 0 || fchmod(fd, 0644) < 0 ? -errno : fd;
}

int sc_cli_outside_put(struct sc_cli_outside *outside, const char *name, const void *data, size_t len,
                       struct sc_err *err)
{
    int fd = make_file(outside, name);
    int r = fd < 0 ? fd : sc_write_all(fd, data, len);
    sc_close(&fd);
    return r < 0 ? sc_err_sys(err, r, "template: %s/%s", outside->path, name) : 0;
}

static int copy_bytes(int from, int to)
{
    ssize_t n;
    do
        n = sendfile(to, from, NULL, 1u << 30);
    while (n > 0 || (n < 0 && errno == EINTR));
    return n < 0 ? -errno : 0;
}

int sc_cli_outside_copy(struct sc_cli_outside *outside, const char *name, const char *path,
                        struct sc_err *err)
{
    int from = open(path, O_RDONLY | O_NOCTTY | O_CLOEXEC);
    if (from < 0)
        return sc_err_usage(err, "template", "template: %s: cannot be read: %s", path, strerror(errno));
    int to = make_file(outside, name);
    int r = to < 0 ? to : copy_bytes(from, to);
    sc_close(&from);
    sc_close(&to);
    return r < 0 ? sc_err_sys(err, r, "template: copying %s", path) : 0;
}

int sc_cli_outside_mkdir(struct sc_cli_outside *outside, const char *name, struct sc_err *err)
{
    bool root = geteuid() == 0;
    if (mkdirat(outside->folder, name, 0755) < 0 ||
        (root && fchownat(outside->folder, name, NOBODY, NOBODY, AT_SYMLINK_NOFOLLOW) < 0))
        return sc_err_sys(err, -errno, "template: %s/%s", outside->path, name);
    return 0;
}

/* ---- the program ---- */

static int become_nobody(void)
{
    const gid_t none[1] = {NOBODY};
    if (setgroups(1, none) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
        setresuid(NOBODY, NOBODY, NOBODY) < 0)
        return -errno;
    return 0;
}

/* What is made before the fork; afterwards nothing allocates. */
struct program {
    const char *const *argv;
    struct sc_strv env;
    int in, out, said;
    bool as_caller;
};

/* The caller's environment, with a home that the program may write to. */
static int make_env(const struct sc_cli_outside *outside, struct sc_strv *env)
{
    int r = 0;
    for (char **entry = environ; *entry && r == 0; entry++)
        r = sc_strv_add(env, *entry);
    return r < 0 ? r : sc_strv_set_env(env, "HOME", outside->path);
}

/* In the child. Never returns; 127 says that it did not come to the program. */
static void become_program(const struct sc_cli_outside *outside, const struct program *program)
{
    sigset_t none;
    sigemptyset(&none);
    umask(022);
    bool drop = !program->as_caller;
    bool ready = dup2(program->in, STDIN_FILENO) >= 0 && dup2(program->out, STDOUT_FILENO) >= 0 &&
                 dup2(program->said, STDERR_FILENO) >= 0 && fchdir(outside->folder) == 0 &&
                 sigprocmask(SIG_SETMASK, &none, NULL) == 0 && signal(SIGPIPE, SIG_DFL) != SIG_ERR &&
                 (!drop || geteuid() != 0 || become_nobody() == 0) &&
                 (!drop || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) &&
                 prctl(PR_SET_PDEATHSIG, SIGKILL) == 0;
    if (ready)
        execvpe(program->argv[0], (char *const *)program->argv, program->env.v);
    (void)!write(STDERR_FILENO, "cannot be run\n", 14);
    _exit(127);
}

/* Until it ends; a signal of ours ends it, with all that it started. */
static int wait_for(pid_t pid, int signal_fd, int *ret_status)
{
    int pidfd = sc_sys_pidfd_open(pid), r = 0;
    if (pidfd < 0)
        return pidfd;
    struct pollfd polls[2] = {{pidfd, POLLIN, 0}, {signal_fd, POLLIN, 0}};
    while (poll(polls, 2, -1) < 0 && errno == EINTR)
        continue;
    if (polls[1].revents)
        r = -ECANCELED;
    kill(-pid, SIGKILL);
    close(pidfd);
    while (waitpid(pid, ret_status, 0) < 0)
        if (errno != EINTR)
            return -errno;
    return r;
}

static void tell_said(int said)
{
    static char text[SAID_MAX];
    off_t end = lseek(said, 0, SEEK_END);
    off_t from = end > SAID_MAX ? end - SAID_MAX : 0;
    ssize_t n = pread(said, text, sizeof text, from);
    if (n > 0)
        sc_cli_tell(text, (size_t)n);
}

static int run_program(const struct sc_cli_outside *outside, const struct program *program,
                       struct sc_err *err)
{
    const char *name = program->argv[0];
    int status = 0;
    pid_t pid = fork();
    if (pid < 0)
        return sc_err_sys(err, -errno, "template: %s", name);
    if (pid == 0) {
        setpgid(0, 0);
        become_program(outside, program);
    }
    setpgid(pid, pid); /* both do it: whoever comes first */
    int r = wait_for(pid, outside->signal_fd, &status);
    if (r < 0)
        return sc_err_set(err, SC_ERR_SANDBOX, r, "template: %s: %s", name,
                          r == -ECANCELED ? "cancelled" : strerror(-r));
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    tell_said(program->said);
    return sc_err_set(err, SC_ERR_HOST, -ENOENT,
                      "template: %s failed; it must be installed, and reach what the template names", name);
}

int sc_cli_outside_run(struct sc_cli_outside *outside, const char *const *argv, int out, bool as_caller,
                       struct sc_err *err)
{
    int said = memfd_create("said", MFD_CLOEXEC), null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    struct program program = {
        .argv = argv, .in = null, .out = out >= 0 ? out : said, .said = said, .as_caller = as_caller};
    int r = said < 0 || null < 0 ? -errno : make_env(outside, &program.env);
    r = r < 0 ? sc_err_sys(err, r, "template: %s", argv[0]) : run_program(outside, &program, err);
    sc_strv_fini(&program.env);
    sc_close(&null);
    sc_close(&said);
    return r;
}
