#include "gate/single.h"

#include <errno.h>
#include <string.h>

#include "spec/lang.h"

static bool has_runner(const json_t *spec)
{
    const char *language = json_string_value(json_object_get(spec, "language"));
    json_t *args = json_object_get(spec, "args");
    return json_object_get(spec, "code") && !args && language &&
           (!strcmp(language, "python") || !strcmp(language, "node") || !strcmp(language, "bash"));
}

int single_kind(json_t *spec, bool *ret_plain, struct sc_err *err)
{
    const char *mode = json_string_value(json_object_get(spec, "mode"));
    bool code = json_is_string(json_object_get(spec, "code")),
         command = json_is_array(json_object_get(spec, "command"));
    if (code == command)
        return sc_err_usage(err, code ? "command" : "code", "code, command: one of the two must be given");
    if (!mode && has_runner(spec)) {
        if (json_object_set_new(spec, "mode", json_string("rich")) < 0)
            return sc_err_sys(err, -ENOMEM, "gate");
        mode = "rich";
    }
    *ret_plain = !mode || !strcmp(mode, "plain");
    return 0;
}

static json_t *strings(const json_t *list)
{
    return json_is_array(list) ? json_copy((json_t *)list) : json_array();
}

/* Code becomes the file that plain runs have, and a command that runs it. */
static int add_source(json_t *spec, json_t **ret_command, struct sc_err *err)
{
    enum sc_lang lang = SC_LANG_AUTO;
    const char *name = json_string_value(json_object_get(spec, "language"));
    const struct sc_lang_row *row = name && sc_lang_by_name(name, &lang) == 0 ? sc_lang_row(lang) : NULL;
    if (!row || !row->source_name)
        return sc_err_usage(err, "language",
                            "language: is needed with code; allowed are python, node, bash, java");
    json_t *files = strings(json_object_get(spec, "files"));
    json_t *arguments = json_object_get(spec, "args");
    json_t *source =
        json_pack("{s:s, s:O}", "path", row->source_name, "content", json_object_get(spec, "code"));
    *ret_command = json_pack("[s, s]", row->interpreter, row->source_name);
    if (json_array_append_new(files, source) < 0 || json_object_set(spec, "files", files) < 0 ||
        !*ret_command || (json_is_array(arguments) && json_array_extend(*ret_command, arguments) < 0)) {
        json_decref(files);
        return sc_err_sys(err, -ENOMEM, "gate");
    }
    json_decref(files);
    return 0;
}

int single_split(json_t *spec, json_t **ret_message, struct sc_err *err)
{
    static const char *const gone[] = {"command", "code",  "language",  "args",
                                       "mode",    "stdin", "stdin_b64", NULL};
    static const char *const kept[] = {"stdin", "stdin_b64", NULL};
    json_t *command = json_incref(json_object_get(spec, "command"));
    json_t *message = json_pack("{s:s}", "request", "exec");
    int r = command ? 0 : add_source(spec, &command, err);
    for (size_t i = 0; r == 0 && kept[i]; i++)
        if (json_object_get(spec, kept[i]) &&
            json_object_set(message, kept[i], json_object_get(spec, kept[i])) < 0)
            r = sc_err_sys(err, -ENOMEM, "gate");
    if (r == 0 && json_object_set(message, "command", command) < 0)
        r = sc_err_sys(err, -ENOMEM, "gate");
    json_decref(command);
    if (r < 0) {
        json_decref(message);
        return r;
    }
    for (size_t i = 0; gone[i]; i++)
        (void)json_object_del(spec, gone[i]);
    *ret_message = message;
    return 0;
}
