/* What the front for E2B's clients reads of what they send. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the four above */
#include <cmocka.h>

#include "gate/e2b/e2b.h"
#include "gate/e2b/files.h"
#include "gate/e2b/shell.h"
#include "gate/e2b/signature.h"

#define ID "0123456789abcdef0123456789abcdef"
#define SECRET ID ID

static void hosts_name_a_port_and_a_sandbox(void **state)
{
    static const struct {
        const char *host;
        unsigned port;
        const char *id;
    } good[] = {{"49983-" ID ".localhost", 49983, ID},
                {"1-x.localhost:8480", 1, "x"},
                {"65535-abc.a.example", 65535, "abc"}};
    static const char *const bad[] = {
        "",        "localhost", "0-x.a",   "65536-x.a", "99999-x.a", "123456-x.a", "-1-x.a",
        "80-.a",   "80-x",      "80-X.a",  "80-x-y.a",  "80_x.a",    "80-x:1.a",   "80-" SECRET "0.a",
        " 80-x.a", "+80-x.a",   "80-x/.a", "x-80.a"};
    unsigned port = 0;
    char id[65];
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_int_equal(e2b_read_host(good[i].host, &port, id), 0);
        assert_int_equal(port, good[i].port);
        assert_string_equal(id, good[i].id);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(e2b_read_host(bad[i], &port, id), -EINVAL);
        assert_null(e2b_domain(bad[i]));
    }
    assert_int_equal(port, 65535);
    assert_string_equal(e2b_domain("80-x.localhost:8480"), "localhost:8480");
}

static void tokens_are_an_id_and_a_secret(void **state)
{
    static const char *const bad[] = {"", ID, SECRET, ID SECRET "0", "X" ID SECRET, ID "G" SECRET};
    char id[E2B_ID + 1], secret[E2B_SECRET + 1];
    (void)state;
    assert_int_equal(e2b_read_token(ID SECRET, id, secret), 0);
    assert_string_equal(id, ID);
    assert_string_equal(secret, SECRET);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(e2b_read_token(bad[i], id, secret), -EINVAL);
}

static void keys_have_two_forms(void **state)
{
    char room[96];
    (void)state;
    assert_string_equal(e2b_key("e2b_0123456789abcdef" SECRET, room, sizeof room),
                        "sck_0123456789abcdef_" SECRET);
    assert_string_equal(e2b_key("sck_x", room, sizeof room), "sck_x");
    assert_string_equal(e2b_key("e2b_" SECRET, room, sizeof room), "");
    assert_string_equal(e2b_key("e2b_0123456789abcdeG" SECRET, room, sizeof room), "");
}

static void paths_begin_at_home(void **state)
{
    static const char *const rows[][2] = {{"/a/b", "/a/b"},          {"", "/home/user"},
                                          {"~", "/home/user"},       {"~/x", "/home/user/x"},
                                          {"x/é", "/home/user/x/é"}, {"~x", "/home/user/~x"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *path = e2b_path(rows[i][0]);
        assert_string_equal(path, rows[i][1]);
        free(path);
    }
}

static void queries_are_decoded(void **state)
{
    struct request request = {
        .query_text = "path=%2Fa%20b+c&x=1&path=%C3%A9&pathless=2&empty=&bad=%zz&nul=%00&odd=%ff"};
    static const struct {
        const char *name;
        unsigned n;
        const char *value;
    } rows[] = {{"path", 0, "/a b c"}, {"path", 1, "é"}, {"path", 2, NULL}, {"x", 0, "1"},  {"empty", 0, ""},
                {"bad", 0, NULL},      {"nul", 0, NULL}, {"odd", 0, NULL},  {"no", 0, NULL}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *value = e2b_query(&request, rows[i].name, rows[i].n);
        if (rows[i].value)
            assert_string_equal(value, rows[i].value);
        else
            assert_null(value);
        free(value);
    }
}

static void ranges_lie_in_the_file(void **state)
{
    static const struct {
        const char *header;
        uint64_t size;
        int r;
        uint64_t at, len;
    } rows[] = {{"bytes=0-0", 10, 1, 0, 1},      {"bytes=2-", 10, 1, 2, 8},
                {"bytes=2-99", 10, 1, 2, 8},     {"bytes=-3", 10, 1, 7, 3},
                {"bytes=-30", 10, 1, 0, 10},     {"bytes=10-", 10, -ERANGE, 0, 0},
                {"bytes=-0", 10, -ERANGE, 0, 0}, {"bytes=0-", 0, -ERANGE, 0, 0},
                {"bytes=-1", 0, -ERANGE, 0, 0},  {"bytes=3-2", 10, 0, 0, 0},
                {"bytes=0-1,3-4", 10, 0, 0, 0},  {"lines=1-2", 10, 0, 0, 0},
                {"bytes=x-", 10, 0, 0, 0},       {NULL, 10, 0, 0, 0},
                {"bytes=", 10, 0, 0, 0},         {"bytes=18446744073709551615-", 10, -ERANGE, 0, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t at = 0, len = 0;
        assert_int_equal(files_range(rows[i].header, rows[i].size, &at, &len), rows[i].r);
        assert_true(at == rows[i].at && len == rows[i].len);
    }
}

static void a_message_is_one_whole_frame(void **state)
{
    const char *payload;
    size_t len = 99;
    (void)state;
    assert_int_equal(connect_read("\0\0\0\0\2{}", 7, &payload, &len), 0);
    assert_int_equal(len, 2);
    assert_memory_equal(payload, "{}", 2);
    assert_int_equal(connect_read("\0\0\0\0\0", 5, &payload, &len), 0);
    assert_int_equal(len, 0);
    assert_int_equal(connect_read("\0\0\0\0", 4, &payload, &len), -EINVAL);
    assert_int_equal(connect_read("\0\0\0\0\3{}", 7, &payload, &len), -EINVAL);
    assert_int_equal(connect_read("\0\0\0\0\1{}", 7, &payload, &len), -EINVAL);
    assert_int_equal(connect_read("\1\0\0\0\2{}", 7, &payload, &len), -EINVAL);
    assert_int_equal(connect_read("\0\xff\xff\xff\xff{}", 7, &payload, &len), -EINVAL);
}

static void check_network(const char *asked, const char *wanted, const char *why_part)
{
    json_t *body = json_loads(asked, 0, NULL), *network = NULL;
    char why[200] = "";
    assert_non_null(body);
    int r = e2b_network(body, &network, why, sizeof why);
    assert_int_equal(r, wanted ? 0 : -EINVAL);
    if (wanted) {
        json_t *right = json_loads(wanted, 0, NULL);
        assert_true(json_equal(network, right));
        json_decref(right);
    } else {
        assert_null(network);
        assert_non_null(strstr(why, why_part));
    }
    json_decref(network);
    json_decref(body);
}

static void networks_become_rules(void **state)
{
    (void)state;
    check_network("{}", "{\"mode\": \"open\"}", NULL);
    check_network("{\"allow_internet_access\": false}", "{\"mode\": \"none\"}", NULL);
    check_network("{\"denyOut\": [\"0.0.0.0/0\"]}", "{\"mode\": \"none\"}", NULL);
    check_network("{\"denyOut\": [\"0.0.0.0/0\"], \"allowOut\": [\"a.example\", \"*.b.example\", "
                  "\"192.0.2.0/24\", \"2001:db8::1\"]}",
                  "{\"mode\": \"rules\", \"rules\": [{\"allow\": \"a.example\"}, {\"allow\": "
                  "\"*.b.example\"}, {\"allow\": \"192.0.2.0/24:*\"}, "
                  "{\"allow\": \"[2001:db8::1]:*\"}]}",
                  NULL);
    check_network("{\"denyOut\": [\"203.0.113.1\"]}", NULL, "denyOut[0]");
    check_network("{\"allowOut\": [\"a.example:80\"]}", NULL, "allowOut[0]");
    check_network("{\"allowOut\": [1]}", NULL, "allowOut[0]");
    check_network("{\"rules\": {\"a\": []}}", NULL, "network.rules");
    check_network("{\"allowPublicTraffic\": true}", NULL, "allowPublicTraffic");
    check_network("{\"allowPublicTraffic\": false, \"rules\": {}, \"egressProxy\": null}",
                  "{\"mode\": \"open\"}", NULL);
}

static void metadata_comes_back(void **state)
{
    const char *name = NULL;
    json_t *given = json_pack("{s:s, s:s, s:s}", "a", "1", "x.y z", "é&=", "e2b..template", "mine"),
           *kept = json_object();
    (void)state;
    assert_int_equal(e2b_put_metadata(kept, given, &name), 0);
    /* None of its names is one that this front keeps its own under. */
    (void)json_object_set_new(kept, "e2b..template", json_string("base"));
    json_t *back = e2b_take_metadata(kept);
    assert_true(json_equal(back, given));
    json_decref(back);
    json_decref(given);
    given = json_pack("{s:i}", "a", 1);
    assert_int_equal(e2b_put_metadata(kept, given, &name), -EINVAL);
    assert_string_equal(name, "a");
    json_decref(given);
    given = json_pack("{s:s}", "", "1");
    assert_int_equal(e2b_put_metadata(kept, given, &name), -EINVAL);
    json_decref(given);
    json_decref(kept);
}

static void cells_of_commands_alone_are_run_by_bash(void **state)
{
    static const char *const python[] = {"",       "\n# a\n",    "1\n!a", "!a\n1", "'''\n!a\n'''",
                                         "x != 1", "a = b\\\n!c"};
    (void)state;
    for (size_t i = 0; i < sizeof python / sizeof *python; i++) {
        json_t *code = json_string(python[i]), *made = shell_code(code);
        assert_ptr_equal(made, code);
        json_decref(made);
        json_decref(code);
    }
    json_t *code = json_string("# a\n !echo \"é\" \\\n b\n\n!x"), *made = shell_code(code);
    assert_string_equal(
        json_string_value(made),
        "__import__('subprocess').run(['/bin/bash', '-c', \"echo \\\"é\\\" \\\\\\n b\"], stdin=-3) and None\n"
        "__import__('subprocess').run(['/bin/bash', '-c', \"x\"], stdin=-3) and None\n");
    json_decref(made);
    json_decref(code);
}

static void signatures_are_those_of_clients(void **state)
{
    char text[SIGNATURE_MAX];
    (void)state;
    signature_make("/home/user/a.txt", "read", "", "tok123", NULL, text);
    assert_string_equal(text, "v1_byj2OB/vujgbES/1KAKCaR27E+9eOrB6PzeTnIL8L6M");
    signature_make("", "write", "user", "tok123", "1700000000", text);
    assert_string_equal(text, "v1_I8v1r+e70cbid0i9mWF+HP9rYLX4nWpmyLnjkcMxsxw");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_name_a_port_and_a_sandbox),
        cmocka_unit_test(tokens_are_an_id_and_a_secret),
        cmocka_unit_test(keys_have_two_forms),
        cmocka_unit_test(paths_begin_at_home),
        cmocka_unit_test(queries_are_decoded),
        cmocka_unit_test(ranges_lie_in_the_file),
        cmocka_unit_test(a_message_is_one_whole_frame),
        cmocka_unit_test(networks_become_rules),
        cmocka_unit_test(metadata_comes_back),
        cmocka_unit_test(cells_of_commands_alone_are_run_by_bash),
        cmocka_unit_test(signatures_are_those_of_clients),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
