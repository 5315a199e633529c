#include "snap/runner.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "snap/inside.h"

struct reading {
    struct sc_runner_reader *reader;
    const struct sc_runner_events *events;
    void *userdata;
};

void sc_runner_init(struct sc_runner_reader *reader)
{
    memset(reader, 0, sizeof *reader);
    sc_buf_init(&reader->line, SC_RUNNER_LINE_MAX);
}

void sc_runner_fini(struct sc_runner_reader *reader)
{
    sc_buf_fini(&reader->line);
}

void sc_runner_begin(struct sc_runner_reader *reader, const char id[SC_RUNNER_ID_LEN + 1])
{
    memcpy(reader->id, id, sizeof reader->id);
    reader->in_run = true;
    reader->run_bytes = reader->run_values = reader->run_displays = 0;
}

void sc_runner_begin_prelude(struct sc_runner_reader *reader)
{
    reader->in_prelude = true;
    reader->run_bytes = reader->run_values = reader->run_displays = 0;
}

static int broken(struct sc_runner_reader *reader, const char *why)
{
    reader->is_broken = true;
    snprintf(reader->trouble, sizeof reader->trouble, "%s", why);
    return why == SC_INSIDE_NO_MEMORY ? -ENOMEM : -EPROTO;
}

/* NUL is text like any other. A number that is too large for an integer is read as the real next to it. */
static int parse(const char *line, size_t len, json_t **ret_message)
{
    json_error_t where;
    int r = sc_json_load(line, len, JSON_ALLOW_NUL, ret_message, &where);
    if (r == -EINVAL && json_error_code(&where) == json_error_numeric_overflow)
        r = sc_json_load(line, len, JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, ret_message, &where);
    return r;
}

static bool is_text(const json_t *message, const char *key, const char *expected)
{
    const json_t *text = json_object_get(message, key);
    return json_is_string(text) && json_string_length(text) == strlen(expected) &&
           !strcmp(json_string_value(text), expected);
}

static int take_ready(struct reading *at, const json_t *message)
{
    struct sc_runner_reader *reader = at->reader;
    const json_t *protocol = json_object_get(message, "protocol");
    if (reader->is_ready)
        return broken(reader, "ready came twice");
    if (!json_is_number(protocol) || json_number_value(protocol) != SC_RUNNER_PROTOCOL)
        return broken(reader, "it speaks another version of the protocol");
    reader->is_ready = true;
    at->events->ready(at->userdata);
    return 0;
}

static int take_display(struct reading *at, const json_t *message)
{
    json_t *forms = json_object_get(message, "data");
    const char *wrong = sc_inside_check_forms(forms);
    if (wrong)
        return broken(at->reader, wrong);
    if (++at->reader->run_displays > SC_RUNNER_DISPLAYS_MAX)
        return broken(at->reader, "too many displays");
    at->events->display(at->userdata, forms);
    return 0;
}

static const char *take_status(const json_t *message, enum sc_runner_status *ret_status)
{
    static const char *const NAMES[] = {[SC_RUNNER_OK] = "ok",
                                        [SC_RUNNER_ERROR] = "error",
                                        [SC_RUNNER_SYNTAX_ERROR] = "syntax_error",
                                        [SC_RUNNER_INTERRUPTED] = "interrupted",
                                        [SC_RUNNER_EXIT] = "exit"};
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++)
        if (is_text(message, "status", NAMES[i])) {
            *ret_status = (enum sc_runner_status)i;
            return NULL;
        }
    return "a status that does not exist";
}

static const char *take_exit_code(const json_t *message, int *ret_code)
{
    const json_t *code = json_object_get(message, "exit_code");
    double number = json_number_value(code);
    if (!json_is_number(code) || !(number >= -2147483648.0 && number <= 4294967295.0))
        return "an exit code that is none";
    *ret_code = (int)((json_int_t)number & 255); /* as the kernel keeps it */
    return NULL;
}

static int take_result(struct reading *at, const json_t *message)
{
    struct sc_runner_result result = {.locals = json_object_get(message, "locals")};
    json_t *value = json_object_get(message, "value");
    const char *wrong = take_status(message, &result.status);
    if (!wrong)
        wrong = take_exit_code(message, &result.exit_code);
    if (!wrong)
        wrong = sc_inside_check_locals(result.locals);
    if (!wrong && value && !json_is_null(value)) {
        result.value = value;
        wrong = sc_inside_check_forms(value);
    }
    if (!wrong)
        wrong = sc_inside_take_error(json_object_get(message, "error"), &result.error);
    if (wrong)
        return broken(at->reader, wrong);
    at->reader->in_run = false;
    at->events->result(at->userdata, &result);
    json_decref(result.error);
    return 0;
}

static int take_loaded(struct reading *at, const json_t *message)
{
    json_t *error = NULL;
    bool is_well = is_text(message, "status", "ok");
    if (!is_well && !is_text(message, "status", "error"))
        return broken(at->reader, "a status that does not exist");
    const char *wrong = sc_inside_take_error(json_object_get(message, "error"), &error);
    if (!wrong && is_well != !error)
        wrong = "an error that does not fit the status";
    if (wrong) {
        json_decref(error);
        return broken(at->reader, wrong);
    }
    at->reader->in_prelude = false;
    at->events->loaded(at->userdata, error);
    json_decref(error);
    return 0;
}

static int take_forkable(struct reading *at, const json_t *message)
{
    const char *reason = json_string_value(json_object_get(message, "reason"));
    bool is_forkable = is_text(message, "op", "forkable");
    if (!is_forkable && !reason)
        return broken(at->reader, "no reason why it cannot be forked");
    at->reader->in_prelude = false;
    at->events->forkable(at->userdata, is_forkable ? NULL : reason);
    return 0;
}

static int take_message(struct reading *at, const json_t *message)
{
    struct sc_runner_reader *reader = at->reader;
    if (!json_is_object(message))
        return broken(reader, "a line is no JSON object");
    if (is_text(message, "op", "ready"))
        return take_ready(at, message);
    if (reader->in_prelude && is_text(message, "op", "prelude"))
        return take_loaded(at, message);
    bool refuses = (reader->in_prelude || (reader->may_refuse && !reader->is_ready)) &&
                   is_text(message, "op", "not_forkable");
    if (refuses || (reader->in_prelude && is_text(message, "op", "forkable")))
        return take_forkable(at, message);
    if (!reader->in_run || !is_text(message, "id", reader->id))
        return broken(reader, "it spoke of a run that is not under way");
    if (is_text(message, "op", "display"))
        return take_display(at, message);
    if (is_text(message, "op", "result"))
        return take_result(at, message);
    return broken(reader, "a message of a kind that does not exist");
}

static int take_line(struct reading *at, const char *line, size_t len)
{
    struct sc_runner_reader *reader = at->reader;
    json_t *message = NULL;
    size_t n = sc_json_count(line, len);
    if (n == SIZE_MAX)
        return broken(reader, "a number of more than 4,096 digits");
    reader->run_values += n;
    if (reader->run_values > SC_RUNNER_VALUES_MAX)
        return broken(reader, "more JSON values than one run may tell");
    int r = parse(line, len, &message);
    if (r < 0)
        return broken(reader, r == -ENOMEM ? SC_INSIDE_NO_MEMORY : "a line is no JSON");
    r = take_message(at, message);
    json_decref(message);
    return r;
}

/* Bytes up to and without the newline, or all there are; the line goes on in the next piece then. */
static int add_piece(struct sc_runner_reader *reader, const char *data, size_t len)
{
    reader->run_bytes += len;
    if (reader->run_bytes > SC_RUNNER_RUN_MAX)
        return broken(reader, "more than 24 MiB for one run");
    int r = sc_buf_add(&reader->line, data, len);
    if (r == -EMSGSIZE)
        return broken(reader, "a line of more than 16 MiB");
    return r < 0 ? broken(reader, SC_INSIDE_NO_MEMORY) : 0;
}

int sc_runner_read(struct sc_runner_reader *reader, const void *data, size_t len,
                   const struct sc_runner_events *events, void *userdata)
{
    struct reading at = {reader, events, userdata};
    const char *piece = data, *end = piece + len;
    while (piece < end) {
        if (reader->is_broken)
            return -EPROTO;
        if (reader->is_ready && !reader->in_run && !reader->in_prelude)
            return broken(reader, "it spoke while nothing ran");
        const char *newline = memchr(piece, '\n', (size_t)(end - piece));
        int r = add_piece(reader, piece, (size_t)((newline ? newline : end) - piece));
        if (r == 0 && newline) {
            /* Taken out first: an event may begin the next run. */
            struct sc_buf line = reader->line;
            sc_buf_init(&reader->line, SC_RUNNER_LINE_MAX);
            r = take_line(&at, line.data ? (const char *)line.data : "", line.len);
            sc_buf_fini(&line);
        }
        if (r < 0)
            return r;
        piece = newline ? newline + 1 : end;
    }
    return 0;
}
