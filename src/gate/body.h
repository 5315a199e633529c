/* Bodies of requests. */
#ifndef SC_GATE_BODY_H
#define SC_GATE_BODY_H

#include "gate/parts.h"

extern const struct field RUN_FIELDS[], SESSION_FIELDS[], CODE_FIELDS[], EXEC_FIELDS[], COMMAND_FIELDS[],
    CHECK_FIELDS[], INTERRUPT_FIELDS[], NETWORK_FIELDS[], SIGNAL_FIELDS[], RESIZE_FIELDS[], CHANGE_FIELDS[];
/* Of queries. */
extern const struct field LIST_QUERY[], PATH_QUERY[], READ_QUERY[], WRITE_QUERY[], MKDIR_QUERY[],
    REMOVE_QUERY[], STDIN_QUERY[];

/* The body as a spec for the keeper, without the fields of `leave_out` (ends with NULL; or NULL). NULL: it
 * was answered why not. */
json_t *body_spec(struct request *request, const char *const *leave_out);
/* {"request": name, "session": of the path, …body, "output": "stream" or "reply"}. NULL: it was answered. */
json_t *body_message(struct request *request, const char *name, bool streams);
/* `priority` and `deadline_ms` of the body into the message. */
void body_turn(const struct request *request, json_t *message);

#endif
