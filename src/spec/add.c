/* Adders from text: one more of a repeatable option. */
#include "spec/spec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "spec/spec_internal.h"

/* Cuts "A:B:C" at unescaped colons into at most three owned parts. "\:" is a colon, "\\" a backslash. */
struct parts {
    char *v[3];
    size_t n;
};

static void parts_fini(struct parts *parts)
{
    for (size_t i = 0; i < 3; i++)
        free(parts->v[i]);
}

static char *part_steal(struct parts *parts, size_t i)
{
    char *part = parts->v[i];
    parts->v[i] = NULL;
    return part;
}

/* Length up to the next colon that no backslash stands before. */
static size_t part_len(const char *text)
{
    size_t len = 0;
    while (text[len] && text[len] != ':')
        len += text[len] == '\\' && text[len + 1] ? 2 : 1;
    return len;
}

static void unescape(char *text)
{
    char *to = text;
    for (const char *at = text; *at; at++) {
        if (*at == '\\' && (at[1] == ':' || at[1] == '\\'))
            at++;
        *to++ = *at;
    }
    *to = '\0';
}

/* `parts` is empty before, and to be given to parts_fini whatever comes of it. */
static int parts_split(const char *option, const char *value, size_t max, struct parts *parts,
                       struct sc_err *err)
{
    int r = sc_spec_text_ok(option, value, 3 * SC_SPEC_PATH_MAX, err);
    if (r < 0)
        return r;
    for (const char *at = value;; at++) {
        size_t len = part_len(at);
        if (parts->n == max)
            return sc_spec_bad(err, option, value,
                               "more than %zu parts: write a colon that belongs to a path as \"\\:\"", max);
        char *part = strndup(at, len);
        if (!part)
            return sc_spec_no_memory(err);
        unescape(part);
        parts->v[parts->n++] = part;
        at += len;
        if (!*at)
            return 0;
    }
}

static void strip_slashes(char *path)
{
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/')
        path[--len] = '\0';
}

/* Last component of a host path, owned; that of the real path where the text has none ("..", "/x/."). */
static int base_name(const char *option, const char *host, char **ret_name, struct sc_err *err)
{
    char *real = NULL, *copy = strdup(host);
    if (!copy)
        return sc_spec_no_memory(err);
    strip_slashes(copy);
    const char *slash = strrchr(copy, '/'), *name = slash ? slash + 1 : copy;
    if (!strcmp(name, ".") || !strcmp(name, "..")) {
        real = realpath(copy, NULL);
        int r = -errno;
        if (!real) {
            free(copy);
            return r == -ENOMEM ? sc_spec_no_memory(err) : sc_spec_bad(err, option, host, "%s", strerror(-r));
        }
        name = strrchr(real, '/') + 1;
    }
    int r = 0;
    if (!*name)
        r = sc_spec_bad(err, option, host, "has no name of its own: write SRC:DST");
    else if (!(*ret_name = strdup(name)))
        r = sc_spec_no_memory(err);
    free(real);
    free(copy);
    return r;
}

static int add_file(struct sc_spec *spec, const char *value, struct sc_err *err)
{
    struct parts parts = {0};
    int r = parts_split("file", value, 2, &parts, err);
    if (r == 0)
        r = sc_spec_host_path_ok("file", parts.v[0], err);
    if (r == 0 && parts.n == 1)
        r = base_name("file", parts.v[0], &parts.v[1], err);
    if (r == 0)
        r = sc_spec_inner_path_ok("file", parts.v[1], err);
    struct sc_spec_file *file = NULL;
    if (r == 0)
        r = sc_spec_new_file(spec, "file", &file, err);
    if (r == 0) {
        file->host = part_steal(&parts, 0);
        file->path = part_steal(&parts, 1);
    }
    parts_fini(&parts);
    return r;
}

/* "SRC", "SRC:DST" copy; "SRC:ro", "SRC:DST:ro" mount. */
static int dir_parts(struct parts *parts, bool *ret_mount, struct sc_err *err)
{
    *ret_mount = parts->n > 1 && !strcmp(parts->v[parts->n - 1], "ro");
    if (parts->n == 3 && !*ret_mount)
        return sc_spec_bad(err, "dir", parts->v[2], "allowed behind SRC:DST is only \":ro\"");
    if (*ret_mount) {
        parts->n--;
        free(parts->v[parts->n]);
        parts->v[parts->n] = NULL;
    }
    int r = sc_spec_host_path_ok("dir", parts->v[0], err);
    if (r < 0 || parts->n == 2)
        return r;
    if (!*ret_mount)
        return base_name("dir", parts->v[0], &parts->v[1], err);
    parts->v[1] = realpath(parts->v[0], NULL);
    if (parts->v[1])
        return 0;
    r = -errno;
    return r == -ENOMEM ? sc_spec_no_memory(err) : sc_spec_bad(err, "dir", parts->v[0], "%s", strerror(-r));
}

static int add_dir(struct sc_spec *spec, const char *value, struct sc_err *err)
{
    struct parts parts = {0};
    bool mount = false;
    int r = parts_split("dir", value, 3, &parts, err);
    if (r == 0)
        r = dir_parts(&parts, &mount, err);
    if (r == 0)
        strip_slashes(parts.v[1]);
    if (r == 0)
        r = mount ? sc_spec_mount_path_ok("dir", parts.v[1], err)
                  : sc_spec_inner_path_ok("dir", parts.v[1], err);
    struct sc_spec_dir *dir = NULL;
    if (r == 0)
        r = sc_spec_new_dir(spec, "dir", &dir, err);
    if (r == 0) {
        dir->host = part_steal(&parts, 0);
        dir->path = part_steal(&parts, 1);
        dir->read_only_mount = mount;
    }
    parts_fini(&parts);
    return r;
}

static int add_out(struct sc_spec *spec, const char *value, struct sc_err *err)
{
    struct parts parts = {0};
    int r = parts_split("out", value, 2, &parts, err);
    if (r == 0 && parts.n == 1 && !(parts.v[1] = strdup(".")))
        r = sc_spec_no_memory(err);
    if (r == 0)
        strip_slashes(parts.v[0]);
    if (r == 0)
        r = sc_spec_inner_path_ok("out", parts.v[0], err);
    if (r == 0)
        r = sc_spec_host_path_ok("out", parts.v[1], err);
    struct sc_spec_out *out = NULL;
    if (r == 0)
        r = sc_spec_new_out(spec, "out", &out, err);
    if (r == 0) {
        out->glob = part_steal(&parts, 0);
        out->dir = part_steal(&parts, 1);
    }
    parts_fini(&parts);
    return r;
}

int sc_spec_add_env(struct sc_spec *spec, const char *field, const char *name, const char *value,
                    struct sc_err *err)
{
    int r = sc_spec_env_name_ok(field, name, strlen(name), err);
    if (r == 0)
        r = sc_spec_text_ok(field, value, SC_SPEC_ARG_BYTES_MAX - 1, err);
    if (r < 0)
        return r;
    if (sc_spec_is_secret(spec, name))
        return sc_spec_bad(err, field, name, "is a secret already: allowed is one of them");
    if (spec->env.n >= SC_SPEC_ARGS_MAX)
        return sc_spec_bad(err, field, name, "more than the %d variables allowed", SC_SPEC_ARGS_MAX);
    return sc_strv_set_env(&spec->env, name, value) < 0 ? sc_spec_no_memory(err) : 0;
}

static int add_env(struct sc_spec *spec, const char *value, struct sc_err *err)
{
    const char *equals = strchr(value, '=');
    if (!equals)
        return sc_spec_bad(err, "env", value, "must be NAME=VALUE: nothing is inherited from the caller");
    char *name = strndup(value, (size_t)(equals - value));
    if (!name)
        return sc_spec_no_memory(err);
    int r = sc_spec_add_env(spec, "env", name, equals + 1, err);
    free(name);
    return r;
}

static int add_degraded(struct sc_spec *spec, const char *value, struct sc_err *err)
{
    uint32_t bits = spec->allow_degraded;
    for (const char *at = value;;) {
        size_t len = strcspn(at, ",");
        int r = sc_spec_degrade("allow-degraded", at, len, &bits, err);
        if (r < 0)
            return r;
        if (!at[len])
            break;
        at += len + 1;
    }
    spec->allow_degraded = bits;
    return 0;
}

static int add_rules(struct sc_spec *spec, const char *value, struct sc_err *err)
{
    return sc_spec_add_validate(&spec->validate, &spec->validate.rules, "rules", value, sc_spec_rules_ok,
                                err);
}

static int add_deny_module(struct sc_spec *spec, const char *value, struct sc_err *err)
{
    return sc_spec_add_validate(&spec->validate, &spec->validate.deny_modules, "deny-module", value,
                                sc_spec_denied_ok, err);
}

static int add_deny_call(struct sc_spec *spec, const char *value, struct sc_err *err)
{
    return sc_spec_add_validate(&spec->validate, &spec->validate.deny_calls, "deny-call", value,
                                sc_spec_denied_ok, err);
}

static int add_allow(struct sc_spec *spec, const char *value, struct sc_err *err)
{
    return sc_net_add_rule(&spec->net, true, "allow", value, err);
}

static int add_deny(struct sc_spec *spec, const char *value, struct sc_err *err)
{
    return sc_net_add_rule(&spec->net, false, "deny", value, err);
}

static int add_http(struct sc_spec *spec, const char *value, struct sc_err *err)
{
    return sc_net_add_http(&spec->net, "http", value, err);
}

static int add_credential_header(struct sc_spec *spec, const char *value, struct sc_err *err)
{
    return sc_net_add_credential_header(&spec->net, "credential-header", value, err);
}

static int add_credential_basic(struct sc_spec *spec, const char *value, struct sc_err *err)
{
    return sc_net_add_credential_basic(&spec->net, "credential-basic", value, err);
}

static int add_internal(struct sc_spec *spec, const char *value, struct sc_err *err)
{
    return sc_net_add_internal(&spec->net, "internal", value, err);
}

static int add_import(struct sc_spec *spec, const char *value, struct sc_err *err)
{
    return sc_spec_add_import(&spec->imports, "import", value, err);
}

int sc_spec_add(struct sc_spec *spec, const char *option, const char *value, struct sc_err *err)
{
    static const char *const names[] = {"file",
                                        "dir",
                                        "out",
                                        "env",
                                        "secret",
                                        "allow-degraded",
                                        "rules",
                                        "deny-module",
                                        "deny-call",
                                        "allow",
                                        "deny",
                                        "internal",
                                        "import",
                                        "http",
                                        "credential-header",
                                        "credential-basic",
                                        NULL};
    static int (*const adders[])(struct sc_spec *, const char *, struct sc_err *) = {add_file,
                                                                                     add_dir,
                                                                                     add_out,
                                                                                     add_env,
                                                                                     sc_spec_add_secret_file,
                                                                                     add_degraded,
                                                                                     add_rules,
                                                                                     add_deny_module,
                                                                                     add_deny_call,
                                                                                     add_allow,
                                                                                     add_deny,
                                                                                     add_internal,
                                                                                     add_import,
                                                                                     add_http,
                                                                                     add_credential_header,
                                                                                     add_credential_basic};
    for (size_t i = 0; names[i]; i++)
        if (!strcmp(names[i], option))
            return adders[i](spec, value, err);
    return sc_spec_unknown_option(option, names, "repeatable option", err);
}
