/* POST /v1/run: one request, and its answer whole or as events. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/http.h"
#include "cli/http_parts.h"
#include "cli/session.h"

#define WHOLE_MAX ((size_t)256 * 1024 * 1024) /* an answer in one piece, as the keeper bounds it */

struct run {
    struct http_answer answer;
    const struct sc_keeper_exchange *exchange;
    bool streams;
    struct sc_buf whole; /* an answer in one piece, or a problem */
    struct sc_cli_lines events;
    json_t *result;
    struct sc_err *err;
    int r; /* of an event */
};

static int give(struct run *run, enum sc_keeper_stream stream, const void *data, size_t len)
{
    return run->exchange->output && len ? run->exchange->output(run->exchange->output_data, stream, data, len)
                                        : 0;
}

/* The exact bytes, where they are no text. */
static int give_output(struct run *run, enum sc_keeper_stream stream, const json_t *data)
{
    const json_t *exact = json_object_get(data, "b64"), *text = json_object_get(data, "text");
    struct sc_buf bytes;
    if (!json_is_string(exact))
        return json_is_string(text) ? give(run, stream, json_string_value(text), json_string_length(text))
                                    : -EPROTO;
    sc_buf_init(&bytes, json_string_length(exact) + 4);
    int r = sc_b64_decode(&bytes, json_string_value(exact), json_string_length(exact));
    if (r == 0)
        r = give(run, stream, bytes.data, bytes.len);
    sc_buf_fini(&bytes);
    return r;
}

static int give_display(struct run *run, const json_t *data)
{
    char *text = sc_json_dump(data, JSON_COMPACT);
    size_t len = text ? strlen(text) : 0;
    if (!text)
        return -ENOMEM;
    text[len] = '\n'; /* in the place of its NUL */
    int r = give(run, SC_KEEPER_DISPLAYS, text, len + 1);
    free(text);
    return r;
}

static void take_event(void *userdata, const json_t *event)
{
    struct run *run = userdata;
    const char *name = json_string_value(json_object_get(event, "event"));
    json_t *data = json_object_get(event, "data");
    if (run->r < 0)
        return;
    if (!name || !data)
        run->r = -EPROTO;
    else if (!strcmp(name, "stdout"))
        run->r = give_output(run, SC_KEEPER_STDOUT, data);
    else if (!strcmp(name, "stderr"))
        run->r = give_output(run, SC_KEEPER_STDERR, data);
    else if (!strcmp(name, "display"))
        run->r = give_display(run, data);
    else if (!strcmp(name, "error"))
        run->r = http_take_problem(data, run->err);
    else if (!strcmp(name, "end") && !run->result)
        run->result = json_incref(data);
}

static int take_body(void *userdata, const void *data, size_t len)
{
    struct run *run = userdata;
    if (run->answer.status != 200 || !run->streams)
        return sc_buf_add(&run->whole, data, len);
    int r = sc_cli_lines_add(&run->events, data, len);
    return r < 0 ? r : run->r;
}

/* What was asked for is there, or the story in `err`. */
static int conclude(struct run *run)
{
    json_t *value = NULL;
    json_error_t where;
    const char *text = run->whole.data ? (const char *)run->whole.data : "";
    if (run->answer.status == 200 && run->streams)
        return run->result ? 0 : -EPROTO;
    if (sc_json_load(text, run->whole.len, JSON_ALLOW_NUL, &value, &where) < 0)
        return -EPROTO;
    if (run->answer.status == 200) {
        run->result = value;
        return json_is_object(value) ? 0 : -EPROTO;
    }
    int r = http_take_problem(value, run->err);
    json_decref(value);
    return r;
}

static int send_request(const struct sc_cli_http *http, const char *body, bool streams)
{
    struct sc_buf head;
    const char *accept = streams ? "application/x-ndjson" : "application/json";
    sc_buf_init(&head, HTTP_HEAD_MAX);
    int r = http_add_head(&head, http, "/v1/run", "application/json", accept, strlen(body));
    if (r == 0)
        r = sc_write_all(http->fd, head.data, head.len);
    if (r == 0)
        r = sc_write_all(http->fd, body, strlen(body));
    http_forget(&head);
    /* Who refuses without reading all of it has answered. */
    return r == -EPIPE || r == -ECONNRESET ? 0 : r;
}

static int read_answer(struct sc_cli_http *http, struct run *run)
{
    static char piece[65536];
    int r = 0;
    while (r == 0 && !run->answer.ended) {
        struct pollfd fds[] = {{.fd = http->fd, .events = POLLIN},
                               {.fd = run->exchange->stop_fd, .events = POLLIN}};
        if (poll(fds, run->exchange->stop_fd > 0 ? 2 : 1, -1) < 0) {
            r = errno == EINTR ? 0 : -errno;
            continue;
        }
        if (fds[1].revents)
            return -ECANCELED;
        ssize_t n = read(http->fd, piece, sizeof piece);
        if (n < 0 && errno == EINTR)
            continue;
        r = n <= 0 ? -EPIPE : http_answer_add(&run->answer, piece, (size_t)n);
    }
    return r;
}

int sc_cli_http_run(struct sc_cli_http *http, json_t *body, bool streams,
                    const struct sc_keeper_exchange *exchange, json_t **ret_result, struct sc_err *err)
{
    struct run run = {.exchange = exchange, .streams = streams, .err = err};
    char *text = sc_json_dump(body, JSON_COMPACT);
    json_decref(body);
    if (!text)
        return sc_err_sys(err, -ENOMEM, "request");
    http_answer_init(&run.answer, take_body, &run);
    sc_buf_init(&run.whole, streams ? HTTP_PROBLEM_MAX : WHOLE_MAX);
    sc_cli_lines_init(&run.events, take_event, &run);
    int r = send_request(http, text, streams);
    if (r == 0)
        r = read_answer(http, &run);
    if (r == 0)
        r = conclude(&run);
    if (r < 0 && err->kind == SC_ERR_NONE)
        sc_err_set(err, SC_ERR_SANDBOX, r, "url: %s",
                   r == -EPIPE       ? "the service went away; what became of the run is not known"
                   : r == -ECANCELED ? "cancelled"
                   : r == -EPROTO    ? "what answers there is no service of Snapcell"
                                     : strerror(-r));
    *ret_result = r == 0 ? run.result : NULL;
    if (r < 0)
        json_decref(run.result);
    free(text);
    http_answer_fini(&run.answer);
    sc_buf_fini(&run.whole);
    sc_cli_lines_fini(&run.events);
    return r;
}
