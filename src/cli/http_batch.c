/* POST /v1/batch: one request with many jobs, and a line for each answer as it comes. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "cli/http.h"
#include "cli/http_parts.h"
#include "cli/session.h"

#define ANSWER_MAX ((size_t)256 * 1024 * 1024) /* of one job, as the keeper bounds it */
#define IDLE_MS 200

struct exchange {
    struct sc_cli_http *http;
    const struct sc_cli_http_batch *batch;
    struct http_answer answer;
    struct sc_buf problem;
    struct sc_cli_lines lines;
    struct sc_buf head;
    size_t sent; /* of head and body together */
    int r;       /* of a line */
};

/* ---- what comes back ---- */

static void take_line(void *userdata, const json_t *line)
{
    struct exchange *exchange = userdata;
    if (exchange->r == 0)
        exchange->r = exchange->batch->line(exchange->batch->userdata, line);
}

static int take_body(void *userdata, const void *data, size_t len)
{
    struct exchange *exchange = userdata;
    if (exchange->answer.status != 200)
        return sc_buf_add(&exchange->problem, data, len);
    int r = sc_cli_lines_add(&exchange->lines, data, len);
    return r < 0 ? -EPROTO : exchange->r;
}

static int receive(struct exchange *exchange)
{
    static char piece[65536];
    ssize_t n = read(exchange->http->fd, piece, sizeof piece);
    if (n < 0)
        return errno == EINTR || errno == EAGAIN ? 0 : -EPIPE;
    return n == 0 ? -EPIPE : http_answer_add(&exchange->answer, piece, (size_t)n);
}

/* ---- what goes there ---- */

static size_t left_to_send(const struct exchange *exchange)
{
    return exchange->head.len + exchange->batch->len - exchange->sent;
}

/* Who refuses without reading all of it has answered: then the rest is not sent. */
static int send_more(struct exchange *exchange)
{
    const size_t head = exchange->head.len, sent = exchange->sent;
    const char *from =
        sent < head ? (const char *)exchange->head.data + sent : exchange->batch->body + (sent - head);
    size_t len = sent < head ? head - sent : exchange->batch->len - (sent - head);
    ssize_t n = write(exchange->http->fd, from, len);
    if (n < 0 && (errno == EPIPE || errno == ECONNRESET))
        exchange->sent += left_to_send(exchange);
    else if (n < 0)
        return errno == EINTR || errno == EAGAIN ? 0 : -errno;
    else
        exchange->sent += (size_t)n;
    return 0;
}

static int turn(struct exchange *exchange)
{
    const struct sc_cli_http_batch *batch = exchange->batch;
    const short sending = left_to_send(exchange) > 0 ? POLLOUT : 0;
    struct pollfd fds[] = {{.fd = exchange->http->fd, .events = (short)(POLLIN | sending)},
                           {.fd = batch->stop_fd, .events = POLLIN}};
    if (poll(fds, 2, IDLE_MS) < 0)
        return errno == EINTR ? 0 : -errno;
    if (fds[1].revents)
        return -ECANCELED;
    batch->idle(batch->userdata);
    if (fds[0].revents & (POLLIN | POLLHUP | POLLERR))
        return receive(exchange);
    return fds[0].revents & POLLOUT ? send_more(exchange) : 0;
}

/* What came in the place of lines. */
static int conclude(struct exchange *exchange, struct sc_err *err)
{
    json_t *problem = NULL;
    json_error_t where;
    const char *text = exchange->problem.data ? (const char *)exchange->problem.data : "";
    if (exchange->answer.status == 200)
        return exchange->lines.buf.len ? -EPROTO : 0; /* half a line is none of ours */
    if (sc_json_load(text, exchange->problem.len, 0, &problem, &where) < 0)
        return -EPROTO;
    int r = http_take_problem(problem, err);
    json_decref(problem);
    return r;
}

int sc_cli_http_batch(struct sc_cli_http *http, const struct sc_cli_http_batch *batch, struct sc_err *err)
{
    static const char type[] = "application/x-ndjson";
    struct exchange exchange = {.http = http, .batch = batch};
    http_answer_init(&exchange.answer, take_body, &exchange);
    sc_buf_init(&exchange.problem, HTTP_PROBLEM_MAX);
    sc_buf_init(&exchange.head, HTTP_HEAD_MAX);
    sc_cli_lines_init(&exchange.lines, take_line, &exchange);
    exchange.lines.buf.max = ANSWER_MAX;
    int r = http_add_head(&exchange.head, http, batch->target, type, type, batch->len);
    if (r == 0)
        r = sc_set_nonblocking(http->fd);
    while (r == 0 && !exchange.answer.ended)
        r = turn(&exchange);
    if (r == 0)
        r = conclude(&exchange, err);
    if (r < 0 && r != -ECANCELED && err->kind == SC_ERR_NONE)
        sc_err_set(err, SC_ERR_SANDBOX, r, "url: %s",
                   r == -EPIPE    ? "the service went away; the same command goes on where it stopped"
                   : r == -EPROTO ? "what answers there is no service of Snapcell"
                                  : strerror(-r));
    http_forget(&exchange.head);
    http_answer_fini(&exchange.answer);
    sc_buf_fini(&exchange.problem);
    sc_cli_lines_fini(&exchange.lines);
    return r;
}
