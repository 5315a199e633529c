/* `snapcell mcp`: carries lines between stdin, stdout and the engine (gate/mcp), and requests between the
 * engine and a keeper. The keeper is started by the first request. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/num.h"
#include "cli/keeper.h"
#include "cli/say.h"
#include "cli/session.h"
#include "cli/signals.h"
#include "gate/mcp/mcp.h"
#include "keeper/calls.h"

#define WALL "30s"
#define IDLE_MS (3600 * 1000.0)
#define TOTAL_MS (24 * 3600 * 1000.0)
#define OUT_MAX (256u << 20)
#define OUT_PAUSE (16u << 20) /* beyond it nothing more is read until the client has taken some */
#define WRITE_MAX 4096        /* a pipe that poll calls writable takes as much without waiting */
#define FAREWELL_NS (5 * SC_NS_PER_S)

struct server {
    struct sc_mcp *mcp;
    const char *socket; /* of a keeper of others; NULL: one of our own */
    struct sc_cli_own_keeper own;
    struct sc_keeper_calls *calls; /* NULL: no keeper was needed yet, or it went away */
    unsigned n_asked;
    int signal_fd;
    struct sc_buf in, out;
    size_t sent;      /* of `out` */
    bool skips;       /* an oversized line, up to its end */
    bool is_over;     /* stdin has ended, or nobody reads stdout */
    bool is_signaled; /* SIGINT, SIGTERM, SIGHUP */
    int failed;       /* out of memory */
};

/* ---- the engine's side ---- */

static void send_line(void *userdata, const json_t *message, const json_t *about)
{
    struct server *server = userdata;
    char *text = sc_json_dump(message, JSON_COMPACT);
    (void)about;
    if (!text || sc_buf_add_str(&server->out, text) < 0 || sc_buf_add_str(&server->out, "\n") < 0)
        server->failed = -ENOMEM;
    free(text);
}

static void on_output(void *userdata, uint32_t call, int stream, const void *data, size_t len)
{
    sc_mcp_output(((struct server *)userdata)->mcp, call, stream, data, len);
}

static void on_reply(void *userdata, uint32_t call, const json_t *reply)
{
    struct server *server = userdata;
    server->n_asked--;
    sc_mcp_reply(server->mcp, call, reply);
}

static int connect_keeper(struct server *server, struct sc_err *err)
{
    const struct sc_keeper_calls_events events = {.userdata = server, .output = on_output, .reply = on_reply};
    struct sc_keeper_client *client = NULL;
    int r = server->socket ? sc_cli_keeper_reach(server->socket, &client, err)
                           : sc_cli_keeper_own(&server->own, &client, err);
    return r < 0 ? r : sc_keeper_calls_open(sc_keeper_client_release(client), &events, &server->calls, err);
}

static int ask(void *userdata, json_t *request, const void *input, size_t len, uint32_t *ret_call,
               struct sc_err *err)
{
    struct server *server = userdata;
    int r = server->calls ? 0 : connect_keeper(server, err);
    if (r < 0) {
        json_decref(request);
        return r;
    }
    r = sc_keeper_calls_ask(server->calls, request, input, len, ret_call, err);
    if (r == 0)
        server->n_asked++;
    return r;
}

static void cancel(void *userdata, uint32_t call)
{
    struct server *server = userdata;
    if (server->calls)
        sc_keeper_calls_cancel(server->calls, call);
}

/* ---- bytes ---- */

static void take_line(struct server *server, const char *line, size_t len)
{
    if (server->skips)
        server->skips = false;
    else if (len > 0)
        sc_mcp_take(server->mcp, line, len);
}

static void take_lines(struct server *server)
{
    size_t start = 0;
    const char *data = (char *)server->in.data, *newline;
    while (start < server->in.len && (newline = memchr(data + start, '\n', server->in.len - start))) {
        size_t len = (size_t)(newline - data) - start;
        take_line(server, data + start, len && data[start + len - 1] == '\r' ? len - 1 : len);
        start += len + 1;
    }
    server->in.len -= start;
    if (start && server->in.len)
        memmove(server->in.data, server->in.data + start, server->in.len);
    if (server->in.len <= SC_MCP_MESSAGE_MAX)
        return;
    if (!server->skips)
        sc_mcp_take_oversized(server->mcp);
    server->skips = true;
    server->in.len = 0;
}

static void read_input(struct server *server)
{
    uint8_t *room = sc_buf_reserve(&server->in, 64 * 1024);
    ssize_t n = room ? read(STDIN_FILENO, room, 64 * 1024) : -1;
    if (!room)
        server->failed = -ENOMEM;
    else if (n > 0) {
        sc_buf_took(&server->in, (size_t)n);
        take_lines(server);
    } else if (n == 0 || (errno != EINTR && errno != EAGAIN))
        server->is_over = true;
}

static void write_output(struct server *server)
{
    size_t left = server->out.len - server->sent;
    ssize_t n = write(STDOUT_FILENO, server->out.data + server->sent, left < WRITE_MAX ? left : WRITE_MAX);
    if (n < 0 && errno != EINTR && errno != EAGAIN)
        server->is_over = true;
    if (n <= 0)
        return;
    server->sent += (size_t)n;
    if (server->sent == server->out.len)
        server->out.len = server->sent = 0;
}

static void step_keeper(struct server *server)
{
    struct sc_err err = {0};
    if (sc_keeper_calls_step(server->calls, &err) == 0)
        return;
    if (!server->is_over)
        sc_cli_say("%s", err.message);
    sc_keeper_calls_close(server->calls);
    server->calls = NULL;
    sc_cli_keeper_own_end(&server->own);
}

/* ---- the loop ---- */

enum { INPUT, OUTPUT, KEEPER, SIGNAL, PLACES };

static int timeout_ms(uint64_t until_ns)
{
    uint64_t now = sc_now_ns();
    if (until_ns == UINT64_MAX)
        return -1;
    return until_ns <= now ? 0 : (int)sc_min_u64((until_ns - now) / SC_NS_PER_MS + 1, 60000);
}

/* Waits for something to do until `until_ns`, and does it. 0 or negative errno. */
static int step(struct server *server, uint64_t until_ns)
{
    size_t waiting = server->out.len - server->sent;
    bool reads = waiting < OUT_PAUSE;
    struct pollfd fds[PLACES] = {
        [INPUT] = {.fd = reads && !server->is_over ? STDIN_FILENO : -1, .events = POLLIN},
        [OUTPUT] = {.fd = waiting && !server->is_over ? STDOUT_FILENO : -1, .events = POLLOUT},
        [KEEPER] = {.fd = -1},
        [SIGNAL] = {.fd = server->is_signaled ? -1 : server->signal_fd, .events = POLLIN},
    };
    if (server->calls && (reads || server->is_over)) {
        fds[KEEPER].fd = sc_keeper_calls_fd(server->calls);
        fds[KEEPER].events = sc_keeper_calls_poll(server->calls);
    }
    if (poll(fds, PLACES, timeout_ms(sc_min_u64(until_ns, sc_mcp_next_ns(server->mcp)))) < 0)
        return errno == EINTR ? 0 : -errno;
    if (fds[SIGNAL].revents)
        server->is_signaled = true;
    if (fds[OUTPUT].revents)
        write_output(server);
    if (fds[INPUT].revents)
        read_input(server);
    if (server->calls && (fds[KEEPER].revents || (sc_keeper_calls_poll(server->calls) & POLLOUT)))
        step_keeper(server);
    sc_mcp_tick(server->mcp);
    return server->failed;
}

/* What the client has started ends with it. */
static void say_farewell(struct server *server)
{
    uint64_t until = sc_now_ns() + FAREWELL_NS;
    server->is_over = true;
    sc_mcp_end(server->mcp);
    while (server->calls && server->n_asked && sc_now_ns() < until && step(server, until) == 0)
        ;
}

static int serve(struct server *server)
{
    int r = 0;
    while (r == 0 && !server->is_over && !server->is_signaled)
        r = step(server, UINT64_MAX);
    say_farewell(server);
    if (r < 0) {
        sc_cli_say("mcp: %s", strerror(-r));
        return SC_CLI_EXIT_FAILED;
    }
    return server->is_signaled ? 130 : SC_CLI_EXIT_OK;
}

static int read_options(const struct sc_cli_args *args, json_t **ret_spec, struct sc_mcp_options *options,
                        struct sc_err *err)
{
    if (args->n_operands)
        return sc_err_usage(err, "", "mcp %s: takes no operands", args->operands[0]);
    int r = sc_cli_session_spec_given(args, WALL, ret_spec, err);
    json_t *times = json_object();
    if (r == 0)
        r = sc_cli_session_time(times, "idle_ms", "idle", SC_KEEPER_IDLE_MS_MAX, args->texts[SC_TEXT_IDLE],
                                err);
    if (r == 0)
        r = sc_cli_session_time(times, "total_ms", "total", SC_KEEPER_TOTAL_MS_MAX,
                                args->texts[SC_TEXT_TOTAL], err);
    json_t *idle = json_object_get(times, "idle_ms"), *total = json_object_get(times, "total_ms");
    *options = (struct sc_mcp_options){
        .spec = *ret_spec,
        .idle_ms = idle ? json_number_value(idle) : IDLE_MS,
        .total_ms = total ? json_number_value(total) : TOTAL_MS,
    };
    json_decref(times);
    return r;
}

int sc_cli_mcp(const struct sc_cli_args *args)
{
    struct server server = {.socket = args->texts[SC_TEXT_SOCKET], .own.pid = -1, .signal_fd = -1};
    const struct sc_mcp_around around = {
        .userdata = &server, .send = send_line, .ask = ask, .cancel = cancel};
    struct sc_mcp_options options;
    struct sc_err err = {0};
    json_t *spec = NULL;
    int status = SC_CLI_EXIT_OK;
    sc_buf_init(&server.in, SC_MCP_MESSAGE_MAX + (1u << 20));
    sc_buf_init(&server.out, OUT_MAX);
    if (read_options(args, &spec, &options, &err) < 0 || sc_cli_signals_open(&server.signal_fd, &err) < 0 ||
        sc_mcp_new(&around, &options, &server.mcp, &err) < 0)
        status = sc_cli_fail(&err);
    else
        status = serve(&server);
    sc_mcp_free(server.mcp);
    sc_keeper_calls_close(server.calls);
    sc_cli_keeper_own_end(&server.own);
    json_decref(spec);
    sc_buf_fini(&server.in);
    sc_buf_fini(&server.out);
    sc_close(&server.signal_fd);
    return status;
}
