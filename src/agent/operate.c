/* The frame of a file operation: a fork of the agent that becomes the program's equal, does one thing, and
 * reports. It cannot hold up the agent, fill its memory, or do what the program could not do itself. */
#include "agent/operate.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/sys.h"

static int (*const OPERATIONS[SC_FILE_KINDS])(struct sc_operation *) = {
    [SC_FILE_READ] = sc_operate_read,     [SC_FILE_WRITE] = sc_operate_write,
    [SC_FILE_APPEND] = sc_operate_append, [SC_FILE_LIST] = sc_operate_list,
    [SC_FILE_STAT] = sc_operate_stat,     [SC_FILE_MKDIR] = sc_operate_mkdir,
    [SC_FILE_RENAME] = sc_operate_rename, [SC_FILE_REMOVE] = sc_operate_remove,
    [SC_FILE_CHMOD] = sc_operate_chmod,   [SC_FILE_WATCH] = sc_operate_watch,
    [SC_FILE_TAR_IN] = sc_operate_tar_in, [SC_FILE_TAR_OUT] = sc_operate_tar_out,
    [SC_FILE_PORT] = sc_operate_port,
};

static void tell(const struct sc_operation *op, const struct sc_shepherd_report *report)
{
    while (send(op->report, report, sizeof *report, MSG_NOSIGNAL) < 0 && errno == EINTR)
        ;
}

void sc_operation_started(struct sc_operation *op)
{
    const struct sc_shepherd_report report = {.news = SC_NEWS_STARTED, .pid = getpid()};
    tell(op, &report);
}

int sc_operation_fault(struct sc_operation *op, const char *object, int code)
{
    memset(op->done.object, 0, sizeof op->done.object);
    strncpy(op->done.object, object, sizeof op->done.object - 1);
    return code;
}

int sc_operation_put(struct sc_operation *op, const void *data, size_t len)
{
    op->done.bytes += len;
    return sc_write_all(1, data, len);
}

const char *sc_last_component(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

int sc_make_parents(const char *path)
{
    char part[SC_NAME_ROOM];
    size_t len = strlen(path);
    if (len >= sizeof part)
        return -ENAMETOOLONG;
    for (size_t i = 1; i < len; i++) {
        if (path[i] != '/' || path[i - 1] == '/')
            continue;
        memcpy(part, path, i);
        part[i] = '\0';
        if (mkdir(part, 0755) < 0 && errno != EEXIST) {
            /* One above it that may not be written but is there. */
            int r = -errno;
            struct stat st;
            if (stat(part, &st) < 0)
                return r;
        }
    }
    return 0;
}

int sc_open_parent(const char *path, const char **ret_last)
{
    char part[SC_NAME_ROOM];
    const char *last = sc_last_component(path);
    size_t len = (size_t)(last - path);
    if (len >= sizeof part)
        return -ENAMETOOLONG;
    memcpy(part, path, len);
    memcpy(part + len, ".", 2);
    int fd = open(part, O_PATH | O_DIRECTORY | O_CLOEXEC);
    *ret_last = last;
    return fd < 0 ? -errno : fd;
}

void sc_temporary_name(char ret_name[32])
{
    static const char digits[] = "abcdefghijklmnopqrstuvwxyz012345";
    uint8_t random[16];
    size_t len = strlen(".snapcell-");
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        memset(random, 0, sizeof random); /* then a name that is there is an error: O_EXCL */
    memcpy(ret_name, ".snapcell-", len);
    for (size_t i = 0; i < sizeof random; i++)
        ret_name[len + i] = digits[random[i] % 32];
    ret_name[len + sizeof random] = '\0';
}

/* A change of ids has made the process dumpable where fs.suid_dumpable says so; and a limit that is passed
 * shall be an error of the operation, not its death. */
static int become_operation(void)
{
    signal(SIGXFSZ, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
        return -errno;
    return sc_sys_close_range(SC_SLOT_STDIN, SC_SLOT_STDERR, 0);
}

/* With the program's rights, which may have closed its folder to itself: that is no matter of other places.
 */
static int begin(const struct sc_operation *op, int folder)
{
    bool is_relative = *op->path != '/' || (op->order->kind == SC_FILE_RENAME && *op->to != '/');
    return fchdir(folder) < 0 && is_relative ? -errno : 0;
}

void sc_operate_main(struct sc_agent *agent, struct sc_launch *launch, const struct sc_msg_file_op *order,
                     const char *path, const char *to)
{
    struct sc_operation op = {.order = order, .path = path, .to = to, .report = launch->report};
    struct sc_shepherd_report report = {.news = SC_NEWS_FAILED};
    const struct sc_agent_entry entry = {.pty_slave = -1, .in_process = true};
    int r = sc_launch_arrange(agent, launch);
    op.report = launch->report;
    if (r == 0 && agent->enter_program(agent->data, &entry, &report.failed) < 0) {
        tell(&op, &report);
        _exit(1);
    }
    if (r == 0)
        r = become_operation();
    if (r < 0) {
        sc_agent_describe(&report.failed, "file", "process", r);
        tell(&op, &report);
        _exit(1);
    }
    r = begin(&op, launch->folder);
    if (r == 0)
        r = OPERATIONS[order->kind](&op);
    if (r < 0 && !op.done.object[0])
        sc_operation_fault(&op, path, r);
    op.done.code = r;
    report = (struct sc_shepherd_report){.news = SC_NEWS_DONE, .done = op.done};
    tell(&op, &report);
    _exit(0);
}
