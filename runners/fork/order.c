/* Orders as they come, and whether they can be obeyed. What is not understood is refused, never guessed. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "parts.h"

#define NEEDED_PLAIN                                                                                         \
    (1u << SC_FORK_FD_REPORT | 1u << SC_FORK_FD_IN | 1u << SC_FORK_FD_OUT | 1u << SC_FORK_FD_ERR)
/* A root whose ruleset is absent is one of a host without Landlock; groups are absent where none count. */
#define NEEDED_CELL                                                                                          \
    (NEEDED_PLAIN | 1u << SC_FORK_FD_IMAGE | 1u << SC_FORK_FD_USER | 1u << SC_FORK_FD_PID |                  \
     1u << SC_FORK_FD_TIME | 1u << SC_FORK_FD_NET | 1u << SC_FORK_FD_IPC | 1u << SC_FORK_FD_UTS |            \
     1u << SC_FORK_FD_CGROUP | 1u << SC_FORK_FD_ROOT)
#define ALL_FDS ((1u << SC_FORK_FDS_MAX) - 1)

static void copy_text(char *to, const char *from, size_t size)
{
    size_t len = from ? strnlen(from, size - 1) : 0;
    if (len)
        memcpy(to, from, len);
    memset(to + len, 0, size - len);
}

int sc_fork_note(char step[SC_FORK_STEP_MAX], char object[SC_FORK_OBJECT_MAX], const char *name,
                 const char *about, int code)
{
    copy_text(step, name, SC_FORK_STEP_MAX);
    copy_text(object, about, SC_FORK_OBJECT_MAX);
    return code;
}

static int refuse(struct sc_fork_task *task, const char *about, int code)
{
    task->answer.code = sc_fork_note(task->answer.step, task->answer.object, "order", about, code);
    return 1;
}

void sc_fork_close(struct sc_fork_task *task)
{
    for (int i = 0; i < SC_FORK_FDS_MAX; i++) {
        if (task->fds[i] >= 0)
            close(task->fds[i]);
        task->fds[i] = -1;
    }
}

/* Gives each descriptor its place, or closes them all. */
static int place(struct sc_fork_task *task, const int *fds, size_t n_fds)
{
    size_t next = 0;
    for (int i = 0; i < SC_FORK_FDS_MAX; i++)
        if (task->order.fds & 1u << i && next < n_fds)
            task->fds[i] = fds[next++];
    if (next == n_fds && n_fds == (size_t)__builtin_popcount(task->order.fds))
        return 0;
    for (; next < n_fds; next++)
        close(fds[next]);
    sc_fork_close(task);
    return -EMFILE; /* the kernel leaves out those there is no room for */
}

static int check(struct sc_fork_task *task, size_t len)
{
    const struct sc_fork_order *order = &task->order;
    uint32_t needed = order->flags & SC_FORK_PLAIN ? NEEDED_PLAIN : NEEDED_CELL;
    size_t cwd_len = len - sizeof *order;
    if (order->version != SC_FORK_VERSION)
        return refuse(task, "version", -EPROTO);
    if (order->flags & ~(uint32_t)(SC_FORK_PLAIN | SC_FORK_FORKABLE))
        return refuse(task, "flags", -EPROTO);
#ifndef SC_FORK_TESTS
    if (order->flags & SC_FORK_PLAIN)
        return refuse(task, "plain: the child would not be sealed", -EPERM);
#endif
    if (cwd_len == 0 || task->cwd[cwd_len - 1] != '\0')
        return refuse(task, "working directory", -EPROTO);
    if (order->fds & ~ALL_FDS || (order->fds & needed) != needed)
        return refuse(task, "descriptors", -EPROTO);
    return 1;
}

static size_t take_fds(struct msghdr *msg, int fds[SC_FORK_FDS_MAX])
{
    size_t n = 0;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
            if (n < SC_FORK_FDS_MAX)
                fds[n++] = fd;
            else
                close(fd);
        }
    }
    return n;
}

int sc_fork_receive(int socket, struct sc_fork_task *task)
{
    union {
        char space[CMSG_SPACE(sizeof(int) * SC_FORK_FDS_MAX)];
        struct cmsghdr align;
    } control;
    struct iovec parts[2] = {{&task->order, sizeof task->order}, {task->cwd, sizeof task->cwd}};
    struct msghdr msg = {.msg_iov = parts,
                         .msg_iovlen = 2,
                         .msg_control = control.space,
                         .msg_controllen = sizeof control.space};
    int fds[SC_FORK_FDS_MAX];
    ssize_t n;
    do
        n = recvmsg(socket, &msg, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    if (n <= 0)
        return n < 0 ? -errno : 0;
    size_t n_fds = take_fds(&msg, fds);
    task->socket = socket;
    memset(&task->answer, 0, sizeof task->answer);
    for (int i = 0; i < SC_FORK_FDS_MAX; i++)
        task->fds[i] = -1;
    if ((size_t)n < sizeof task->order || msg.msg_flags & MSG_TRUNC) {
        task->order.fds = 0;
        place(task, fds, n_fds);
        return refuse(task, "size", -EPROTO);
    }
    task->answer.id = task->order.id;
    if (place(task, fds, n_fds) < 0)
        return refuse(task, "descriptors", -EMFILE);
    return check(task, (size_t)n);
}

/* ---- what a fork would tear apart ---- */

static int busy(struct sc_fork_task *task, const char *about)
{
    task->answer.code = sc_fork_note(task->answer.step, task->answer.object, "fork", about, -EBUSY);
    return -EBUSY;
}

/* One line of /proc/self/maps: "from-to rw-s …". */
static int is_shared_and_writable(const char *line)
{
    const char *rights = strchr(line, ' ');
    return rights && strnlen(rights, 5) == 5 && rights[2] == 'w' && rights[4] == 's';
}

/* Memory that both would write is a way from a child to its parent. Lines are cut at the buffer's end: only
 * their beginning is read. */
static int look_at_maps(struct sc_fork_task *task)
{
    static char text[16 * 1024];
    size_t have = 0;
    int found = 0, maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (maps < 0)
        return busy(task, "/proc/self/maps cannot be read");
    for (ssize_t n; (n = read(maps, text + have, sizeof text - 1 - have)) > 0;) {
        char *line = text, *end;
        have += (size_t)n;
        text[have] = '\0';
        for (; (end = strchr(line, '\n')); line = end + 1)
            found |= is_shared_and_writable(line);
        have -= (size_t)(line - text);
        memmove(text, line, have);
    }
    close(maps);
    return found ? busy(task, "it has writable memory that is shared") : 0;
}

int sc_fork_look(struct sc_fork_task *task, int idle_threads, int look_at_memory)
{
    struct stat tasks;
    if (stat("/proc/self/task", &tasks) < 0)
        return busy(task, "/proc/self/task cannot be read");
    if (tasks.st_nlink > 3 + (nlink_t)idle_threads) /* ".", ".." and the caller's */
        return busy(task, "it has more than one thread");
    return look_at_memory ? look_at_maps(task) : 0;
}
