/* The check: what runs and in which language, host files and folders, what fits. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "spec/lang.h"
#include "spec/spec.h"

static struct sc_spec spec;
static struct sc_err err;
static char here[PATH_MAX], dir[64];

/* Every test runs in a folder of its own, which is gone afterwards. */
static int begin(void **state)
{
    (void)state;
    sc_spec_init(&spec);
    sc_err_clear(&err);
    snprintf(dir, sizeof dir, "/var/tmp/snapcell-test-XXXXXX");
    return getcwd(here, sizeof here) && mkdtemp(dir) && chdir(dir) == 0 ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    char command[128];
    sc_spec_fini(&spec);
    snprintf(command, sizeof command, "rm -r %s", dir);
    return chdir(here) == 0 && system(command) == 0 ? 0 : -1;
}

static void put(const char *path, const char *content, mode_t mode)
{
    int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, content, strlen(content)), strlen(content));
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

static int check(void)
{
    sc_err_clear(&err);
    return sc_spec_check(&spec, 8ull << 30, &err);
}

static void passes(void)
{
    if (check() < 0)
        fail_msg("%s", err.message);
}

static void refused(const char *field, const char *part)
{
    if (check() != -EINVAL)
        fail_msg("taken, expected %s: %s", field, part);
    assert_int_equal(err.kind, SC_ERR_USAGE);
    if (strcmp(err.field, field) || !strstr(err.message, part))
        fail_msg("[%s] %s; expected [%s] %s", err.field, err.message, field, part);
    assert_int_equal(strncmp(err.message, field, strlen(field)), 0);
}
#define SET(option, value) assert_int_equal(sc_spec_set(&spec, option, value, &err), 0)
#define ADD(option, value) assert_int_equal(sc_spec_add(&spec, option, value, &err), 0)
#define CODE(text) assert_int_equal(sc_spec_set_code(&spec, text, strlen(text), &err), 0)
#define PROGRAM(path) assert_int_equal(sc_spec_set_program(&spec, path, &err), 0)
#define COMMAND(...)                                                                                         \
    assert_int_equal(sc_spec_set_command(&spec, (const char *const[]){__VA_ARGS__, NULL}, &err), 0)

static void exactly_one_thing_runs(void **state)
{
    (void)state;
    refused("program", "nothing to run: exactly one of program, code and command");
    put("a.py", "", 0644);
    PROGRAM("a.py");
    passes();
    CODE("x");
    refused("program", "more than one thing to run");
    sc_spec_clear_program(&spec);
    COMMAND("ls");
    CODE("x");
    refused("program", "more than one thing to run");
}

static void code_needs_a_language(void **state)
{
    (void)state;
    CODE("1");
    refused("language", "code needs one of python, node, bash, java");
    SET("language", "native");
    refused("language", "native: code needs one of");
    SET("language", "node");
    passes();
    assert_int_equal(spec.lang, SC_LANG_NODE);
    free(spec.code);
    spec.code = strdup("a\xFF");
    spec.code_len = 2;
    refused("code", "not UTF-8");
    memcpy(spec.code, "\0a", 2);
    refused("code", "NUL");
}

static void languages_of_programs(void **state)
{
    (void)state;
    static const struct {
        const char *name, *content;
        enum sc_lang lang;
    } rows[] = {
        {"a.py", "", SC_LANG_PYTHON},
        {"a.js", "", SC_LANG_NODE},
        {"a.mjs", "", SC_LANG_NODE},
        {"a.cjs", "", SC_LANG_NODE},
        {"a.sh", "", SC_LANG_BASH},
        {"a.bash", "", SC_LANG_BASH},
        {"A.java", "", SC_LANG_JAVA},
        {"b.py", "#!/bin/bash\n", SC_LANG_PYTHON}, /* the suffix comes first */
        {"c1", "#!/usr/bin/python3\n", SC_LANG_PYTHON},
        {"c2", "#! /usr/local/bin/python3.11 -u\n", SC_LANG_PYTHON},
        {"c3", "#!/usr/bin/env node\n", SC_LANG_NODE},
        {"c4", "#!/usr/bin/env -S FOO=1 python3 -I\n", SC_LANG_PYTHON},
        {"c5", "#!/bin/sh", SC_LANG_BASH},
        {"c6", "#!/bin/bash\r\n", SC_LANG_BASH},
        {"c7", "#!/usr/bin/perl\n", SC_LANG_NATIVE},
        {"c8", "#!/usr/bin/pythonic\n", SC_LANG_NATIVE},
        {"c9", "\177ELF\2\1\1", SC_LANG_NATIVE},
        {"d.txt", "#!/usr/bin/env python3\n", SC_LANG_PYTHON},
        {".py", "#!/bin/bash\n", SC_LANG_BASH}, /* a name, not a suffix */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        put(rows[i].name, rows[i].content, 0755);
        PROGRAM(rows[i].name);
        spec.lang = SC_LANG_AUTO;
        passes();
        if (spec.lang != rows[i].lang)
            fail_msg("%s: %s", rows[i].name, sc_lang_name(spec.lang));
    }
    put("x.dat", "just text", 0755);
    PROGRAM("x.dat");
    spec.lang = SC_LANG_AUTO;
    refused("program", "its language cannot be told");
    put("x.dat", "#!\n", 0755);
    refused("program", "its language cannot be told");
    put("x.dat", "", 0755);
    refused("program", "its language cannot be told");
    SET("language", "python");
    passes();
}

static void heads_of_any_kind(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "#!/usr/bin/env", "#!/usr/bin/env   ", "#!",     "#",      "",       "#!/",
        "#!///",          "#!/usr/bin/env -S", "#! \t ", "\177EL", "\177ELF"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        (void)sc_lang_by_head(texts[i], strlen(texts[i]));
    srandom(2);
    for (int round = 0; round < 5000; round++) {
        char head[40] = "#!/usr/bin/env ";
        size_t len = (size_t)random() % sizeof head;
        for (size_t i = (size_t)random() % 16; i < sizeof head; i++)
            head[i] = " /\tenv#!=-\n\r3.python"[random() % 20];
        char *exact = malloc(len + 1);
        memcpy(exact, head, len);
        enum sc_lang lang = sc_lang_by_head(exact, len);
        assert_true(lang <= SC_LANG_NATIVE);
        free(exact);
    }
}

static void names_of_languages(void **state)
{
    (void)state;
    for (const struct sc_lang_row *row = SC_LANG_ROWS; row->name; row++) {
        enum sc_lang lang = SC_LANG_AUTO;
        assert_int_equal(sc_lang_by_name(row->name, &lang), 0);
        assert_int_equal(lang, row->lang);
        assert_string_equal(sc_lang_name(lang), row->name);
        assert_ptr_equal(sc_lang_row(lang), row);
        assert_true(!row->interpreter == !row->source_name);
        if (row->source_name)
            assert_int_equal(sc_lang_by_suffix(row->source_name), lang);
    }
    assert_null(sc_lang_row(SC_LANG_AUTO));
    assert_string_equal(sc_lang_name(SC_LANG_AUTO), "auto");
    enum sc_lang lang = SC_LANG_JAVA;
    assert_int_equal(sc_lang_by_name("auto", &lang), -EINVAL);
    assert_int_equal(lang, SC_LANG_JAVA);
}

static void programs_are_readable_files(void **state)
{
    (void)state;
    PROGRAM("absent.py");
    refused("program", "absent.py: No such file");
    assert_int_equal(mkdir("d.py", 0755), 0);
    PROGRAM("d.py");
    refused("program", "d.py: not a regular file but a folder");
    PROGRAM("/dev/null");
    refused("program", "/dev/null: not a regular file");
    assert_int_equal(mkfifo("pipe.py", 0644), 0);
    PROGRAM("pipe.py");
    refused("program", "pipe.py: not a regular file");
    put("tool", "\177ELF", 0644);
    PROGRAM("tool");
    refused("program", "not executable");
    assert_int_equal(chmod("tool", 0755), 0);
    passes();
    if (geteuid() != 0) {
        put("secret.py", "", 0);
        PROGRAM("secret.py");
        spec.lang = SC_LANG_AUTO;
        refused("program", "secret.py: not readable");
    }
}

static void commands(void **state)
{
    (void)state;
    COMMAND("ls", "-l");
    passes();
    assert_true(spec.command);
    assert_int_equal(spec.lang, SC_LANG_AUTO);
    COMMAND("/usr/bin/env", "x");
    passes();
    assert_true(spec.command);
    SET("language", "python");
    refused("language", "not with a command");
    spec.lang = SC_LANG_AUTO;
    SET("interpreter", "/bin/sh");
    refused("interpreter", "a command names its own");
    free(spec.interpreter);
    spec.interpreter = NULL;
    sc_strv_fini(&spec.args);
    refused("command", "empty");
}

static void a_relative_command_is_a_host_file(void **state)
{
    (void)state;
    COMMAND("./tool", "one", "two");
    refused("program", "./tool: No such file");
    sc_spec_clear_program(&spec);
    put("tool", "\177ELF", 0755);
    COMMAND("./tool", "one", "two");
    passes();
    assert_false(spec.command);
    assert_string_equal(spec.program, "./tool");
    assert_int_equal(spec.lang, SC_LANG_NATIVE);
    assert_int_equal(spec.args.n, 2);
    assert_string_equal(spec.args.v[0], "one");
    assert_string_equal(spec.args.v[1], "two");
    assert_null(spec.args.v[2]);
    passes(); /* again, and nothing changes */
    assert_string_equal(spec.program, "./tool");
    assert_int_equal(spec.args.n, 2);
    sc_spec_clear_program(&spec);
    spec.lang = SC_LANG_AUTO;
    assert_int_equal(mkdir("sub", 0755), 0);
    put("sub/x.py", "", 0644);
    COMMAND("sub/x.py");
    passes();
    assert_int_equal(spec.lang, SC_LANG_PYTHON);
    assert_int_equal(spec.args.n, 0);
}

static void memory_of_the_host(void **state)
{
    (void)state;
    COMMAND("ls");
    SET("memory", "8G");
    passes();
    SET("memory", "8193M");
    spec.limits.disk = spec.limits.tmp = spec.limits.shm = SC_DERIVED;
    refused("memory", "8193M: allowed 16M to 8192M, this host's memory");
    assert_int_equal(sc_spec_check(&spec, 0, &err), 0);
}

/* One program may start under it, and a cell that stays starts one for each command. */
static void compute_is_for_one_program(void **state)
{
    (void)state;
    COMMAND("ls");
    SET("profile", "compute");
    passes();
    sc_spec_fini(&spec);
    sc_spec_init(&spec);
    spec.session = true;
    passes();
    SET("profile", "compute");
    refused("profile", "a session starts several");
    spec.session = false;
    COMMAND("ls");
    spec.mode = SC_MODE_RICH;
    refused("profile", "this mode starts several");
}

static void limits_are_resolved(void **state)
{
    (void)state;
    COMMAND("ls");
    SET("wall", "2s");
    SET("cpus", "1.5");
    SET("disk", "1G");
    passes();
    assert_true(spec.limits.cpu == 3 * SC_NS_PER_S);
    assert_int_equal(spec.disk_backing, SC_DISK_IMAGE);
    assert_true(spec.limits.file_size == 1024 * SC_MIB);
    for (const struct sc_limit_row *row = SC_LIMIT_ROWS; row->option; row++) {
        uint64_t value = *sc_limit_value(&spec.limits, row);
        assert_true(value <= row->max || (value == SC_UNSET && row->standard == SC_UNSET));
    }
    struct sc_limits once = spec.limits;
    passes();
    assert_memory_equal(&once, &spec.limits, sizeof once);
}

static void arguments(void **state)
{
    (void)state;
    CODE("x");
    SET("language", "bash");
    char *big = malloc(SC_SPEC_ARG_BYTES_MAX);
    memset(big, 'x', SC_SPEC_ARG_BYTES_MAX - 1);
    big[SC_SPEC_ARG_BYTES_MAX - 1] = '\0';
    for (int i = 0; i < 8; i++)
        assert_int_equal(sc_strv_add(&spec.args, big), 0);
    passes();
    assert_int_equal(sc_strv_add(&spec.env, "A="), 0);
    refused("args", "1048579 bytes of arguments and environment: at most 1048576");
    sc_strv_fini(&spec.args);
    sc_strv_fini(&spec.env);
    free(big);
    assert_int_equal(sc_strv_add(&spec.env, "NONAME"), 0);
    refused("env", "NAME=VALUE");
    sc_strv_fini(&spec.env);
    assert_int_equal(sc_strv_add(&spec.env, "A-B=1"), 0);
    refused("env", "not a variable name");
    sc_strv_fini(&spec.env);
    for (int i = 0; i <= SC_SPEC_ARGS_MAX; i++)
        assert_int_equal(sc_strv_add(&spec.args, ""), 0);
    refused("args", "4097 entries: at most 4096");
}

static void one_stdin(void **state)
{
    (void)state;
    COMMAND("cat");
    spec.stdin_fd = 0;
    passes();
    assert_int_equal(sc_spec_set_stdin(&spec, "x", 1, &err), 0);
    refused("stdin", "only one is allowed");
}

static void files_in(void **state)
{
    (void)state;
    COMMAND("ls");
    put("data.csv", "1,2\n", 0644);
    ADD("file", "data.csv");
    passes();
    ADD("file", "absent.csv:x");
    refused("file", "absent.csv: No such file");
    put("absent.csv", "", 0644);
    passes();
    ADD("file", "data.csv:x/y");
    refused("file", "x/y: lies below another file's path");
    free(spec.files[2].path);
    spec.files[2].path = strdup("x-y");
    passes();
    ADD("file", "data.csv:x-y");
    refused("file", "x-y: given twice");
    free(spec.files[3].path);
    spec.files[3].path = strdup("x-z");
    ADD("file", "/etc:e");
    refused("file", "/etc: not a regular file but a folder: folders go with dir");
    spec.files[4].mode = 01777;
    refused("file", "mode 1777");
}

static void a_program_has_its_name_for_itself(void **state)
{
    (void)state;
    put("a.py", "", 0644);
    PROGRAM("./a.py");
    ADD("file", "a.py:b.py");
    passes();
    ADD("file", "a.py");
    refused("file", "a.py: given twice");
    /* So has the file that code becomes. */
    sc_spec_clear_program(&spec);
    CODE("1");
    passes();
    ADD("file", "a.py:main.py");
    refused("file", "main.py: given twice");
}

static void files_fit_the_disk(void **state)
{
    (void)state;
    COMMAND("ls");
    put("big", "", 0644);
    assert_int_equal(truncate("big", 1 << 20), 0);
    ADD("file", "big");
    SET("disk", "1M");
    passes();
    SET("disk", "1020K");
    refused("disk", "1020K: the files put in take 1M");
    PROGRAM("big");
    sc_spec_clear_program(&spec);
    SET("disk", "1M");
    put("p.sh", "x", 0644);
    PROGRAM("p.sh");
    refused("disk", "take 1028K");
    SET("disk", "2M");
    SET("disk-inodes", "64");
    passes();
    for (int i = 0; i < 63; i++) {
        char name[32];
        snprintf(name, sizeof name, "p.sh:f%d", i);
        ADD("file", name);
    }
    refused("disk-inodes", "64 files are put in");
}

static void dirs_in(void **state)
{
    (void)state;
    COMMAND("ls");
    assert_int_equal(mkdir("d", 0755), 0);
    ADD("dir", "d");
    ADD("dir", "d:/data:ro");
    passes();
    put("f", "", 0644);
    ADD("dir", "f");
    refused("dir", "f: not a folder");
    unlink("f");
    refused("dir", "f: No such file");
    spec.n_dirs = 2;
    free(spec.dirs[2].host);
    free(spec.dirs[2].path);
    free(spec.dirs[1].path);
    spec.dirs[1].path = strdup("/proc/x");
    refused("dir", "/proc/x: no mount allowed there");
}

static void outs(void **state)
{
    (void)state;
    COMMAND("ls");
    ADD("out", "*.png:not/yet/there");
    passes();
    put("f", "", 0644);
    ADD("out", "x:f");
    refused("out", "f: not a folder");
    free(spec.outs[1].glob);
    spec.outs[1].glob = strdup("../x");
    refused("out", "\"..\"");
}

static void roots(void **state)
{
    (void)state;
    COMMAND("ls");
    SET("root", "r");
    refused("root", "r: No such file");
    put("r", "", 0644);
    refused("root", "r: not a folder");
    unlink("r");
    assert_int_equal(mkdir("r", 0755), 0);
    passes();
    char expected[PATH_MAX];
    snprintf(expected, sizeof expected, "%s/r", dir);
    assert_string_equal(spec.root, expected);
    SET("root", "/");
    refused("root", "/: the host's own root is not allowed");
    SET("root", "/usr/..");
    refused("root", "/: the host's own root");
    SET("root", "//");
    refused("root", "/: the host's own root");
}

static void environments(void **state)
{
    (void)state;
    CODE("x");
    SET("language", "python");
    assert_int_equal(mkdir("venv", 0755), 0);
    SET("venv", "venv/");
    refused("venv", "has no executable bin/python");
    assert_int_equal(mkdir("venv/bin", 0755), 0);
    put("venv/bin/python", "", 0755);
    passes();
    char expected[PATH_MAX];
    snprintf(expected, sizeof expected, "%s/venv", dir);
    assert_string_equal(spec.venv, expected);
    SET("language", "node");
    refused("venv", "allowed with language python, not node");
}

static void interpreters(void **state)
{
    (void)state;
    CODE("x");
    SET("language", "python");
    SET("interpreter", "py");
    refused("interpreter", "py: No such file");
    put("py", "", 0644);
    refused("interpreter", "py: not executable");
    assert_int_equal(chmod("py", 0755), 0);
    passes();
    assert_int_equal(spec.interpreter[0], '/');
    assert_int_equal(symlink("py", "link"), 0);
    char link[PATH_MAX];
    snprintf(link, sizeof link, "%s/link", dir);
    SET("interpreter", link); /* a path that is good already stays as written */
    passes();
    assert_string_equal(spec.interpreter, link);
    SET("interpreter", "/usr");
    refused("interpreter", "/usr: not a regular file");
    sc_spec_clear_program(&spec);
    put("tool", "\177ELF", 0755);
    PROGRAM("tool");
    spec.lang = SC_LANG_AUTO;
    SET("interpreter", link);
    refused("interpreter", "a native program has none");
}

static void values_set_by_hand(void **state)
{
    (void)state;
    COMMAND("ls");
    spec.cwd = strdup("a/../b");
    refused("cwd", "\"..\"");
    free(spec.cwd);
    spec.cwd = NULL;
    spec.pin = strdup("1-");
    refused("pin", "list of processors");
    free(spec.pin);
    spec.pin = NULL;
    spec.cgroup_parent = strdup("x");
    refused("cgroup-parent", "absolute");
    free(spec.cgroup_parent);
    spec.cgroup_parent = NULL;
    spec.profile = (enum sc_profile)7;
    refused("profile", "7");
    spec.profile = SC_PROFILE_DEFAULT;
    spec.overflow = (enum sc_overflow)7;
    refused("overflow", "7");
    spec.overflow = SC_OVERFLOW_CUT;
    spec.disk_backing = (enum sc_disk_backing)7;
    refused("disk-backing", "7");
    spec.disk_backing = SC_DISK_AUTO;
    spec.lang = (enum sc_lang)77;
    refused("language", "77");
    spec.lang = SC_LANG_AUTO;
    passes();
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(exactly_one_thing_runs),
        TEST(code_needs_a_language),
        TEST(languages_of_programs),
        TEST(heads_of_any_kind),
        TEST(names_of_languages),
        TEST(programs_are_readable_files),
        TEST(commands),
        TEST(a_relative_command_is_a_host_file),
        TEST(memory_of_the_host),
        TEST(compute_is_for_one_program),
        TEST(limits_are_resolved),
        TEST(arguments),
        TEST(one_stdin),
        TEST(files_in),
        TEST(a_program_has_its_name_for_itself),
        TEST(files_fit_the_disk),
        TEST(dirs_in),
        TEST(outs),
        TEST(roots),
        TEST(environments),
        TEST(interpreters),
        TEST(values_set_by_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
