/* Rules as text and as JSON: what is taken, what is refused, and in which words. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/json.h"
#include "spec/spec.h"

static void add(struct sc_net *net, bool allow, const char *text)
{
    struct sc_err err = {0};
    if (sc_net_add_rule(net, allow, "allow", text, &err) < 0)
        fail_msg("%s: %s", text, err.message);
}

static void test_forms(void **state)
{
    (void)state;
    struct sc_net net = {0};
    add(&net, true, "Example.ORG");
    add(&net, true, "*.example.org:8000-8010,9000");
    add(&net, false, "10.0.0.0/8");
    add(&net, true, "192.0.2.7:*");
    add(&net, true, "[2001:db8::/32]:443");
    add(&net, true, "2001:db8::1");
    add(&net, true, "xn--bcher-kva.example.:22");
    assert_int_equal(net.mode, SC_NET_RULES);
    assert_int_equal(net.n_rules, 7);
    assert_string_equal(net.rules[0].name, "example.org");
    assert_int_equal(net.rules[0].n_ports, 2);
    assert_int_equal(net.rules[0].ports[0].first, 80);
    assert_int_equal(net.rules[0].ports[1].last, 443);
    assert_int_equal(net.rules[1].ports[0].last, 8010);
    assert_int_equal(net.rules[1].ports[1].first, 9000);
    assert_null(net.rules[2].name);
    assert_int_equal(net.rules[2].cidr.bits, 8);
    assert_int_equal(net.rules[2].ports[0].last, 65535);
    assert_int_equal(net.rules[3].cidr.bits, 32);
    assert_true(net.rules[4].cidr.addr.v6);
    assert_int_equal(net.rules[4].cidr.bits, 32);
    assert_int_equal(net.rules[5].cidr.bits, 128);
    assert_string_equal(net.rules[6].name, "xn--bcher-kva.example");
    sc_net_fini(&net);
}

static void test_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      ":80",
                                      "a..b",
                                      ".a",

                                      "a b",
                                      "ex ample.org",
                                      "b\xc3\xbc\x63her.example",
                                      "example.org:",
                                      "example.org:0",
                                      "example.org:65536",
                                      "example.org:90-80",
                                      "example.org:80,",
                                      "example.org:1-2-3",
                                      "example.org/24",
                                      "*.*.example.org",
                                      "ex*mple.org",
                                      "**",
                                      "10.0.0.0/33",
                                      "10.0.0.1/8",
                                      "10.0.0",
                                      "256.1.1.1",
                                      "1.2.3.4.5",
                                      "[2001:db8::1",
                                      "[2001:db8::1]x",
                                      "2001:db8::/129",
                                      "[example.org]:80x",
                                      "http://example.org",
                                      "example.org:80:90",
                                      "example.org:+80",
                                      "example.org: 80",
                                      "0x7f000001",
                                      "2130706433"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct sc_net net = {0};
        struct sc_err err = {0};
        if (sc_net_add_rule(&net, true, "allow", bad[i], &err) == 0)
            fail_msg("\"%s\" was taken", bad[i]);
        assert_int_equal(err.kind, SC_ERR_USAGE);
        assert_non_null(strstr(err.message, "allow: "));
        assert_int_equal(net.n_rules, 0);
        assert_int_equal(net.mode, SC_NET_NONE);
        sc_net_fini(&net);
    }
}

static void test_presets(void **state)
{
    (void)state;
    struct sc_net net = {0};
    struct sc_err err = {0};
    add(&net, true, "preset:pypi");
    assert_int_equal(net.n_rules, 2);
    assert_string_equal(net.rules[0].name, "pypi.org");
    assert_int_equal(net.rules[0].n_ports, 1);
    add(&net, true, "preset:npm");
    add(&net, true, "preset:debian");
    add(&net, false, "preset:github");
    assert_false(net.rules[net.n_rules - 1].allow);
    assert_int_equal(sc_net_add_rule(&net, true, "allow", "preset:cpan", &err), -EINVAL);
    assert_string_equal(err.message, "allow: cpan: allowed behind preset: are debian, github, npm, pypi");
    sc_net_fini(&net);
}

static int from_json(struct sc_spec *spec, const char *network, struct sc_err *err)
{
    char text[1024];
    snprintf(text, sizeof text, "{\"command\": [\"true\"], \"network\": %s}", network);
    sc_spec_init(spec);
    return sc_spec_from_json(spec, text, strlen(text), err);
}

static void test_json_both_ways(void **state)
{
    (void)state;
    struct sc_spec spec, again;
    struct sc_err err = {0};
    assert_int_equal(
        from_json(
            &spec,
            "{\"mode\": \"open\", \"rules\": [{\"deny\": \"*.evil.example\"}, {\"allow\": "
            "\"10.1.0.0/16:5432\", \"connections\": 2, \"bytes_out\": 3, \"bytes_in\": 4, "
            "\"bytes_per_second\": 5}],"
            " \"internal\": [\"10.2.0.0/16\"], \"refuse_names\": \"refused\", \"check_names\": false,"
            " \"connections\": 7, \"bytes_out\": 8, \"bytes_in\": 9, \"bytes_per_second\": 10,"
            " \"within\": {\"rules\": [{\"allow\": \"*:80\", \"http\": [\"GET /repos/*\", \"* /x\"]}]}}",
            &err),
        0);
    char *text = sc_spec_to_json(&spec);
    sc_spec_init(&again);
    assert_int_equal(sc_spec_from_json(&again, text, strlen(text), &err), 0);
    char *same = sc_spec_to_json(&again);
    assert_string_equal(text, same);
    assert_int_equal(again.net.mode, SC_NET_OPEN);
    assert_int_equal(again.net.n_rules, 2);
    assert_int_equal(again.net.rules[1].connections, 2);
    assert_int_equal(again.net.rules[1].bytes_out, 3);
    assert_int_equal(again.net.rules[1].bytes_in, 4);
    assert_int_equal(again.net.rules[1].bytes_per_second, 5);
    assert_int_equal(again.net.n_internal, 1);
    assert_int_equal(again.net.connections, 7);
    assert_true(again.net.unchecked_names);
    assert_int_equal(again.net.within->mode, SC_NET_RULES);
    assert_int_equal(again.net.within->rules[0].n_http, 2);
    assert_string_equal(again.net.within->rules[0].http[1], "* /x");
    struct sc_spec copy;
    assert_int_equal(sc_spec_copy(&again, &copy), 0);
    char *copied = sc_spec_to_json(&copy);
    assert_string_equal(text, copied);
    free(text);
    free(same);
    free(copied);
    sc_spec_fini(&copy);
    sc_spec_fini(&again);
    sc_spec_fini(&spec);
}

/* What is printed has no value, what is handed on has it, and what was printed cannot be taken for it. */
static void test_credentials_are_withheld(void **state)
{
    (void)state;
    struct sc_spec spec, again;
    struct sc_err err = {0};
    assert_int_equal(
        from_json(&spec,
                  "{\"rules\": [{\"allow\": \"a.example:80\", \"credential\": {\"header\": \"X-Key\", "
                  "\"value\": \"SECRET\"}}], \"within\": {\"rules\": [{\"allow\": \"a.example:80\", "
                  "\"credential\": {\"basic\": \"u:p\"}}]}}",
                  &err),
        0);
    assert_string_equal(spec.net.rules[0].secret, "SECRET");
    assert_string_equal(spec.net.within->rules[0].secret_field, "Authorization");
    assert_string_equal(spec.net.within->rules[0].secret, "Basic dTpw");
    assert_true(sc_net_has_credentials(&spec.net));
    char *shown = sc_spec_to_json(&spec), *whole = sc_spec_to_json_whole(&spec);
    assert_null(strstr(shown, "SECRET"));
    assert_null(strstr(shown, "dTpw"));
    assert_non_null(strstr(whole, "SECRET"));
    sc_spec_init(&again);
    assert_int_equal(sc_spec_from_json(&again, whole, strlen(whole), &err), 0);
    assert_string_equal(again.net.within->rules[0].secret, "Basic dTpw");
    sc_spec_fini(&again);
    sc_spec_init(&again);
    assert_int_equal(sc_spec_from_json(&again, shown, strlen(shown), &err), 0);
    assert_null(again.net.rules[0].secret);
    assert_string_equal(again.net.rules[0].secret_field, "X-Key");
    free(shown);
    free(whole);
    sc_spec_fini(&again);
    sc_spec_fini(&spec);
}

/* What is about requests on 443, or on a port of a rule that says so, is over TLS. */
static void test_terminates(void **state)
{
    (void)state;
    static const struct {
        const char *network;
        bool terminates;
    } rows[] = {
        {"{\"rules\": [{\"allow\": \"a.example\"}]}", false},
        {"{\"rules\": [{\"allow\": \"a.example:80\", \"http\": [\"GET /\"]}]}", false},
        {"{\"rules\": [{\"allow\": \"a.example\", \"http\": [\"GET /\"]}]}", true},
        {"{\"rules\": [{\"allow\": \"a.example:8443\", \"http\": [\"GET /\"], \"tls\": true}]}", true},
        {"{\"rules\": [{\"allow\": \"*.example:400-500\", \"http\": [\"GET /\"]}]}", true},
        {"{\"rules\": [{\"allow\": \"a.example:443\", \"credential\": {\"basic\": \"u:p\"}}]}", true},
        {"{\"rules\": [{\"allow\": \"a.example:443,8443\", \"credential\": {\"basic\": \"u:p\"}, \"tls\": "
         "true}]}",
         true},
        {"{\"mode\": \"open\", \"within\": {\"rules\": [{\"allow\": \"*\", \"http\": [\"GET /\"]}]}}", true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct sc_spec spec, again;
        struct sc_err err = {0};
        if (from_json(&spec, rows[i].network, &err) < 0)
            fail_msg("%s: %s", rows[i].network, err.message);
        char *whole = sc_spec_to_json_whole(&spec);
        sc_spec_init(&again);
        assert_int_equal(sc_spec_from_json(&again, whole, strlen(whole), &err), 0);
        if (sc_net_terminates(&spec.net) != rows[i].terminates ||
            sc_net_terminates(&again.net) != rows[i].terminates)
            fail_msg("%s", rows[i].network);
        free(whole);
        sc_spec_fini(&again);
        sc_spec_fini(&spec);
    }
}

static void test_json_refused(void **state)
{
    (void)state;
    static const struct {
        const char *network, *says;
    } rows[] = {
        {"{\"mode\": \"some\"}", "network.mode: some"},
        {"{\"rule\": []}", "did you mean rules"},
        {"{\"rules\": [{}]}", "needs one of allow and deny"},
        {"{\"rules\": [{\"allow\": \"a.example\", \"deny\": \"b.example\"}]}", "needs one of allow and deny"},
        {"{\"rules\": [{\"allow\": \"a b\"}]}", "network.rules[0].allow: a b"},
        {"{\"mode\": \"none\", \"rules\": [{\"allow\": \"a.example\"}]}", "mode none has no rules"},
        {"{\"internal\": [\"example.org\"]}", "network.internal[0]"},
        {"{\"connections\": 0}", "network.connections: 0: allowed 1 to 1024"},
        {"{\"connections\": 1025}", "allowed 1 to 1024"},
        {"{\"bytes_in\": 1.5}", "whole number"},
        {"{\"rules\": [{\"allow\": \"a.example\", \"bytes_in\": 0}]}",
         "network.rules[0].bytes_in: 0: allowed 1"},
        {"{\"rules\": [{\"deny\": \"a.example\", \"connections\": 1}]}",
         "network.rules[0].connections: a rule that denies has none"},
        {"{\"rules\": [{\"bytes_out\": 1, \"allow\": \"preset:pypi\"}]}",
         "network.rules[0].bytes_out: a preset has none"},
        {"{\"rules\": [{\"allow\": \"a.example\", \"tls\": true}]}",
         "network.rules[0].tls: allowed with http or credential"},
        {"{\"rules\": [{\"allow\": \"a.example\", \"http\": [\"GET /\"], \"tls\": false}]}",
         "network.rules[0].tls: allowed: true"},
        {"{\"rules\": [{\"deny\": \"a.example\", \"tls\": true}]}", "a rule that denies has none"},
        {"{\"rules\": [{\"allow\": \"192.0.2.1:80\", \"http\": [\"GET /\"]}]}",
         "network.rules[0].http: a rule about addresses has none"},
        {"{\"rules\": [{\"deny\": \"a.example\", \"http\": [\"GET /\"]}]}", "a rule that denies has none"},
        {"{\"rules\": [{\"allow\": \"a.example:80\", \"http\": []}]}", "needs at least one request"},
        {"{\"rules\": [{\"allow\": \"a.example:80\", \"http\": [\"get /\"]}]}",
         "network.rules[0].http[0]: get /: allowed: METHOD PATH"},
        {"{\"rules\": [{\"allow\": \"a.example:80\", \"http\": [\"GET /a/*/b\"]}]}", "allowed: METHOD PATH"},
        {"{\"rules\": [{\"allow\": \"a.example:80\", \"http\": [\"GET /a/../b\"]}]}", "allowed: METHOD PATH"},
        {"{\"rules\": [{\"allow\": \"a.example:80\", \"http\": [\"GET /a?b\"]}]}", "allowed: METHOD PATH"},
        {"{\"rules\": [{\"allow\": \"a.example:80\", \"http\": [\"GET\"]}]}", "allowed: METHOD PATH"},
        {"{\"rules\": [{\"allow\": \"a.example:80\", \"http\": [\"TRACE /\"]}]}", "never let through"},
        {"{\"rules\": [{\"allow\": \"a.example\", \"credential\": {\"basic\": \"u:SECRET\"}}]}",
         "network.rules[0].credential: the rule's ports have 443, where requests come over TLS, and others"},
        {"{\"rules\": [{\"allow\": \"*.example:80\", \"credential\": {\"basic\": \"u:SECRET\"}}]}",
         "it is for one name"},
        {"{\"rules\": [{\"allow\": \"192.0.2.1:80\", \"credential\": {\"basic\": \"u:SECRET\"}}]}",
         "a rule about addresses has none"},
        {"{\"rules\": [{\"deny\": \"a.example\", \"credential\": {\"basic\": \"u:SECRET\"}}]}",
         "a rule that denies has none"},
        {"{\"rules\": [{\"allow\": \"a.example:80\", \"credential\": {\"basic\": \"SECRET\"}}]}",
         "network.rules[0].credential.basic: allowed: USER:PASSWORD"},
        {"{\"rules\": [{\"allow\": \"a.example:80\", \"credential\": {\"header\": \"X-Key\"}}]}",
         "network.rules[0].credential: allowed: header and value, or basic"},
        {"{\"rules\": [{\"allow\": \"a.example:80\", \"credential\": {\"header\": \"X-Key\", \"basic\": "
         "\"u:SECRET\"}}]}",
         "allowed: header and value, or basic"},
        {"{\"rules\": [{\"allow\": \"a.example:80\", \"credential\": {\"header\": \"X-Key\", \"value\": "
         "\"SECRET\\r\\nA: b\"}}]}",
         "network.rules[0].credential.value: allowed: 1 to 4096"},
        {"{\"rules\": [{\"allow\": \"a.example:80\", \"credential\": {\"header\": \"Content-Length\", "
         "\"value\": \"SECRET\"}}]}",
         "network.rules[0].credential.header: Content-Length"},
        {"{\"credentials\": []}", "unknown field"},
        {"{\"within\": {\"within\": {\"within\": {\"within\": {\"within\": {\"within\": {\"within\": "
         "{}}}}}}}}",
         "deeper than"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct sc_spec spec;
        struct sc_err err = {0};
        if (from_json(&spec, rows[i].network, &err) == 0)
            fail_msg("%s was taken", rows[i].network);
        if (!strstr(err.message, rows[i].says) || strstr(err.message, "SECRET"))
            fail_msg("%s: %s", rows[i].network, err.message);
        sc_spec_fini(&spec);
    }
}

/* The template's rules stand behind the request's own. */
static void test_template(void **state)
{
    (void)state;
    static const struct {
        const char *own, *templates, *result; /* result: NULL is refused */
    } rows[] = {
        {NULL, "{\"rules\": [{\"allow\": \"a.example\"}]}", "a.example"},
        {"{\"mode\": \"open\"}", "{\"rules\": [{\"allow\": \"a.example\"}]}", "within"},
        {"{\"mode\": \"none\"}", "{\"mode\": \"open\"}", "none"},
        {"{\"mode\": \"open\"}", "{\"mode\": \"none\"}", NULL},
        {NULL, "{\"mode\": \"none\"}", "none"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct sc_spec spec, defaults;
        struct sc_err err = {0};
        assert_int_equal(from_json(&spec, rows[i].own ? rows[i].own : "null", &err), 0);
        assert_int_equal(from_json(&defaults, rows[i].templates, &err), 0);
        int r = sc_spec_fill(&spec, &defaults, &err);
        char *text = sc_spec_to_json(&spec);
        if ((r == 0) != (rows[i].result != NULL) || (r == 0 && !strstr(text, rows[i].result)))
            fail_msg("row %zu: %d %s", i, r, text);
        free(text);
        sc_spec_fini(&spec);
        sc_spec_fini(&defaults);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_presets),
        cmocka_unit_test(test_json_both_ways),
        cmocka_unit_test(test_credentials_are_withheld),
        cmocka_unit_test(test_terminates),
        cmocka_unit_test(test_json_refused),
        cmocka_unit_test(test_template),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
