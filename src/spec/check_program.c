/* The check's part about what runs: program, code or command, and its language. */
#include "spec/spec.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "spec/lang.h"
#include "spec/spec_internal.h"

#define HEAD_MAX 256 /* of a file whose suffix says nothing: as much as the kernel reads of a shebang */

/* "./tool" and "build/tool" are host files that go into the cell; "tool" and "/usr/bin/tool" are looked up
 * there. */
static void command_to_program(struct sc_spec *spec)
{
    if (!spec->command || spec->args.n == 0 || spec->args.v[0][0] == '/' || !strchr(spec->args.v[0], '/'))
        return;
    spec->program = spec->args.v[0];
    spec->args.n--;
    memmove(spec->args.v, spec->args.v + 1, (spec->args.n + 1) * sizeof *spec->args.v);
    spec->command = false;
}

static int check_code(const struct sc_spec *spec, struct sc_err *err)
{
    if (spec->code_len > SC_SPEC_CODE_MAX)
        return sc_err_usage(err, "code", "code: %zu bytes: at most %llu are allowed", spec->code_len,
                            SC_SPEC_CODE_MAX);
    if (!sc_utf8_valid(spec->code, spec->code_len))
        return sc_err_usage(err, "code", "code: not UTF-8: only UTF-8 text is allowed");
    if (memchr(spec->code, '\0', spec->code_len))
        return sc_err_usage(err, "code", "code: holds a NUL byte: only text is allowed");
    const struct sc_lang_row *row = sc_lang_row(spec->lang);
    if (!row)
        return sc_err_usage(err, "language",
                            "language: not given: code needs one of python, node, bash, java");
    if (!row->source_name)
        return sc_spec_bad(err, "language", row->name, "code needs one of python, node, bash, java");
    return 0;
}

static int check_command(const struct sc_spec *spec, struct sc_err *err)
{
    if (spec->args.n == 0 || !*spec->args.v[0])
        return sc_err_usage(err, "command", "command: empty: the program to run must stand first");
    if (spec->lang != SC_LANG_AUTO)
        return sc_spec_bad(err, "language", sc_lang_name(spec->lang),
                           "allowed with program or code, not with a command");
    if (spec->interpreter)
        return sc_spec_bad(err, "interpreter", spec->interpreter,
                           "allowed with program or code; a command names its own");
    return 0;
}

static int lang_from_head(const char *program, enum sc_lang *ret_lang, struct sc_err *err)
{
    char head[HEAD_MAX];
    int fd = open(program, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    ssize_t n = fd < 0 ? -1 : pread(fd, head, sizeof head, 0);
    int r = -errno;
    sc_close(&fd);
    if (n < 0)
        return sc_spec_bad(err, "program", program, "%s", strerror(-r));
    *ret_lang = sc_lang_by_head(head, (size_t)n);
    if (*ret_lang == SC_LANG_AUTO)
        return sc_spec_bad(
            err, "program", program,
            "its language cannot be told: allowed are the suffixes .py .js .mjs .cjs .sh .bash .java, "
            "a \"#!\" line, an ELF program, or language python, node, bash, java, native");
    return 0;
}

static int check_program_file(struct sc_spec *spec, struct sc_err *err)
{
    struct stat st;
    int r = sc_spec_host_file_ok("program", spec->program, &st, err);
    if (r < 0)
        return r;
    if (spec->lang == SC_LANG_AUTO)
        spec->lang = sc_lang_by_suffix(spec->program);
    if (spec->lang == SC_LANG_AUTO)
        r = lang_from_head(spec->program, &spec->lang, err);
    if (r == 0 && spec->lang == SC_LANG_NATIVE && !(st.st_mode & 0111))
        r = sc_spec_bad(err, "program", spec->program,
                        "not executable: a native program needs its x permission");
    return r;
}

static int check_lang_options(const struct sc_spec *spec, struct sc_err *err)
{
    if (spec->venv && spec->lang != SC_LANG_PYTHON && spec->lang != SC_LANG_AUTO)
        return sc_spec_bad(err, "venv", spec->venv, "allowed with language python, not %s",
                           sc_lang_name(spec->lang));
    if (spec->interpreter && spec->lang == SC_LANG_NATIVE)
        return sc_spec_bad(err, "interpreter", spec->interpreter, "a native program has none");
    return 0;
}

int sc_spec_check_program(struct sc_spec *spec, struct sc_err *err)
{
    int given = !!spec->program + !!spec->code + spec->command;
    if (spec->session && given)
        return sc_err_usage(err, "program",
                            "program: a session runs nothing by itself: neither program, code nor command is "
                            "allowed, its runs bring theirs");
    if (spec->session)
        return check_lang_options(spec, err);
    if (given != 1)
        return sc_err_usage(err, "program",
                            "program: %s: exactly one of program, code and command is allowed",
                            given ? "more than one thing to run" : "nothing to run");
    command_to_program(spec);
    int r = spec->code      ? check_code(spec, err)
            : spec->command ? check_command(spec, err)
                            : check_program_file(spec, err);
    return r < 0 ? r : check_lang_options(spec, err);
}
