/* Secrets: environment variables whose values are told to nobody but the session's programs. They stand in
 * `env` as all do, so that whoever makes cells needs no second list; their names stand in `secrets`, so that
 * whoever prints a spec leaves the values out. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "spec/json_read.h"
#include "spec/spec_internal.h"

static bool is_named(const struct sc_spec *spec, const char *name, size_t len)
{
    for (size_t i = 0; i < spec->secrets.n; i++)
        if (strlen(spec->secrets.v[i]) == len && !memcmp(spec->secrets.v[i], name, len))
            return true;
    return false;
}

bool sc_spec_is_secret(const struct sc_spec *spec, const char *entry)
{
    return is_named(spec, entry, strcspn(entry, "="));
}

const char *sc_spec_secret(const struct sc_spec *spec, const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < spec->env.n && is_named(spec, name, len); i++)
        if (!strncmp(spec->env.v[i], name, len) && spec->env.v[i][len] == '=')
            return spec->env.v[i] + len + 1;
    return NULL;
}

static bool is_set(const struct sc_spec *spec, const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < spec->env.n; i++)
        if (!strncmp(spec->env.v[i], name, len) && spec->env.v[i][len] == '=')
            return true;
    return false;
}

/* No error shows a value. */
static int check(const struct sc_spec *spec, const char *field, const char *name, const char *value,
                 struct sc_err *err)
{
    int r = sc_spec_env_name_ok(field, name, strlen(name), err);
    if (r < 0)
        return r;
    if (is_set(spec, name))
        return sc_spec_bad(err, field, name, "is given twice, or stands in env, too: allowed is one of them");
    if (spec->secrets.n >= SC_SPEC_SECRETS_MAX)
        return sc_spec_bad(err, field, name, "more than the %d secrets allowed", SC_SPEC_SECRETS_MAX);
    if (!*value || strlen(value) > SC_SPEC_SECRET_BYTES_MAX || !sc_utf8_valid(value, strlen(value)))
        return sc_spec_bad(err, field, name, "its value must be 1 to %d bytes of UTF-8 without a NUL",
                           SC_SPEC_SECRET_BYTES_MAX);
    return 0;
}

int sc_spec_add_secret(struct sc_spec *spec, const char *field, const char *name, const char *value,
                       struct sc_err *err)
{
    int r = check(spec, field, name, value, err);
    if (r == 0)
        r = sc_spec_add_env(spec, field, name, value, err);
    if (r == 0 && sc_strv_add(&spec->secrets, name) < 0)
        r = sc_spec_no_memory(err);
    return r;
}

/* A file's only line, without its end. */
static int read_line(const char *path, struct sc_buf *ret_text, struct sc_err *err)
{
    sc_buf_init(ret_text, SC_SPEC_SECRET_BYTES_MAX + 3);
    int r = sc_buf_read_file(ret_text, AT_FDCWD, path);
    if (r == -EMSGSIZE)
        return sc_spec_bad(err, "secret", path, "allowed: up to %d bytes", SC_SPEC_SECRET_BYTES_MAX);
    if (r < 0)
        return sc_spec_bad(err, "secret", path, "cannot be read: %s", strerror(-r));
    while (ret_text->len && strchr("\r\n", ret_text->data[ret_text->len - 1]))
        ret_text->len--;
    if (memchr(ret_text->len ? (char *)ret_text->data : "", '\0', ret_text->len))
        return sc_spec_bad(err, "secret", path, "holds a NUL byte");
    return sc_buf_add(ret_text, "", 1) < 0 ? sc_spec_no_memory(err) : 0;
}

int sc_spec_add_secret_file(struct sc_spec *spec, const char *text, struct sc_err *err)
{
    const char *equals = strchr(text, '=');
    struct sc_buf value;
    if (!equals || equals == text || !equals[1])
        return sc_spec_bad(err, "secret", text, "allowed: NAME=FILE, the value being the line in FILE");
    char *name = strndup(text, (size_t)(equals - text));
    if (!name)
        return sc_spec_no_memory(err);
    int r = read_line(equals + 1, &value, err);
    if (r == 0)
        r = sc_spec_add_secret(spec, "secret", name, (const char *)value.data, err);
    if (value.data)
        explicit_bzero(value.data, value.len);
    sc_buf_fini(&value);
    free(name);
    return r;
}

int sc_spec_read_secrets(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    const char *name;
    json_t *entry;
    if (!json_is_object(value))
        return sc_json_wrong_type(path, value, "an object of strings", err);
    json_object_foreach((json_t *)value, name, entry)
    {
        char here[SC_ERR_FIELD_MAX];
        sc_json_join_path(here, path, name);
        const char *text = sc_json_text(entry, here, err);
        int r = text ? sc_spec_add_secret(into, here, name, text, err) : -EINVAL;
        if (r < 0)
            return r;
    }
    return 0;
}

int sc_spec_take_secrets(struct sc_spec *spec, const struct sc_spec *from, struct sc_err *err)
{
    int r = 0;
    for (size_t i = 0; i < from->secrets.n && r == 0; i++) {
        const char *name = from->secrets.v[i], *value = sc_spec_secret(from, name);
        if (value && !is_named(spec, name, strlen(name)))
            r = sc_spec_add_secret(spec, "secrets", name, value, err);
    }
    return r;
}

void sc_spec_wipe_secrets(struct sc_spec *spec)
{
    for (size_t i = 0; i < spec->env.n && spec->secrets.n; i++)
        if (sc_spec_is_secret(spec, spec->env.v[i]))
            explicit_bzero(spec->env.v[i], strlen(spec->env.v[i]));
    sc_strv_fini(&spec->secrets);
}
