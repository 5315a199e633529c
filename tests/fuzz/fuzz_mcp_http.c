/* libFuzzer target: what /mcp reads of a client's headers, and the streams that a client goes on with. The
 * first byte picks: an Accept, or rows of kind, which stream, length, bytes for two logs that share a count.
 * However they are used, what is kept stays within its maxima, is counted right, and is told in order. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "gate/mcp_peer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void read_accept(const char *text)
{
    bool json = false, events = false, again_json = true, again_events = true;
    mcp_accept_read(text, &json, &events);
    mcp_accept_read(text, &again_json, &again_events);
    check(again_json && again_events); /* it only adds */
    check(!json || strchr(text, '/'));
}

static size_t count(const struct mcp_log *log)
{
    const struct mcp_stream *stream;
    const struct mcp_event *event;
    size_t bytes = 0, notes = 0;
    unsigned over = 0;
    TAILQ_FOREACH(stream, &log->streams, entry)
    {
        uint64_t last = 0;
        over += stream->is_over && !stream->reader;
        TAILQ_FOREACH(event, &stream->events, entry)
        {
            check(event->number > last && event->number <= stream->last);
            last = event->number;
            bytes += sizeof *event + event->len;
            notes += event->is_answer ? 0 : sizeof *event + event->len;
        }
    }
    check(notes == log->note_bytes && notes <= MCP_LOG_NOTES_MAX && over <= MCP_LOG_OVER_STREAMS_MAX);
    return bytes;
}

/* All answers behind the place, and nothing before it. */
static void check_resumed(struct mcp_stream *stream, uint64_t place)
{
    const struct mcp_event *event;
    size_t answers = 0;
    TAILQ_FOREACH(event, &stream->events, entry) answers += event->is_answer && event->number > place;
    for (uint64_t last = place; (event = mcp_log_next(stream)); last = event->number) {
        check(event->number > last);
        answers -= event->is_answer;
    }
    check(answers == 0);
}

static void resume(struct mcp_log *log, const char *id)
{
    struct mcp_stream *stream = NULL;
    if (mcp_log_resume(log, id, &stream) < 0)
        return;
    check(strchr(id, '-') && !stream->is_lost);
    check_resumed(stream, strtoull(strchr(id, '-') + 1, NULL, 10));
}

static struct mcp_stream *pick(struct mcp_log *log, uint8_t which)
{
    struct mcp_stream *stream = TAILQ_FIRST(&log->streams);
    while (which-- % 32 > 0 && TAILQ_NEXT(stream, entry))
        stream = TAILQ_NEXT(stream, entry);
    return stream;
}

/* `which` and the bytes as ids: two, which may be the same. */
static json_t *ids_of(uint8_t which, const char *bytes)
{
    return json_pack("[i, s#]", which, bytes, (int)strcspn(bytes, "x"));
}

static void answer(struct mcp_stream *stream, uint8_t which, const char *bytes)
{
    json_t *ids = ids_of(which, bytes), *id = json_array_get(ids, which & 1);
    if (id && stream->number > 0 && !stream->is_over) {
        mcp_log_add(stream, true, bytes);
        mcp_log_settle(stream, id);
    }
    json_decref(ids);
}

static void take_row(struct mcp_log *log, uint8_t kind, uint8_t which, const char *bytes)
{
    struct mcp_stream *stream = pick(log, which);
    char id[MCP_EVENT_ID];
    switch (kind % 8) {
    case 0:
        check(mcp_log_stream(log, ids_of(which, bytes)) != NULL);
        break;
    case 1:
    case 2:
        for (unsigned i = 0; i <= kind && !stream->is_over; i++)
            mcp_log_add(stream, false, bytes);
        break;
    case 3:
        answer(stream, which, bytes);
        break;
    case 4:
        resume(log, bytes);
        break;
    case 5:
        mcp_log_place(stream, id);
        check(strlen(id) < sizeof id - 1);
        resume(log, id);
        break;
    case 6:
        stream->reader = stream->reader ? NULL : log;
        break;
    default:
        (void)mcp_log_next(stream);
    }
    mcp_log_trim(log);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mcp_log logs[2];
    size_t bytes = 0;
    if (size == 0)
        return 0;
    if (*data == 0) {
        char *text = strndup((const char *)data + 1, size - 1);
        read_accept(text);
        free(text);
        return 0;
    }
    for (int i = 0; i < 2; i++) {
        mcp_log_init(&logs[i], &bytes);
        check(mcp_log_stream(&logs[i], NULL) != NULL); /* the general one */
    }
    for (data++, size--; size >= 3;) {
        uint8_t kind = data[0], which = data[1];
        size_t len = data[2] < size - 3 ? data[2] : size - 3;
        char *text = strndup((const char *)data + 3, len);
        take_row(&logs[kind >> 7], kind, which, text);
        free(text);
        check(count(&logs[0]) + count(&logs[1]) == bytes && bytes <= MCP_LOG_ALL_MAX);
        data += 3 + len;
        size -= 3 + len;
    }
    mcp_log_fini(&logs[0]);
    mcp_log_fini(&logs[1]);
    check(bytes == 0);
    return 0;
}
