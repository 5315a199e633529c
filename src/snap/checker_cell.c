/* The checker's cell: small, without a work of its own, and with nothing in it but the host's /usr and the
 * program. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/num.h"
#include "cell/cell.h"
#include "snap/checker_image.h"
#include "snap/checker_parts.h"

#define PROGRAM "/snapcell/checker"

/* Enough for the largest source that is read, and for an interpreter beside it; less on a small host. */
static void set_limits(struct sc_limits *limits, uint64_t host_memory)
{
    limits->memory =
        host_memory ? sc_min_u64(768 * SC_MIB, sc_max_u64(host_memory / 2, 64 * SC_MIB)) : 768 * SC_MIB;
    limits->tasks = 48;
    limits->open_files = 128;
    limits->disk = SC_MIB;
    limits->tmp = SC_MIB;
    limits->shm = SC_MIB;
    limits->file_size = SC_MIB;
}

static int copy_text(char **to, const char *from)
{
    *to = from ? strdup(from) : NULL;
    return from && !*to ? -ENOMEM : 0;
}

static int make_spec(struct sc_checker *checker, const struct sc_spec *place, struct sc_err *err)
{
    struct sc_spec *spec = &checker->spec;
    sc_spec_init(spec);
    spec->session = true;
    spec->allow_degraded = place->allow_degraded;
    spec->disk_backing = SC_DISK_MEMORY;
    set_limits(&spec->limits, checker->host->memory_bytes);
    if (copy_text(&spec->root, place->root) < 0 || copy_text(&spec->interpreter, place->interpreter) < 0 ||
        copy_text(&spec->venv, place->venv) < 0 || copy_text(&spec->cgroup_parent, place->cgroup_parent) < 0)
        return sc_err_sys(err, -ENOMEM, "checker");
    return sc_spec_check(spec, checker->host->memory_bytes, err);
}

int sc_checker_make_works(struct sc_checker *checker, const struct sc_spec *place, struct sc_err *err)
{
    int r = make_spec(checker, place, err);
    if (r == 0)
        r = sc_plan_make(&checker->spec, checker->host, &checker->plan, err);
    if (r < 0)
        return r;
    r = sc_plan_add_program(checker->plan, PROGRAM, sc_checker_image, sc_checker_image_len);
    if (r < 0)
        return sc_err_sys(err, r, "checker");
    return sc_works_new(checker->plan, &checker->works, err);
}

/* ---- the program ---- */

void sc_check_push(struct sc_checker *checker, struct sc_check_input *input)
{
    while (input->is_open && input->sent < input->len) {
        ssize_t n = sc_live_write(checker->live, input->op, SC_STREAM_IN, input->data + input->sent,
                                  input->len - input->sent);
        if (n <= 0)
            return;
        input->sent += (size_t)n;
    }
}

static struct sc_check_job *under_way(const struct sc_checker *checker)
{
    return checker->jobs && checker->jobs->begun ? checker->jobs : NULL;
}

static void on_started(void *userdata, pid_t pid_inside)
{
    struct sc_checker *checker = userdata;
    (void)pid_inside;
    checker->started = true;
    if (under_way(checker))
        checker->deadline_ns = sc_now_ns() + SC_CHECK_WALL_NS;
}

/* A length and so many bytes. What comes beside an answer is a broken program's, and ends it. */
static void take(struct sc_checker *checker, const void *data, size_t len)
{
    struct sc_check_job *job = under_way(checker);
    uint32_t size;
    if (!job || job->answered || sc_buf_add(&job->reply, data, len) < 0) {
        sc_live_kill(checker->live);
        return;
    }
    if (job->reply.len < sizeof size)
        return;
    memcpy(&size, job->reply.data, sizeof size);
    if (size > SC_REPLY_MAX || job->reply.len - sizeof size > size)
        sc_live_kill(checker->live);
    else if (job->reply.len - sizeof size == size)
        sc_check_take_reply(job);
}

static void on_output(void *userdata, enum sc_stream_number stream, const void *data, size_t len)
{
    struct sc_checker *checker = userdata;
    if (stream == SC_STREAM_OUT)
        take(checker, data, len);
    sc_live_took(checker->live, checker->program.op, stream, len);
}

static void on_room(void *userdata, enum sc_stream_number stream)
{
    struct sc_checker *checker = userdata;
    if (stream == SC_STREAM_IN)
        sc_check_push(checker, &checker->program);
}

static void on_gone(void *userdata)
{
    struct sc_checker *checker = userdata;
    checker->program.is_open = false;
    if (sc_live_is_alive(checker->live))
        sc_live_kill(checker->live); /* a new cell for the next one */
}

static void on_failed(void *userdata, const struct sc_msg_failed *failed)
{
    struct sc_checker *checker = userdata;
    if (!checker->why[0])
        snprintf(checker->why, sizeof checker->why, "checker: %.27s: %.95s: %s", failed->stage,
                 failed->object, strerror(-failed->code));
    on_gone(checker);
}

static int start_program(struct sc_checker *checker, struct sc_err *err)
{
    static const char *const argv[] = {PROGRAM, NULL};
    static const struct sc_live_op_events events = {
        .started = on_started, .output = on_output, .room = on_room, .gone = on_gone, .failed = on_failed};
    const struct sc_command command = {.argv = argv, .flags = SC_COMMAND_STDIN};
    int r = sc_live_command(checker->live, &command, &events, checker, &checker->program.op, err);
    if (r == 0)
        checker->program.is_open = true;
    return r;
}

/* ---- the cell ---- */

static void on_ended(void *userdata, enum sc_status why, const char *message)
{
    struct sc_checker *checker = userdata;
    checker->is_over = true;
    if (!checker->why[0] && why != SC_STATUS_CANCELLED)
        snprintf(checker->why, sizeof checker->why, "%s", message);
}

static int open_cell(struct sc_checker *checker, struct sc_err *err)
{
    const struct sc_live_events events = {.userdata = checker, .ended = on_ended};
    struct epoll_event event = {.events = EPOLLIN};
    checker->is_over = checker->started = false;
    checker->why[0] = '\0';
    int r = sc_live_open(checker->works, &events, &checker->live, err);
    if (r < 0)
        return r;
    if (epoll_ctl(checker->epoll, EPOLL_CTL_ADD, sc_live_fd(checker->live), &event) < 0)
        return sc_err_sys(err, -errno, "checker: epoll_ctl");
    return start_program(checker, err);
}

int sc_checker_need_cell(struct sc_checker *checker, struct sc_err *err)
{
    if (checker->live && !checker->is_over && sc_live_is_alive(checker->live))
        return 0;
    sc_checker_drop_cell(checker);
    int r = open_cell(checker, err);
    if (r < 0)
        sc_checker_drop_cell(checker);
    return r;
}

void sc_checker_drop_cell(struct sc_checker *checker)
{
    if (checker->live)
        epoll_ctl(checker->epoll, EPOLL_CTL_DEL, sc_live_fd(checker->live), NULL);
    sc_live_close(checker->live);
    checker->live = NULL;
    checker->program = checker->interpreter = (struct sc_check_input){0};
    checker->deadline_ns = 0;
}
