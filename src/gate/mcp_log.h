/* What the server has to say to one client of /mcp, by streams, kept for a while so that a client whose
 * connection broke can go on from the last event it saw. No transport in it.
 *
 *     engine ── mcp_log_add ──▶ stream: event, event, answer ── mcp_log_next ──▶ reader
 *
 * An event's id is "STREAM-NUMBER"; numbers rise by one in a stream. Notes (all but answers) are kept up to
 * MCP_LOG_NOTES_MAX bytes of a client, and the oldest are left out first. Of streams that are over and have
 * no reader, as many are kept as fit. Logs that share a count of bytes keep MCP_LOG_ALL_MAX together; an
 * answer beyond it makes its stream a lost one, whose reader is told so.
 */
#ifndef SC_GATE_MCP_LOG_H
#define SC_GATE_MCP_LOG_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#define MCP_LOG_NOTES_MAX (1u << 20)
#define MCP_LOG_OVER_MAX (8u << 20) /* of streams that are over; the newest stays whatever its size */
#define MCP_LOG_OVER_STREAMS_MAX 16
#define MCP_LOG_ALL_MAX ((size_t)128 << 20)
#define MCP_EVENT_ID 48

struct mcp_event {
    TAILQ_ENTRY(mcp_event) entry, of_notes;
    struct mcp_stream *stream;
    uint64_t number;
    bool is_answer;
    size_t len;
    char text[]; /* JSON */
};

struct mcp_stream {
    TAILQ_ENTRY(mcp_stream) entry;
    struct mcp_log *log;
    uint32_t number;
    json_t *ids; /* of the requests that it answers, and has not yet */
    bool is_batch;
    bool is_over;  /* nothing more comes */
    bool is_lost;  /* an answer could not be kept */
    uint64_t last; /* number of its newest event; 0: there was none */
    TAILQ_HEAD(, mcp_event) events;
    struct mcp_event *next; /* that no reader was given yet */
    void *reader;           /* or NULL */
};

struct mcp_log {
    TAILQ_HEAD(mcp_stream_list, mcp_stream) streams; /* those that are over last, by when */
    TAILQ_HEAD(, mcp_event) notes;                   /* of all, by age */
    uint32_t last_stream;
    size_t note_bytes;
    size_t *all_bytes; /* of all that share it */
};

void mcp_log_init(struct mcp_log *log, size_t *all_bytes);
void mcp_log_fini(struct mcp_log *log);
/* A new stream, the first of a log being number 0. `ids`: taken. NULL when memory ran out. */
struct mcp_stream *mcp_log_stream(struct mcp_log *log, json_t *ids);
/* The open stream that answers the request of this id, or NULL. */
struct mcp_stream *mcp_log_stream_of(struct mcp_log *log, const json_t *id);
void mcp_log_add(struct mcp_stream *stream, bool is_answer, const char *text);
/* The request of this id needs no more: with the last of them the stream is over. */
void mcp_log_settle(struct mcp_stream *stream, const json_t *id);
/* Streams that are over and have no reader go, but for the newest that fit; the very newest always stays. */
void mcp_log_trim(struct mcp_log *log);
void mcp_log_drop(struct mcp_stream *stream);
/* The next event for the reader, or NULL; it stays kept. */
const struct mcp_event *mcp_log_next(struct mcp_stream *stream);
/* The stream goes on behind the event of this id. -EINVAL: none that was given; -ENOENT: it is not kept any
 * more, or an answer behind it is not. */
int mcp_log_resume(struct mcp_log *log, const char *event_id, struct mcp_stream **ret_stream);
/* Of the last event that the reader was given, or of none. */
void mcp_log_place(const struct mcp_stream *stream, char ret_id[MCP_EVENT_ID]);

#endif
