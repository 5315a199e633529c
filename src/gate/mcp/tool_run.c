/* run_code, run_command, check_code, reset. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "gate/mcp/parts.h"

#define FETCH_MAX (1 << 20) /* of one file that comes back with a run */

static json_t *argument(const struct mcp_work *work, const char *name)
{
    return json_object_get(work->arguments, name);
}

static void put_limits(const struct mcp_work *work, json_t *request)
{
    json_t *timeout = argument(work, "timeout_s"), *output = argument(work, "max_output_bytes");
    json_t *limits = json_object();
    json_int_t bytes = output ? (json_int_t)json_number_value(output) : 65536;
    if (timeout) {
        /* The processor's time would stay the session's own, which follows from its own wall clock. */
        double wall_ms = json_number_value(timeout) * 1000,
               cpus = (double)work->mcp->shown.limits.cpus / 1000;
        json_object_set_new(limits, "wall_ms", json_integer((json_int_t)wall_ms));
        json_object_set_new(limits, "cpu_ms", json_integer((json_int_t)(wall_ms * (cpus > 1 ? cpus : 1))));
    }
    json_object_set_new(limits, "stdout_bytes", json_integer(bytes));
    json_object_set_new(limits, "stderr_bytes", json_integer(bytes));
    json_object_set_new(request, "limits", limits);
}

static void put_if_given(const struct mcp_work *work, json_t *request, const char *name)
{
    json_t *value = argument(work, name);
    if (value)
        json_object_set(request, name, value);
}

/* ---- after the run: what it changed, what is to be fetched, the result ---- */

static bool is_command(const struct mcp_work *work)
{
    return argument(work, "command") != NULL;
}

/* The look at the files and their contents come through the same streams as the run's output, which is kept
 * aside meanwhile. */
static void swap_streams(struct mcp_work *work)
{
    struct sc_buf out = work->out, err = work->err;
    json_t *displays = work->displays;
    work->out = work->kept_out;
    work->err = work->kept_err;
    work->displays = work->kept_displays;
    work->kept_out = out;
    work->kept_err = err;
    work->kept_displays = displays;
}

static void fetch_next(struct mcp_work *work);

static void finish(struct mcp_work *work)
{
    const char *status = mcp_text(work->outcome, "status");
    swap_streams(work);
    bool is_error = mcp_report_run(work, work->outcome, is_command(work));
    mcp_log(work->mcp, is_error ? MCP_LOG_NOTICE : MCP_LOG_INFO, work->id, "%s ended: %s, %.1f ms",
            is_command(work) ? "the command" : "the run", status,
            json_number_value(json_object_get(json_object_get(work->outcome, "usage"), "wall_ms")));
    mcp_tool_done(work, is_error);
}

static void fetched(struct mcp_work *work, const json_t *ok, const json_t *error)
{
    const char *path = json_string_value(json_array_get(argument(work, "return_files"), work->at));
    char line[400];
    if (ok && work->out.len > FETCH_MAX) {
        snprintf(line, sizeof line, "[%.200s was left out: it has more than %d bytes; read_file reads parts]",
                 path, FETCH_MAX);
        mcp_add_text(work, line, strlen(line));
    } else if (ok) {
        mcp_add_file(work, path, work->out.data ? (char *)work->out.data : "", work->out.len);
    } else {
        snprintf(line, sizeof line, "[%.300s]", mcp_text(error, "message"));
        mcp_add_text(work, line, strlen(line));
    }
    work->at++;
    fetch_next(work);
}

static void fetch_next(struct mcp_work *work)
{
    const json_t *path = json_array_get(argument(work, "return_files"), work->at);
    if (!path)
        finish(work);
    else
        mcp_work_ask(
            work, json_pack("{s:s, s:O, s:i}", "request", "file.read", "path", path, "length", FETCH_MAX + 1),
            NULL, 0, fetched);
}

static void looked(struct mcp_work *work)
{
    work->at = 0;
    fetch_next(work);
}

static void ran(struct mcp_work *work, const json_t *ok, const json_t *error)
{
    if (!ok) {
        mcp_tool_refused(work, error);
        return;
    }
    mcp_progress_flush(work);
    work->tells_output = false;
    work->outcome = json_incref((json_t *)ok);
    swap_streams(work);
    mcp_look_at_files(work, looked);
}

/* ---- before the run: files that come along ---- */

static void run(struct mcp_work *work)
{
    json_t *request = json_pack("{s:s, s:O, s:O}", "request", "run", "language", argument(work, "language"),
                                "code", argument(work, "code"));
    const char *check = mcp_text(work->arguments, "check");
    put_if_given(work, request, "context");
    put_if_given(work, request, "stdin");
    put_limits(work, request);
    work->tells_output = true;
    mcp_log(work->mcp, MCP_LOG_INFO, work->id, "a run begins: %s", mcp_text(work->arguments, "language"));
    if (*check && strcmp(check, "off") != 0)
        json_object_set_new(request, "validate", json_pack("{s:s}", "on_finding", check));
    mcp_work_ask(work, request, NULL, 0, ran);
}

static void put_next(struct mcp_work *work);

static void put(struct mcp_work *work, const json_t *ok, const json_t *error)
{
    if (!ok) {
        mcp_tool_refused(work, error);
        return;
    }
    work->at++;
    put_next(work);
}

static void put_next(struct mcp_work *work)
{
    const json_t *file = json_array_get(argument(work, "files"), work->at);
    if (!file)
        run(work);
    else
        mcp_put_file(work, file, put);
}

void mcp_tool_run_code(struct mcp_work *work)
{
    work->at = 0;
    put_next(work);
}

void mcp_tool_run_command(struct mcp_work *work)
{
    json_t *request = json_pack("{s:s, s:[s, s, O]}", "request", "exec", "command", "/bin/bash", "-c",
                                argument(work, "command"));
    put_if_given(work, request, "cwd");
    put_if_given(work, request, "stdin");
    put_limits(work, request);
    work->tells_output = true;
    mcp_log(work->mcp, MCP_LOG_INFO, work->id, "a command begins");
    mcp_work_ask(work, request, NULL, 0, ran);
}

/* ---- check_code ---- */

static void checked(struct mcp_work *work, const json_t *ok, const json_t *error)
{
    struct sc_buf text;
    size_t i;
    json_t *finding;
    const char *syntax = mcp_text(ok, "syntax_error");
    bool allowed = json_is_true(json_object_get(ok, "allowed"));
    if (!ok) {
        mcp_tool_refused(work, error);
        return;
    }
    sc_buf_init(&text, 1 << 20);
    sc_buf_printf(&text, "%s\n", allowed ? "Nothing stands in the way." : "It would be refused.");
    if (*syntax)
        sc_buf_printf(&text, "%s\n", syntax);
    json_array_foreach(json_object_get(ok, "findings"), i, finding) sc_buf_printf(
        &text, "line %d: %s: %s [%s] %s\n", (int)json_integer_value(json_object_get(finding, "line")),
        mcp_text(finding, "severity"), mcp_text(finding, "message"), mcp_text(finding, "rule"),
        mcp_text(finding, "advice"));
    mcp_add_text(work, (char *)text.data, text.len);
    sc_buf_fini(&text);
    json_object_update(work->structured, (json_t *)ok);
    mcp_tool_done(work, false);
}

void mcp_tool_check_code(struct mcp_work *work)
{
    json_t *request = json_pack("{s:s, s:O, s:O}", "request", "check", "language", argument(work, "language"),
                                "code", argument(work, "code"));
    const char *rules = mcp_text(work->arguments, "rules");
    json_object_set_new(request, "validate", json_pack("{s:[s]}", "rules", *rules ? rules : "default"));
    mcp_work_ask(work, request, NULL, 0, checked);
}

/* ---- reset ---- */

static void was_reset(struct mcp_work *work, const json_t *ok, const json_t *error)
{
    static const char context[] = "The variables are gone, files are kept.";
    static const char all[] =
        "The session was ended: files, variables and processes are gone. The next call makes a new one.";
    bool is_context = argument(work, "context") != NULL;
    /* A context that was never used has nothing to forget. */
    if (!ok && strcmp(mcp_text(error, "field"), "context") != 0) {
        mcp_tool_refused(work, error);
        return;
    }
    if (!is_context) {
        mcp_forget_session(work->mcp);
        work->mcp->had_session = false;
        mcp_watched_are_gone(work->mcp);
        mcp_log(work->mcp, MCP_LOG_INFO, work->id, "the session was ended");
    }
    mcp_add_text(work, is_context ? context : all, strlen(is_context ? context : all));
    json_object_set_new(work->structured, "reset", json_string(is_context ? "context" : "session"));
    mcp_tool_done(work, false);
}

void mcp_tool_reset(struct mcp_work *work)
{
    json_t *context = argument(work, "context");
    json_t *request = context ? json_pack("{s:s, s:O}", "request", "context.restart", "context", context)
                              : json_pack("{s:s}", "request", "session.end");
    mcp_work_ask(work, request, NULL, 0, was_reset);
}
