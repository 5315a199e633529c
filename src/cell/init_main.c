/* The agent's first half: from exec to a sealed cell. The supervisor starts this program as process 1 of
 * fresh namespaces with the descriptors of enum sc_slot; it runs the agent stages of stages.def in order,
 * says READY, and serves.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/fd.h"
#include "base/frame.h"
#include "cell/enter.h"

struct stage {
    const char *name;
    int (*run)(struct sc_enter *);
};

static const struct stage AGENT_STAGES[] = {
#define AGENT_STAGE(name) {#name, enter_##name},
#define PROGRAM_STAGE(name)
#include "cell/stages.def"
#undef AGENT_STAGE
#undef PROGRAM_STAGE
};

static const struct stage PROGRAM_STAGES[] = {
#define AGENT_STAGE(name)
#define PROGRAM_STAGE(name) {#name, enter_##name},
#include "cell/stages.def"
#undef AGENT_STAGE
#undef PROGRAM_STAGE
};

#define COUNT(list) (sizeof(list) / sizeof(list)[0])

#ifdef SC_MUTANTS
/* Test builds only: `list` is "filter,vacant". A test must fail when any one stage is left out, and what
 * several walls hold is shown to be held by each of them. */
static int left_out(const char *list, const char *name)
{
    size_t len = strlen(name);
    for (; *list; list += strcspn(list, ","), list += *list == ',')
        if (!strncmp(list, name, len) && (list[len] == ',' || list[len] == '\0'))
            return 1;
    return 0;
}
#endif

int sc_enter_stage(struct sc_enter *enter, const char *name, int (*stage)(struct sc_enter *))
{
#ifdef SC_MUTANTS
    if (left_out(enter->boot.mutant, name))
        return 0;
#endif
    (void)name;
    enter->object = NULL;
    return stage(enter);
}

char *sc_enter_number(uint64_t value, char buf[24])
{
    char *at = buf + 23;
    *at = '\0';
    do
        *--at = (char)('0' + value % 10);
    while ((value /= 10));
    return at;
}

/* Where memory is short, the kernel's killer shall take a program and not the agent or a shepherd. Raising
 * needs no privilege, but the file is its owner's only while the process is dumpable: for that moment it is.
 * Whoever has the program's id still cannot look into it, for it has capabilities that they have not. */
static int stand_first(struct sc_enter *enter)
{
    char text[8] = "";
    enter->object = "oom_score_adj";
    if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0)
        return -errno;
    int fd = openat(enter->proc_fd, "thread-self/oom_score_adj", O_RDWR | O_CLOEXEC);
    int r = fd < 0 || read(fd, text, sizeof text - 1) < 0 ? -errno : 0;
    /* What the caller has already may be more, and only grows. */
    const char *value = strtol(text, NULL, 10) < 500 ? "500" : "1000";
    if (r == 0 && write(fd, value, strlen(value)) < 0)
        r = -errno;
    if (fd >= 0)
        close(fd);
    return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ? -errno : r;
}

/* Not for a file operation: AppArmor's change takes effect at exec, and it begins in the work folder. */
static bool is_for_exec(int (*stage)(struct sc_enter *))
{
    return stage == enter_apparmor || stage == enter_cwd;
}

/* What a command has of its own is set in the copy of its shepherd, or of the file operation itself. */
static int enter_program(void *data, const struct sc_agent_entry *entry, struct sc_msg_failed *failed)
{
    struct sc_enter *enter = data;
    if (entry) {
        enter->cwd = entry->cwd;
        enter->pty_slave = entry->pty_slave;
        int r = stand_first(enter);
        if (r < 0) {
            sc_agent_describe(failed, "memory", enter->object, r);
            return r;
        }
    }
    for (size_t i = 0; i < COUNT(PROGRAM_STAGES); i++) {
        if (entry && entry->in_process && is_for_exec(PROGRAM_STAGES[i].run))
            continue;
        int r = sc_enter_stage(enter, PROGRAM_STAGES[i].name, PROGRAM_STAGES[i].run);
        if (r < 0) {
            sc_agent_describe(failed, PROGRAM_STAGES[i].name, enter->object, r);
            return r;
        }
    }
    return 0;
}

/* exec keeps ignored signals ignored: what the caller ignored must not become the program's. By the raw call,
 * for the C library keeps some numbers to itself. SIGKILL and SIGSTOP refuse, and are never ignored. */
static void reset_signals(void)
{
    static const uint64_t standard[4]; /* struct sigaction as the kernel has it: SIG_DFL, no flags */
    sigset_t none;
    for (int number = 1; number < 65; number++)
        syscall(SYS_rt_sigaction, number, standard, NULL, sizeof(uint64_t));
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static const struct sc_image *map_image(void)
{
    struct stat st;
    if (fstat(SC_SLOT_IMAGE, &st) < 0 || st.st_size < (off_t)sizeof(struct sc_image))
        sc_agent_fail(SC_SLOT_CONTROL, "agent", "image", -EINVAL);
    const struct sc_image *image =
        mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, SC_SLOT_IMAGE, 0);
    if (image == MAP_FAILED)
        sc_agent_fail(SC_SLOT_CONTROL, "agent", "image", -errno);
    if (image->magic != SC_IMAGE_MAGIC || image->version != SC_IMAGE_VERSION || image->size != st.st_size)
        sc_agent_fail(SC_SLOT_CONTROL, "agent", "image", -EINVAL);
    close(SC_SLOT_IMAGE);
    return image;
}

static void read_boot(struct sc_boot *boot)
{
    struct sc_frame frame;
    int r = sc_read_all(SC_SLOT_CONTROL, &frame, sizeof frame);
    if (r == 0 && (frame.type != SC_MSG_BOOT || frame.len != sizeof *boot))
        r = -EPROTO;
    if (r == 0)
        r = sc_read_all(SC_SLOT_CONTROL, boot, sizeof *boot);
    if (r == 0 && boot->version != SC_PROTO_VERSION)
        r = -EPROTO;
    if (r < 0)
        sc_agent_fail(SC_SLOT_CONTROL, "agent", "boot", r);
}

/* The cell's own terminal, made in its own devpts; the supervisor gets the master side. */
static void open_terminal(struct sc_enter *enter)
{
    int unlock = 0;
    struct winsize size = {.ws_row = enter->boot.rows, .ws_col = enter->boot.cols};
    enter->pty_master = open("/dev/pts/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (enter->pty_master < 0 || ioctl(enter->pty_master, TIOCSPTLCK, &unlock) < 0 ||
        ioctl(enter->pty_master, TIOCSWINSZ, &size) < 0)
        sc_agent_fail(SC_SLOT_CONTROL, "terminal", "/dev/pts/ptmx", -errno);
    enter->pty_slave = ioctl(enter->pty_master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (enter->pty_slave < 0)
        sc_agent_fail(SC_SLOT_CONTROL, "terminal", "peer", -errno);
}

static void say_ready(struct sc_enter *enter)
{
    struct {
        struct sc_frame head;
        struct sc_msg_ready ready;
    } message = {.head = {.len = sizeof message.ready, .type = SC_MSG_READY}};
    const int all[SC_READY_COUNT] = {enter->work_fd,  enter->tmp_fd,   enter->shm_fd,
                                     enter->mount_ns, enter->listener, enter->pty_master};
    int fds[SC_READY_COUNT];
    size_t n = 0;
    for (int i = 0; i < SC_READY_COUNT; i++)
        if (all[i] >= 0) {
            message.ready.mask |= 1u << i;
            fds[n++] = all[i];
        }
    if (sc_send_fds(SC_SLOT_CONTROL, &message, sizeof message, fds, n) != (ssize_t)sizeof message)
        _exit(1);
    /* The supervisor alone answers for refused calls: with its copy gone they fail. */
    sc_close(&enter->listener);
}

/* Commands lay their streams at these places: nothing else may come to lie there. */
static void hold_streams(void)
{
    for (int slot = SC_SLOT_STDIN; slot <= SC_SLOT_STDERR; slot++)
        if (fcntl(slot, F_GETFD) < 0 && dup2(SC_SLOT_NULL, slot) < 0)
            sc_agent_fail(SC_SLOT_CONTROL, "agent", "streams", -errno);
}

int main(int argc, char **argv)
{
    static struct sc_enter enter = {.root_fd = -1,
                                    .mount_ns = -1,
                                    .work_fd = -1,
                                    .tmp_fd = -1,
                                    .shm_fd = -1,
                                    .proc_fd = -1,
                                    .ruleset = -1,
                                    .listener = -1,
                                    .pty_master = -1,
                                    .pty_slave = -1};
    reset_signals();
    umask(022); /* the caller's own is not for the folders of a cell */
    enter.image = map_image();
    read_boot(&enter.boot);
    hold_streams();
    if (argc > 0 && !strcmp(argv[0], "midwife"))
        sc_enter_be_born(&enter);
    for (size_t i = 0; i < COUNT(AGENT_STAGES); i++) {
        int r = sc_enter_stage(&enter, AGENT_STAGES[i].name, AGENT_STAGES[i].run);
        if (r < 0)
            sc_agent_fail(SC_SLOT_CONTROL, AGENT_STAGES[i].name, enter.object, r);
    }
    if (enter.image->flags & SC_IMAGE_PTY)
        open_terminal(&enter);
    say_ready(&enter);
    static struct sc_agent agent;
    agent = (struct sc_agent){.image = enter.image,
                              .control = SC_SLOT_CONTROL,
                              .supervisor = SC_SLOT_SUPERVISOR,
                              .work_fd = enter.work_fd,
                              .enter_program = enter_program,
                              .data = &enter,
                              .stage_fds = {enter.ruleset, enter.proc_fd},
                              .pty_master = enter.pty_master};
    sc_agent_serve(&agent);
}
