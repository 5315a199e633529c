#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "zygote.h"

static int serve(int socket, const struct zygote_life *life, struct sc_fork_birth *ret_birth)
{
    if (!life->take_one)
        return sc_fork_serve(socket, life->hooks, ret_birth);
    int r;
    do
        r = sc_fork_take(socket, life->hooks, ret_birth);
    while (r == SC_FORK_PARENT);
    return r;
}

struct zygote zygote_start(const struct zygote_life *life)
{
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct sc_fork_birth birth;
        close(ends[0]);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (life->warm)
            life->warm();
        int r = serve(ends[1], life, &birth);
        if (r == SC_FORK_CHILD) {
            life->child(&birth);
            _exit(9);
        }
        _exit(r == SC_FORK_END ? 0 : 1);
    }
    close(ends[1]);
    return (struct zygote){pid, ends[0]};
}

void zygote_order(const struct zygote *zygote, uint32_t id, uint32_t flags, struct fork_parts *ret_parts)
{
    struct {
        struct sc_fork_order order;
        char cwd[1];
    } packet = {.order = {.version = SC_FORK_VERSION,
                          .id = id,
                          .flags = flags,
                          .fds = 1u << SC_FORK_FD_REPORT | 1u << SC_FORK_FD_IN | 1u << SC_FORK_FD_OUT |
                                 1u << SC_FORK_FD_ERR | 1u << SC_FORK_FD_RUNNER,
                          .wall_ns = 1234567}};
    int report[2], in[2], out[2], runner[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, report), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, runner), 0);
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    for (int i = 0; i < SC_FORK_RANDOMNESS; i++)
        packet.order.randomness[i] = (uint8_t)(id + (uint32_t)i);
    const int fds[] = {report[1], in[0], out[1], out[1], runner[1]};
    assert_int_equal(sc_send_fds(zygote->socket, &packet, sizeof packet.order + 1, fds, 5),
                     sizeof packet.order + 1);
    close(report[1]);
    close(in[0]);
    close(out[1]);
    close(runner[1]);
    *ret_parts = (struct fork_parts){report[0], in[1], out[0], runner[0]};
}

struct sc_fork_answer zygote_answer(const struct zygote *zygote)
{
    struct sc_fork_answer answer;
    assert_int_equal(recv(zygote->socket, &answer, sizeof answer, 0), sizeof answer);
    return answer;
}

void zygote_let_go(const struct fork_parts *parts)
{
    struct sc_fork_report report;
    assert_int_equal(recv(parts->report, &report, sizeof report, 0), sizeof report);
    assert_int_equal(report.code, 0);
    assert_int_equal(send(parts->report, "g", 1, MSG_NOSIGNAL), 1);
}

void read_to_end(int fd, char *ret_text, size_t size)
{
    size_t have = 0;
    for (ssize_t n; (n = read(fd, ret_text + have, size - 1 - have)) > 0;)
        have += (size_t)n;
    ret_text[have] = '\0';
}

void zygote_parts_close(struct fork_parts *parts)
{
    sc_close(&parts->report);
    sc_close(&parts->in);
    sc_close(&parts->out);
    sc_close(&parts->runner);
}

int zygote_stop(struct zygote *zygote)
{
    int status;
    sc_close(&zygote->socket);
    assert_int_equal(waitpid(zygote->pid, &status, 0), zygote->pid);
    return status;
}
