#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/job.h"
#include "cli/session.h"
#include "spec/lang.h"

/* Everything up to `text`'s maximum, and not a byte more. */
static int read_fd(int fd, struct sc_buf *text)
{
    ssize_t n;
    do {
        size_t room = text->max - text->len;
        if (room == 0)
            return -EMSGSIZE;
        room = room < 65536 ? room : 65536;
        uint8_t *to = sc_buf_reserve(text, room);
        if (!to)
            return -ENOMEM;
        n = read(fd, to, room);
        if (n > 0)
            sc_buf_took(text, (size_t)n);
    } while (n > 0 || (n < 0 && errno == EINTR));
    return n < 0 ? -errno : 0;
}

int sc_cli_session_stdin(int fd, json_t *request, struct sc_err *err)
{
    struct sc_buf bytes, text;
    sc_buf_init(&bytes, SC_CLI_SESSION_STDIN_MAX + 1);
    sc_buf_init(&text, 2 * SC_CLI_SESSION_STDIN_MAX);
    int r = read_fd(fd, &bytes);
    if (r == 0)
        r = sc_b64_encode(&text, bytes.data ? (char *)bytes.data : "", bytes.len);
    if (r == 0 && json_object_set_new(request, "stdin_b64",
                                      json_stringn(text.data ? (char *)text.data : "", text.len)) < 0)
        r = -ENOMEM;
    sc_buf_fini(&bytes);
    sc_buf_fini(&text);
    if (r == -EMSGSIZE)
        return sc_err_usage(err, "stdin", "stdin: must be at most 32M long");
    return r < 0 ? sc_err_usage(err, "stdin", "stdin: %s", strerror(-r)) : 0;
}

static int put_code(json_t *request, const char *code, size_t len, struct sc_err *err)
{
    if (!sc_utf8_valid(code, len))
        return sc_err_usage(err, "code", "code: must be UTF-8");
    return json_object_set_new(request, "code", json_stringn(code, len)) < 0
               ? sc_err_sys(err, -ENOMEM, "session run")
               : 0;
}

static int put_file(json_t *request, const char *path, enum sc_lang *lang, struct sc_err *err)
{
    bool from_stdin = !strcmp(path, "-");
    struct sc_buf code;
    int fd = from_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return sc_err_usage(err, "", "%s: must be a file that can be read, or -: %s", path, strerror(errno));
    sc_buf_init(&code, SC_SPEC_CODE_MAX + 1);
    int r = read_fd(fd, &code);
    const char *text = code.data ? (const char *)code.data : "";
    if (r == -EMSGSIZE)
        r = sc_err_usage(err, "", "%s: must be at most 16M long", path);
    else if (r < 0)
        r = sc_err_usage(err, "", "%s: %s", path, strerror(-r));
    else
        r = put_code(request, text, code.len, err);
    if (r == 0 && *lang == SC_LANG_AUTO && !from_stdin)
        *lang = sc_lang_by_suffix(path);
    if (r == 0 && *lang == SC_LANG_AUTO)
        *lang = sc_lang_by_head(text, code.len);
    sc_buf_fini(&code);
    if (!from_stdin)
        close(fd);
    return r;
}

/* The keeper has another folder: files of rules go to it as they are meant here. */
static void make_rules_absolute(struct sc_strv *rules)
{
    for (size_t i = 0; i < rules->n; i++) {
        char *whole;
        if (!strpbrk(rules->v[i], "./") || !(whole = realpath(rules->v[i], NULL)))
            continue; /* the name of a set, or for the keeper to refuse */
        free(rules->v[i]);
        rules->v[i] = whole;
    }
}

/* How the code is read first, in the spec's own words. */
static int put_validate(json_t *request, struct sc_spec *spec)
{
    json_t *whole = NULL;
    json_error_t where;
    if (!spec->validate.on)
        return 0;
    make_rules_absolute(&spec->validate.rules);
    char *text = sc_spec_to_json(spec);
    int r = text ? sc_json_load(text, strlen(text), JSON_ALLOW_NUL, &whole, &where) : -ENOMEM;
    if (r == 0)
        r = json_object_set(request, "validate", json_object_get(whole, "validate"));
    json_decref(whole);
    free(text);
    return r;
}

static bool is_given(const struct sc_cli_args *args, const char *option)
{
    for (size_t i = 0; i < args->n_given; i++)
        if (!strcmp(args->given[i].name, option))
            return true;
    return false;
}

/* Language and mode are options of the spec, so that its setters say what is allowed. */
static int put_options(const struct sc_cli_args *args, json_t *request, struct sc_spec *spec,
                       enum sc_lang lang, struct sc_err *err)
{
    if (lang == SC_LANG_AUTO)
        return sc_err_usage(err, "", "session run: needs a language: --python, --node or --bash");
    int r = json_object_set_new(request, "language", json_string(sc_lang_name(lang)));
    if (r == 0 && is_given(args, "mode"))
        r = json_object_set_new(request, "mode", json_string(sc_mode_name(spec->mode)));
    if (r == 0)
        r = put_validate(request, spec);
    return r < 0 ? sc_err_sys(err, -ENOMEM, "session run") : 0;
}

int sc_cli_session_code(const struct sc_cli_args *args, json_t *request, struct sc_err *err)
{
    const char *code = args->texts[SC_TEXT_CODE];
    struct sc_spec spec;
    if (args->n_operands != !code)
        return sc_err_usage(err, "", "session run: needs one FILE, - for code on stdin, or -c CODE");
    sc_spec_init(&spec);
    int r = sc_cli_apply(&spec, args, err);
    enum sc_lang lang = spec.lang;
    if (r == 0)
        r = code ? put_code(request, code, strlen(code), err)
                 : put_file(request, args->operands[0], &lang, err);
    if (r == 0)
        r = put_options(args, request, &spec, lang, err);
    sc_spec_fini(&spec);
    return r;
}
