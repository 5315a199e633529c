#include "fake_live.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

struct fake_cell fake;

void fake_reset(void)
{
    memset(&fake, 0, sizeof fake);
}

int sc_live_open(struct sc_works *works, const struct sc_live_events *events, struct sc_live **ret_live,
                 struct sc_err *err)
{
    (void)works;
    (void)err;
    fake.events = *events;
    *ret_live = (struct sc_live *)&fake;
    return 0;
}

void sc_live_close(struct sc_live *live)
{
    (void)live;
    fake.is_closed = true;
}

int sc_live_feed(struct sc_live *live, struct sc_err *err)
{
    (void)live;
    (void)err;
    return 0;
}

int sc_live_fd(const struct sc_live *live)
{
    static int fd = -1; /* nothing ever comes */
    (void)live;
    if (fd < 0)
        fd = eventfd(0, EFD_CLOEXEC);
    return fd;
}

uint64_t sc_live_next_ns(const struct sc_live *live)
{
    (void)live;
    return UINT64_MAX;
}

int sc_live_step(struct sc_live *live, struct sc_err *err)
{
    (void)live;
    (void)err;
    return 0;
}

void sc_live_kill(struct sc_live *live)
{
    (void)live;
    fake.is_killed = true;
}

int sc_live_command(struct sc_live *live, const struct sc_command *command,
                    const struct sc_live_op_events *events, void *userdata, uint16_t *ret_id,
                    struct sc_err *err)
{
    (void)live;
    if (fake.n_ops == FAKE_OPS_MAX)
        return sc_err_sys(err, -EMFILE, "command");
    struct fake_op *op = &fake.ops[fake.n_ops];
    for (size_t i = 0; command->argv[i]; i++)
        snprintf(op->argv + strlen(op->argv), sizeof op->argv - strlen(op->argv), "%s%s", i ? " " : "",
                 command->argv[i]);
    op->flags = command->flags;
    op->events = events;
    op->userdata = userdata;
    *ret_id = (uint16_t)(++fake.n_ops);
    return 0;
}

/* No test here forks. */
int sc_live_open_child(struct sc_works *works, struct sc_live *parent, bool forkable,
                       const struct sc_live_events *events, struct sc_live **ret_live, struct sc_err *err)
{
    (void)works;
    (void)parent;
    (void)forkable;
    (void)events;
    (void)ret_live;
    return sc_err_sys(err, -ENOSYS, "cell below");
}

bool sc_live_is_blank(const struct sc_live *live)
{
    (void)live;
    return !fake.is_dead && fake.n_ops == 0;
}

int sc_live_adopt(struct sc_live *live, struct sc_live *from, uint16_t from_id, const struct sc_command *like,
                  const struct sc_live_op_events *events, void *userdata, uint16_t *ret_id,
                  struct sc_err *err)
{
    (void)live;
    (void)from;
    (void)from_id;
    (void)like;
    (void)events;
    (void)userdata;
    (void)ret_id;
    return sc_err_sys(err, -ENOSYS, "fork");
}

static struct fake_op *find(uint16_t id)
{
    return id >= 1 && id <= fake.n_ops && fake.ops[id - 1].events ? &fake.ops[id - 1] : NULL;
}

ssize_t sc_live_write(struct sc_live *live, uint16_t id, enum sc_stream_number stream, const void *data,
                      size_t len)
{
    struct fake_op *op = find(id);
    (void)live;
    (void)stream;
    if (!op)
        return -EPIPE;
    size_t n = fake.credit && len > fake.credit ? fake.credit : len;
    if (fake.credit && op->input_len % fake.credit == 0 && op->input_len > 0)
        n = 0; /* each credit once, until the test calls room */
    if (n > sizeof op->input - op->input_len)
        n = sizeof op->input - op->input_len;
    memcpy(op->input + op->input_len, data, n);
    op->input_len += n;
    return (ssize_t)n;
}

int sc_live_close_input(struct sc_live *live, uint16_t id)
{
    (void)live;
    find(id)->input_closed = true;
    return 0;
}

int sc_live_took(struct sc_live *live, uint16_t id, enum sc_stream_number stream, size_t bytes)
{
    struct fake_op *op = find(id);
    (void)live;
    (void)stream;
    if (op)
        op->untaken -= bytes;
    return 0;
}

int sc_live_signal(struct sc_live *live, uint16_t id, int number, enum sc_signal_whom whom)
{
    struct fake_op *op = find(id);
    (void)live;
    if (!op || op->n_signals == 8)
        return -EPIPE;
    op->signals[op->n_signals] = number;
    op->whom[op->n_signals++] = whom;
    return 0;
}

uint64_t sc_live_cpu_ns(const struct sc_live *live)
{
    (void)live;
    return fake.cpu_ns;
}

void sc_live_look(const struct sc_live *live, struct sc_live_view *ret_view)
{
    (void)live;
    *ret_view = fake.view;
}

void sc_live_look_at_memory(struct sc_live *live)
{
    (void)live;
    if (!fake.has_unread_kill)
        return;
    fake.has_unread_kill = false;
    fake.view.counts.memory_kills++;
    if (fake.events.out_of_memory)
        fake.events.out_of_memory(fake.events.userdata);
}

/* The cells of these tests have no network. */
void sc_live_network(struct sc_live *live, struct sc_result *result)
{
    (void)live;
    (void)result;
}

int sc_live_set_network(struct sc_live *live, const struct sc_net *net, struct sc_err *err)
{
    (void)live;
    (void)net;
    return sc_err_usage(err, "network", "network: none here");
}

int sc_live_take_network(struct sc_live *live, const struct sc_net *net, struct sc_err *err)
{
    return sc_live_set_network(live, net, err);
}

void sc_live_usage(const struct sc_live *live, struct sc_usage *ret_usage)
{
    (void)live;
    *ret_usage = fake.view.usage;
}

bool sc_live_is_alive(const struct sc_live *live)
{
    (void)live;
    return !fake.is_dead;
}

bool sc_live_is_sealed(const struct sc_live *live)
{
    (void)live;
    return true;
}

void fake_started(unsigned op)
{
    fake.ops[op].events->started(fake.ops[op].userdata, 7);
}

void fake_says(unsigned op, enum sc_stream_number stream, const char *text)
{
    fake.ops[op].untaken += strlen(text);
    fake.ops[op].events->output(fake.ops[op].userdata, stream, text, strlen(text));
}

void fake_exits(unsigned op, int wait_status)
{
    const struct sc_command_end end = {.wait_status = wait_status};
    fake.ops[op].events->exited(fake.ops[op].userdata, &end);
}

static struct fake_op over(unsigned op)
{
    struct fake_op copy = fake.ops[op];
    fake.ops[op].events = NULL;
    return copy;
}

void fake_gone(unsigned op)
{
    struct fake_op was = over(op);
    was.events->gone(was.userdata);
}

void fake_fails(unsigned op, int code, const char *stage, const char *object)
{
    struct sc_msg_failed failed = {.code = code};
    struct fake_op was = over(op);
    snprintf(failed.stage, sizeof failed.stage, "%s", stage);
    snprintf(failed.object, sizeof failed.object, "%s", object);
    was.events->failed(was.userdata, &failed);
}

void fake_dies(enum sc_status why, const char *message)
{
    fake.is_dead = true;
    for (unsigned i = 0; i < fake.n_ops; i++)
        if (fake.ops[i].events)
            fake_gone(i);
    fake.events.ended(fake.events.userdata, why, message);
}

int sc_live_file(struct sc_live *live, const struct sc_file_op *op, const struct sc_live_op_events *events,
                 void *userdata, uint16_t *ret_id, struct sc_err *err)
{
    (void)live;
    (void)op;
    (void)events;
    (void)userdata;
    (void)ret_id;
    return sc_err_sys(err, -EPIPE, "file");
}
