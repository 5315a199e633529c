#include "talk.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/fd.h"
#include "base/sys.h"
#include "cell/enter.h"

#define PATIENCE_MS 30000 /* a busy machine is no failure */

struct image image;

int stage_answer; /* of the made-up program stage */

static int enter_program(void *data, const struct sc_agent_entry *entry, struct sc_msg_failed *failed)
{
    struct sc_enter *enter = data;
    if (entry) {
        enter->cwd = entry->cwd;
        enter->pty_slave = entry->pty_slave;
        if (enter_stdio(enter) < 0)
            return -EIO;
        int r = entry->in_process ? 0 : enter_cwd(enter);
        if (r < 0) {
            sc_agent_describe(failed, "cwd", enter->object, r);
            return r;
        }
    }
    if (stage_answer < 0)
        sc_agent_describe(failed, "teststage", "test object", stage_answer);
    return stage_answer;
}

void prepare_talk(void)
{
    stage_answer = 0;
    make_image("/bin/sh", "-c");
}

void make_image(const char *program, const char *arg)
{
    memset(&image, 0, sizeof image);
    image.head.agent_uid = image.head.program_uid = geteuid();
    image.head.argv = offsetof(__typeof__(image), argv);
    image.head.env = offsetof(__typeof__(image), env);
    image.head.argc = 2;
    image.argv[0] = offsetof(__typeof__(image), texts);
    image.argv[1] = image.argv[0] + 200;
    image.head.cwd = image.argv[0] + 398;
    image.texts[398] = '.';
    snprintf(image.texts, 200, "%s", program);
    snprintf(image.texts + 200, 200, "%s", arg);
}

/* An ordinary user's id, the same inside. */
static void map_self(pid_t pid)
{
    static const char *const files[] = {"setgroups", "uid_map", "gid_map"};
    for (int i = 0; i < 3; i++) {
        char path[64], text[64] = "deny";
        snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, files[i]);
        if (i)
            snprintf(text, sizeof text, "%u %u 1", geteuid(), geteuid());
        assert_int_equal(sc_write_file(AT_FDCWD, path, text), 0);
    }
}

/* Process 1 of a pid namespace, as the agent always is: it ends by killing everybody. */
static pid_t fork_alone(void)
{
    struct sc_clone_args args = {.flags = CLONE_NEWPID | CLONE_NEWNS | (geteuid() ? CLONE_NEWUSER : 0),
                                 .exit_signal = SIGCHLD};
    int from, to;
    char go;
    assert_int_equal(sc_pipe(&from, &to), 0);
    fflush(NULL);
    pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof args);
    if (pid == 0 && read(from, &go, 1) != 1)
        _exit(98);
    if (pid > 0) {
        if (geteuid())
            map_self(pid);
        assert_int_equal(write(to, "g", 1), 1);
    }
    close(from);
    close(to);
    return pid;
}

void open_talk(struct talk *talk)
{
    int ends[2];
    talk->folder = make_folder();
    talk->reader = calloc(1, sizeof *talk->reader);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    talk->pid = fork_alone();
    assert_true(talk->pid >= 0);
    if (talk->pid == 0) {
        static struct sc_enter enter = {.image = &image.head, .pty_slave = -1};
        for (int number = 1; number < 32; number++) /* the test's own would take a crash for the test's end */
            signal(number, SIG_DFL);
        if (getpid() != 1 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
            mount("proc", "/proc", "proc", 0, NULL) < 0 ||
            mount("devpts", "/dev/pts", "devpts", 0, "ptmxmode=0666") < 0)
            _exit(99);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(ends[0]);
        ends[1] = fcntl(ends[1], F_DUPFD_CLOEXEC, SC_SLOT_END); /* away from the slots */
        struct sc_agent agent = {.image = &image.head,
                                 .control = ends[1],
                                 .supervisor = -1,
                                 .enter_program = enter_program,
                                 .data = &enter,
                                 .stage_fds = {-1, -1},
                                 .work_fd = open(talk->folder, O_PATH | O_DIRECTORY | O_CLOEXEC),
                                 .pty_master = -1};
        sc_agent_serve(&agent);
    }
    close(ends[1]);
    talk->sock = ends[0];
}

int next_of(struct talk *talk, uint16_t *ret_channel, void *payload, size_t size, size_t *ret_len)
{
    struct sc_frame frame;
    const uint8_t *bytes;
    while (sc_frame_next(talk->reader, &frame, &bytes) == 0) {
        struct pollfd readable = {talk->sock, POLLIN, 0};
        if (poll(&readable, 1, PATIENCE_MS) != 1)
            fail_msg("the agent hangs");
        if (sc_frame_fill(talk->reader, talk->sock, NULL, NULL) <= 0)
            return 0;
    }
    assert_true(frame.len <= size);
    memcpy(payload, bytes, frame.len);
    *ret_len = frame.len;
    *ret_channel = frame.channel;
    return frame.type;
}

int next_frame(struct talk *talk, void *payload, size_t size, size_t *ret_len)
{
    uint16_t channel;
    return next_of(talk, &channel, payload, size, ret_len);
}

void expect_end(struct talk *talk)
{
    char rest[SC_FRAME_MAX];
    size_t len;
    int status;
    assert_int_equal(next_frame(talk, rest, sizeof rest, &len), 0);
    assert_int_equal(waitpid(talk->pid, &status, 0), talk->pid);
    assert_true(WIFEXITED(status));
    close(talk->sock);
    free(talk->reader);
}

void close_talk(struct talk *talk)
{
    char rest[SC_FRAME_MAX];
    size_t len;
    shutdown(talk->sock, SHUT_WR);
    while (next_frame(talk, rest, sizeof rest, &len)) /* what was under way */
        ;
    expect_end(talk);
    remove_folder(talk->folder);
}

void expect_failed(struct talk *talk, const char *stage, int code)
{
    struct sc_msg_failed failed;
    size_t len;
    int type = next_frame(talk, &failed, sizeof failed, &len);
    if (type != SC_MSG_FAILED)
        fail_msg("message %d where a failure was expected", type);
    assert_int_equal(len, sizeof failed);
    assert_string_equal(failed.stage, stage);
    if (failed.code != code)
        fail_msg("%s %s: %d", failed.stage, failed.object, failed.code);
    assert_int_equal(failed.object[sizeof failed.object - 1], 0);
    expect_end(talk);
    remove_folder(talk->folder);
}

void say_on(struct talk *talk, uint16_t channel, int type, const void *payload, size_t len)
{
    assert_int_equal(sc_frame_send(talk->sock, (uint16_t)type, channel, payload, len), 0);
}

void say(struct talk *talk, int type, const void *payload, size_t len)
{
    say_on(talk, 0, type, payload, len);
}

void say_path(struct talk *talk, int type, const char *path, size_t len)
{
    char payload[8 + 5000] = {0};
    struct sc_msg_file head = {.mode = type == SC_MSG_DIR ? 0755 : 0644};
    memcpy(payload, &head, sizeof head);
    memcpy(payload + sizeof head, path, len);
    say(talk, type, payload, sizeof head + len);
}

void say_file(struct talk *talk, const char *path)
{
    say_path(talk, SC_MSG_FILE, path, strlen(path) + 1);
}
