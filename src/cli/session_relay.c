/* One run or command of a session, from the request to the exit status. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "cli/http.h"
#include "cli/report.h"
#include "cli/say.h"
#include "cli/session.h"
#include "cli/sink.h"

#define WAITING_MAX (64u * 1024) /* beyond it the keeper is made to wait for our reader */
#define SINK_MAX (16u * 1024 * 1024)

struct stream {
    struct sc_cli_sink sink;
    size_t came;
    char last; /* byte that came */
};

struct relay {
    struct sc_cli_session *session;
    const struct sc_cli_relay_events *events;
    struct stream out, err;
    struct sc_cli_lines displays, event_lines;
    bool quiet; /* --json */
};

static int pass(struct relay *relay, struct stream *stream, const void *data, size_t len)
{
    if (len == 0)
        return 0;
    stream->came += len;
    stream->last = ((const char *)data)[len - 1];
    if (relay->quiet)
        return 0;
    sc_cli_sink_add(&stream->sink, data, len);
    if (stream->sink.waiting.len - stream->sink.sent > WAITING_MAX)
        sc_cli_sink_drain(&stream->sink, relay->session->signal_fd);
    return stream->sink.broken;
}

static int take_output(void *userdata, enum sc_keeper_stream stream, const void *data, size_t len)
{
    struct relay *relay = userdata;
    const struct sc_cli_relay_events *events = relay->events;
    switch (stream) {
    case SC_KEEPER_STDOUT:
        if (events && events->output)
            return events->output(events->userdata, data, len);
        return pass(relay, &relay->out, data, len);
    case SC_KEEPER_STDERR:
        return pass(relay, &relay->err, data, len);
    case SC_KEEPER_DISPLAYS:
        return sc_cli_lines_add(&relay->displays, data, len);
    case SC_KEEPER_EVENTS:
        return sc_cli_lines_add(&relay->event_lines, data, len);
    }
    return -EPROTO;
}

/* What was displayed stands where it came, in its plain form. */
static void take_display(void *userdata, const json_t *display)
{
    struct relay *relay = userdata;
    const json_t *text = json_object_get(display, "text/plain");
    if (!json_is_string(text))
        return;
    if (relay->out.came && relay->out.last != '\n')
        (void)pass(relay, &relay->out, "\n", 1);
    (void)pass(relay, &relay->out, json_string_value(text), json_string_length(text));
    (void)pass(relay, &relay->out, "\n", 1);
}

static void take_event(void *userdata, const json_t *event)
{
    struct relay *relay = userdata;
    if (relay->events && relay->events->event)
        relay->events->event(relay->events->userdata, event);
}

static void stream_open(struct stream *stream, int fd, bool raw)
{
    *stream = (struct stream){0};
    sc_cli_sink_init(&stream->sink, fd, raw, SINK_MAX);
}

/* Starts a line of its own where the output's last is unfinished. */
static void end_line(struct stream *stream, const void *what)
{
    if (what && stream->came && stream->last != '\n')
        sc_cli_sink_add(&stream->sink, "\n", 1);
}

static void report(struct relay *relay, struct sc_result *result)
{
    struct sc_buf text;
    end_line(&relay->out, result->inside.value);
    end_line(&relay->err, result->inside.error);
    sc_cli_report_inside(result, &relay->out.sink, &relay->err.sink);
    sc_cli_sink_finish(&relay->out.sink, relay->session->signal_fd);
    sc_cli_sink_finish(&relay->err.sink, relay->session->signal_fd);
    /* From here on only the length counts. */
    result->out.kept.len = relay->out.came;
    result->err.kept.len = relay->err.came;
    sc_buf_init(&text, 256 * 1024);
    sc_cli_report_short(result, &text);
    if (text.len && ((relay->err.sink.guarded && relay->err.sink.mid_line) ||
                     (relay->out.sink.guarded && relay->out.sink.mid_line)))
        sc_cli_tell("\n", 1);
    if (text.len)
        sc_cli_tell(text.data, text.len);
    sc_buf_fini(&text);
}

static int answer(struct relay *relay, const json_t *reply)
{
    struct sc_result result;
    /* A command in the background has a number and no result. */
    if (json_object_get(reply, "process")) {
        char *text = relay->quiet ? sc_json_dump(reply, JSON_INDENT(2))
                                  : sc_json_dump(json_object_get(reply, "process"), JSON_ENCODE_ANY);
        return sc_cli_print_json(text);
    }
    sc_cli_session_result(reply, &result);
    int status = sc_result_exit_status(&result);
    if (!relay->quiet)
        report(relay, &result);
    else if (sc_cli_print_json(sc_json_dump(reply, JSON_INDENT(2) | JSON_REAL_PRECISION(15))) !=
             SC_CLI_EXIT_OK)
        status = SC_CLI_EXIT_FAILED;
    sc_result_fini(&result);
    int broken = relay->out.sink.broken;
    if (broken && broken != -EPIPE) {
        sc_cli_say("stdout: %s", strerror(-broken));
        return SC_CLI_EXIT_FAILED;
    }
    return status;
}

int sc_cli_session_relay(struct sc_cli_session *session, json_t *request, struct sc_keeper_exchange *exchange,
                         const struct sc_cli_relay_events *events)
{
    uint32_t flags = session->args.flags;
    struct relay relay = {.session = session, .events = events, .quiet = flags & SC_FLAG_JSON};
    struct sc_err err = {0};
    json_t *reply = NULL;
    stream_open(&relay.out, STDOUT_FILENO, flags & SC_FLAG_RAW);
    stream_open(&relay.err, STDERR_FILENO, flags & SC_FLAG_RAW);
    sc_cli_lines_init(&relay.displays, take_display, &relay);
    sc_cli_lines_init(&relay.event_lines, take_event, &relay);
    exchange->output = take_output;
    exchange->output_data = &relay;
    int r = session->http ? sc_cli_http_run(session->http, request, !relay.quiet, exchange, &reply, &err)
                          : sc_keeper_ask(session->client, request, exchange, &reply, &err);
    int status;
    if (r == 0)
        status = answer(&relay, reply);
    else if (relay.out.sink.broken == -EPIPE)
        status = 130; /* the reader of stdout went away, and the run with it */
    else if (r == -ECANCELED)
        status = 130;
    else
        status = sc_cli_session_fail(&err);
    json_decref(reply);
    sc_cli_lines_fini(&relay.displays);
    sc_cli_lines_fini(&relay.event_lines);
    sc_cli_sink_fini(&relay.out.sink);
    sc_cli_sink_fini(&relay.err.sink);
    return status;
}
