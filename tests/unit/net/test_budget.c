/* Budgets of single rules: what is used up, what counts on when rules change. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "net/budget.h"

static struct sc_net net_of(struct sc_net_rule *rules, size_t n)
{
    return (struct sc_net){.mode = SC_NET_RULES, .rules = rules, .n_rules = n};
}

static void test_connections(void **state)
{
    (void)state;
    char text[] = "a.example";
    struct sc_net_rule rules[2] = {{.allow = true, .text = text, .connections = 1},
                                   {.allow = true, .text = text}};
    struct sc_net net = net_of(rules, 2);
    const struct sc_net_rule *one = &rules[0], *free_of_budget = &rules[1];
    struct sc_budgets budgets = {0};
    struct sc_charged first = {0}, second = {0};
    assert_int_equal(sc_budgets_renew(&budgets, &net), 0);
    assert_int_equal(budgets.n_uses, 1);
    assert_null(sc_budgets_charge(&budgets, &first, &one, 1).why);
    struct sc_spent spent = sc_budgets_charge(&budgets, &second, &one, 1);
    assert_string_equal(spent.rule, "a.example");
    assert_string_equal(spent.why, "this rule's budget of connections is used up");
    assert_int_equal(second.n, 0);
    assert_null(sc_budgets_charge(&budgets, &second, &free_of_budget, 1).why);
    assert_int_equal(second.n, 0);
    sc_budgets_release(&first);
    assert_null(sc_budgets_charge(&budgets, &second, &one, 1).why);
    free(budgets.uses);
}

/* The rule of an inner layer binds as well as one's own. */
static void test_bytes_of_layers(void **state)
{
    (void)state;
    char a[] = "a.example", b[] = "*.example";
    struct sc_net_rule outer[1] = {{.allow = true, .text = a, .bytes_in = 100}};
    struct sc_net_rule inner[1] = {{.allow = true, .text = b, .bytes_in = 60, .bytes_out = 10}};
    struct sc_net within = net_of(inner, 1), net = net_of(outer, 1);
    const struct sc_net_rule *both[] = {&outer[0], &inner[0]};
    struct sc_budgets budgets = {0};
    struct sc_charged charged = {0};
    net.within = &within;
    assert_int_equal(sc_budgets_renew(&budgets, &net), 0);
    assert_null(sc_budgets_charge(&budgets, &charged, both, 2).why);
    assert_int_equal(sc_budgets_allowance(&budgets, &charged, SC_NET_IN, 1000), 60);
    assert_int_equal(sc_budgets_allowance(&budgets, &charged, SC_NET_OUT, 5), 5);
    sc_budgets_count(&budgets, &charged, SC_NET_IN, 59);
    assert_int_equal(sc_budgets_allowance(&budgets, &charged, SC_NET_IN, 1000), 1);
    assert_null(sc_budgets_spent(&budgets, &charged).why);
    sc_budgets_count(&budgets, &charged, SC_NET_IN, 1);
    assert_string_equal(sc_budgets_spent(&budgets, &charged).rule, "*.example");

    /* Other rules: the text that stayed is as used up as before, the one that is new is not. */
    char c[] = "c.example";
    struct sc_net_rule changed[2] = {{.allow = true, .text = b, .bytes_in = 60},
                                     {.allow = true, .text = c, .bytes_in = 60}};
    struct sc_net other = net_of(changed, 2);
    const struct sc_net_rule *kept = &changed[0], *fresh = &changed[1];
    assert_int_equal(sc_budgets_renew(&budgets, &other), 0);
    charged.n = 0;
    assert_null(sc_budgets_charge(&budgets, &charged, &fresh, 1).why);
    sc_budgets_release(&charged);
    assert_string_equal(sc_budgets_charge(&budgets, &charged, &kept, 1).why,
                        "this rule's budget of bytes_in is used up");
    free(budgets.uses);
}

static void test_bandwidth(void **state)
{
    (void)state;
    char text[] = "a.example";
    struct sc_net_rule rule = {.allow = true, .text = text, .bytes_per_second = 1000000};
    struct sc_net net = net_of(&rule, 1);
    const struct sc_net_rule *one = &rule;
    struct sc_budgets budgets = {0};
    struct sc_charged charged = {0}, other = {0};
    assert_int_equal(sc_budgets_renew(&budgets, &net), 0);
    assert_null(sc_budgets_charge(&budgets, &charged, &one, 1).why);
    assert_true(sc_budgets_wait(&budgets, &charged, SC_NET_OUT));
    sc_budgets_refill(&budgets, SC_NS_PER_S);
    assert_int_equal(sc_budgets_allowance(&budgets, &charged, SC_NET_OUT, 1 << 20), 100000);
    sc_budgets_count(&budgets, &charged, SC_NET_OUT, 100000);
    assert_true(sc_budgets_wait(&budgets, &charged, SC_NET_OUT));
    assert_false(sc_budgets_wait(&budgets, &charged, SC_NET_IN));
    assert_false(sc_budgets_wait(&budgets, &other, SC_NET_OUT));
    sc_budgets_refill(&budgets, SC_NS_PER_S + 10 * SC_NS_PER_MS);
    assert_int_equal(sc_budgets_allowance(&budgets, &charged, SC_NET_OUT, 1 << 20), 10000);
    free(budgets.uses);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_connections),
                                       cmocka_unit_test(test_bytes_of_layers),
                                       cmocka_unit_test(test_bandwidth)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
