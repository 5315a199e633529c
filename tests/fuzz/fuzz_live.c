/* libFuzzer target: any bytes, with descriptors among them, from the agent of a living cell to its
 * supervisor. An input is a row of: a byte that tells what happens, length (1 byte), bytes. Of the first byte
 * the low half is how many descriptors come along, 16: what they are, 32: the supervisor steps, 64: its
 * caller ends the cell, 128: process 1 dies. Two commands and two file operations are open at the start, as
 * channels 1–4; their caller takes what comes, writes, and gives a new command for each that is over.
 *
 * Held: the sums of credit, one end for each operation, one end of the cell, and no descriptor stays. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "cell/live_parts.h"
#include "cell/run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define WINDOW 700
#define OPERATIONS_MAX 200

static int folder, file, null;
static struct sc_host host = {.cpus = 2};
static struct sc_spec spec;
static struct sc_plan plan = {.host = &host, .spec = &spec, .stay = true};
static struct sc_works works = {.plan = &plan};
static struct sc_live *live;
static unsigned ended;

static struct operation {
    uint16_t id;
    bool is_over;
} operations[OPERATIONS_MAX];
static size_t n_operations;

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void give_command(uint32_t flags);

static void on_output(void *userdata, enum sc_stream_number stream, const void *data, size_t len)
{
    struct operation *operation = userdata;
    const volatile uint8_t *bytes = data; /* they are all there */
    check(len > 0 && len <= WINDOW && (bytes[0] | bytes[len - 1]) >= 0);
    check(sc_live_took(live, operation->id, stream, len + WINDOW) < 0);
    sc_live_took(live, operation->id, stream, len - len / 3);
}

static void on_room(void *userdata, enum sc_stream_number stream)
{
    struct operation *operation = userdata;
    check(sc_live_write(live, operation->id, stream, "0123456789", 10) > 0);
}

static void on_over(void *userdata)
{
    struct operation *operation = userdata;
    check(!operation->is_over && !ended);
    operation->is_over = true;
    give_command(SC_COMMAND_STDIN);
}

static void on_failed(void *userdata, const struct sc_msg_failed *failed)
{
    check(failed->code < 0 && strnlen(failed->object, sizeof failed->object) < sizeof failed->object);
    on_over(userdata);
}

static void on_done(void *userdata, const struct sc_msg_file_done *done)
{
    check(done->code <= 0 && strnlen(done->object, sizeof done->object) < sizeof done->object);
    on_over(userdata);
}

static void on_ended(void *userdata, enum sc_status why, const char *message)
{
    (void)userdata;
    check(why == SC_STATUS_SANDBOX_ERROR || why == SC_STATUS_CANCELLED);
    check(*message != '\0');
    ended++;
}

static const struct sc_live_op_events EVENTS = {
    .output = on_output, .room = on_room, .gone = on_over, .failed = on_failed, .done = on_done};

static void give_command(uint32_t flags)
{
    const char *const argv[] = {"true", NULL};
    const struct sc_command command = {.argv = argv, .flags = flags, .window = WINDOW};
    struct operation *operation = &operations[n_operations];
    if (n_operations == OPERATIONS_MAX)
        return;
    if (sc_live_command(live, &command, &EVENTS, operation, &operation->id, NULL) == 0)
        n_operations++;
}

static void give_file(enum sc_file_kind kind)
{
    const struct sc_file_op op = {.kind = kind, .path = "a", .window = WINDOW};
    struct operation *operation = &operations[n_operations];
    check(sc_live_file(live, &op, &EVENTS, operation, &operation->id, NULL) == 0);
    n_operations++;
}

static void prepare(void)
{
    folder = open("/dev/shm", O_PATH | O_DIRECTORY | O_CLOEXEC);
    file = memfd_create("file", MFD_CLOEXEC);
    null = open("/dev/null", O_RDWR | O_CLOEXEC);
    sc_spec_init(&spec);
    check(folder >= 0 && file >= 0 && null >= 0);
}

/* `process_1` becomes readable when it is told to be dead. */
static void open_cell(int control, int process_1)
{
    static const struct sc_live_events events = {.ended = on_ended};
    static char large[SC_INPUT_CREDIT + 1];
    struct sc_cell cell = SC_CELL_NONE;
    cell.control = control;
    cell.pidfd = process_1;
    memset(operations, 0, sizeof operations);
    n_operations = ended = 0;
    check(sc_live_begin(&works, &cell, &events, &live, NULL) == 0);
    give_command(SC_COMMAND_STDIN | SC_COMMAND_RUNNER);
    give_command(SC_COMMAND_PTY);
    give_file(SC_FILE_READ);
    give_file(SC_FILE_WRITE);
    give_command(SC_COMMAND_SOCKET);
    check(operations[0].id == 1 && operations[3].id == 4);
    check(sc_live_write(live, 1, SC_STREAM_IN, large, sizeof large) == SC_INPUT_CREDIT);
    check(sc_live_close_input(live, 2) == 0);
}

static void step(void)
{
    check(sc_live_step(live, NULL) == 0);
    for (size_t i = 0; i < SC_COMMANDS_MAX; i++)
        for (int stream = 0; stream <= SC_STREAM_RUNNER; stream++) {
            const struct sc_live_output *out = &live->ops[i].out[stream];
            check(out->credit + out->untaken + out->taken == out->window);
            check(live->ops[i].in[stream].credit <= SC_INPUT_CREDIT);
        }
}

static void play(int agent, int process_1, const uint8_t *data, size_t size)
{
    while (size >= 2) {
        size_t n = data[0] & 15, len = data[1] < size - 2 ? data[1] : size - 2;
        int fds[SC_FDS_MAX];
        for (size_t i = 0; i < n; i++)
            fds[i] = i == 0 ? (data[0] & 16 ? file : folder) : null;
        if (len)
            sc_send_fds(agent, data + 2, len, fds, n); /* what the socket does not take is left out */
        if (data[0] & 32)
            step();
        if (data[0] & 64)
            sc_live_kill(live);
        if (data[0] & 128)
            eventfd_write(process_1, 1);
        data += 2 + len;
        size -= 2 + len;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int ends[2];
    if (!null)
        prepare();
    int lowest = dup(null);
    close(lowest);
    int process_1 = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (size > 20000 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
        close(process_1);
        return 0;
    }
    sc_set_nonblocking(ends[1]);
    open_cell(ends[0], process_1);
    play(ends[1], process_1, data, size);
    close(ends[1]);
    if (!ended) {
        step();
        eventfd_write(process_1, 1);
        step();
    }
    check(ended == 1);
    for (size_t i = 0; i < n_operations; i++)
        check(operations[i].is_over);
    sc_live_close(live);
    sc_works_bury(&works, NULL);
    int now = dup(null);
    close(now);
    check(now == lowest);
    return 0;
}
