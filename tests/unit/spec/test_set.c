/* Setters and adders from text. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "spec/spec.h"

static struct sc_spec spec;
static struct sc_err err;

static int begin(void **state)
{
    (void)state;
    sc_spec_init(&spec);
    sc_err_clear(&err);
    return 0;
}

static int end(void **state)
{
    (void)state;
    sc_spec_fini(&spec);
    return 0;
}

static void refused(int r, const char *field, const char *part)
{
    assert_int_equal(r, -EINVAL);
    assert_int_equal(err.kind, SC_ERR_USAGE);
    assert_string_equal(err.field, field);
    if (!strstr(err.message, part))
        fail_msg("\"%s\" not in \"%s\"", part, err.message);
    assert_null(strchr(err.message, '\n'));
}
#define SET(option, value) sc_spec_set(&spec, option, value, &err)
#define ADD(option, value) sc_spec_add(&spec, option, value, &err)

static void every_option(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"wall", "2.5s"},
        {"cpu", "1m"},
        {"memory", "256M"},
        {"tasks", "64"},
        {"cpus", "0.5"},
        {"open-files", "99"},
        {"file-size", "1M"},
        {"disk", "10M"},
        {"disk-inodes", "100"},
        {"tmp", "1M"},
        {"tmp-inodes", "100"},
        {"shm", "1M"},
        {"io-read", "1M"},
        {"io-write", "1M"},
        {"stdout", "10"},
        {"stderr", "10"},
        {"artifacts", "1K"},
        {"artifacts-count", "3"},
        {"artifacts-depth", "2"},
        {"language", "python"},
        {"profile", "compute"},
        {"overflow", "end"},
        {"disk-backing", "image"},
        {"cwd", "sub/dir"},
        {"root", "/srv/root"},
        {"venv", "env"},
        {"interpreter", "/opt/py/bin/python3"},
        {"pin", "0,2-3"},
        {"cgroup-parent", "/snapcell"},
        {"mode", "rich"},
        {"validate", "report"},
        {"deterministic", "77"},
        {"clock-start", "1970-01-02"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (SET(rows[i][0], rows[i][1]) < 0)
            fail_msg("%s", err.message);
    assert_true(spec.limits.wall == 2500 * SC_NS_PER_MS);
    assert_true(spec.limits.open_files == 99);
    assert_true(spec.limits.io_write == SC_MIB);
    assert_int_equal(spec.lang, SC_LANG_PYTHON);
    assert_int_equal(spec.profile, SC_PROFILE_COMPUTE);
    assert_int_equal(spec.overflow, SC_OVERFLOW_END);
    assert_int_equal(spec.disk_backing, SC_DISK_IMAGE);
    assert_string_equal(spec.cwd, "sub/dir");
    assert_string_equal(spec.root, "/srv/root");
    assert_string_equal(spec.venv, "env");
    assert_string_equal(spec.interpreter, "/opt/py/bin/python3");
    assert_string_equal(spec.pin, "0,2-3");
    assert_string_equal(spec.cgroup_parent, "/snapcell");
    assert_true(spec.deterministic.on && spec.deterministic.clock_given);
    assert_int_equal(spec.deterministic.seed, 77);
    assert_int_equal(spec.deterministic.clock_ms, 86400000);
    /* The last one counts. */
    assert_int_equal(SET("cwd", "/work"), 0);
    assert_string_equal(spec.cwd, "/work");
}

static void unknown_options(void **state)
{
    (void)state;
    refused(SET("memroy", "1"), "memroy", "did you mean memory?");
    refused(SET("profil", "1"), "profil", "did you mean profile?");
    refused(SET("open_files", "20"), "open_files", "did you mean open-files?");
    refused(SET("banana", "1"), "banana", "unknown option");
    refused(SET("", "1"), "", "unknown option");
    refused(SET("a\nb\x1b", "1"), "a\\x0ab\\x1b", "unknown option");
    refused(ADD("fil", "x"), "fil", "did you mean file?");
    refused(ADD("wall", "1"), "wall", "unknown repeatable option");
}

static void words(void **state)
{
    (void)state;
    refused(SET("language", "ruby"), "language", "ruby: allowed: python, node, bash, java, native");
    refused(SET("language", ""), "language", "\"\": allowed");
    refused(SET("language", "auto"), "language", "allowed");
    refused(SET("profile", "Default"), "profile", "allowed: default, compute");
    refused(SET("overflow", "kill"), "overflow", "allowed: cut, end");
    refused(SET("disk-backing", "ram"), "disk-backing", "allowed: auto, memory, image");
    assert_int_equal(spec.profile, SC_PROFILE_DEFAULT);
}

static void deterministic(void **state)
{
    (void)state;
    refused(SET("deterministic", ""), "deterministic",
            "\"\": allowed: on, off, or a seed from 0 to 4294967295");
    refused(SET("deterministic", "yes"), "deterministic", "yes: allowed");
    refused(SET("deterministic", "-1"), "deterministic", "-1: allowed");
    refused(SET("deterministic", "4294967296"), "deterministic", "4294967296: allowed");
    assert_false(spec.deterministic.on);
    assert_int_equal(SET("deterministic", "4294967295"), 0);
    assert_int_equal(SET("deterministic", "on"), 0);
    assert_int_equal(spec.deterministic.seed, UINT32_MAX);
    static const char *const times[] = {"",
                                        "now",
                                        "-5",
                                        "2020-13-01",
                                        "2021-02-29",
                                        "2020-01-01 10:00:00",
                                        "2020-01-01T10:00",
                                        "2020-01-01Zx",
                                        "2020-01-01T10:00:00+01:00",
                                        "2020-01-01T10:00:60Z",
                                        "1969-12-31",
                                        "2200-01-01T00:00:01Z",
                                        "7258118400.001"};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        refused(SET("clock-start", times[i]), "clock-start", "must be a time from 1970 to 2200 in UTC");
    assert_false(spec.deterministic.clock_given);
    assert_int_equal(SET("clock-start", "2020-02-29T23:59:59"), 0);
    assert_int_equal(spec.deterministic.clock_ms, 1583020799000);
    assert_int_equal(SET("clock-start", "2200-01-01"), 0);
    assert_int_equal(spec.deterministic.clock_ms, 7258118400000);
    assert_int_equal(SET("clock-start", "0.25"), 0);
    assert_int_equal(spec.deterministic.clock_ms, 250);
    assert_int_equal(SET("deterministic", "off"), 0);
    assert_false(spec.deterministic.on || spec.deterministic.clock_given);
}

static void paths(void **state)
{
    (void)state;
    static char long_path[SC_SPEC_PATH_MAX + 2], long_name[SC_SPEC_NAME_MAX + 2];
    memset(long_name, 'n', SC_SPEC_NAME_MAX + 1);
    for (size_t i = 0; i < sizeof long_path - 1; i++)
        long_path[i] = i % 2 ? '/' : 'a';
    refused(SET("cwd", "../up"), "cwd", "\"..\"");
    refused(SET("cwd", "a//b"), "cwd", "empty part");
    refused(SET("cwd", "a/"), "cwd", "empty part");
    refused(SET("cwd", ""), "cwd", "relative to the work folder");
    refused(SET("cwd", "/a/./b"), "cwd", "\".\"");
    refused(SET("cwd", "a\xFF"), "cwd", "not UTF-8");
    refused(SET("cwd", long_name), "cwd", "longer than the 255");
    refused(SET("cwd", long_path), "cwd", "longer than the 4095");
    refused(SET("root", ""), "root", "empty");
    refused(SET("root", long_path), "root", "longer than the 4095");
    refused(SET("cgroup-parent", "snapcell"), "cgroup-parent", "absolute");
    refused(SET("cgroup-parent", "/a/../b"), "cgroup-parent", "\"..\"");
    long_name[SC_SPEC_NAME_MAX] = '\0';
    assert_int_equal(SET("cwd", long_name), 0);
    long_path[SC_SPEC_PATH_MAX] = '\0';
    assert_int_equal(SET("cwd", long_path), 0);
    assert_int_equal(SET("cwd", "/"), 0);
    assert_int_equal(SET("cwd", "..."), 0);
}

static void processor_lists(void **state)
{
    (void)state;
    static const char *const good[] = {"0", "0,1", "0-3", "0,2-3,7", "1023", "5-5"};
    static const char *const bad[] = {"",     ",",      "0,",   ",0",   "3-1",
                                      "a",    "0-",     "-1",   "0--1", "0 ,1",
                                      "1024", "0-9999", "0,,1", "+1",   "99999999999999999999",
                                      "0\n"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_int_equal(SET("pin", good[i]), 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refused(SET("pin", bad[i]), "pin", "not a list of processors");
    assert_string_equal(spec.pin, "5-5");
}

static void files(void **state)
{
    (void)state;
    assert_int_equal(ADD("file", "data/in.csv"), 0);
    assert_int_equal(ADD("file", "/srv/a.txt:sub/b.txt"), 0);
    assert_int_equal(ADD("file", "we\\:ird\\\\x.csv:d\\:st"), 0);
    assert_int_equal(ADD("file", "back\\slash"), 0);
    assert_int_equal(spec.n_files, 4);
    assert_string_equal(spec.files[0].host, "data/in.csv");
    assert_string_equal(spec.files[0].path, "in.csv");
    assert_null(spec.files[0].data);
    assert_int_equal(spec.files[0].mode, 0);
    assert_string_equal(spec.files[1].host, "/srv/a.txt");
    assert_string_equal(spec.files[1].path, "sub/b.txt");
    assert_string_equal(spec.files[2].host, "we:ird\\x.csv");
    assert_string_equal(spec.files[2].path, "d:st");
    assert_string_equal(spec.files[3].host, "back\\slash");
    assert_int_equal(ADD("file", "ends\\\\:with"), 0);
    assert_string_equal(spec.files[4].host, "ends\\");
    assert_string_equal(spec.files[4].path, "with");
    assert_int_equal(ADD("file", "last\\"), 0);
    assert_string_equal(spec.files[5].host, "last\\");
    refused(ADD("file", "a:b:c"), "file", "more than 2 parts");
    refused(ADD("file", "a:/abs"), "file", "relative to the work folder");
    refused(ADD("file", "a:../b"), "file", "\"..\"");
    refused(ADD("file", "a:b//c"), "file", "empty part");
    refused(ADD("file", "a:"), "file", "relative");
    refused(ADD("file", ":b"), "file", "empty");
    refused(ADD("file", ""), "file", "empty");
    refused(ADD("file", "\xFF"), "file", "not UTF-8");
    refused(ADD("file", "/"), "file", "no name of its own");
    assert_int_equal(spec.n_files, 6);
}

static void too_many_files(void **state)
{
    (void)state;
    for (int i = 0; i < SC_SPEC_FILES_MAX; i++)
        assert_int_equal(ADD("file", "a:b"), 0);
    refused(ADD("file", "a:b"), "file", "more than the 4096");
    for (int i = 0; i < SC_SPEC_OUTS_MAX; i++)
        assert_int_equal(ADD("out", "a"), 0);
    refused(ADD("out", "a"), "out", "more than the 256");
    for (int i = 0; i < SC_SPEC_DIRS_MAX; i++)
        assert_int_equal(ADD("dir", "a"), 0);
    refused(ADD("dir", "a"), "dir", "more than the 256");
}

static void dirs(void **state)
{
    (void)state;
    char here[PATH_MAX];
    assert_non_null(getcwd(here, sizeof here));
    const char *base = strrchr(here, '/') + 1;
    assert_int_equal(ADD("dir", "some/folder/"), 0);
    assert_int_equal(ADD("dir", "some/folder:copy/"), 0);
    assert_int_equal(ADD("dir", "/srv/data:/data:ro"), 0);
    assert_int_equal(ADD("dir", "/usr/share:ro"), 0);
    assert_int_equal(ADD("dir", "."), 0);
    assert_int_equal(spec.n_dirs, 5);
    assert_string_equal(spec.dirs[0].host, "some/folder/");
    assert_string_equal(spec.dirs[0].path, "folder");
    assert_false(spec.dirs[0].read_only_mount);
    assert_string_equal(spec.dirs[1].path, "copy");
    assert_string_equal(spec.dirs[2].host, "/srv/data");
    assert_string_equal(spec.dirs[2].path, "/data");
    assert_true(spec.dirs[2].read_only_mount);
    assert_string_equal(spec.dirs[3].path, "/usr/share");
    assert_true(spec.dirs[3].read_only_mount);
    assert_string_equal(spec.dirs[4].path, base);
    refused(ADD("dir", "a:b:c"), "dir", "only \":ro\"");
    refused(ADD("dir", "a:b:ro:x"), "dir", "more than 3 parts");
    refused(ADD("dir", "a:/b"), "dir", "relative to the work folder");
    refused(ADD("dir", "a:b:ro"), "dir", "must be absolute");
    refused(ADD("dir", "/does/not/exist:ro"), "dir", "No such file");
    refused(ADD("dir", "/nowhere/.."), "dir", "No such file");
    refused(ADD("dir", "/"), "dir", "no name of its own");
    refused(ADD("dir", ":x"), "dir", "empty");
}

static void mounts_do_not_shadow(void **state)
{
    (void)state;
    static const char *const bad[] = {"/",    "/proc",  "/proc/sys", "/dev",       "/dev/shm",    "/sys/fs",
                                      "/tmp", "/tmp/x", "/home",     "/home/user", "/home/user/x"};
    static const char *const good[] = {"/data",      "/procs", "/home/alice",
                                       "/opt/tools", "/tmpx",  "/home/users"};
    char value[64];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(value, sizeof value, "/srv:%s:ro", bad[i]);
        refused(ADD("dir", value), "dir", i ? "no mount allowed there" : "the root itself");
    }
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        snprintf(value, sizeof value, "/srv:%s:ro", good[i]);
        assert_int_equal(ADD("dir", value), 0);
    }
}

static void outs(void **state)
{
    (void)state;
    assert_int_equal(ADD("out", "*.png"), 0);
    assert_int_equal(ADD("out", "plots/:results"), 0);
    assert_int_equal(ADD("out", "a\\:b:/srv/x"), 0);
    assert_string_equal(spec.outs[0].glob, "*.png");
    assert_string_equal(spec.outs[0].dir, ".");
    assert_string_equal(spec.outs[1].glob, "plots");
    assert_string_equal(spec.outs[1].dir, "results");
    assert_string_equal(spec.outs[2].glob, "a:b");
    refused(ADD("out", "/etc/*"), "out", "relative");
    refused(ADD("out", "../*"), "out", "\"..\"");
    refused(ADD("out", "a/../../b"), "out", "\"..\"");
    refused(ADD("out", "x:"), "out", "empty");
    refused(ADD("out", ""), "out", "relative");
}

static void environment(void **state)
{
    (void)state;
    assert_int_equal(ADD("env", "A=1"), 0);
    assert_int_equal(ADD("env", "_b2=x=y"), 0);
    assert_int_equal(ADD("env", "EMPTY="), 0);
    assert_int_equal(ADD("env", "A=2"), 0);
    assert_int_equal(spec.env.n, 3);
    assert_string_equal(spec.env.v[0], "A=2");
    assert_string_equal(spec.env.v[1], "_b2=x=y");
    refused(ADD("env", "HOME"), "env", "nothing is inherited");
    refused(ADD("env", "=x"), "env", "not a variable name");
    refused(ADD("env", "1A=x"), "env", "not a variable name");
    refused(ADD("env", "A-B=x"), "env", "not a variable name");
    refused(ADD("env", "\xC3\xA4=x"), "env", "not a variable name");
    refused(ADD("env", "A=\xFF"), "env", "not UTF-8");
    static char big[SC_SPEC_ARG_BYTES_MAX + 3] = "A=";
    memset(big + 2, 'x', SC_SPEC_ARG_BYTES_MAX);
    refused(ADD("env", big), "env", "longer than");
}

static void degradations(void **state)
{
    (void)state;
    assert_int_equal(ADD("allow-degraded", "memory"), 0);
    assert_int_equal(ADD("allow-degraded", "cpu,open_files,open-files,apparmor"), 0);
    assert_int_equal(spec.allow_degraded,
                     SC_DEGRADE_MEMORY | SC_DEGRADE_CPU | SC_DEGRADE_OPEN_FILES | SC_DEGRADE_APPARMOR);
    refused(ADD("allow-degraded", "disk,all"), "allow-degraded",
            "all: allowed: memory, cpu, cpus, io, disk, landlock, open_files, apparmor");
    refused(ADD("allow-degraded", ""), "allow-degraded", "\"\": allowed");
    refused(ADD("allow-degraded", "disk,"), "allow-degraded", "allowed");
    refused(ADD("allow-degraded", "openfiles"), "allow-degraded", "allowed");
    assert_false(spec.allow_degraded & SC_DEGRADE_DISK);
    /* The names and the bits are one list. */
    size_t n = 0;
    while (SC_DEGRADE_NAMES[n])
        n++;
    assert_int_equal(1 << (n - 1), SC_DEGRADE_APPARMOR);
    assert_string_equal(SC_DEGRADE_NAMES[6], "open_files");
}

static void what_runs(void **state)
{
    (void)state;
    assert_int_equal(sc_spec_set_code(&spec, "print(1)\0junk", 8, &err), 0);
    assert_int_equal(spec.code_len, 8);
    assert_string_equal(spec.code, "print(1)");
    assert_int_equal(sc_spec_set_code(&spec, "", 0, &err), 0);
    assert_string_equal(spec.code, "");
    refused(sc_spec_set_code(&spec, "a\0b", 3, &err), "code", "NUL");
    refused(sc_spec_set_code(&spec, "\xFF", 1, &err), "code", "not UTF-8");
    char *big = malloc(SC_SPEC_CODE_MAX + 1);
    memset(big, '#', SC_SPEC_CODE_MAX + 1);
    assert_int_equal(sc_spec_set_code(&spec, big, SC_SPEC_CODE_MAX, &err), 0);
    refused(sc_spec_set_code(&spec, big, SC_SPEC_CODE_MAX + 1, &err), "code", "at most 16777216");
    free(big);
    assert_int_equal(sc_spec_set_stdin(&spec, "a\0\xFF", 3, &err), 0);
    assert_int_equal(spec.stdin_len, 3);
    assert_int_equal(sc_spec_set_stdin(&spec, NULL, 0, &err), 0);
    assert_int_equal(spec.stdin_len, 0);
    assert_non_null(spec.stdin_data);
    assert_int_equal(sc_spec_set_program(&spec, "a.py", &err), 0);
    refused(sc_spec_set_program(&spec, "", &err), "program", "empty");
    assert_int_equal(sc_spec_set_command(&spec, (const char *const[]){"ls", "-l", NULL}, &err), 0);
    assert_true(spec.command);
    assert_int_equal(spec.args.n, 2);
    assert_int_equal(sc_spec_set_args(&spec, (const char *const[]){"x", NULL}, &err), 0);
    assert_int_equal(spec.args.n, 1);
    refused(sc_spec_set_args(&spec, (const char *const[]){"x", "\xFF", NULL}, &err), "args", "not UTF-8");
    refused(sc_spec_set_command(&spec, (const char *const[]){NULL}, &err), "command", "empty");
    refused(sc_spec_set_command(&spec, (const char *const[]){"", NULL}, &err), "command", "empty");
    assert_int_equal(spec.args.n, 1);
    sc_spec_clear_program(&spec);
    assert_true(!spec.program && !spec.code && !spec.command && !spec.args.n);
}

static void messages_are_one_line(void **state)
{
    (void)state;
    refused(SET("wall", "5\nsnapcell: all is well\x1b[2K"), "wall",
            "5\\x0asnapcell: all is well\\x1b[2K: not a duration");
    static char long_value[5000];
    memset(long_value, 'v', sizeof long_value - 1);
    refused(SET("wall", long_value), "wall", "...: not a duration");
    refused(ADD("env", "A\nB=1"), "env", "A\\x0aB: not a variable");
}

static void works_without_an_error_object(void **state)
{
    (void)state;
    assert_int_equal(sc_spec_set(&spec, "wall", "x", NULL), -EINVAL);
    assert_int_equal(sc_spec_set(&spec, "wal", "x", NULL), -EINVAL);
    assert_int_equal(sc_spec_add(&spec, "file", "a:b:c", NULL), -EINVAL);
    assert_int_equal(sc_spec_add(&spec, "dir", "a:b:c", NULL), -EINVAL);
    assert_int_equal(sc_spec_from_json(&spec, "{", 1, NULL), -EINVAL);
    assert_int_equal(sc_spec_check(&spec, 0, NULL), -EINVAL);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_option),
        TEST(unknown_options),
        TEST(words),
        TEST(deterministic),
        TEST(paths),
        TEST(processor_lists),
        TEST(files),
        TEST(too_many_files),
        TEST(dirs),
        TEST(mounts_do_not_shadow),
        TEST(outs),
        TEST(environment),
        TEST(degradations),
        TEST(what_runs),
        TEST(messages_are_one_line),
        TEST(works_without_an_error_object),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
