/* A deep copy of a spec. */
#include "spec/spec.h"

#include <stdlib.h>
#include <string.h>

#include "spec/spec_internal.h"

static int copy_text(const char *from, char **to)
{
    return from ? sc_spec_put_text(to, from, NULL) : 0;
}

static int copy_list(const struct sc_strv *from, struct sc_strv *to)
{
    for (size_t i = 0; i < from->n; i++) {
        int r = sc_strv_add(to, from->v[i]);
        if (r < 0)
            return r;
    }
    return 0;
}

static int copy_texts(const struct sc_spec *from, struct sc_spec *to)
{
    int r = copy_text(from->program, &to->program);
    if (r == 0)
        r = copy_text(from->cwd, &to->cwd);
    if (r == 0)
        r = copy_text(from->root, &to->root);
    if (r == 0)
        r = copy_text(from->venv, &to->venv);
    if (r == 0)
        r = copy_text(from->interpreter, &to->interpreter);
    if (r == 0)
        r = copy_text(from->pin, &to->pin);
    if (r == 0)
        r = copy_text(from->cgroup_parent, &to->cgroup_parent);
    if (r == 0)
        r = copy_text(from->template, &to->template);
    if (r == 0 && from->code)
        r = sc_spec_put_data(&to->code, &to->code_len, from->code, from->code_len, NULL);
    if (r == 0 && from->stdin_data)
        r = sc_spec_put_data(&to->stdin_data, &to->stdin_len, from->stdin_data, from->stdin_len, NULL);
    return r;
}

static int copy_file(const struct sc_spec_file *from, struct sc_spec *to)
{
    struct sc_spec_file *file = NULL;
    int r = sc_spec_new_file(to, "file", &file, NULL);
    if (r < 0)
        return r;
    file->mode = from->mode;
    r = copy_text(from->path, &file->path);
    if (r == 0)
        r = copy_text(from->host, &file->host);
    if (r == 0 && from->data)
        r = sc_spec_put_data(&file->data, &file->len, from->data, from->len, NULL);
    return r;
}

static int copy_dir(const struct sc_spec_dir *from, struct sc_spec *to)
{
    struct sc_spec_dir *dir = NULL;
    int r = sc_spec_new_dir(to, "dir", &dir, NULL);
    if (r < 0)
        return r;
    dir->read_only_mount = from->read_only_mount;
    r = copy_text(from->host, &dir->host);
    return r < 0 ? r : copy_text(from->path, &dir->path);
}

static int copy_out(const struct sc_spec_out *from, struct sc_spec *to)
{
    struct sc_spec_out *out = NULL;
    int r = sc_spec_new_out(to, "out", &out, NULL);
    if (r < 0)
        return r;
    r = copy_text(from->glob, &out->glob);
    return r < 0 ? r : copy_text(from->dir, &out->dir);
}

static int copy_tables(const struct sc_spec *from, struct sc_spec *to)
{
    int r = 0;
    for (size_t i = 0; i < from->n_files && r == 0; i++)
        r = copy_file(&from->files[i], to);
    for (size_t i = 0; i < from->n_dirs && r == 0; i++)
        r = copy_dir(&from->dirs[i], to);
    for (size_t i = 0; i < from->n_outs && r == 0; i++)
        r = copy_out(&from->outs[i], to);
    return r;
}

int sc_spec_copy(const struct sc_spec *spec, struct sc_spec *ret_copy)
{
    struct sc_spec copy;
    sc_spec_init(&copy);
    copy.limits = spec->limits;
    copy.limits_given = spec->limits_given;
    copy.lang = spec->lang;
    copy.profile = spec->profile;
    copy.overflow = spec->overflow;
    copy.disk_backing = spec->disk_backing;
    copy.allow_degraded = spec->allow_degraded;
    copy.command = spec->command;
    copy.stdin_fd = spec->stdin_fd;
    copy.pty = spec->pty;
    copy.mode = spec->mode;
    copy.validate.on = spec->validate.on;
    copy.validate.on_finding = spec->validate.on_finding;
    copy.deterministic = spec->deterministic;
    copy.forkable = spec->forkable;
    copy.zygote = spec->zygote;
    copy.session = spec->session;
    copy.template_applied = spec->template_applied;
    copy.n_own_env = spec->n_own_env;
    copy.n_own_files = spec->n_own_files;
    int r = copy_texts(spec, &copy);
    if (r == 0)
        r = copy_list(&spec->args, &copy.args);
    if (r == 0)
        r = copy_list(&spec->env, &copy.env);
    if (r == 0)
        r = copy_list(&spec->secrets, &copy.secrets);
    if (r == 0)
        r = copy_list(&spec->imports, &copy.imports);
    if (r == 0)
        r = copy_list(&spec->validate.rules, &copy.validate.rules);
    if (r == 0)
        r = copy_list(&spec->validate.deny_modules, &copy.validate.deny_modules);
    if (r == 0)
        r = copy_list(&spec->validate.deny_calls, &copy.validate.deny_calls);
    if (r == 0)
        r = copy_tables(spec, &copy);
    if (r == 0)
        r = sc_net_copy(&spec->net, &copy.net);
    if (r < 0) {
        sc_spec_fini(&copy);
        return r;
    }
    *ret_copy = copy;
    return 0;
}
