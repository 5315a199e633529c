/* The JSON form: every field, every refusal with its path, and spec → text → spec. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spec/spec.h"

static struct sc_err err;

static int parse(struct sc_spec *spec, const char *text)
{
    sc_err_clear(&err);
    sc_spec_init(spec);
    return sc_spec_from_json(spec, text, strlen(text), &err);
}

static void taken(struct sc_spec *spec, const char *text)
{
    if (parse(spec, text) < 0)
        fail_msg("%s: %s", text, err.message);
}

static const char EVERYTHING[] =
    "{\"language\":\"python\",\"code\":\"print('h\xC3\xA4')\",\"args\":[\"a\",\"\",\"\xE2\x82\xAC\"],"
    "\"env\":{\"A\":\"1\",\"_x\":\"\"},\"cwd\":\"sub\",\"stdin\":\"in\\u0000put\","
    "\"files\":[{\"path\":\"d/a.txt\",\"content\":\"x\\u0000y\",\"mode\":\"0600\"},"
    "{\"path\":\"b.bin\",\"content_b64\":\"/w==\"},{\"path\":\"c\",\"host\":\"/etc/hostname\"}],"
    "\"dirs\":[{\"host\":\"/srv\",\"path\":\"in\"},{\"host\":\"/srv\",\"path\":\"/"
    "data\",\"read_only_mount\":true}],"
    "\"out\":[{\"glob\":\"*.png\",\"dir\":\"/tmp/x\"},{\"glob\":\"r\"}],"
    "\"limits\":{\"wall_ms\":1500.25,\"memory_bytes\":67108864,\"cpus\":0.25,\"io_read_bytes_per_second\":"
    "4096},"
    "\"profile\":\"compute\",\"overflow\":\"end\",\"disk_backing\":\"image\",\"allow_degraded\":[\"cpu\","
    "\"open_files\"],"
    "\"root\":\"/r\",\"venv\":\"/v\",\"interpreter\":\"/i\",\"pin\":\"0\",\"cgroup_parent\":\"/"
    "snapcell\",\"pty\":true,"
    "\"network\":{\"mode\":\"none\"},\"mode\":\"restricted\",\"validate\":{\"rules\":[\"strict\",\"r.scm\"],"
    "\"on_finding\":\"report\",\"deny_modules\":[\"os\"],\"deny_calls\":[\"eval\",\"os.system\"]},"
    "\"deterministic\":{\"seed\":9,\"clock_start\":1.5}}";

static void every_field(void **state)
{
    (void)state;
    struct sc_spec s;
    taken(&s, EVERYTHING);
    assert_int_equal(s.lang, SC_LANG_PYTHON);
    assert_string_equal(s.code, "print('h\xC3\xA4')");
    assert_int_equal(s.args.n, 3);
    assert_string_equal(s.args.v[2], "\xE2\x82\xAC");
    assert_int_equal(s.env.n, 2);
    assert_string_equal(s.env.v[0], "A=1");
    assert_string_equal(s.env.v[1], "_x=");
    assert_string_equal(s.cwd, "sub");
    assert_int_equal(s.stdin_len, 6);
    assert_memory_equal(s.stdin_data, "in\0put", 7);
    assert_int_equal(s.n_files, 3);
    assert_int_equal(s.files[0].len, 3);
    assert_memory_equal(s.files[0].data, "x\0y", 4);
    assert_int_equal(s.files[0].mode, 0600);
    assert_int_equal(s.files[1].len, 1);
    assert_memory_equal(s.files[1].data, "\xFF", 2);
    assert_int_equal(s.files[1].mode, 0);
    assert_string_equal(s.files[2].host, "/etc/hostname");
    assert_null(s.files[2].data);
    assert_false(s.dirs[0].read_only_mount);
    assert_true(s.dirs[1].read_only_mount);
    assert_string_equal(s.outs[0].dir, "/tmp/x");
    assert_string_equal(s.outs[1].dir, ".");
    assert_true(s.limits.wall == 1500250000);
    assert_true(s.limits.memory == 64 * SC_MIB);
    assert_true(s.limits.cpus == 250);
    assert_true(s.limits.io_read == 4096);
    assert_true(s.limits.io_write == SC_UNSET);
    assert_int_equal(s.profile, SC_PROFILE_COMPUTE);
    assert_int_equal(s.overflow, SC_OVERFLOW_END);
    assert_int_equal(s.disk_backing, SC_DISK_IMAGE);
    assert_int_equal(s.allow_degraded, SC_DEGRADE_CPU | SC_DEGRADE_OPEN_FILES);
    assert_string_equal(s.root, "/r");
    assert_string_equal(s.venv, "/v");
    assert_string_equal(s.interpreter, "/i");
    assert_string_equal(s.pin, "0");
    assert_string_equal(s.cgroup_parent, "/snapcell");
    assert_true(s.pty);
    assert_int_equal(s.mode, SC_MODE_RESTRICTED);
    assert_true(s.validate.on);
    assert_int_equal(s.validate.on_finding, SC_FINDING_REPORT);
    assert_int_equal(s.validate.rules.n, 2);
    assert_string_equal(s.validate.rules.v[1], "r.scm");
    assert_string_equal(s.validate.deny_modules.v[0], "os");
    assert_string_equal(s.validate.deny_calls.v[1], "os.system");
    assert_true(s.deterministic.on);
    assert_int_equal(s.deterministic.seed, 9);
    assert_int_equal(s.deterministic.clock_ms, 1500);
    sc_spec_fini(&s);
    taken(&s, "{\"command\":[\"/bin/ls\",\"-l\"],\"stdin_b64\":\"AP8=\",\"pty\":false}");
    assert_true(s.command);
    assert_string_equal(s.args.v[1], "-l");
    assert_memory_equal(s.stdin_data, "\0\xFF", 3);
    assert_false(s.pty);
    sc_spec_fini(&s);
}

static void null_means_not_given(void **state)
{
    (void)state;
    struct sc_spec s, plain;
    taken(&s, "{\"language\":null,\"code\":null,\"args\":null,\"env\":null,\"cwd\":null,\"stdin\":null,"
              "\"files\":null,"
              "\"limits\":{\"wall_ms\":null},\"network\":null,\"pty\":null,\"out\":null}");
    sc_spec_init(&plain);
    char *a = sc_spec_to_json(&s), *b = sc_spec_to_json(&plain);
    assert_string_equal(a, b);
    free(a);
    free(b);
    sc_spec_fini(&s);
    sc_spec_fini(&plain);
}

static const struct refusal {
    const char *text, *field, *part;
} REFUSALS[] = {
    {"", "request", "not JSON"},
    {"{", "request", "not JSON"},
    {"{} x", "request", "not JSON"},
    {"[]", "request", "is an array, must be an object"},
    {"\"x\"", "request", "not JSON"},
    {"{\"a\":1,\"a\":1}", "request", "duplicate"},
    {"{\"code\":\"\xFF\"}", "request", "not JSON"},
    {"{\"code\":\"\\ud800\"}", "request", "not JSON"},
    {"{\"code\":\"\xED\xA0\x80\"}", "request", "not JSON"},
    {"{\"cod\":\"x\"}", "cod", "unknown field; did you mean code?"},
    {"{\"banana\":1}", "banana", "unknown field"},
    {"{\"\":1}", "", "unknown field"},
    {"{\"a\\nb\":1}", "a\\x0ab", "unknown field"},
    {"{\"limits\":{\"memroy_bytes\":1}}", "limits.memroy_bytes", "did you mean memory_bytes?"},
    {"{\"limits\":{\"wall\":1}}", "limits.wall", "unknown field"},
    {"{\"limits\":{\"open-files\":1}}", "limits.open-files", "did you mean open_files?"},
    {"{\"limits\":5}", "limits", "is a number, must be an object"},
    {"{\"limits\":{\"wall_ms\":\"5\"}}", "limits.wall_ms", "is a string, must be a number"},
    {"{\"limits\":{\"wall_ms\":5}}", "limits.wall_ms", "5: allowed 10 to 86400000"},
    {"{\"limits\":{\"cpus\":0}}", "limits.cpus", "0: allowed 0.010 to 1024"},
    {"{\"language\":5}", "language", "must be a string"},
    {"{\"language\":\"perl\"}", "language", "perl: allowed"},
    {"{\"code\":\"a\\u0000b\"}", "code", "NUL"},
    {"{\"code\":[]}", "code", "is an array, must be a string"},
    {"{\"program\":\"a\\u0000\"}", "program", "NUL"},
    {"{\"program\":\"\"}", "program", "empty"},
    {"{\"command\":[]}", "command", "empty"},
    {"{\"command\":[\"\"]}", "command", "empty"},
    {"{\"command\":\"ls\"}", "command", "must be an array"},
    {"{\"command\":[\"ls\",5]}", "command[1]", "must be a string"},
    {"{\"command\":[null]}", "command[0]", "is null, must be a string"},
    {"{\"command\":[\"a\\u0000\"]}", "command[0]", "NUL"},
    {"{\"command\":[\"ls\"],\"args\":[\"x\"]}", "args", "given twice"},
    {"{\"args\":{}}", "args", "is an object, must be an array"},
    {"{\"env\":[]}", "env", "must be an object of strings"},
    {"{\"env\":{\"A\":1}}", "env.A", "must be a string"},
    {"{\"env\":{\"A-B\":\"\"}}", "env.A-B", "not a variable name"},
    {"{\"env\":{\"\":\"\"}}", "env.", "not a variable name"},
    {"{\"env\":{\"A\":\"a\\u0000\"}}", "env.A", "NUL"},
    {"{\"secrets\":[\"A\"]}", "secrets", "must be an object of strings"},
    {"{\"secrets\":{\"A\":1}}", "secrets.A", "must be a string"},
    {"{\"secrets\":{\"A-B\":\"x\"}}", "secrets.A-B", "not a variable name"},
    {"{\"secrets\":{\"A\":\"\"}}", "secrets.A", "1 to 16384 bytes"},
    {"{\"secrets\":{\"A\":\"a\\u0000\"}}", "secrets.A", "NUL"},
    {"{\"secrets\":{\"A\":\"x\"},\"env\":{\"A\":\"x\"}}", "env.A", "secret already"},
    {"{\"env\":{\"A\":\"x\"},\"secrets\":{\"A\":\"x\"}}", "secrets.A", "in env, too"},
    {"{\"cwd\":\"../x\"}", "cwd", "\"..\""},
    {"{\"stdin\":5}", "stdin", "must be a string"},
    {"{\"stdin_b64\":\"A\"}", "stdin_b64", "not base64"},
    {"{\"stdin\":\"\",\"stdin_b64\":\"\"}", "stdin_b64", "given twice"},
    {"{\"files\":{}}", "files", "must be an array"},
    {"{\"files\":[5]}", "files[0]", "must be an object"},
    {"{\"files\":[{}]}", "files[0]", "path is missing"},
    {"{\"files\":[{\"path\":\"a\",\"content\":\"\"},{\"path\":\"b\"}]}", "files[1]",
     "exactly one of content"},
    {"{\"files\":[{\"path\":\"a\",\"content\":\"\",\"host\":\"/x\"}]}", "files[0]", "exactly one of content"},
    {"{\"files\":[{\"path\":\"a\",\"content\":\"\",\"content_b64\":\"\"}]}", "files[0].content_b64",
     "given twice"},
    {"{\"files\":[{\"path\":\"/a\",\"content\":\"\"}]}", "files[0].path", "relative"},
    {"{\"files\":[{\"path\":\"a\\u0000\",\"content\":\"\"}]}", "files[0].path", "NUL"},
    {"{\"files\":[{\"pth\":\"a\"}]}", "files[0].pth", "did you mean path?"},
    {"{\"files\":[{\"path\":\"a\",\"content\":\"\",\"mode\":\"0888\"}]}", "files[0].mode", "octal"},
    {"{\"files\":[{\"path\":\"a\",\"content\":\"\",\"mode\":\"4755\"}]}", "files[0].mode", "octal"},
    {"{\"files\":[{\"path\":\"a\",\"content\":\"\",\"mode\":\"0000\"}]}", "files[0].mode", "octal"},
    {"{\"files\":[{\"path\":\"a\",\"content\":\"\",\"mode\":\"64\"}]}", "files[0].mode", "octal"},
    {"{\"files\":[{\"path\":\"a\",\"content\":\"\",\"mode\":420}]}", "files[0].mode", "must be a string"},
    {"{\"dirs\":[{\"host\":\"/x\"}]}", "dirs[0]", "path is missing"},
    {"{\"dirs\":[{\"path\":\"x\"}]}", "dirs[0]", "host is missing"},
    {"{\"dirs\":[{\"host\":\"/x\",\"path\":\"/y\"}]}", "dirs[0].path", "relative to the work folder"},
    {"{\"dirs\":[{\"host\":\"/x\",\"path\":\"y\",\"read_only_mount\":true}]}", "dirs[0].path", "absolute"},
    {"{\"dirs\":[{\"host\":\"/x\",\"path\":\"/tmp/y\",\"read_only_mount\":true}]}", "dirs[0].path",
     "no mount allowed"},
    {"{\"dirs\":[{\"host\":\"/x\",\"path\":\"/y\",\"read_only_mount\":1}]}", "dirs[0].read_only_mount",
     "true or false"},
    {"{\"out\":[{\"dir\":\"x\"}]}", "out[0]", "glob is missing"},
    {"{\"out\":[{\"glob\":\"/etc/*\"}]}", "out[0].glob", "relative"},
    {"{\"out\":[\"*.png\"]}", "out[0]", "must be an object"},
    {"{\"profile\":\"x\"}", "profile", "allowed: default, compute"},
    {"{\"overflow\":\"x\"}", "overflow", "allowed: cut, end"},
    {"{\"disk_backing\":\"x\"}", "disk_backing", "allowed: auto, memory, image"},
    {"{\"allow_degraded\":\"memory\"}", "allow_degraded", "must be an array"},
    {"{\"allow_degraded\":[\"all\"]}", "allow_degraded[0]", "all: allowed: memory"},
    {"{\"pin\":\"x\"}", "pin", "list of processors"},
    {"{\"cgroup_parent\":\"x\"}", "cgroup_parent", "absolute"},
    {"{\"pty\":\"yes\"}", "pty", "true or false"},
    {"{\"network\":{\"mode\":\"full\"}}", "network.mode", "full: allowed: none, rules, open"},
    {"{\"network\":{\"allow\":[]}}", "network.allow", "unknown field"},
    {"{\"mode\":\"fast\"}", "mode", "fast: allowed: plain, rich, restricted"},
    {"{\"mode\":true}", "mode", "must be a string"},
    {"{\"session\":true}", "session", "unknown field"},
    {"{\"forkable\":1}", "forkable", "must be true or false"},
    {"{\"deterministic\":1}", "deterministic", "is a number, must be true, false or an object"},
    {"{\"deterministic\":{\"seeds\":1}}", "deterministic.seeds", "did you mean seed?"},
    {"{\"deterministic\":{\"seed\":1.5}}", "deterministic.seed", "must be a whole number"},
    {"{\"deterministic\":{\"seed\":-1}}", "deterministic.seed", "-1: allowed 0 to 4294967295"},
    {"{\"deterministic\":{\"clock_start\":true}}", "deterministic.clock_start",
     "must be a number of seconds"},
    {"{\"deterministic\":{\"clock_start\":1e12}}", "deterministic.clock_start", "must be a time from 1970"},
    {"{\"deterministic\":{\"clock_start\":\"soon\"}}", "deterministic.clock_start", "soon: must be a time"},
    {"{\"validate\":1}", "validate", "is a number, must be true, false or an object"},
    {"{\"validate\":{\"rule\":[]}}", "validate.rule", "did you mean rules?"},
    {"{\"validate\":{\"rules\":\"default\"}}", "validate.rules", "must be an array"},
    {"{\"validate\":{\"rules\":[5]}}", "validate.rules[0]", "must be a string"},
    {"{\"validate\":{\"rules\":[\"no set\"]}}", "validate.rules[0]",
     "no set: allowed are default, strict, and the path"},
    {"{\"validate\":{\"on_finding\":\"warn\"}}", "validate.on_finding", "warn: allowed: block, report"},
    {"{\"validate\":{\"deny_modules\":[\"\"]}}", "validate.deny_modules[0]", "empty"},
    {"{\"validate\":{\"deny_calls\":[\"a b\"]}}", "validate.deny_calls[0]", "no blanks"},
    {"{\"validate\":{\"deny_calls\":[\"a\\u0000\"]}}", "validate.deny_calls[0]", "NUL"},
    {"{\"network\":true}", "network", "is a boolean, must be an object"},
    {"{\"limits\":{\"a-very-long-name-that-goes-on-and-on-and-on-and-on-and-on-and-on\":1}}",
     "limits.a-very-long-name-that-goes-on-and-on-and-on-and-on-an...", "unknown field"},
};

static void refusals(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof REFUSALS / sizeof *REFUSALS; i++) {
        const struct refusal *row = &REFUSALS[i];
        struct sc_spec s;
        if (parse(&s, row->text) != -EINVAL)
            fail_msg("taken: %s", row->text);
        sc_spec_fini(&s);
        assert_int_equal(err.kind, SC_ERR_USAGE);
        if (strcmp(err.field, row->field) || !strstr(err.message, row->part))
            fail_msg("%s: [%s] %s; expected [%s] %s", row->text, err.field, err.message, row->field,
                     row->part);
        if (strncmp(err.message, row->field, strlen(row->field)))
            fail_msg("%s: the message does not start with the field: %s", row->text, err.message);
        assert_null(strpbrk(err.message, "\n\r\x1b"));
    }
}

static void sizes(void **state)
{
    (void)state;
    struct sc_spec s;
    size_t len = SC_SPEC_JSON_MAX + 1;
    char *text = malloc(len);
    memset(text, ' ', len);
    memcpy(text, "{}", 2);
    sc_spec_init(&s);
    assert_int_equal(sc_spec_from_json(&s, text, len - 1, &err), 0);
    assert_int_equal(sc_spec_from_json(&s, text, len, &err), -EINVAL);
    assert_non_null(strstr(err.message, "at most 67108864"));
    sc_spec_fini(&s);
    /* Nesting deeper than any field goes is an error, not a crash. */
    memset(text, '[', 1 << 20);
    assert_int_equal(sc_spec_from_json(&s, text, 1 << 20, &err), -EINVAL);
    free(text);
}

static void too_many_entries(void **state)
{
    (void)state;
    size_t size = 1 << 18, n = 0;
    char *text = malloc(size);
    n += (size_t)snprintf(text, size, "{\"args\":[");
    for (int i = 0; i <= SC_SPEC_ARGS_MAX; i++)
        n += (size_t)snprintf(text + n, size - n, "%s\"x\"", i ? "," : "");
    snprintf(text + n, size - n, "]}");
    struct sc_spec s;
    assert_int_equal(parse(&s, text), -EINVAL);
    assert_string_equal(err.field, "args[4096]");
    sc_spec_fini(&s);
    n = (size_t)snprintf(text, size, "{\"files\":[");
    for (int i = 0; i <= SC_SPEC_FILES_MAX; i++)
        n += (size_t)snprintf(text + n, size - n, "%s{\"path\":\"a%d\",\"content\":\"\"}", i ? "," : "", i);
    snprintf(text + n, size - n, "]}");
    assert_int_equal(parse(&s, text), -EINVAL);
    assert_string_equal(err.field, "files[4096]");
    sc_spec_fini(&s);
    n = (size_t)snprintf(text, size, "{\"env\":{");
    for (int i = 0; i <= SC_SPEC_ARGS_MAX; i++)
        n += (size_t)snprintf(text + n, size - n, "%s\"V%d\":\"\"", i ? "," : "", i);
    snprintf(text + n, size - n, "}}");
    assert_int_equal(parse(&s, text), -EINVAL);
    assert_string_equal(err.field, "env.V4096");
    sc_spec_fini(&s);
    free(text);
}

static void reading_the_code_first(void **state)
{
    (void)state;
    struct sc_spec s;
    taken(&s, "{\"validate\":true}");
    assert_true(s.validate.on);
    assert_int_equal(s.validate.rules.n, 0);
    assert_int_equal(sc_spec_from_json(&s, "{\"validate\":{}}", 15, &err), 0);
    assert_true(s.validate.on);
    /* Off means that nothing of it is left. */
    assert_int_equal(sc_spec_add(&s, "deny-module", "os", &err), 0);
    assert_int_equal(sc_spec_from_json(&s, "{\"validate\":false}", 18, &err), 0);
    assert_false(s.validate.on);
    assert_int_equal(s.validate.deny_modules.n, 0);
    sc_spec_fini(&s);
}

static void too_many_rules(void **state)
{
    (void)state;
    static const struct {
        const char *list;
        int max;
        const char *entry;
    } rows[] = {{"rules", SC_SPEC_RULES_MAX, "strict"},
                {"deny_modules", SC_SPEC_DENIED_MAX, "x"},
                {"deny_calls", SC_SPEC_DENIED_MAX, "x"}};
    static char text[16384];
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++)
        for (int over = 0; over < 2; over++) {
            char field[64];
            struct sc_spec s;
            size_t n = (size_t)snprintf(text, sizeof text, "{\"validate\":{\"%s\":[", rows[row].list);
            for (int i = 0; i < rows[row].max + over; i++)
                n += (size_t)snprintf(text + n, sizeof text - n, "%s\"%s\"", i ? "," : "", rows[row].entry);
            snprintf(text + n, sizeof text - n, "]}}");
            snprintf(field, sizeof field, "validate.%s[%d]", rows[row].list, rows[row].max);
            assert_int_equal(parse(&s, text), over ? -EINVAL : 0);
            if (over)
                assert_string_equal(err.field, field);
            sc_spec_fini(&s);
        }
}

static void assert_same(const struct sc_spec *a, const struct sc_spec *b)
{
    char *x = sc_spec_to_json(a), *y = sc_spec_to_json(b);
    assert_non_null(x);
    assert_string_equal(x, y);
    free(x);
    free(y);
    assert_memory_equal(&a->limits, &b->limits, sizeof a->limits);
    assert_int_equal(a->lang, b->lang);
    assert_int_equal(a->stdin_len, b->stdin_len);
    assert_int_equal(a->n_files, b->n_files);
    for (size_t i = 0; i < a->n_files; i++) {
        assert_int_equal(a->files[i].len, b->files[i].len);
        assert_int_equal(!a->files[i].data, !b->files[i].data);
        if (a->files[i].data)
            assert_memory_equal(a->files[i].data, b->files[i].data, a->files[i].len + 1);
        assert_int_equal(a->files[i].mode, b->files[i].mode);
    }
}

static void round_trip(const struct sc_spec *spec)
{
    struct sc_spec back, copy;
    char *text = sc_spec_to_json(spec);
    assert_non_null(text);
    taken(&back, text);
    free(text);
    assert_same(spec, &back);
    assert_int_equal(sc_spec_copy(spec, &copy), 0);
    assert_same(spec, &copy);
    sc_spec_fini(&back);
    sc_spec_fini(&copy);
}

static void round_trips(void **state)
{
    (void)state;
    struct sc_spec s;
    taken(&s, EVERYTHING);
    round_trip(&s);
    sc_spec_fini(&s);
    taken(&s, "{}");
    round_trip(&s);
    taken(&s, "{\"command\":[\"a\"]}");
    round_trip(&s);
    sc_spec_fini(&s);
}

static void random_round_trips(void **state)
{
    (void)state;
    srandom(21);
    for (int round = 0; round < 300; round++) {
        struct sc_spec s;
        sc_spec_init(&s);
        for (const struct sc_limit_row *row = SC_LIMIT_ROWS; row->option; row++)
            if (random() % 2) {
                uint64_t bits = (uint64_t)random() << 31 ^ (uint64_t)random();
                *sc_limit_value(&s.limits, row) = row->min + bits % (row->max - row->min + 1);
            }
        char bytes[64], name[64];
        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = (char)random();
        assert_int_equal(sc_spec_set_stdin(&s, bytes, (size_t)random() % sizeof bytes, NULL), 0);
        for (int i = 0; i < random() % 5; i++) {
            snprintf(name, sizeof name, "V%d=%ld", i, random());
            assert_int_equal(sc_spec_add(&s, "env", name, NULL), 0);
            snprintf(name, sizeof name, "/h/%d:p%d", i, i);
            assert_int_equal(sc_spec_add(&s, "file", name, NULL), 0);
        }
        s.lang = (enum sc_lang)(random() % 6);
        s.allow_degraded = (uint32_t)random() & 0xFF;
        round_trip(&s);
        sc_spec_fini(&s);
    }
}

static void a_spec_that_is_no_text_has_no_json(void **state)
{
    (void)state;
    struct sc_spec s;
    sc_spec_init(&s);
    assert_int_equal(sc_strv_add(&s.args, "\xFF"), 0);
    assert_null(sc_spec_to_json(&s));
    sc_spec_fini(&s);
}

/* Bytes flipped in a good request: taken or refused, never more (run it under a sanitizer). */
static void damaged_requests(void **state)
{
    (void)state;
    srandom(33);
    for (int round = 0; round < 4000; round++) {
        char text[sizeof EVERYTHING];
        struct sc_spec s;
        memcpy(text, EVERYTHING, sizeof text);
        for (int i = 0; i < 1 + random() % 3; i++)
            text[(size_t)random() % (sizeof text - 1)] =
                random() % 3 ? "\"\\{}[],:0a-"[random() % 11] : (char)random();
        sc_spec_init(&s);
        sc_err_clear(&err);
        int r = sc_spec_from_json(&s, text, sizeof text - 1, &err);
        assert_true(r == 0 || (r == -EINVAL && err.kind == SC_ERR_USAGE && *err.message));
        sc_spec_fini(&s);
    }
}

/* What is printed for eyes has the names; what is handed on has the values, and reads as the same. */
static void secrets_are_withheld(void **state)
{
    (void)state;
    static const char text[] = "{\"secrets\":{\"TOKEN\":\"hush-4711\"},\"env\":{\"A\":\"b\"}}";
    struct sc_spec spec, copy, again;
    err = (struct sc_err){0};
    sc_spec_init(&spec);
    sc_spec_init(&again);
    assert_int_equal(sc_spec_from_json(&spec, text, strlen(text), &err), 0);
    assert_string_equal(sc_spec_secret(&spec, "TOKEN"), "hush-4711");
    assert_null(sc_spec_secret(&spec, "A"));
    assert_int_equal(sc_spec_copy(&spec, &copy), 0);
    char *shown = sc_spec_to_json(&copy), *whole = sc_spec_to_json_whole(&copy);
    assert_non_null(strstr(shown, "TOKEN"));
    assert_null(strstr(shown, "hush"));
    assert_int_equal(sc_spec_from_json(&again, whole, strlen(whole), &err), 0);
    assert_string_equal(sc_spec_secret(&again, "TOKEN"), "hush-4711");
    assert_int_equal(again.env.n, 2);
    /* A session may have them, and nothing else. */
    static const char command[] = "{\"command\":[\"true\"]}";
    assert_int_equal(sc_spec_from_json(&again, command, strlen(command), &err), 0);
    assert_int_equal(sc_spec_check(&again, 0, &err), -EINVAL);
    assert_string_equal(err.field, "secrets");
    copy.session = true;
    err = (struct sc_err){0};
    assert_int_equal(sc_spec_check(&copy, 0, &err), 0);
    free(shown);
    free(whole);
    sc_spec_fini(&spec);
    sc_spec_fini(&copy);
    sc_spec_fini(&again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(secrets_are_withheld),
        cmocka_unit_test(every_field),
        cmocka_unit_test(null_means_not_given),
        cmocka_unit_test(refusals),
        cmocka_unit_test(sizes),
        cmocka_unit_test(too_many_entries),
        cmocka_unit_test(round_trips),
        cmocka_unit_test(random_round_trips),
        cmocka_unit_test(a_spec_that_is_no_text_has_no_json),
        cmocka_unit_test(damaged_requests),
        cmocka_unit_test(reading_the_code_first),
        cmocka_unit_test(too_many_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
