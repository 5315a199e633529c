/* Setters of what runs, its arguments and its stdin. */
#include "spec/spec.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "spec/spec_internal.h"

int sc_spec_set_code(struct sc_spec *spec, const char *code, size_t len, struct sc_err *err)
{
    if (len > SC_SPEC_CODE_MAX)
        return sc_err_usage(err, "code", "code: %zu bytes: at most %llu are allowed", len, SC_SPEC_CODE_MAX);
    if (!sc_utf8_valid(code, len))
        return sc_err_usage(err, "code", "code: not UTF-8: only UTF-8 text is allowed");
    if (len && memchr(code, '\0', len))
        return sc_err_usage(err, "code", "code: holds a NUL byte: only text is allowed");
    return sc_spec_put_data(&spec->code, &spec->code_len, code, len, err);
}

int sc_spec_set_program(struct sc_spec *spec, const char *host_path, struct sc_err *err)
{
    int r = sc_spec_host_path_ok("program", host_path, err);
    return r < 0 ? r : sc_spec_put_text(&spec->program, host_path, err);
}

static int set_args(struct sc_spec *spec, const char *field, const char *const *args, struct sc_err *err)
{
    struct sc_strv list = {0};
    int r = 0;
    for (; *args && r == 0; args++) {
        if (list.n >= SC_SPEC_ARGS_MAX)
            r = sc_err_usage(err, field, "%s: more than the %d entries allowed", field, SC_SPEC_ARGS_MAX);
        else
            r = sc_spec_text_ok(field, *args, SC_SPEC_ARG_BYTES_MAX - 1, err);
        if (r == 0 && sc_strv_add(&list, *args) < 0)
            r = sc_spec_no_memory(err);
    }
    if (r < 0) {
        sc_strv_fini(&list);
        return r;
    }
    sc_strv_fini(&spec->args);
    spec->args = list;
    return 0;
}

int sc_spec_set_args(struct sc_spec *spec, const char *const *args, struct sc_err *err)
{
    return set_args(spec, "args", args, err);
}

int sc_spec_set_command(struct sc_spec *spec, const char *const *argv, struct sc_err *err)
{
    if (!argv[0] || !*argv[0])
        return sc_err_usage(err, "command", "command: empty: the program to run must stand first");
    int r = set_args(spec, "command", argv, err);
    if (r == 0)
        spec->command = true;
    return r;
}

int sc_spec_set_stdin(struct sc_spec *spec, const void *data, size_t len, struct sc_err *err)
{
    if (len > SC_SPEC_STDIN_MAX)
        return sc_err_usage(err, "stdin", "stdin: %zu bytes: at most %llu are allowed", len,
                            SC_SPEC_STDIN_MAX);
    return sc_spec_put_data(&spec->stdin_data, &spec->stdin_len, data, len, err);
}
