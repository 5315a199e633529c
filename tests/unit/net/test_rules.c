/* What rules decide: one row a question. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "net/rules.h"

/* "+rule", "-rule", "@internal", "open", and "|" begins the layer within. */
static void rules_of(const char *text, struct sc_net *ret_net)
{
    char word[128];
    struct sc_net *net = ret_net;
    struct sc_err err = {0};
    int used = 0;
    *net = (struct sc_net){0};
    for (; sscanf(text, " %127s%n", word, &used) == 1; text += used) {
        int r = 0;
        if (!strcmp(word, "|")) {
            net->within = calloc(1, sizeof *net);
            net = net->within;
        } else if (*word == '@') {
            r = sc_net_add_internal(net, "internal", word + 1, &err);
        } else if (*word == '+' || *word == '-') {
            r = sc_net_add_rule(net, *word == '+', "rule", word + 1, &err);
        } else {
            r = sc_net_set_mode(net, "mode", word, &err);
        }
        if (r < 0)
            fail_msg("%s: %s", word, err.message);
    }
}

static void forget(struct sc_net *net)
{
    struct sc_net *within = net->within;
    net->within = NULL;
    sc_net_fini(net);
    if (within)
        forget(within);
    if (within)
        free(within);
}

struct question {
    const char *rules, *what; /* a name or an address */
    uint16_t port;
    bool allowed;
};

static struct sc_addr address(const char *text)
{
    struct sc_addr addr;
    assert_int_equal(sc_addr_parse(text, &addr), 0);
    return addr;
}

static void test_names(void **state)
{
    (void)state;
    static const struct question rows[] = {
        {"+example.org", "example.org", 443, true},
        {"+example.org", "example.org", 80, true},
        {"+example.org", "example.org", 22, false},
        {"+example.org", "www.example.org", 443, false},
        {"+example.org", "badexample.org", 443, false},
        {"+*.example.org", "example.org", 443, false},
        {"+*.example.org", "a.example.org", 443, true},
        {"+*.example.org", "a.b.example.org", 443, true},
        {"+*.example.org", "xexample.org", 443, false},
        {"-www.example.org +*.example.org", "www.example.org", 443, false},
        {"+*.example.org -www.example.org", "www.example.org", 443, true},
        {"-example.org:22 +example.org:*", "example.org", 22, false},
        {"-example.org:22 +example.org:*", "example.org", 23, true},
        {"open", "anything.example", 25, true},
        {"open -*.example", "anything.example", 25, false},
        {"none", "example.org", 443, false},
        {"+*", "example.org", 443, true},
        {"open | +a.example", "a.example", 443, true},
        {"open | +a.example", "b.example", 443, false},
        {"+a.example:* | +a.example:443", "a.example", 22, false},
        {"+b.example | +*", "a.example", 443, false},
        {"+10.0.0.0/8", "a.example", 443, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct sc_net net;
        rules_of(rows[i].rules, &net);
        struct sc_net_verdict verdict = sc_net_judge_name(&net, rows[i].what, rows[i].port);
        if (verdict.allow != rows[i].allowed || (!verdict.allow && !verdict.reason) || !verdict.rule)
            fail_msg("%s: %s:%u", rows[i].rules, rows[i].what, rows[i].port);
        /* What may be reached may be looked up. */
        if (verdict.allow)
            assert_true(sc_net_judge_lookup(&net, rows[i].what).allow);
        forget(&net);
    }
}

static void test_lookups(void **state)
{
    (void)state;
    static const struct question rows[] = {
        {"+a.example:22", "a.example", 0, true},
        {"+a.example:22", "b.example", 0, false},
        {"-a.example:22 +a.example", "a.example", 0, true},
        {"-a.example +a.example", "a.example", 0, false},
        {"open -a.example", "a.example", 0, false},
        {"open -a.example:25", "a.example", 0, true},
        {"open | +a.example", "b.example", 0, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct sc_net net;
        rules_of(rows[i].rules, &net);
        if (sc_net_judge_lookup(&net, rows[i].what).allow != rows[i].allowed)
            fail_msg("%s: %s", rows[i].rules, rows[i].what);
        forget(&net);
    }
}

static void test_literals(void **state)
{
    (void)state;
    static const struct question rows[] = {
        {"+93.184.216.0/24", "93.184.216.34", 443, true},
        {"+93.184.216.0/24", "93.184.217.34", 443, false},
        {"+93.184.216.0/24", "93.184.216.34", 22, false},
        {"+example.org +*", "93.184.216.34", 443, false},
        {"open", "93.184.216.34", 22, true},
        {"open -93.184.216.34", "93.184.216.34", 22, false},
        {"open", "10.1.2.3", 80, false},
        {"open", "127.0.0.1", 80, false},
        {"open", "169.254.169.254", 80, false},
        {"open", "224.0.0.1", 80, false},
        {"open", "255.255.255.255", 80, false},
        {"open", "0.0.0.0", 80, false},
        {"open", "100.64.0.1", 80, false},
        {"open", "198.18.5.5", 80, false},
        {"open @10.1.0.0/16", "10.1.2.3", 80, true},
        {"open @10.1.0.0/16", "10.2.2.3", 80, false},
        {"@10.1.0.0/16 +a.example", "10.1.2.3", 80, false},
        {"+10.1.0.0/16", "10.1.2.3", 80, true},
        {"+0.0.0.0/0", "10.1.2.3", 80, false},
        {"+0.0.0.0/0", "93.184.216.34", 80, true},
        {"+0.0.0.0/0 -10.0.0.0/8 +10.1.0.0/16", "10.1.2.3", 80, false},
        {"+0.0.0.0/0 +10.1.0.0/16", "10.1.2.3", 80, true},
        {"+127.0.0.1:5432", "127.0.0.1", 5432, true},
        {"+127.0.0.1:5432", "127.0.0.1", 80, false},
        {"open", "2606:4700::1", 443, true},
        {"open", "::1", 443, false},
        {"open", "::", 443, false},
        {"open", "fe80::1", 443, false},
        {"open", "fd00:ec2::254", 443, false},
        {"open", "ff02::1", 443, false},
        {"open", "2001:db8::1", 443, false},
        {"open", "2001:2::1", 443, false},
        {"open", "::ffff:127.0.0.1", 443, false},
        {"open", "::ffff:93.184.216.34", 443, true},
        {"open", "64:ff9b::7f00:1", 443, false},
        {"open", "64:ff9b::a9fe:a9fe", 80, false},
        {"open", "64:ff9b::5db8:d822", 443, true},
        {"open", "64:ff9b:1::7f00:1", 443, false},
        {"open", "2002:7f00:1::", 443, false},
        {"open", "2002:0a00:1::1", 443, false},
        {"open", "2002:5db8:d822::1", 443, true},
        {"open -93.184.216.34", "2002:5db8:d822::1", 443, false},
        {"open -64:ff9b::/96", "64:ff9b::5db8:d822", 443, false},
        {"open | open @10.0.0.0/8", "10.1.1.1", 80, false},
        {"open @10.0.0.0/8 | open", "10.1.1.1", 80, false},
        {"open @10.0.0.0/8 | open @10.1.0.0/16", "10.1.1.1", 80, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct sc_net net;
        struct sc_addr addr = address(rows[i].what);
        rules_of(rows[i].rules, &net);
        struct sc_net_verdict verdict = sc_net_judge_literal(&net, &addr, rows[i].port);
        if (verdict.allow != rows[i].allowed || (!verdict.allow && !verdict.reason))
            fail_msg("%s: %s:%u", rows[i].rules, rows[i].what, rows[i].port);
        forget(&net);
    }
}

/* Where an allowed name may lie. */
static void test_resolved(void **state)
{
    (void)state;
    static const struct question rows[] = {
        {"+a.example", "93.184.216.34", 443, true},
        {"+a.example", "127.0.0.1", 443, false},
        {"+a.example", "10.0.0.1", 443, false},
        {"+a.example", "169.254.169.254", 80, false},
        {"+a.example", "::1", 443, false},
        {"+a.example", "64:ff9b::7f00:1", 443, false},
        {"+a.example @10.0.0.0/24", "10.0.0.1", 443, true},
        {"+a.example @10.0.0.0/24", "10.0.1.1", 443, false},
        {"+a.example +10.0.0.0/24:443", "10.0.0.1", 443, true},
        {"+a.example +10.0.0.0/24:443", "10.0.0.1", 80, false},
        {"+a.example -93.184.216.0/24", "93.184.216.34", 443, false},
        {"-93.184.216.0/24:25 +a.example", "93.184.216.34", 443, true},
        {"+a.example @10.0.0.0/8 | +a.example", "10.0.0.1", 443, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct sc_net net;
        struct sc_addr addr = address(rows[i].what);
        rules_of(rows[i].rules, &net);
        if (sc_net_judge_resolved(&net, &addr, rows[i].port).allow != rows[i].allowed)
            fail_msg("%s: %s:%u", rows[i].rules, rows[i].what, rows[i].port);
        forget(&net);
    }
}

static void test_clean_names(void **state)
{
    (void)state;
    char name[SC_NET_NAME_MAX + 1];
    static const char *const good[] = {"example.org",  "EXAMPLE.org.",  "a",
                                       "_srv.example", "xn--a.example", "1.example"};
    static const char *const bad[] = {
        "",       ".",         "a..b",           ".a",  "a b",  "127.0.0.1", "127.0.0.1.",       "1",
        "0x7f.1", "localhost", "foo.localhost.", "a/b", "a:80", "[::1]",     "b\xc3\xbc\x63her", "a%20b",
        "a..",    "1.2.3.4.5"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        if (!sc_net_name_clean(good[i], strlen(good[i]), name))
            fail_msg("%s was refused", good[i]);
    assert_true(sc_net_name_clean("EXAMPLE.org.", 12, name));
    assert_string_equal(name, "example.org");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (sc_net_name_clean(bad[i], strlen(bad[i]), name))
            fail_msg("%s was taken", bad[i]);
    char label[80], whole[300];
    memset(label, 'a', sizeof label);
    assert_true(sc_net_name_clean(label, 63, name));
    assert_false(sc_net_name_clean(label, 64, name));
    memset(whole, 'a', sizeof whole);
    for (size_t i = 49; i < sizeof whole; i += 50)
        whole[i] = '.';
    assert_true(sc_net_name_clean(whole, 253, name));
    assert_false(sc_net_name_clean(whole, 254, name));
    assert_false(sc_net_name_clean("a\0b", 3, name));
}

static void test_requests(void **state)
{
    (void)state;
    char a[] = "a.example", any[] = "*", text[] = "rule", get[] = "GET /a/*", put[] = "* /b";
    char *gets[] = {get}, *puts[] = {put};
    struct sc_net_rule rules[] = {
        {.allow = true,
         .text = text,
         .name = a,
         .ports = {{80, 80}},
         .n_ports = 1,
         .http = gets,
         .n_http = 1},
        {.allow = true, .text = any, .name = a, .ports = {{80, 80}}, .n_ports = 1, .http = puts, .n_http = 1},
        {.allow = true, .text = any, .name = any, .ports = {{81, 81}}, .n_ports = 1}};
    struct sc_net net = {.mode = SC_NET_OPEN, .rules = rules, .n_rules = 3},
                  outer = {.mode = SC_NET_OPEN, .within = &net};
    const struct sc_net_request get_a = {"GET", 3, "/a/x", 4}, get_c = {"GET", 3, "/c", 2},
                                put_b = {"PUT", 3, "/b", 2}, put_a = {"PUT", 3, "/a/x", 4};
    assert_true(sc_net_is_about_requests(&net, a, 80));
    assert_true(sc_net_is_about_requests(&outer, a, 80));
    assert_false(sc_net_is_about_requests(&net, a, 81));
    assert_false(sc_net_is_about_requests(&net, "b.example", 80));
    assert_true(sc_net_judge_request(&net, a, 80, &get_a).allow);
    assert_ptr_equal(sc_net_judge_request(&net, a, 80, &put_b).by, &rules[1]);
    /* Not even in mode open. */
    assert_false(sc_net_judge_request(&net, a, 80, &get_c).allow);
    assert_false(sc_net_judge_request(&outer, a, 80, &put_a).allow);
    assert_true(sc_net_judge_request(&outer, "b.example", 80, &put_a).allow);
    const struct sc_net_rule *by[SC_NET_LAYERS_MAX];
    assert_int_equal(sc_net_rules_of_request(&outer, a, 80, &put_b, by), 1);
    assert_ptr_equal(by[0], &rules[1]);
}

static void test_budgets_of_layers(void **state)
{
    (void)state;
    struct sc_net outer = {.connections = 9, .bytes_in = 5, .unchecked_names = true},
                  inner = {.connections = 3, .bytes_out = 7, .bytes_in = 50};
    outer.within = &inner;
    sc_net_tighten(&outer);
    assert_int_equal(outer.connections, 3);
    assert_int_equal(outer.bytes_out, 7);
    assert_int_equal(outer.bytes_in, 5);
    assert_int_equal(outer.bytes_per_second, 0);
    assert_false(outer.unchecked_names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_lookups),
        cmocka_unit_test(test_literals),
        cmocka_unit_test(test_resolved),
        cmocka_unit_test(test_requests),
        cmocka_unit_test(test_clean_names),
        cmocka_unit_test(test_budgets_of_layers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
