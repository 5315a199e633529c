/* libFuzzer target: any bytes, with descriptors among them, from the agent to its supervisor. An input is a
 * row of: a byte whose low half is how many descriptors come along, length (1 byte), bytes. After the last
 * the stream ends, so that every run has to come to an end; then it is judged. No descriptor may stay. */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/sys.h"
#include "cell/run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int folder, file, null;
static pid_t stand_in; /* for process 1 */
static struct sc_host host = {.cpus = 2};
static struct sc_spec spec;
static struct sc_plan plan = {.host = &host, .spec = &spec};

static void end_stand_in(void)
{
    kill(stand_in, SIGKILL);
}

static void prepare(void)
{
    folder = open("/dev/shm", O_PATH | O_DIRECTORY | O_CLOEXEC);
    file = memfd_create("file", MFD_CLOEXEC);
    null = open("/dev/null", O_RDWR | O_CLOEXEC);
    sc_spec_init(&spec);
    plan.limits.wall = 10 * SC_NS_PER_S;
    stand_in = fork();
    if (stand_in == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        sc_sys_close_range(3, ~0u, 0);
        for (;;)
            pause();
    }
    if (folder < 0 || file < 0 || null < 0 || stand_in < 0)
        abort();
    atexit(end_stand_in);
}

static void send_all(int sock, const uint8_t *data, size_t size)
{
    while (size >= 2) {
        size_t n = data[0] & 15, len = data[1] < size - 2 ? data[1] : size - 2;
        int fds[SC_FDS_MAX];
        for (size_t i = 0; i < n; i++)
            fds[i] = i == 0 ? (data[0] & 16 ? file : folder) : null;
        if (len && sc_send_fds(sock, data + 2, len, fds, n) < 0)
            return;
        data += 2 + len;
        size -= 2 + len;
    }
}

static void let_go(struct sc_run *run)
{
    int *const fds[] = {&run->cell.control, &run->cell.pidfd};
    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
        sc_close(fds[i]);
    for (int i = 0; i < SC_READY_COUNT; i++)
        sc_close(&run->ready[i]);
    free(run->reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct sc_works works = {.plan = &plan};
    struct sc_callbacks callbacks = {.cancel_fd = -1};
    struct sc_result result;
    struct sc_err err = {0};
    int ends[2];
    if (!stand_in)
        prepare();
    int lowest = dup(null);
    close(lowest);
    if (size > 20000 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return 0;
    sc_result_init(&result, 100, 100);
    struct sc_run run = {.works = &works,
                         .plan = &plan,
                         .callbacks = &callbacks,
                         .result = &result,
                         .cell = SC_CELL_NONE,
                         .begun_ns = sc_now_ns()};
    for (int i = 0; i < SC_READY_COUNT; i++)
        run.ready[i] = -1;
    run.reader = calloc(1, sizeof *run.reader);
    run.cell.control = ends[0];
    run.cell.pid = stand_in;
    run.cell.pidfd = sc_sys_pidfd_open(stand_in);
    sc_set_nonblocking(ends[1]); /* what the socket does not take is left out */
    send_all(ends[1], data, size);
    close(ends[1]);
    int r = sc_run_watch(&run, &err);
    if (r < 0 ? err.kind != SC_ERR_SANDBOX : run.end == SC_END_NONE)
        abort();
    if (r == 0)
        sc_run_judge(&run, &err);
    if (strnlen(result.message, sizeof result.message) == sizeof result.message ||
        strnlen(err.message, sizeof err.message) == sizeof err.message)
        abort();
    let_go(&run);
    sc_result_fini(&result);
    int now = dup(null);
    close(now);
    if (now != lowest)
        abort();
    return 0;
}
