#include "keeper/request_check.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define OFFSET(member) offsetof(struct sc_keeper_request, member)

static const struct missing {
    unsigned need;
    size_t offset;
    const char *name;
} TEXTS_NEEDED[] = {
    {SC_KEEPER_NEEDS_SESSION, OFFSET(session), "session"},
    {SC_KEEPER_NAMES_PAUSED, OFFSET(session), "session"},
    {SC_KEEPER_NEEDS_SNAPSHOT, OFFSET(snapshot), "snapshot"},
    {SC_KEEPER_NEEDS_PATH, OFFSET(path), "path"},
    {SC_KEEPER_NEEDS_TO, OFFSET(to), "to"},
    {SC_KEEPER_NEEDS_CONTEXT, OFFSET(context), "context"},
};

const char *sc_keeper_request_subject(const struct sc_keeper_request *request)
{
    return request->needs & SC_KEEPER_ONLY_SNAPSHOTS ? "snapshot" : "session";
}

static int missing(const char *name, struct sc_err *err)
{
    return sc_err_usage(err, name, "%s: is missing", name);
}

int sc_keeper_request_check_limits(const json_t *limits, bool command, struct sc_err *err)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)limits, name, value)
    {
        bool known = !strcmp(name, "wall_ms") || !strcmp(name, "stdout_bytes") ||
                     !strcmp(name, "stderr_bytes") || (!command && !strcmp(name, "cpu_ms"));
        char field[SC_ERR_FIELD_MAX + 8], shown[SC_ERR_FIELD_MAX - 8];
        snprintf(field, sizeof field, "limits.%s", sc_text_show(shown, sizeof shown, name, strlen(name)));
        if (!known)
            return sc_err_usage(err, field,
                                "%s: belongs to the whole session; allowed here are wall_ms, "
                                "%sstdout_bytes, stderr_bytes",
                                field, command ? "" : "cpu_ms, ");
    }
    return 0;
}

static int check_code(const struct sc_keeper_request *request, struct sc_err *err)
{
    enum sc_lang lang = request->spec.lang;
    if (!request->spec.code)
        return missing("code", err);
    if (request->spec.code_len > SC_SPEC_CODE_MAX)
        return sc_err_usage(err, "code", "code: at most %llu bytes are allowed", SC_SPEC_CODE_MAX);
    if (lang != SC_LANG_PYTHON && lang != SC_LANG_NODE && lang != SC_LANG_BASH)
        return sc_err_usage(err, "language", "language: %s: allowed are python, node, bash",
                            sc_lang_name(lang));
    if (request->spec.mode == SC_MODE_PLAIN)
        return sc_err_usage(err, "mode", "mode: plain: allowed in a session are rich, restricted");
    if (request->spec.mode == SC_MODE_RESTRICTED && lang != SC_LANG_PYTHON)
        return sc_err_usage(err, "mode", "mode: restricted is a mode of python");
    return 0;
}

static int check_once(const struct sc_spec *spec, struct sc_err *err)
{
    if (spec->mode == SC_MODE_PLAIN)
        return sc_err_usage(err, "spec.mode", "spec.mode: plain: allowed here are rich, restricted");
    if (!spec->code)
        return missing("spec.code", err);
    if (spec->program || spec->command)
        return sc_err_usage(err, "spec", "spec: a program's file or a command: allowed here is code");
    if (spec->n_outs)
        return sc_err_usage(err, "spec.out", "spec.out: not allowed here: the cell is gone with its answer");
    return 0;
}

int sc_keeper_request_check(const struct sc_keeper_request *request, struct sc_err *err)
{
    for (size_t i = 0; i < sizeof TEXTS_NEEDED / sizeof *TEXTS_NEEDED; i++) {
        const struct missing *text = &TEXTS_NEEDED[i];
        bool is_port = text->need == SC_KEEPER_NEEDS_PATH && request->file == SC_FILE_PORT;
        if ((request->needs & text->need) && !*(char **)((char *)request + text->offset))
            return missing(text->need == SC_KEEPER_NEEDS_SESSION ? sc_keeper_request_subject(request)
                           : is_port                             ? "port"
                                                                 : text->name,
                           err);
    }
    if ((request->needs & SC_KEEPER_NEEDS_COMMAND) && !request->spec.command)
        return missing("command", err);
    if ((request->needs & SC_KEEPER_NEEDS_PROCESS) && !request->process)
        return missing("process", err);
    if (request->verb == SC_KEEPER_PROCESS_SIGNAL && !request->signal)
        return missing("signal", err);
    if (request->verb == SC_KEEPER_FILE && request->file == SC_FILE_CHMOD && !request->mode)
        return missing("mode", err);
    if (request->verb == SC_KEEPER_SESSION_NETWORK && !request->spec.net.given)
        return missing("network", err);
    if (request->verb == SC_KEEPER_JUDGE && !request->judge)
        return missing("judge", err);
    if (request->background && request->pty)
        return sc_err_usage(err, "pty", "pty: a command in the background has no terminal");
    if (request->verb == SC_KEEPER_SESSION_TIME && !request->left_ns)
        return missing("left_ms", err);
    if (request->as && request->access)
        return sc_err_usage(err, "access", "access: as or access, one of the two");
    if (request->verb == SC_KEEPER_IDENTIFY && !request->key == !request->peer)
        return sc_err_usage(err, "key", "key: either key or peer must be given");
    if (request->verb == SC_KEEPER_ONCE)
        return check_once(&request->spec, err);
    bool has_code = request->verb == SC_KEEPER_RUN || request->verb == SC_KEEPER_CHECK;
    return has_code ? check_code(request, err) : 0;
}
