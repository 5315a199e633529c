#include "gate/mcp_log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"

void mcp_log_init(struct mcp_log *log, size_t *all_bytes)
{
    *log = (struct mcp_log){.all_bytes = all_bytes};
    TAILQ_INIT(&log->streams);
    TAILQ_INIT(&log->notes);
}

static size_t size_of(const struct mcp_event *event)
{
    return sizeof *event + event->len;
}

static void free_event(struct mcp_event *event)
{
    struct mcp_stream *stream = event->stream;
    struct mcp_log *log = stream->log;
    if (stream->next == event)
        stream->next = TAILQ_NEXT(event, entry);
    TAILQ_REMOVE(&stream->events, event, entry);
    if (!event->is_answer) {
        TAILQ_REMOVE(&log->notes, event, of_notes);
        log->note_bytes -= size_of(event);
    }
    *log->all_bytes -= size_of(event);
    free(event);
}

void mcp_log_drop(struct mcp_stream *stream)
{
    struct mcp_event *event;
    while ((event = TAILQ_FIRST(&stream->events)))
        free_event(event); /* NOLINT(clang-analyzer-unix.Malloc): it takes out of the list what it frees */
    TAILQ_REMOVE(&stream->log->streams, stream, entry);
    json_decref(stream->ids);
    free(stream);
}

void mcp_log_fini(struct mcp_log *log)
{
    struct mcp_stream *stream;
    while ((stream = TAILQ_FIRST(&log->streams)))
        mcp_log_drop(stream);
}

/* ---- what is kept ---- */

static size_t bytes_of(const struct mcp_stream *stream)
{
    const struct mcp_event *event;
    size_t bytes = 0;
    TAILQ_FOREACH(event, &stream->events, entry) bytes += size_of(event);
    return bytes;
}

void mcp_log_trim(struct mcp_log *log)
{
    struct mcp_stream *stream, *older;
    size_t bytes = 0;
    unsigned n = 0;
    for (stream = TAILQ_LAST(&log->streams, mcp_stream_list); stream; stream = older) {
        older = TAILQ_PREV(stream, mcp_stream_list, entry);
        if (!stream->is_over || stream->reader)
            continue;
        bytes += bytes_of(stream);
        if (n++ > 0 && (n > MCP_LOG_OVER_STREAMS_MAX || bytes > MCP_LOG_OVER_MAX))
            mcp_log_drop(stream);
    }
}

static void trim_notes(struct mcp_log *log)
{
    while (log->note_bytes > MCP_LOG_NOTES_MAX)
        free_event(TAILQ_FIRST(&log->notes)); /* NOLINT(clang-analyzer-unix.Malloc): as above */
}

/* ---- streams ---- */

struct mcp_stream *mcp_log_stream(struct mcp_log *log, json_t *ids)
{
    struct mcp_stream *stream = calloc(1, sizeof *stream);
    if (!stream) {
        json_decref(ids);
        return NULL;
    }
    stream->log = log;
    stream->ids = ids;
    stream->number = log->last_stream++;
    TAILQ_INIT(&stream->events);
    TAILQ_INSERT_TAIL(&log->streams, stream, entry);
    return stream;
}

/* Where the id stands among those that wait; their number when it does not. */
static size_t find_id(const json_t *ids, const json_t *id)
{
    size_t i = 0;
    while (i < json_array_size(ids) && !json_equal(json_array_get(ids, i), id))
        i++;
    return i;
}

struct mcp_stream *mcp_log_stream_of(struct mcp_log *log, const json_t *id)
{
    struct mcp_stream *stream;
    TAILQ_FOREACH(stream, &log->streams, entry)
    {
        if (find_id(stream->ids, id) < json_array_size(stream->ids))
            return stream;
    }
    return NULL;
}

void mcp_log_settle(struct mcp_stream *stream, const json_t *id)
{
    size_t at = find_id(stream->ids, id);
    if (at < json_array_size(stream->ids))
        json_array_remove(stream->ids, at);
    if (json_array_size(stream->ids) > 0)
        return;
    stream->is_over = true;
    TAILQ_REMOVE(&stream->log->streams, stream, entry);
    TAILQ_INSERT_TAIL(&stream->log->streams, stream, entry);
}

/* ---- events ---- */

void mcp_log_add(struct mcp_stream *stream, bool is_answer, const char *text)
{
    struct mcp_log *log = stream->log;
    size_t len = strlen(text);
    bool fits = *log->all_bytes + sizeof(struct mcp_event) + len <= MCP_LOG_ALL_MAX;
    struct mcp_event *event = fits ? malloc(sizeof *event + len + 1) : NULL;
    stream->last++;
    if (!event) {
        stream->is_lost = stream->is_lost || is_answer;
        return;
    }
    *event = (struct mcp_event){.stream = stream, .number = stream->last, .is_answer = is_answer, .len = len};
    memcpy(event->text, text, len + 1);
    TAILQ_INSERT_TAIL(&stream->events, event, entry);
    if (!stream->next)
        stream->next = event;
    *log->all_bytes += size_of(event);
    if (is_answer)
        return;
    TAILQ_INSERT_TAIL(&log->notes, event, of_notes);
    log->note_bytes += size_of(event);
    trim_notes(log);
}

const struct mcp_event *mcp_log_next(struct mcp_stream *stream)
{
    const struct mcp_event *event = stream->next;
    if (event)
        stream->next = TAILQ_NEXT(event, entry);
    return event;
}

void mcp_log_place(const struct mcp_stream *stream, char ret_id[MCP_EVENT_ID])
{
    uint64_t number = stream->next ? stream->next->number - 1 : stream->last;
    snprintf(ret_id, MCP_EVENT_ID, "%u-%llu", stream->number, (unsigned long long)number);
}

/* Decimal digits without leading zeros and nothing else, so that an id has one form. */
static int read_number(const char *text, size_t len, uint64_t most, uint64_t *ret_number)
{
    char digits[24];
    if (len == 0 || len >= sizeof digits || (len > 1 && *text == '0') || strspn(text, "0123456789") < len)
        return -EINVAL;
    memcpy(digits, text, len);
    digits[len] = '\0';
    return sc_parse_u64(digits, ret_number) < 0 || *ret_number > most ? -EINVAL : 0;
}

int mcp_log_resume(struct mcp_log *log, const char *event_id, struct mcp_stream **ret_stream)
{
    const char *dash = strchr(event_id, '-');
    uint64_t number = 0, place = 0;
    struct mcp_stream *stream;
    if (!dash || read_number(event_id, (size_t)(dash - event_id), UINT32_MAX, &number) < 0 ||
        read_number(dash + 1, strlen(dash + 1), UINT64_MAX, &place) < 0 || number >= log->last_stream)
        return -EINVAL;
    TAILQ_FOREACH(stream, &log->streams, entry)
    {
        if (stream->number == number)
            break;
    }
    if (!stream || stream->is_lost)
        return -ENOENT;
    if (place > stream->last)
        return -EINVAL;
    struct mcp_event *event = TAILQ_FIRST(&stream->events);
    while (event && event->number <= place)
        event = TAILQ_NEXT(event, entry);
    stream->next = event;
    *ret_stream = stream;
    return 0;
}
