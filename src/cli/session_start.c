/* `snapcell session start`. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/num.h"
#include "cli/job.h"
#include "cli/say.h"
#include "cli/session.h"

/* The keeper has another working folder: host paths go to it as they are meant here. */
static int make_absolute(char **path, const char *folder)
{
    char *whole = NULL;
    if (!*path || **path == '/')
        return 0;
    if (asprintf(&whole, "%s/%s", folder, *path) < 0)
        return -ENOMEM;
    free(*path);
    *path = whole;
    return 0;
}

static int make_all_absolute(struct sc_spec *spec, struct sc_err *err)
{
    char folder[PATH_MAX];
    if (!getcwd(folder, sizeof folder))
        return sc_err_sys(err, -errno, "working folder");
    int r = make_absolute(&spec->root, folder);
    if (r == 0)
        r = make_absolute(&spec->venv, folder);
    if (r == 0)
        r = make_absolute(&spec->interpreter, folder);
    for (size_t i = 0; i < spec->n_files && r == 0; i++)
        r = make_absolute(&spec->files[i].host, folder);
    for (size_t i = 0; i < spec->n_dirs && r == 0; i++)
        r = make_absolute(&spec->dirs[i].host, folder);
    for (size_t i = 0; i < spec->validate.rules.n && r == 0; i++)
        if (strpbrk(spec->validate.rules.v[i], "./")) /* no name of a set */
            r = make_absolute(&spec->validate.rules.v[i], folder);
    return r < 0 ? sc_err_sys(err, r, "request") : 0;
}

int sc_cli_session_spec(struct sc_spec *spec, json_t **ret_value, struct sc_err *err)
{
    json_error_t where;
    int r = make_all_absolute(spec, err);
    if (r < 0)
        return r;
    char *text = sc_spec_to_json_whole(spec);
    r = text ? sc_json_load(text, strlen(text), JSON_ALLOW_NUL, ret_value, &where) : -ENOMEM;
    free(text);
    return r < 0 ? sc_err_sys(err, r, "request") : 0;
}

int sc_cli_session_spec_given(const struct sc_cli_args *args, const char *wall, json_t **ret_value,
                              struct sc_err *err)
{
    struct sc_spec spec;
    sc_spec_init(&spec);
    int r = args->texts[SC_TEXT_SPEC] ? sc_cli_read_spec(&spec, args->texts[SC_TEXT_SPEC], err) : 0;
    if (r == 0)
        r = sc_cli_apply(&spec, args, err);
    if (r == 0 && wall && !(spec.limits_given & 1u << sc_limit_index(sc_limit_row_by_option("wall", 4))))
        r = sc_spec_set(&spec, "wall", wall, err);
    if (r == 0)
        r = sc_cli_cgroup_parent(&spec, err);
    if (r == 0)
        r = sc_cli_session_spec(&spec, ret_value, err);
    sc_spec_fini(&spec);
    return r;
}

int sc_cli_session_time(json_t *request, const char *member, const char *option, double most_ms,
                        const char *text, struct sc_err *err)
{
    uint64_t ns = 0;
    if (!text)
        return 0;
    int r = sc_parse_duration(text, &ns);
    double ms = (double)ns / (double)SC_NS_PER_MS;
    if (r < 0 || ms < SC_KEEPER_TIME_MS_MIN || ms > most_ms)
        return sc_err_usage(err, option, "%s: %s: must be a duration like 90s or 10m, %ds to %.0fh", option,
                            text, SC_KEEPER_TIME_MS_MIN / 1000, most_ms / 3600000);
    if (json_object_set_new(request, member, json_real(ms)) < 0)
        return sc_err_sys(err, -ENOMEM, "session start");
    return 0;
}

int sc_cli_session_add_times(json_t *request, const struct sc_cli_args *args, struct sc_err *err)
{
    int r = sc_cli_session_time(request, "idle_ms", "idle", SC_KEEPER_IDLE_MS_MAX, args->texts[SC_TEXT_IDLE],
                                err);
    return r < 0 ? r
                 : sc_cli_session_time(request, "total_ms", "total", SC_KEEPER_TOTAL_MS_MAX,
                                       args->texts[SC_TEXT_TOTAL], err);
}

int sc_cli_session_start(struct sc_cli_session *session)
{
    const struct sc_cli_args *args = &session->args;
    struct sc_err err = {0};
    json_t *spec = NULL, *reply = NULL;
    if (session->id)
        return sc_cli_session_usage(session, "takes no operands; --name names a session");
    if (args->texts[SC_TEXT_FROM])
        return sc_cli_session_start_from(session);
    if (args->flags & SC_FLAG_INHERIT_SECRETS)
        return sc_cli_session_usage(session, "takes --inherit-secrets with --from only");
    if (sc_cli_session_spec_given(args, NULL, &spec, &err) < 0)
        return sc_cli_session_fail(&err);
    if ((args->flags & SC_FLAG_FORKABLE) && json_object_set_new(spec, "forkable", json_true()) < 0) {
        json_decref(spec);
        spec = NULL;
    }
    json_t *request = json_pack("{s:s, s:s*, s:o}", "request", "session.start", "name",
                                args->texts[SC_TEXT_NAME], "spec", spec);
    if (sc_cli_session_add_times(request, args, &err) < 0) {
        json_decref(request);
        return sc_cli_session_fail(&err);
    }
    const struct sc_keeper_exchange exchange = {.stop_fd = session->signal_fd};
    if (sc_keeper_ask(session->client, request, &exchange, &reply, &err) < 0)
        return sc_cli_session_fail(&err);
    const char *id = json_string_value(json_object_get(reply, "session"));
    int status = sc_cli_print(strdup(id ? id : ""));
    json_decref(reply);
    return status;
}
