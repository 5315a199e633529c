/* What a request does not say, from elsewhere: the one place where two specs become one. */
#include <stdlib.h>
#include <string.h>

#include "spec/spec.h"
#include "spec/spec_internal.h"

static void fill_limits(struct sc_spec *spec, const struct sc_spec *defaults)
{
    struct sc_limits from = defaults->limits;
    for (const struct sc_limit_row *row = SC_LIMIT_ROWS; row->option; row++) {
        uint32_t bit = 1u << sc_limit_index(row);
        if ((defaults->limits_given & bit) && !(spec->limits_given & bit))
            *sc_limit_value(&spec->limits, row) = *sc_limit_value(&from, row);
    }
}

static bool names_variable(const struct sc_strv *env, const char *entry)
{
    size_t len = strcspn(entry, "=") + 1;
    for (size_t i = 0; i < env->n; i++)
        if (!strncmp(env->v[i], entry, len))
            return true;
    return false;
}

static int fill_env(struct sc_spec *spec, const struct sc_spec *defaults, struct sc_err *err)
{
    for (size_t i = 0; i < defaults->env.n; i++)
        if (!names_variable(&spec->env, defaults->env.v[i]) &&
            sc_strv_add(&spec->env, defaults->env.v[i]) < 0)
            return sc_spec_no_memory(err);
    return 0;
}

static bool has_file(const struct sc_spec *spec, const char *path)
{
    for (size_t i = 0; i < spec->n_files; i++)
        if (!strcmp(spec->files[i].path, path))
            return true;
    return false;
}

static int fill_files(struct sc_spec *spec, const struct sc_spec *defaults, struct sc_err *err)
{
    int r = 0;
    for (size_t i = 0; i < defaults->n_files && r == 0; i++) {
        const struct sc_spec_file *from = &defaults->files[i];
        struct sc_spec_file *file = NULL;
        if (has_file(spec, from->path))
            continue;
        r = sc_spec_new_file(spec, "file", &file, err);
        if (r < 0)
            return r;
        file->mode = from->mode;
        r = sc_spec_put_text(&file->path, from->path, err);
        if (r == 0 && from->host)
            r = sc_spec_put_text(&file->host, from->host, err);
        if (r == 0 && from->data)
            r = sc_spec_put_data(&file->data, &file->len, from->data, from->len, err);
    }
    return r;
}

int sc_spec_add_mount(struct sc_spec *spec, const char *host, const char *path, struct sc_err *err)
{
    struct sc_spec_dir *dir = NULL;
    int r = sc_spec_host_path_ok("dir", host, err);
    if (r == 0)
        r = sc_spec_mount_path_ok("dir", path, err);
    if (r == 0)
        r = sc_spec_new_dir(spec, "dir", &dir, err);
    if (r < 0)
        return r;
    dir->read_only_mount = true;
    r = sc_spec_put_text(&dir->host, host, err);
    return r < 0 ? r : sc_spec_put_text(&dir->path, path, err);
}

/* Where both say something, both must allow. */
static int fill_network(struct sc_spec *spec, const struct sc_spec *defaults, struct sc_err *err)
{
    const struct sc_net *from = &defaults->net;
    if (!from->given)
        return 0;
    if (spec->net.given && spec->net.mode == SC_NET_NONE)
        return 0;
    if (spec->net.given && from->mode == SC_NET_NONE)
        return sc_err_usage(err, "network", "network: the template gives its cells none: allowed is none");
    /* Also behind its own copy, so that who changes a session's rules later changes the first layer only. */
    if (!spec->net.given && sc_net_copy(from, &spec->net) < 0)
        return sc_spec_no_memory(err);
    if (from->mode == SC_NET_NONE)
        return 0;
    struct sc_net **last = &spec->net.within;
    for (int depth = 1; *last; depth++, last = &(*last)->within)
        if (depth == SC_NET_WITHIN_MAX - 2) /* this one, and a tenant's */
            return sc_err_usage(err, "network.within", "network.within: deeper than the %d levels allowed",
                                SC_NET_WITHIN_MAX - 2);
    return sc_net_add_within(&spec->net, from) < 0 ? sc_spec_no_memory(err) : 0;
}

int sc_spec_fill(struct sc_spec *spec, const struct sc_spec *defaults, struct sc_err *err)
{
    int r = 0;
    if (spec->code && spec->lang == SC_LANG_AUTO)
        spec->lang = defaults->lang;
    fill_limits(spec, defaults);
    if (!spec->root && defaults->root)
        r = sc_spec_put_text(&spec->root, defaults->root, err);
    if (r == 0)
        r = fill_env(spec, defaults, err);
    if (r == 0)
        r = fill_files(spec, defaults, err);
    if (r == 0)
        r = fill_network(spec, defaults, err);
    for (size_t i = 0; i < defaults->n_dirs && r == 0; i++)
        if (defaults->dirs[i].read_only_mount)
            r = sc_spec_add_mount(spec, defaults->dirs[i].host, defaults->dirs[i].path, err);
    return r;
}
