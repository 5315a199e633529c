/* gate/mcp_log.h: what is kept of a stream, and from where a client goes on; Accept. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "gate/mcp_peer.h"

static size_t bytes;

static struct mcp_stream *asked(struct mcp_log *log, int id)
{
    struct mcp_stream *stream = mcp_log_stream(log, json_pack("[i]", id));
    assert_non_null(stream);
    return stream;
}

static void settle(struct mcp_stream *stream, int id)
{
    json_t *value = json_integer(id);
    mcp_log_settle(stream, value);
    json_decref(value);
}

static void open_log(struct mcp_log *log)
{
    bytes = 0;
    mcp_log_init(log, &bytes);
    assert_int_equal(asked(log, -1)->number, 0);
}

static void goes_on_behind_what_was_seen(void **state)
{
    struct mcp_log log;
    struct mcp_stream *stream, *again = NULL;
    char id[MCP_EVENT_ID];
    (void)state;
    open_log(&log);
    stream = asked(&log, 7);
    mcp_log_place(stream, id);
    assert_string_equal(id, "1-0");
    mcp_log_add(stream, false, "a");
    mcp_log_add(stream, false, "b");
    mcp_log_add(stream, true, "c");
    assert_string_equal(mcp_log_next(stream)->text, "a");
    mcp_log_place(stream, id);
    assert_string_equal(id, "1-1");
    while (mcp_log_next(stream))
        ;
    assert_int_equal(mcp_log_resume(&log, id, &again), 0);
    assert_ptr_equal(again, stream);
    assert_string_equal(mcp_log_next(stream)->text, "b");
    assert_string_equal(mcp_log_next(stream)->text, "c");
    assert_null(mcp_log_next(stream));
    assert_int_equal(mcp_log_resume(&log, "1-3", &again), 0);
    assert_null(mcp_log_next(again));
    mcp_log_fini(&log);
    assert_int_equal(bytes, 0);
}

static void refuses_ids_that_it_never_gave(void **state)
{
    static const char *const wrong[] = {"",
                                        "-",
                                        "1",
                                        "1-",
                                        "-1",
                                        "1-1",
                                        "2-0",
                                        "01-0",
                                        "1-00",
                                        " 1-0",
                                        "1-0 ",
                                        "+1-0",
                                        "1--0",
                                        "18446744073709551616-0",
                                        "1-18446744073709551616"};
    struct mcp_log log;
    struct mcp_stream *stream = NULL;
    (void)state;
    open_log(&log);
    asked(&log, 1);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(mcp_log_resume(&log, wrong[i], &stream), -EINVAL);
    assert_int_equal(mcp_log_resume(&log, "1-0", &stream), 0);
    mcp_log_fini(&log);
}

static void leaves_out_the_oldest_notes_and_no_answer(void **state)
{
    struct mcp_log log;
    struct mcp_stream *stream;
    char note[1001];
    (void)state;
    memset(note, 'n', sizeof note - 1);
    note[sizeof note - 1] = '\0';
    open_log(&log);
    stream = asked(&log, 1);
    mcp_log_add(stream, true, "first");
    for (int i = 0; i < 3000; i++)
        mcp_log_add(stream, false, note);
    assert_true(log.note_bytes <= MCP_LOG_NOTES_MAX && log.note_bytes > MCP_LOG_NOTES_MAX / 2);
    assert_string_equal(mcp_log_next(stream)->text, "first");
    assert_true(mcp_log_next(stream)->number > 1500);
    mcp_log_fini(&log);
    assert_int_equal(bytes, 0);
}

static void keeps_the_newest_of_what_is_over(void **state)
{
    struct mcp_log log;
    struct mcp_stream *read, *again = NULL;
    (void)state;
    open_log(&log);
    read = asked(&log, 1);
    read->reader = &log;
    settle(read, 1);
    for (int i = 0; i < 20; i++)
        settle(asked(&log, i), i);
    mcp_log_trim(&log);
    assert_int_equal(mcp_log_resume(&log, "1-0", &again), 0); /* somebody reads it */
    assert_int_equal(mcp_log_resume(&log, "5-0", &again), -ENOENT);
    assert_int_equal(mcp_log_resume(&log, "6-0", &again), 0);
    assert_int_equal(mcp_log_resume(&log, "21-0", &again), 0);
    mcp_log_fini(&log);
}

/* An answer that there is no room for makes the stream a lost one; a note is only left out. */
static void tells_of_an_answer_that_is_lost(void **state)
{
    struct mcp_log log;
    struct mcp_stream *stream, *again = NULL;
    (void)state;
    open_log(&log);
    stream = asked(&log, 1);
    bytes = MCP_LOG_ALL_MAX;
    mcp_log_add(stream, false, "note");
    assert_false(stream->is_lost);
    mcp_log_add(stream, true, "answer");
    assert_true(stream->is_lost && !stream->next);
    assert_int_equal(mcp_log_resume(&log, "1-0", &again), -ENOENT);
    mcp_log_fini(&log);
    assert_int_equal(bytes, MCP_LOG_ALL_MAX);
}

static void finds_a_stream_by_what_it_answers(void **state)
{
    struct mcp_log log;
    struct mcp_stream *stream;
    json_t *one = json_integer(1), *text = json_string("1");
    (void)state;
    open_log(&log);
    stream = mcp_log_stream(&log, json_pack("[i, s]", 1, "1"));
    assert_ptr_equal(mcp_log_stream_of(&log, one), stream);
    mcp_log_settle(stream, one);
    assert_null(mcp_log_stream_of(&log, one));
    assert_false(stream->is_over);
    assert_ptr_equal(mcp_log_stream_of(&log, text), stream);
    mcp_log_settle(stream, text);
    assert_true(stream->is_over);
    mcp_log_fini(&log);
    json_decref(one);
    json_decref(text);
}

static void reads_what_is_accepted(void **state)
{
    static const struct {
        const char *accept;
        bool json, events;
    } rows[] = {
        {"application/json, text/event-stream", true, true},
        {"Application/JSON;q=0.5 ,TEXT/EVENT-STREAM", true, true},
        {"*/*", true, false},
        {"text/*;q=1, application/*", true, true},
        {"text/html, application/jsonx, xapplication/json, text/event-streams", false, false},
        {"", false, false},
        {",;, ,", false, false},
        {"text/html;x=application/json", false, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool json = false, events = false;
        mcp_accept_read(rows[i].accept, &json, &events);
        assert_int_equal(json, rows[i].json);
        assert_int_equal(events, rows[i].events);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(goes_on_behind_what_was_seen),
        cmocka_unit_test(refuses_ids_that_it_never_gave),
        cmocka_unit_test(leaves_out_the_oldest_notes_and_no_answer),
        cmocka_unit_test(keeps_the_newest_of_what_is_over),
        cmocka_unit_test(tells_of_an_answer_that_is_lost),
        cmocka_unit_test(finds_a_stream_by_what_it_answers),
        cmocka_unit_test(reads_what_is_accepted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
