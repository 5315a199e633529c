/* What an interpreter that is started ahead loads before its first run: piece by piece, each after the answer
 * to the one before. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "snap/session_parts.h"

#define TROUBLE_MAX (16u * 1024)

static size_t count_pieces(const struct sc_prelude *prelude)
{
    return prelude->imports.n + (prelude->code ? 1 : 0);
}

static const char *piece_of(const struct sc_prelude *prelude, size_t at, const char **ret_kind)
{
    bool is_import = at < prelude->imports.n;
    *ret_kind = is_import ? "import" : "code";
    return is_import ? prelude->imports.v[at] : prelude->code;
}

void sc_prelude_push(struct sc_process *runner)
{
    struct sc_context *context = runner->context;
    struct sc_buf *piece = &context->piece;
    while (context->piece_done < piece->len) {
        ssize_t n = sc_live_write(runner->session->live, runner->op, SC_STREAM_RUNNER,
                                  piece->data + context->piece_done, piece->len - context->piece_done);
        if (n <= 0)
            return; /* `room` comes */
        context->piece_done += (size_t)n;
    }
    sc_buf_fini(piece);
    context->piece_done = 0;
}

/* Of a zygote: from now on it is to take orders. */
static bool end_prelude(struct sc_process *runner)
{
    struct sc_buf *piece = &runner->context->piece;
    sc_buf_init(piece, 64);
    if (sc_buf_add_str(piece, "serve\n") < 0) {
        sc_process_kill(runner);
        return true;
    }
    sc_runner_begin_prelude(&runner->reader);
    sc_prelude_push(runner);
    return true;
}

void sc_prelude_forkable(struct sc_process *runner, const char *reason)
{
    struct sc_session *session = runner->session;
    runner->patience_ns = 0;
    if (runner->session->birth && reason) {
        sc_birth_over(runner->session, reason);
        sc_process_kill(runner);
        return;
    }
    runner->context->is_serving = !reason;
    if (!reason)
        return;
    free(session->trouble);
    if (asprintf(&session->trouble, SC_NOT_FORKABLE "%.400s\n", reason) < 0)
        session->trouble = NULL;
    sc_process_kill(runner);
}

bool sc_prelude_next(struct sc_process *runner)
{
    struct sc_context *context = runner->context;
    const char *kind, *text;
    if (context->prelude && context->prelude_at == count_pieces(context->prelude))
        context->prelude = NULL;
    if (!context->prelude)
        return context->is_zygote && end_prelude(runner);
    if (context->prelude_at == 0)
        runner->patience_ns = sc_now_ns() + SC_PRELUDE_PATIENCE_NS;
    text = piece_of(context->prelude, context->prelude_at, &kind);
    sc_buf_init(&context->piece, SC_SPEC_CODE_MAX + 64);
    int r = sc_buf_printf(&context->piece, "prelude %s %zu\n", kind, strlen(text));
    if (r == 0)
        r = sc_buf_add(&context->piece, text, strlen(text));
    if (r < 0) {
        sc_process_kill(runner);
        return true;
    }
    sc_runner_begin_prelude(&runner->reader);
    sc_prelude_push(runner);
    return true;
}

static void add_text(struct sc_buf *to, const json_t *error, const char *key)
{
    const char *text = json_string_value(json_object_get(error, key));
    (void)sc_buf_printf(to, "%.8000s", text ? text : "");
}

/* "import pandas:" and the traceback, or name and message where there is none. */
static char *describe(const char *kind, const char *text, const json_t *error)
{
    struct sc_buf all;
    const char *traceback = json_string_value(json_object_get(error, "traceback"));
    sc_buf_init(&all, TROUBLE_MAX);
    (void)sc_buf_printf(&all, "%s%s%.200s:\n", kind, *kind == 'i' ? " " : "", *kind == 'i' ? text : "");
    if (traceback && *traceback) {
        add_text(&all, error, "traceback");
    } else {
        add_text(&all, error, "name");
        (void)sc_buf_printf(&all, ": ");
        add_text(&all, error, "message");
    }
    char *whole = all.len ? sc_buf_steal(&all, NULL) : NULL;
    sc_buf_fini(&all);
    return whole;
}

void sc_prelude_loaded(struct sc_process *runner, json_t *error)
{
    struct sc_context *context = runner->context;
    struct sc_session *session = runner->session;
    const char *kind, *text;
    if (!context->prelude || runner->killed)
        return;
    if (!error) {
        context->prelude_at++;
        return;
    }
    text = piece_of(context->prelude, context->prelude_at, &kind);
    free(session->trouble);
    session->trouble = describe(kind, text, error);
    sc_process_kill(runner);
}

/* ---- ahead of a run ---- */

static int prepare(struct sc_session *session, enum sc_lang lang, enum sc_mode mode,
                   const struct sc_prelude *prelude, bool is_zygote, struct sc_err *err)
{
    struct sc_context *context = NULL;
    int r = sc_context_of(session, lang, mode, &context, err);
    if (r < 0 || !context || context->runner)
        return r;
    context->prelude = prelude;
    context->prelude_at = 0;
    context->is_zygote = is_zygote;
    return sc_context_start(session, context, err);
}

int sc_session_prepare(struct sc_session *session, enum sc_lang lang, enum sc_mode mode,
                       const struct sc_prelude *prelude, struct sc_err *err)
{
    return prepare(session, lang, mode, prelude, false, err);
}

int sc_session_prepare_zygote(struct sc_session *session, enum sc_lang lang, enum sc_mode mode,
                              const struct sc_prelude *prelude, struct sc_err *err)
{
    return prepare(session, lang, mode, prelude, true, err);
}

int sc_session_is_prepared(const struct sc_session *session, enum sc_lang lang, enum sc_mode mode)
{
    const struct sc_context *context = sc_context_find(session, lang, mode);
    const struct sc_process *runner = context ? context->runner : NULL;
    bool is_alive = !session->ending && !session->is_over && sc_live_is_alive(session->live);
    if (session->trouble)
        return -EBADMSG;
    if (!is_alive || !runner || runner->killed || runner->exited)
        return -ESRCH;
    if (context->is_zygote)
        return context->is_serving;
    return runner->reader.is_ready && !context->prelude;
}

/* ---- forks ---- */

int sc_session_fork_runner(struct sc_session *session, enum sc_lang lang, enum sc_mode mode,
                           struct sc_err *err)
{
    static const char *const argv[] = {"runner", NULL};
    const struct sc_command like = {
        .argv = argv, .flags = SC_COMMAND_RUNNER | (session->is_forkable ? SC_COMMAND_SOCKET : 0u)};
    const struct sc_context *from = session->above ? sc_context_find(session->above, lang, mode) : NULL;
    struct sc_context *context = NULL;
    if (!from || !from->runner || !from->is_serving || from->runner->exited || from->runner->killed)
        return sc_err_set(err, SC_ERR_SANDBOX, -ESRCH, "fork: there is no interpreter to fork");
    int r = sc_context_of(session, lang, mode, &context, err);
    if (r == 0)
        r = sc_process_fork(session, context, from->runner, &like, &context->runner, err);
    if (r == 0) {
        context->is_forked = true;
        context->is_serving = session->is_forkable;
        context->runner->reader.may_refuse = true;
    }
    return r;
}

bool sc_session_is_forked(const struct sc_session *session, enum sc_lang lang, enum sc_mode mode)
{
    const struct sc_context *context = sc_context_find(session, lang, mode);
    return context && context->is_forked;
}

unsigned sc_session_below(const struct sc_session *session)
{
    return session->n_below;
}

const char *sc_session_trouble(const struct sc_session *session)
{
    return session->trouble;
}
