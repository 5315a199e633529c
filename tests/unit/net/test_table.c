/* The batch of messages: whole, aligned, bounded. What the kernel makes of it is tested in cells. */
#include <errno.h>
#include <linux/netlink.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "net/table.h"

static void test_whole(void **state)
{
    (void)state;
    struct sc_net net = {0};
    struct sc_buf batch;
    size_t messages = 0, asked = 0, left;
    assert_int_equal(sc_net_add_rule(&net, true, "allow", "10.0.0.0/8:1-10,20", NULL), 0);
    assert_int_equal(sc_net_add_rule(&net, true, "allow", "a.example", NULL), 0);
    assert_int_equal(sc_net_table_build(&net, &batch), 0);
    left = batch.len;
    for (const struct nlmsghdr *m = (void *)batch.data; NLMSG_OK(m, left); m = NLMSG_NEXT(m, left)) {
        messages++;
        asked += (m->nlmsg_flags & NLM_F_ACK) != 0;
        assert_int_equal(m->nlmsg_len % NLMSG_ALIGNTO, 0);
        assert_int_equal(m->nlmsg_seq, messages);
    }
    assert_int_equal(left, 0);
    assert_true(messages > 20);
    assert_int_equal(asked, 1);
    sc_buf_fini(&batch);
    sc_net_fini(&net);
}

static void test_too_many(void **state)
{
    (void)state;
    struct sc_net net = {0};
    struct sc_buf batch;
    for (int i = 0; i < SC_NET_RULES_MAX; i++) {
        char rule[128];
        snprintf(rule, sizeof rule, "10.0.%d.0/24:1,3,5,7,9,11,13,15", i);
        assert_int_equal(sc_net_add_rule(&net, true, "allow", rule, NULL), 0);
    }
    assert_int_equal(sc_net_add_rule(&net, true, "allow", "a.example", NULL), -EINVAL);
    assert_int_equal(sc_net_table_build(&net, &batch), -EMSGSIZE);
    sc_net_fini(&net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_whole), cmocka_unit_test(test_too_many)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
