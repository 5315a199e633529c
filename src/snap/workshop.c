#include "snap/workshop.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/num.h"
#include "base/text.h"
#include "cell/cell.h"
#include "cell/live.h"
#include "plan/plan.h"

#define WORDS_MAX 65536 /* of stderr that are kept */
#define SHOWN_MAX 600   /* and of them, in an error */

struct shop {
    const struct sc_workshop *workshop;
    struct sc_host host;
    struct sc_plan *plan;
    struct sc_works *works;
    struct sc_live *live;
    uint16_t command;
    struct sc_buf words; /* the last of its stderr */
    struct sc_command_end end;
    bool has_end, is_over, is_cancelled;
    char trouble[256]; /* why it did not run, or not to its end */
};

static void keep_words(struct shop *shop, const char *data, size_t len)
{
    if (len > WORDS_MAX / 2) {
        data += len - WORDS_MAX / 2;
        len = WORDS_MAX / 2;
    }
    if (shop->words.len + len > WORDS_MAX) {
        size_t drop = shop->words.len / 2;
        memmove(shop->words.data, shop->words.data + drop, shop->words.len - drop);
        shop->words.len -= drop;
    }
    (void)sc_buf_add(&shop->words, data, len);
}

static void on_output(void *userdata, enum sc_stream_number stream, const void *data, size_t len)
{
    struct shop *shop = userdata;
    if (stream == SC_STREAM_OUT && !shop->is_cancelled &&
        shop->workshop->output(shop->workshop->userdata, data, len) < 0) {
        shop->is_cancelled = true;
        sc_live_kill(shop->live);
    }
    if (stream == SC_STREAM_ERR)
        keep_words(shop, data, len);
    sc_live_took(shop->live, shop->command, stream, len);
}

static void on_exited(void *userdata, const struct sc_command_end *end)
{
    struct shop *shop = userdata;
    shop->has_end = true;
    shop->end = *end;
    sc_live_signal(shop->live, shop->command, SIGKILL, SC_SIGNAL_TREE); /* what it left running */
}

static void on_gone(void *userdata)
{
    ((struct shop *)userdata)->is_over = true;
}

static void on_failed(void *userdata, const struct sc_msg_failed *failed)
{
    struct shop *shop = userdata;
    shop->is_over = true;
    snprintf(shop->trouble, sizeof shop->trouble, "%.27s %.95s: %s", failed->stage, failed->object,
             strerror(-failed->code));
}

static void on_ended(void *userdata, enum sc_status why, const char *message)
{
    struct shop *shop = userdata;
    (void)why;
    shop->is_over = true;
    if (!shop->has_end && !*shop->trouble)
        snprintf(shop->trouble, sizeof shop->trouble, "%s", message);
}

static int open_shop(struct shop *shop, struct sc_err *err)
{
    struct sc_spec *spec = shop->workshop->spec;
    const struct sc_host_options options = {.cgroup_parent = spec->cgroup_parent, .want_scope = true};
    const struct sc_live_events events = {.userdata = shop, .ended = on_ended};
    spec->session = true;
    int r = sc_host_probe(&shop->host, &options, err);
    if (r == 0)
        r = sc_spec_check(spec, shop->host.memory_bytes, err);
    if (r == 0)
        r = sc_plan_make(spec, &shop->host, &shop->plan, err);
    if (r == 0)
        r = sc_works_new(shop->plan, &shop->works, err);
    if (r == 0)
        r = sc_live_open(shop->works, &events, &shop->live, err);
    return r < 0 ? r : sc_live_feed(shop->live, err);
}

static int start(struct shop *shop, struct sc_err *err)
{
    static const struct sc_live_op_events events = {
        .output = on_output, .exited = on_exited, .gone = on_gone, .failed = on_failed};
    const struct sc_command command = {.argv = shop->workshop->argv, .wall_ns = shop->plan->limits.wall};
    return sc_live_command(shop->live, &command, &events, shop, &shop->command, err);
}

static int turn(struct shop *shop, struct sc_err *err)
{
    struct pollfd polls[2] = {{sc_live_fd(shop->live), POLLIN, 0},
                              {shop->is_cancelled ? -1 : shop->workshop->cancel_fd, POLLIN, 0}};
    uint64_t next = sc_live_next_ns(shop->live), now = sc_now_ns();
    uint64_t wait = next - sc_min_u64(next, now);
    const struct timespec timeout = {(time_t)(wait / SC_NS_PER_S), (long)(wait % SC_NS_PER_S)};
    int r = ppoll(polls, 2, next == UINT64_MAX ? NULL : &timeout, NULL);
    if (r < 0 && errno != EINTR)
        return sc_err_sys(err, -errno, "poll");
    if (r > 0 && polls[1].revents) {
        shop->is_cancelled = true;
        sc_live_kill(shop->live);
    }
    return sc_live_step(shop->live, err);
}

/* The last words, for people; they come from inside. */
static const char *last_words(struct shop *shop, char ret_text[SHOWN_MAX])
{
    size_t len = shop->words.len, most = SHOWN_MAX / 2;
    const char *text = (const char *)shop->words.data;
    while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == ' '))
        len--;
    const char *from = len > most ? text + len - most : text;
    return len ? sc_text_show(ret_text, SHOWN_MAX, from, (size_t)(text + len - from)) : "it said nothing";
}

static int judge(struct shop *shop, struct sc_err *err)
{
    const char *name = shop->workshop->argv[0];
    char words[SHOWN_MAX];
    int status = shop->end.wait_status;
    if (shop->is_cancelled)
        return sc_err_set(err, SC_ERR_SANDBOX, -ECANCELED, "%s: cancelled", name);
    if (!shop->has_end)
        return sc_err_set(err, SC_ERR_SANDBOX, -EPROTO, "%s: %s", name, shop->trouble);
    if (shop->end.timed_out)
        return sc_err_set(err, SC_ERR_SANDBOX, -ETIMEDOUT, "%s: out of time", name);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    if (WIFEXITED(status))
        return sc_err_set(err, SC_ERR_SANDBOX, -EPROTO, "%s: exited with %d: %s", name, WEXITSTATUS(status),
                          last_words(shop, words));
    return sc_err_set(err, SC_ERR_SANDBOX, -EPROTO, "%s: ended by signal %d: %s", name, WTERMSIG(status),
                      last_words(shop, words));
}

int sc_workshop_run(const struct sc_workshop *workshop, struct sc_err *err)
{
    struct shop shop = {.workshop = workshop};
    sc_buf_init(&shop.words, WORDS_MAX);
    int r = open_shop(&shop, err);
    if (r == 0)
        r = start(&shop, err);
    while (r == 0 && !shop.is_over)
        r = turn(&shop, err);
    sc_live_close(shop.live);
    if (r == 0)
        r = judge(&shop, err);
    sc_works_free(shop.works);
    sc_plan_free(shop.plan);
    sc_buf_fini(&shop.words);
    return r;
}
