#include "cli/tree.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/tree_parts.h"

/* Forks; in the child `body` works at the other end of the pipe. */
static int start(struct sc_cli_tree *tree, bool child_reads, int (*body)(int pipe, const void *what),
                 const void *what, struct sc_err *err)
{
    int from, to;
    int r = sc_pipe(&from, &to);
    *tree = (struct sc_cli_tree){.pid = -1, .pipe = -1};
    pid_t pid = r < 0 ? -1 : fork();
    if (pid < 0)
        return sc_err_sys(err, r < 0 ? r : -errno, "folder");
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(child_reads ? to : from);
        _exit(body(child_reads ? from : to, what) < 0 ? 1 : 0);
    }
    close(child_reads ? from : to);
    *tree = (struct sc_cli_tree){.pid = pid, .pipe = child_reads ? to : from};
    return 0;
}

static int send_body(int pipe, const void *what)
{
    return sc_cli_tree_pack(pipe, what);
}

static int take_body(int pipe, const void *what)
{
    return sc_cli_tree_unpack(pipe, *(const int *)what, false);
}

/* What is taken is read by cells, which have another user; and only we write to it. */
static int take_root_body(int pipe, const void *what)
{
    umask(022);
    return sc_cli_tree_unpack(pipe, *(const int *)what, true);
}

int sc_cli_tree_send(struct sc_cli_tree *tree, const char *path, struct sc_err *err)
{
    return start(tree, false, send_body, path, err);
}

int sc_cli_tree_take(struct sc_cli_tree *tree, int folder, struct sc_err *err)
{
    return start(tree, true, take_body, &folder, err);
}

int sc_cli_tree_take_root(struct sc_cli_tree *tree, int folder, struct sc_err *err)
{
    return start(tree, true, take_root_body, &folder, err);
}

bool sc_cli_tree_finish(struct sc_cli_tree *tree)
{
    int status = 0;
    sc_close(&tree->pipe);
    if (tree->pid <= 0)
        return false;
    while (waitpid(tree->pid, &status, 0) < 0)
        if (errno != EINTR)
            return false;
    tree->pid = -1;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
