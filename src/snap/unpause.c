/* Unpacking a paused session into a new one. The streams were written by us and are compared as they go; what
 * unpacks them is in the cell all the same. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "snap/pause.h"
#include "snap/recipe.h"
#include "snap/session_parts.h"

#define PIECE 65536

struct sc_unpause {
    struct sc_session *session;
    struct sc_vault_reader *reader;
    sc_pause_done *done;
    void *userdata;
    uint16_t op;
    bool is_over, at_end;
    const char *data; /* what was not sent yet */
    size_t len;
    char piece[PIECE];
};

static int begin_piece(struct sc_unpause *unpause, struct sc_err *err);

static void tell(struct sc_unpause *unpause, int r, const struct sc_err *err)
{
    if (unpause->is_over)
        return;
    unpause->is_over = true;
    unpause->done(unpause->userdata, r, err);
}

/* As much as is taken now. */
static int push(struct sc_unpause *unpause, struct sc_err *err)
{
    while (!unpause->at_end || unpause->len > 0) {
        while (unpause->len > 0) {
            ssize_t n =
                sc_live_write(unpause->session->live, unpause->op, SC_STREAM_IN, unpause->data, unpause->len);
            if (n <= 0)
                return 0; /* `room` comes, or the operation's end does */
            unpause->data += n;
            unpause->len -= (size_t)n;
        }
        ssize_t n = sc_vault_piece_read(unpause->reader, unpause->piece, sizeof unpause->piece, err);
        if (n < 0)
            return (int)n;
        unpause->at_end = n == 0;
        unpause->data = unpause->piece;
        unpause->len = (size_t)n;
        if (unpause->at_end)
            (void)sc_live_close_input(unpause->session->live, unpause->op);
    }
    return 0;
}

static void on_room(void *userdata, enum sc_stream_number stream)
{
    struct sc_unpause *unpause = userdata;
    struct sc_err err = {0};
    (void)stream;
    int r = unpause->is_over ? 0 : push(unpause, &err);
    if (r < 0)
        tell(unpause, r, &err);
}

/* ---- contexts ---- */

static int remember(struct sc_session *session, const json_t *context, struct sc_err *err)
{
    enum sc_lang lang = SC_LANG_AUTO;
    const char *name = json_string_value(json_object_get(context, "name"));
    const char *language = json_string_value(json_object_get(context, "language"));
    const char *mode = json_string_value(json_object_get(context, "mode"));
    if (!name || !language || !mode || sc_lang_by_name(language, &lang) < 0)
        return sc_err_set(err, SC_ERR_USAGE, -EBADMSG, "session: its contexts cannot be read");
    return sc_session_remember(session, name, lang,
                               strcmp(mode, "restricted") ? SC_MODE_RICH : SC_MODE_RESTRICTED, err);
}

static int remember_all(struct sc_unpause *unpause, struct sc_err *err)
{
    size_t i;
    json_t *context;
    int r = 0;
    json_array_foreach(json_object_get(unpause->reader->manifest, "contexts"), i, context)
    {
        if (r == 0)
            r = remember(unpause->session, context, err);
    }
    return r;
}

/* ---- what the agent answers ---- */

static void not_unpacked(struct sc_unpause *unpause, int code, const char *object)
{
    struct sc_err err = {0};
    sc_err_set(&err, SC_ERR_USAGE, code < 0 ? code : -EIO, "session: %s: cannot be unpacked: %s",
               *object ? object : SC_VAULT_PLACES[unpause->reader->at].path,
               strerror(code < 0 ? -code : EIO));
    tell(unpause, err.code, &err);
}

static void on_done(void *userdata, const struct sc_msg_file_done *done)
{
    struct sc_unpause *unpause = userdata;
    struct sc_err err = {0};
    char object[sizeof done->object + 1] = "";
    memcpy(object, done->object, sizeof done->object);
    if (unpause->is_over)
        return;
    /* An archive ends before its stream does: what follows was not compared yet. */
    if (done->code != 0 || !unpause->at_end) {
        not_unpacked(unpause, done->code ? done->code : -EBADMSG, object);
        return;
    }
    bool was_last = unpause->reader->at == SC_VAULT_PIECES;
    int r = was_last ? remember_all(unpause, &err) : begin_piece(unpause, &err);
    if (r < 0)
        tell(unpause, r, &err);
    else if (was_last)
        tell(unpause, 0, NULL);
}

static void on_failed(void *userdata, const struct sc_msg_failed *failed)
{
    if (!((struct sc_unpause *)userdata)->is_over)
        not_unpacked(userdata, failed->code, "");
}

static void on_gone(void *userdata)
{
    tell(userdata, -EPIPE, NULL);
}

static int begin_piece(struct sc_unpause *unpause, struct sc_err *err)
{
    static const struct sc_live_op_events events = {
        .room = on_room, .gone = on_gone, .failed = on_failed, .done = on_done};
    const struct sc_file_op op = {.kind = SC_FILE_TAR_IN,
                                  .path = SC_VAULT_PLACES[unpause->reader->at].path,
                                  .flags = SC_FILE_AS_IT_WAS};
    unpause->at_end = false;
    unpause->len = 0;
    int r = sc_vault_piece_open(unpause->reader, err);
    if (r == 0)
        r = sc_live_file(unpause->session->live, &op, &events, unpause, &unpause->op, err);
    return r < 0 ? r : push(unpause, err);
}

int sc_unpause_start(struct sc_session *session, struct sc_vault_reader *reader, sc_pause_done *done,
                     void *userdata, struct sc_unpause **ret_unpause, struct sc_err *err)
{
    struct sc_unpause *unpause = calloc(1, sizeof *unpause);
    if (!unpause)
        return sc_err_sys(err, -ENOMEM, "session");
    *unpause = (struct sc_unpause){.session = session, .reader = reader, .done = done, .userdata = userdata};
    int r = begin_piece(unpause, err);
    if (r < 0) {
        /* Its operation may be under way, and would tell a freed one: the caller closes the session first. */
        unpause->is_over = true;
    }
    *ret_unpause = unpause;
    return r;
}

void sc_unpause_free(struct sc_unpause *unpause)
{
    free(unpause);
}

/* ---- the manifest ---- */

/* After the template was applied: what its files say, the kept ones say better. */
static void drop_files(struct sc_spec *spec)
{
    size_t kept = 0;
    sc_spec_clear_files(spec);
    for (size_t i = 0; i < spec->n_dirs; i++) {
        if (spec->dirs[i].read_only_mount) {
            spec->dirs[kept++] = spec->dirs[i];
            continue;
        }
        free(spec->dirs[i].host);
        free(spec->dirs[i].path);
    }
    spec->n_dirs = kept;
}

static int take_secrets(const json_t *manifest, const struct sc_spec *given, struct sc_spec *spec,
                        struct sc_err *err)
{
    size_t i;
    json_t *name;
    json_array_foreach(json_object_get(manifest, "secrets"), i, name)
    {
        const char *text = json_string_value(name);
        if (!text || !given || !sc_spec_secret(given, text))
            return sc_err_usage(err, "secrets", "secrets: %s: must be given again: no secret is stored",
                                text ? text : "?");
    }
    return given ? sc_spec_take_secrets(spec, given, err) : 0;
}

int sc_unpause_spec(const json_t *manifest, const struct sc_spec *given, struct sc_spec *ret_spec,
                    struct sc_session_options *ret_options, struct sc_err *err)
{
    char *text = sc_json_dump(json_object_get(manifest, "spec"), JSON_COMPACT);
    if (!text)
        return sc_err_sys(err, -ENOMEM, "session");
    sc_spec_init(ret_spec);
    int r = sc_spec_from_json(ret_spec, text, strlen(text), err);
    free(text);
    if (r == 0)
        r = take_secrets(manifest, given, ret_spec, err);
    if (r == 0)
        r = sc_recipe_apply(ret_spec, err);
    drop_files(ret_spec);
    if (r < 0) {
        sc_spec_fini(ret_spec);
        return r;
    }
    ret_options->idle_ns = (uint64_t)json_integer_value(json_object_get(manifest, "idle_ms")) * SC_NS_PER_MS;
    ret_options->total_ns =
        (uint64_t)json_integer_value(json_object_get(manifest, "total_ms")) * SC_NS_PER_MS;
    return 0;
}
