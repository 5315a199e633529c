/* keeper/wire.h: what may come when, and texts in pieces. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "keeper/wire.h"

static int judge_from(enum sc_keeper_kind kind, uint16_t type, uint16_t channel, uint32_t len,
                      enum sc_keeper_state state)
{
    const struct sc_frame frame = {.type = type, .channel = channel, .len = len};
    return sc_keeper_message_ok(&frame, state, kind);
}

static int judge(uint16_t type, uint16_t channel, uint32_t len, enum sc_keeper_state state)
{
    return judge_from(SC_KEEPER_CLIENT, type, channel, len, state);
}

static void each_kind_has_its_hello(void **state)
{
    (void)state;
    assert_int_equal(judge_from(SC_KEEPER_CLIENT, SC_KEEPER_HELLO, 0, 8, SC_KEEPER_NEW), 0);
    assert_int_equal(judge_from(SC_KEEPER_CLIENT, SC_KEEPER_HELLO_GATE, 0, 8, SC_KEEPER_NEW), -EPROTO);
    assert_int_equal(judge_from(SC_KEEPER_GATE, SC_KEEPER_HELLO_GATE, 0, 8, SC_KEEPER_NEW), 0);
    assert_int_equal(judge_from(SC_KEEPER_GATE, SC_KEEPER_HELLO, 0, 8, SC_KEEPER_NEW), -EPROTO);
    assert_int_equal(judge_from(SC_KEEPER_GATE, SC_KEEPER_HELLO_GATE, 0, 8, SC_KEEPER_READY), -EPROTO);
    assert_int_equal(judge_from(SC_KEEPER_GATE, SC_KEEPER_REQUEST, 1, 10, SC_KEEPER_NEW), -EPROTO);
    assert_int_equal(judge_from(SC_KEEPER_GATE, SC_KEEPER_REQUEST, 1, 10, SC_KEEPER_READY), 0);
}

static void messages_in_their_states(void **state)
{
    (void)state;
    const enum sc_keeper_state states[] = {SC_KEEPER_NEW, SC_KEEPER_READY, SC_KEEPER_TEXT};
    const struct {
        uint16_t type, channel;
        uint32_t len;
        bool allowed[3];
    } rows[] = {
        {SC_KEEPER_HELLO, 0, 8, {true, false, false}},
        {SC_KEEPER_REQUEST, 1, 10, {false, true, false}},
        {SC_KEEPER_MORE, 1, 1, {false, false, true}},
        {SC_KEEPER_DATA, 1, 1, {false, true, true}},
        {SC_KEEPER_DATA_END, 1, 0, {false, true, true}},
        {SC_KEEPER_CANCEL, 65535, 0, {false, true, true}},
        {SC_KEEPER_RESIZE, 1, 4, {false, true, true}},
        {SC_KEEPER_WELCOME, 0, 8, {false, false, false}},
        {SC_KEEPER_OUTPUT, 1, 9, {false, false, false}},
        {0, 0, 0, {false, false, false}},
        {9999, 1, 8, {false, false, false}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t j = 0; j < 3; j++)
            assert_int_equal(judge(rows[i].type, rows[i].channel, rows[i].len, states[j]),
                             rows[i].allowed[j] ? 0 : -EPROTO);
}

static void sizes_and_channels(void **state)
{
    (void)state;
    assert_int_equal(judge(SC_KEEPER_HELLO, 0, 7, SC_KEEPER_NEW), -EPROTO);
    assert_int_equal(judge(SC_KEEPER_HELLO, 0, 9, SC_KEEPER_NEW), -EPROTO);
    assert_int_equal(judge(SC_KEEPER_HELLO, 1, 8, SC_KEEPER_NEW), -EPROTO);
    assert_int_equal(judge(SC_KEEPER_REQUEST, 0, 10, SC_KEEPER_READY), -EPROTO);
    assert_int_equal(judge(SC_KEEPER_REQUEST, 1, 8, SC_KEEPER_READY), -EPROTO);
    assert_int_equal(judge(SC_KEEPER_REQUEST, 1, SC_FRAME_MAX, SC_KEEPER_READY), 0);
    assert_int_equal(judge(SC_KEEPER_REQUEST, 1, SC_FRAME_MAX + 1, SC_KEEPER_READY), -EPROTO);
    assert_int_equal(judge(SC_KEEPER_DATA, 1, 0, SC_KEEPER_READY), -EPROTO);
    assert_int_equal(judge(SC_KEEPER_CANCEL, 1, 1, SC_KEEPER_READY), -EPROTO);
    assert_int_equal(judge(SC_KEEPER_RESIZE, 1, 3, SC_KEEPER_READY), -EPROTO);
}

/* ---- texts ---- */

struct way {
    struct sc_keeper_text text;
    unsigned frames;
    int last;
};

static int take(void *userdata, uint16_t type, uint16_t channel, const void *head, size_t head_len,
                const void *piece, size_t piece_len)
{
    struct way *way = userdata;
    char *payload = malloc(head_len + piece_len + 1);
    assert_non_null(payload);
    assert_true(head_len + piece_len <= SC_FRAME_MAX);
    if (head_len)
        memcpy(payload, head, head_len);
    if (piece_len)
        memcpy(payload + head_len, piece, piece_len);
    assert_int_equal(type, way->frames == 0 ? SC_KEEPER_REPLY : SC_KEEPER_REPLY_MORE);
    way->last = way->frames == 0
                    ? sc_keeper_text_first(&way->text, channel, payload, head_len + piece_len, 1000000)
                    : sc_keeper_text_more(&way->text, channel, payload, head_len + piece_len);
    way->frames++;
    free(payload);
    return way->last;
}

static void texts_come_out_as_they_went_in(void **state)
{
    (void)state;
    const size_t lens[] = {1,     2, SC_FRAME_MAX - 8, SC_FRAME_MAX - 7, SC_FRAME_MAX, 2 * SC_FRAME_MAX - 8,
                           300000};
    for (size_t i = 0; i < sizeof lens / sizeof *lens; i++) {
        struct way way = {0};
        char *text = malloc(lens[i]);
        assert_non_null(text);
        for (size_t j = 0; j < lens[i]; j++)
            text[j] = (char)(j * 7 + i);
        assert_int_equal(
            sc_keeper_text_send(take, &way, SC_KEEPER_REPLY, SC_KEEPER_REPLY_MORE, 5, text, lens[i]), 0);
        assert_int_equal(way.last, 1);
        assert_int_equal(way.frames, 1 + (lens[i] + 7) / SC_FRAME_MAX);
        assert_int_equal(way.text.buf.len, lens[i]);
        assert_memory_equal(way.text.buf.data, text, lens[i]);
        sc_keeper_text_fini(&way.text);
        free(text);
    }
}

static int refuse(void *userdata, uint16_t type, uint16_t channel, const void *head, size_t head_len,
                  const void *piece, size_t piece_len)
{
    (void)type, (void)channel, (void)head, (void)head_len, (void)piece, (void)piece_len;
    return --*(int *)userdata < 0 ? -EPIPE : 0;
}

static void a_failed_send_ends_it(void **state)
{
    (void)state;
    static char text[3 * SC_FRAME_MAX];
    int left = 2;
    assert_int_equal(sc_keeper_text_send(refuse, &left, 1, 2, 1, text, sizeof text), -EPIPE);
    assert_int_equal(left, -1);
}

static int first(struct sc_keeper_text *text, uint32_t total, const char *piece)
{
    char payload[64];
    const struct sc_keeper_text_head head = {.total = total};
    memcpy(payload, &head, sizeof head);
    memcpy(payload + sizeof head, piece, strlen(piece));
    return sc_keeper_text_first(text, 3, payload, sizeof head + strlen(piece), 20);
}

static void hostile_pieces(void **state)
{
    (void)state;
    struct sc_keeper_text text = {0};
    assert_int_equal(sc_keeper_text_more(&text, 3, "x", 1), -EPROTO);
    assert_int_equal(sc_keeper_text_first(&text, 3, "short", 5, 20), -EPROTO);
    assert_int_equal(first(&text, 21, "x"), -EMSGSIZE);
    assert_int_equal(first(&text, UINT32_MAX, "x"), -EMSGSIZE);
    assert_int_equal(first(&text, 2, "xyz"), -EPROTO);
    sc_keeper_text_fini(&text);
    assert_int_equal(first(&text, 4, "ab"), 0);
    assert_int_equal(first(&text, 4, "ab"), -EPROTO);
    assert_int_equal(sc_keeper_text_more(&text, 4, "cd", 2), -EPROTO);
    assert_int_equal(sc_keeper_text_more(&text, 3, "", 0), -EPROTO);
    assert_int_equal(sc_keeper_text_more(&text, 3, "cde", 3), -EPROTO);
    assert_int_equal(sc_keeper_text_more(&text, 3, "cd", 2), 1);
    assert_memory_equal(text.buf.data, "abcd", 4);
    sc_keeper_text_fini(&text);
    sc_keeper_text_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_in_their_states), cmocka_unit_test(each_kind_has_its_hello),
        cmocka_unit_test(sizes_and_channels),       cmocka_unit_test(texts_come_out_as_they_went_in),
        cmocka_unit_test(a_failed_send_ends_it),    cmocka_unit_test(hostile_pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
