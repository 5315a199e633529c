/* `validate` of a spec: reading the code before it runs. Its setters, from text and from JSON. */
#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "spec/json_read.h"
#include "spec/spec.h"
#include "spec/spec_internal.h"

static bool is_rule_file(const char *text)
{
    size_t len = strlen(text);
    return strchr(text, '/') || (len > 4 && !strcmp(text + len - 4, ".scm"));
}

int sc_spec_rules_ok(const char *field, const char *text, struct sc_err *err)
{
    if (is_rule_file(text))
        return sc_spec_host_path_ok(field, text, err);
    if (!strcmp(text, "default") || !strcmp(text, "strict"))
        return 0;
    return sc_spec_bad(err, field, text, "allowed are default, strict, and the path of a .scm file");
}

int sc_spec_denied_ok(const char *field, const char *text, struct sc_err *err)
{
    int r = sc_spec_text_ok(field, text, SC_SPEC_DENIED_BYTES_MAX, err);
    if (r < 0)
        return r;
    for (const char *at = text; *at; at++)
        if ((unsigned char)*at <= ' ' || *at == 0x7f)
            return sc_spec_bad(err, field, text, "no name: no blanks and control characters are allowed");
    return *text ? 0 : sc_spec_bad(err, field, text, "empty: a name like os or subprocess.run is needed");
}

static size_t list_max(const struct sc_validate *validate, const struct sc_strv *list)
{
    return list == &validate->rules ? SC_SPEC_RULES_MAX : SC_SPEC_DENIED_MAX;
}

int sc_spec_add_validate(struct sc_validate *validate, struct sc_strv *list, const char *field,
                         const char *text, int (*ok)(const char *, const char *, struct sc_err *),
                         struct sc_err *err)
{
    int r = ok(field, text, err);
    if (r < 0)
        return r;
    if (list->n >= list_max(validate, list))
        return sc_err_usage(err, field, "%s: more than the %zu entries allowed", field,
                            list_max(validate, list));
    if (sc_strv_add(list, text) < 0)
        return sc_spec_no_memory(err);
    validate->on = true;
    return 0;
}

/* Nothing is left of what was asked for before. */
static void turn_off(struct sc_validate *validate)
{
    sc_strv_fini(&validate->rules);
    sc_strv_fini(&validate->deny_modules);
    sc_strv_fini(&validate->deny_calls);
    *validate = (struct sc_validate){0};
}

int sc_spec_set_validate(struct sc_validate *validate, const char *field, const char *text,
                         struct sc_err *err)
{
    if (!strcmp(text, "off")) {
        turn_off(validate);
        return 0;
    }
    int word = 0;
    if (sc_spec_word(SC_SPEC_ON_FINDINGS, field, text, &word, NULL) < 0)
        return sc_spec_bad(err, field, text, "allowed: off, block, report");
    validate->on = true;
    validate->on_finding = (enum sc_on_finding)word;
    return 0;
}

/* ---- JSON ---- */

static int read_entry(struct sc_validate *validate, struct sc_strv *list, const json_t *value,
                      const char *path, int (*ok)(const char *, const char *, struct sc_err *),
                      struct sc_err *err)
{
    const char *text = sc_json_text(value, path, err);
    return text ? sc_spec_add_validate(validate, list, path, text, ok, err) : -EINVAL;
}

static int read_rule(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    struct sc_validate *validate = into;
    return read_entry(validate, &validate->rules, value, path, sc_spec_rules_ok, err);
}

static int read_module(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    struct sc_validate *validate = into;
    return read_entry(validate, &validate->deny_modules, value, path, sc_spec_denied_ok, err);
}

static int read_call(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    struct sc_validate *validate = into;
    return read_entry(validate, &validate->deny_calls, value, path, sc_spec_denied_ok, err);
}

static int read_rules(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    return sc_json_read_list(into, value, path, read_rule, err);
}

static int read_deny_modules(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    return sc_json_read_list(into, value, path, read_module, err);
}

static int read_deny_calls(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    return sc_json_read_list(into, value, path, read_call, err);
}

static int read_on_finding(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    const char *text = sc_json_text(value, path, err);
    int word = 0, r = text ? sc_spec_word(SC_SPEC_ON_FINDINGS, path, text, &word, err) : -EINVAL;
    if (r == 0)
        ((struct sc_validate *)into)->on_finding = (enum sc_on_finding)word;
    return r;
}

int sc_spec_read_validate(struct sc_validate *validate, const json_t *value, const char *path,
                          struct sc_err *err)
{
    static const struct sc_json_field fields[] = {{"rules", read_rules},
                                                  {"on_finding", read_on_finding},
                                                  {"deny_modules", read_deny_modules},
                                                  {"deny_calls", read_deny_calls},
                                                  {NULL}};
    if (json_is_false(value)) {
        turn_off(validate);
        return 0;
    }
    if (!json_is_true(value) && !json_is_object(value))
        return sc_json_wrong_type(path, value, "true, false or an object", err);
    validate->on = true;
    return json_is_true(value) ? 0 : sc_json_read_object(validate, value, path, fields, err);
}
