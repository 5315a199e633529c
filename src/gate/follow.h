/* A run or a command that is followed: what the keeper says of it, as events for the client. */
#ifndef SC_GATE_FOLLOW_H
#define SC_GATE_FOLLOW_H

#include "gate/parts.h"

struct lines {
    struct sc_buf held; /* of a line that is not whole */
};
/* Calls `line` for each line that is whole by now; those beyond the maximum are left out. */
void lines_add(struct lines *lines, const void *data, size_t len,
               void (*line)(void *userdata, const char *text, size_t len), void *userdata);
void lines_fini(struct lines *lines);

/* Bytes at the end that may be the beginning of a character. */
size_t follow_unfinished(const uint8_t *data, size_t len);

/* Begins `message` (taken) on a link of its own, and answers with its events in the framing that the client
 * asked for: start, stdout, stderr, display, denial, end; error when it could not be done after all. An error
 * before the first of them is a problem document. With `started` start waits for the keeper's own word
 * and passes it on, after `started` was called with it; `room` is called when more input may go. */
struct follow;
typedef void follow_started(struct request *request, struct ask *ask, json_t *started);
typedef void follow_room(struct request *request);
struct follow *follow_begin(struct request *request, json_t *message, follow_started *started,
                            follow_room *room);

#endif
