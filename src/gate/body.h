/* Bodies of requests. */
#ifndef SC_GATE_BODY_H
#define SC_GATE_BODY_H

#include "gate/parts.h"

extern const struct field RUN_FIELDS[], SESSION_FIELDS[], CODE_FIELDS[], EXEC_FIELDS[], COMMAND_FIELDS[],
    CHECK_FIELDS[], JUDGE_FIELDS[], PART_FIELDS[], INTERRUPT_FIELDS[], NETWORK_FIELDS[], SIGNAL_FIELDS[],
    RESIZE_FIELDS[], CHANGE_FIELDS[], FORK_FIELDS[], SNAPSHOT_FIELDS[], ROLLBACK_FIELDS[], RESUME_FIELDS[];
/* Of queries. */
extern const struct field LIST_QUERY[], PATH_QUERY[], READ_QUERY[], WRITE_QUERY[], MKDIR_QUERY[],
    REMOVE_QUERY[], STDIN_QUERY[], BATCH_QUERY[], MCP_QUERY[];
#define RUN_FIELDS_OF_QUEUE 2 /* the first rows, also of JUDGE_FIELDS: no part of spec or task */

/* The body as a spec for the keeper, without the fields of `leave_out` (ends with NULL; or NULL). NULL: it
 * was answered why not. */
json_t *body_spec(struct request *request, const char *const *leave_out);
/* {"request": name, "session": of the path, …body, "output": "stream" or "reply"}. NULL: it was answered. */
json_t *body_message(struct request *request, const char *name, bool streams);
/* `priority` and `deadline_ms` of a body or query into the message. */
void body_turn(const json_t *from, json_t *message);
/* What names a file of the host, deeper down than the tables look. 0 or a usage error. */
int body_check_paths(const json_t *body, struct sc_err *err);

#endif
