/* Works: requests that need the keeper. The session they need is made by the first of them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "gate/mcp/parts.h"

#define WORKS_MAX 32           /* of one client at once; the keeper takes 64 calls on a connection */
#define STREAM_MAX (16u << 20) /* of one call: output of a run, content of a file */
#define LINES_MAX (24u << 20)  /* displays and listings */
enum { STDOUT = 1, STDERR, DISPLAYS, EVENTS }; /* streams of the keeper's */

static void reset_streams(struct mcp_work *work)
{
    work->out.len = work->err.len = work->lines.len = 0;
    json_array_clear(work->displays);
    json_array_clear(work->entries);
}

void mcp_work_free(struct mcp_work *work)
{
    TAILQ_REMOVE(&work->mcp->works, work, entry);
    work->mcp->n_works--;
    json_decref(work->id);
    json_decref(work->token);
    json_decref(work->arguments);
    json_decref(work->displays);
    json_decref(work->entries);
    json_decref(work->content);
    json_decref(work->structured);
    json_decref(work->outcome);
    json_decref(work->changed);
    json_decref(work->uris);
    sc_buf_fini(&work->out);
    sc_buf_fini(&work->err);
    sc_buf_fini(&work->lines);
    sc_buf_fini(&work->untold);
    sc_buf_fini(&work->kept_out);
    sc_buf_fini(&work->kept_err);
    json_decref(work->kept_displays);
    free(work);
}

void mcp_work_answer(struct mcp_work *work, json_t *result)
{
    mcp_progress_flush(work);
    mcp_answer(work->mcp, work->id, result);
    mcp_work_free(work);
}

void mcp_work_fail(struct mcp_work *work, enum mcp_code code, const char *message)
{
    mcp_fail(work->mcp, work->id, code, "%s", message);
    mcp_work_free(work);
}

static void refuse(struct mcp_work *work, const json_t *error)
{
    if (work->is_tool)
        mcp_tool_refused(work, error);
    else
        mcp_work_fail(work, MCP_INTERNAL, mcp_text(error, "message"));
}

struct mcp_work *mcp_work_by_id(struct sc_mcp *mcp, const json_t *id)
{
    struct mcp_work *work;
    TAILQ_FOREACH(work, &mcp->works, entry)
    {
        if (json_equal(work->id, id) && !work->cancelled)
            return work;
    }
    return NULL;
}

/* No answer follows. What runs is ended, and the work is over when the keeper says so. */
void mcp_work_cancel(struct mcp_work *work)
{
    if (work->cancelled)
        return;
    work->cancelled = true;
    if (work->call)
        work->mcp->around.cancel(work->mcp->around.userdata, work->call);
    else
        mcp_work_free(work);
}

void mcp_work_ask(struct mcp_work *work, json_t *request, const void *input, size_t len, mcp_next *next)
{
    struct sc_mcp *mcp = work->mcp;
    struct sc_err err = {0};
    reset_streams(work);
    work->next = next;
    if (request && *mcp->session)
        json_object_set_new(request, "session", json_string(mcp->session));
    int r = request ? mcp->around.ask(mcp->around.userdata, request, input, len, &work->call, &err)
                    : sc_err_sys(&err, -ENOMEM, "request");
    if (r == 0)
        return;
    json_t *error = json_pack("{s:s, s:s, s:s}", "kind", "sandbox", "field", "", "message", err.message);
    next(work, NULL, error);
    json_decref(error);
}

/* ---- the session ---- */

void mcp_forget_session(struct sc_mcp *mcp)
{
    mcp->had_session |= *mcp->session != '\0';
    *mcp->session = '\0';
    json_object_clear(mcp->known);
}

void mcp_end_session(struct sc_mcp *mcp)
{
    struct sc_err err = {0};
    uint32_t call = 0;
    if (!*mcp->session)
        return;
    json_t *request = json_pack("{s:s, s:s}", "request", "session.end", "session", mcp->session);
    /* A keeper that is gone has taken the session along. */
    if (request)
        (void)mcp->around.ask(mcp->around.userdata, request, NULL, 0, &call, &err);
    *mcp->session = '\0';
}

static void start_session(struct mcp_work *work);

static void go(struct mcp_work *work)
{
    work->begun = true;
    work->begin(work);
}

/* A work starts as if it had just come: with the session that is there now, or a new one. */
static void begin(struct mcp_work *work)
{
    struct sc_mcp *mcp = work->mcp;
    if (!*mcp->session && mcp->starting)
        work->waits = true;
    else if (!*mcp->session)
        start_session(work);
    else
        go(work);
}

static struct mcp_work *first_waiting(const struct sc_mcp *mcp)
{
    struct mcp_work *work;
    TAILQ_FOREACH(work, &mcp->works, entry)
    {
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): mcp_work_free() takes out of the list what it frees */
        if (work->waits)
            return work;
    }
    return NULL;
}

/* Those that waited go on; the first that finds no session tries again to start one, and the others wait. */
static void begin_waiting(struct sc_mcp *mcp)
{
    struct mcp_work *work;
    while (!mcp->starting && (work = first_waiting(mcp))) {
        work->waits = false;
        begin(work);
    }
}

static void looked_first(struct mcp_work *work)
{
    work->mcp->starting = 0;
    json_decref(work->changed);
    work->changed = NULL;
    go(work);
}

static void started(struct mcp_work *work, const json_t *ok, const json_t *error)
{
    struct sc_mcp *mcp = work->mcp;
    const char *name = mcp_text(ok, "session");
    mcp->starting = 0;
    if (!ok || strlen(name) >= sizeof mcp->session) {
        mcp_log(mcp, MCP_LOG_ERROR, work->id, "no session could be made: %s", mcp_text(error, "message"));
        refuse(work, error);
    } else {
        strcpy(mcp->session, name); /* NOLINT: measured above */
        work->fresh_session = mcp->had_session;
        mcp_log(mcp, MCP_LOG_INFO, work->id, "a session was started");
        /* What its spec put there is not what a run made. */
        mcp_look_at_files(work, looked_first);
    }
    begin_waiting(mcp);
}

static void start_session(struct mcp_work *work)
{
    struct sc_mcp *mcp = work->mcp;
    json_t *request = json_pack("{s:s, s:O}", "request", "session.start", "spec", mcp->spec);
    if (mcp->idle_ms > 0)
        json_object_set_new(request, "idle_ms", json_real(mcp->idle_ms));
    if (mcp->total_ms > 0)
        json_object_set_new(request, "total_ms", json_real(mcp->total_ms));
    if (mcp->deadline_ms > 0)
        json_object_set_new(request, "deadline_ms", json_integer(mcp->deadline_ms));
    mcp->starting = 1;
    mcp_work_ask(work, request, NULL, 0, started);
}

struct mcp_work *mcp_work_start(struct sc_mcp *mcp, const json_t *id, const json_t *params,
                                const json_t *arguments, bool is_tool,
                                void (*begin_it)(struct mcp_work *work))
{
    json_t *token = json_object_get(json_object_get(params, "_meta"), "progressToken");
    if (mcp->n_works >= WORKS_MAX) {
        mcp_fail(mcp, id, MCP_INVALID_REQUEST, "there are %d requests under way: wait for one of them",
                 WORKS_MAX);
        return NULL;
    }
    struct mcp_work *work = calloc(1, sizeof *work);
    if (!work) {
        mcp_fail(mcp, id, MCP_INTERNAL, "out of memory");
        return NULL;
    }
    work->mcp = mcp;
    work->id = json_incref((json_t *)id);
    work->token = json_is_string(token) || json_is_integer(token) ? json_incref(token) : NULL;
    work->arguments = json_incref((json_t *)arguments);
    work->is_tool = is_tool;
    work->begin = begin_it;
    work->displays = json_array();
    work->entries = json_array();
    work->content = json_array();
    work->structured = json_object();
    work->since_ns = work->told_ns = sc_now_ns();
    sc_buf_init(&work->out, STREAM_MAX);
    sc_buf_init(&work->err, STREAM_MAX);
    sc_buf_init(&work->kept_out, STREAM_MAX);
    sc_buf_init(&work->kept_err, STREAM_MAX);
    work->kept_displays = json_array();
    sc_buf_init(&work->lines, LINES_MAX);
    sc_buf_init(&work->untold, STREAM_MAX);
    TAILQ_INSERT_TAIL(&mcp->works, work, entry);
    mcp->n_works++;
    begin(work);
    return work;
}

/* ---- from the keeper ---- */

static struct mcp_work *work_of(struct sc_mcp *mcp, uint32_t call)
{
    struct mcp_work *work;
    TAILQ_FOREACH(work, &mcp->works, entry)
    {
        if (work->call == call && call)
            return work;
    }
    return NULL;
}

/* Whole lines of JSON go to `list`. One that is none is dropped: it was cut by a maximum. */
static void take_lines(struct mcp_work *work, json_t *list, const void *data, size_t len)
{
    char *newline;
    json_error_t where;
    if (sc_buf_add(&work->lines, data, len) < 0)
        return;
    while (work->lines.len && (newline = memchr(work->lines.data, '\n', work->lines.len))) {
        size_t line = (size_t)(newline - (char *)work->lines.data);
        json_t *value = NULL;
        if (sc_json_load((char *)work->lines.data, line, JSON_ALLOW_NUL, &value, &where) == 0)
            json_array_append_new(list, value);
        work->lines.len -= line + 1;
        memmove(work->lines.data, newline + 1, work->lines.len);
    }
}

void sc_mcp_output(struct sc_mcp *mcp, uint32_t call, int stream, const void *data, size_t len)
{
    struct mcp_work *work = work_of(mcp, call);
    if (!work || work->cancelled)
        return;
    if (stream == STDOUT || stream == STDERR) {
        /* More than the maximum cannot come: runs have their limits, and files are asked for in parts. */
        (void)sc_buf_add(stream == STDOUT ? &work->out : &work->err, data, len);
        mcp_progress_output(work, data, len);
    } else if (stream == DISPLAYS || stream == EVENTS) {
        take_lines(work, stream == DISPLAYS ? work->displays : work->entries, data, len);
    }
}

/* The session was over before the keeper saw the request: nothing of it was done, unless something before it
 * was, which nobody may do twice. */
static bool is_without_session(const json_t *error)
{
    const char *kind = mcp_text(error, "kind");
    return !strcmp(kind, "ended") ||
           (!strcmp(kind, "not_found") && !strcmp(mcp_text(error, "field"), "session"));
}

static void start_anew(struct mcp_work *work)
{
    struct sc_mcp *mcp = work->mcp;
    mcp_log(mcp, MCP_LOG_WARNING, work->id, "the session was over: a new one is made");
    mcp_forget_session(mcp);
    work->retried = true;
    work->begun = false;
    work->at = 0;
    begin(work);
}

void sc_mcp_reply(struct sc_mcp *mcp, uint32_t call, const json_t *reply)
{
    struct mcp_work *work = work_of(mcp, call);
    const json_t *ok = json_object_get(reply, "ok");
    if (!work)
        return;
    json_t *error = ok ? NULL : json_incref(json_object_get(reply, "error"));
    work->call = 0;
    bool was_starting = mcp->starting && work->next == started;
    work->did = work->did || (ok && work->begun);
    if (!ok && !error)
        error =
            json_pack("{s:s, s:s, s:s}", "kind", "sandbox", "field", "", "message", "the keeper went away");
    if (work->cancelled && was_starting) {
        /* The others that wait for the session get it all the same. */
        mcp->starting = 0;
        const char *name = mcp_text(ok, "session");
        if (strlen(name) < sizeof mcp->session)
            strcpy(mcp->session, name); /* NOLINT: measured above */
        mcp_work_free(work);
        if (mcp->ended)
            mcp_end_session(mcp);
        else
            begin_waiting(mcp);
    } else if (work->cancelled) {
        mcp_work_free(work);
    } else if (error && is_without_session(error) && !work->retried && !work->did && !was_starting) {
        start_anew(work);
    } else {
        work->next(work, ok, error);
    }
    json_decref(error);
}

uint64_t sc_mcp_next_ns(const struct sc_mcp *mcp)
{
    uint64_t next = UINT64_MAX;
    struct mcp_work *work;
    TAILQ_FOREACH(work, &mcp->works, entry)
    {
        uint64_t due = mcp_progress_next_ns(work);
        next = due < next ? due : next;
    }
    return next;
}

void sc_mcp_tick(struct sc_mcp *mcp)
{
    struct mcp_work *work;
    TAILQ_FOREACH(work, &mcp->works, entry) mcp_progress_tick(work);
}
