/* The engine's parts, private to this folder.
 *
 *     message ── rpc.c ──▶ work ── tool_*.c, resources.c, prompts.c ──▶ keeper ──▶ content.c ──▶ result
 *
 * A work is a request of the client's that takes a while. It asks the keeper one thing after another; each
 * reply goes to the function that was named with the question.
 */
#ifndef SC_GATE_MCP_PARTS_H
#define SC_GATE_MCP_PARTS_H

#include <stdbool.h>
#include <sys/queue.h>

#include "base/buf.h"
#include "gate/mcp/mcp.h"
#include "spec/spec.h"

/* Revisions, oldest first. */
enum mcp_revision { MCP_2024_11, MCP_2025_03, MCP_2025_06, MCP_2025_11, MCP_REVISIONS };

enum mcp_log_level { MCP_LOG_DEBUG, MCP_LOG_INFO, MCP_LOG_NOTICE, MCP_LOG_WARNING, MCP_LOG_ERROR };

/* JSON-RPC and MCP error codes. */
enum mcp_code {
    MCP_PARSE_ERROR = -32700,
    MCP_INVALID_REQUEST = -32600,
    MCP_UNKNOWN_METHOD = -32601,
    MCP_INVALID_PARAMS = -32602,
    MCP_INTERNAL = -32603,
    MCP_NO_RESOURCE = -32002,
};

struct mcp_work;
/* One of the two is NULL. */
typedef void mcp_next(struct mcp_work *work, const json_t *ok, const json_t *error);

struct mcp_tool {
    const char *name;
    void (*begin)(struct mcp_work *work);
};
extern const struct mcp_tool MCP_TOOLS[]; /* ended by a row without a name */

struct sc_mcp {
    struct sc_mcp_around around;
    json_t *spec;
    struct sc_spec shown; /* the same, for its limits; checked as far as that goes without a host */
    double idle_ms, total_ms;
    unsigned deadline_ms;
    json_t *tools; /* array, as tools/list tells them */
    enum mcp_revision revision;
    bool initialized; /* "initialize" was answered */
    bool ended;
    int log_level;

    char session[80];  /* "": there is none */
    uint32_t starting; /* the call that starts it, 0: none */
    bool had_session;  /* there was one before: what it held is gone */
    json_t *known;     /* files of the work folder: name → "size mtime" */
    json_t *watched;   /* what the client subscribed to: URI → the same, "" where there is no such file */

    TAILQ_HEAD(, mcp_work) works;
    unsigned n_works;
};

struct mcp_work {
    TAILQ_ENTRY(mcp_work) entry;
    struct sc_mcp *mcp;
    json_t *id, *token;                   /* token: NULL when no progress is wanted */
    json_t *arguments;                    /* of a tool; of others what they like */
    void (*begin)(struct mcp_work *work); /* once there is a session */
    mcp_next *next;
    void (*then)(struct mcp_work *work); /* behind a look at the files */
    mcp_next *put;                       /* behind a file that was put */
    json_t *outcome;                     /* a result, while files are looked at and fetched */
    uint32_t call;                       /* under way, or 0 */
    bool waits;                          /* for the session */
    bool begun, did; /* in the session that is there; the keeper has done something of it */
    bool cancelled, retried;
    bool fresh_session; /* the one before was over: said in the result */
    bool is_tool;
    bool tells_output; /* what comes now is a program's output, not a file's content */

    struct sc_buf out, err, lines; /* of the call under way: streams 1, 2; the JSON lines of 3 and 4 */
    json_t *displays, *entries;
    struct sc_buf kept_out, kept_err; /* of a run, while its files are looked at */
    json_t *kept_displays;
    size_t at;    /* position in a list that is worked through */
    json_t *uris; /* watched ones that are looked at, */
    size_t uri_at;

    json_t *content, *structured; /* of a tool's result */
    json_t *changed;              /* files that a run has changed */

    uint64_t since_ns, told_ns; /* progress */
    struct sc_buf untold;       /* output that no progress told yet */
    double progress;
};

/* ---- rpc.c ---- */
void mcp_answer(struct sc_mcp *mcp, const json_t *id, json_t *result); /* takes `result` */
void mcp_fail(struct sc_mcp *mcp, const json_t *id, enum mcp_code code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* {"method", "params"}; takes `params`. */
void mcp_notify(struct sc_mcp *mcp, const char *method, json_t *params, const json_t *about);
void mcp_log(struct sc_mcp *mcp, enum mcp_log_level level, const json_t *about, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
const char *mcp_text(const json_t *object, const char *name); /* "" when it is none */

/* ---- methods.c: what is answered at once ---- */
/* False: there is no such method. */
bool mcp_method(struct sc_mcp *mcp, const json_t *id, const char *method, const json_t *params);
void mcp_notification(struct sc_mcp *mcp, const char *method, const json_t *params);

/* ---- work.c ---- */
/* A new work; `begin` is called as soon as there is a session. NULL: answered already. */
struct mcp_work *mcp_work_start(struct sc_mcp *mcp, const json_t *id, const json_t *params,
                                const json_t *arguments, bool is_tool, void (*begin)(struct mcp_work *work));
/* Asks the keeper about the session (its name is added); takes `request`. */
void mcp_work_ask(struct mcp_work *work, json_t *request, const void *input, size_t len, mcp_next *next);
/* Each ends the work. */
void mcp_work_answer(struct mcp_work *work, json_t *result);
void mcp_work_fail(struct mcp_work *work, enum mcp_code code, const char *message);
void mcp_work_free(struct mcp_work *work);
struct mcp_work *mcp_work_by_id(struct sc_mcp *mcp, const json_t *id);
void mcp_work_cancel(struct mcp_work *work);
void mcp_forget_session(struct sc_mcp *mcp);
/* Asks for its end, if there is one. */
void mcp_end_session(struct sc_mcp *mcp);

/* ---- progress.c ---- */
void mcp_progress_output(struct mcp_work *work, const void *data, size_t len);
void mcp_progress_flush(struct mcp_work *work);
uint64_t mcp_progress_next_ns(const struct mcp_work *work);
void mcp_progress_tick(struct mcp_work *work);

/* ---- arguments.c ---- */
/* Holds `value` against a schema of ours (type, enum, minimum, maximum, minLength, required, properties,
 * items). 0, or -EINVAL and a message that names field, value and what is allowed. */
int mcp_check_arguments(const json_t *value, const json_t *schema, struct sc_err *err);

/* ---- content.c: a tool's result ---- */
void mcp_add_text(struct mcp_work *work, const char *text, size_t len);
void mcp_add_image(struct mcp_work *work, const char *mime, const char *base64);
/* A file of the session's, whole: text where it is text, else base64. */
void mcp_add_file(struct mcp_work *work, const char *path, const void *data, size_t len);
void mcp_add_link(struct mcp_work *work, const char *path, json_int_t size);
json_t *mcp_bytes(const void *data, size_t len);                      /* as text, U+FFFD for what is none */
json_t *mcp_resource(const char *path, const void *data, size_t len); /* {uri, mimeType, text | blob} */
/* Each ends the work. A tool that failed: text and hint. */
void mcp_tool_done(struct mcp_work *work, bool is_error);
void mcp_tool_failed(struct mcp_work *work, const char *message, const char *hint);
/* What the keeper refused. */
void mcp_tool_refused(struct mcp_work *work, const json_t *error);

/* ---- run_report.c: what a run came to, for a model ---- */
/* Fills content and structured from a result of docs/result.md and the work's streams. Is it an error? */
bool mcp_report_run(struct mcp_work *work, const json_t *result, bool is_command);

/* ---- uri.c ---- */
#define MCP_URI_GUIDE "snapcell:guide"
char *mcp_uri_of(const char *path); /* heap; relative ones are below the work folder */
char *mcp_path_of(const char *uri); /* heap, or NULL: none of ours */
const char *mcp_mime_of(const char *path, bool is_text);

/* ---- resources.c, prompts.c ---- */
void mcp_resources_list(struct sc_mcp *mcp, const json_t *id, const json_t *params);
void mcp_resources_read(struct sc_mcp *mcp, const json_t *id, const json_t *params);
void mcp_resource_templates(struct sc_mcp *mcp, const json_t *id, const json_t *params);
void mcp_prompts_list(struct sc_mcp *mcp, const json_t *id, const json_t *params);
void mcp_prompts_get(struct sc_mcp *mcp, const json_t *id, const json_t *params);
void mcp_complete(struct sc_mcp *mcp, const json_t *id, const json_t *params);
/* The guide to this server and its limits, for a model: heap text. `topic`: a part of it, or NULL. */
char *mcp_guide(struct sc_mcp *mcp, const char *topic);
extern const char MCP_INSTRUCTIONS[];

/* ---- tool_run.c, tool_files.c ---- */
void mcp_tool_run_code(struct mcp_work *work);
void mcp_tool_run_command(struct mcp_work *work);
void mcp_tool_check_code(struct mcp_work *work);
void mcp_tool_reset(struct mcp_work *work);
void mcp_tool_read_file(struct mcp_work *work);
void mcp_tool_write_file(struct mcp_work *work);
void mcp_tool_list_files(struct mcp_work *work);
/* One {path, content | content_b64, append, executable}: written, with the folders above it. */
void mcp_put_file(struct mcp_work *work, const json_t *file, mcp_next *next);
/* files.c: looks at the work folder and tells `then` with work->changed filled. */
void mcp_look_at_files(struct mcp_work *work, void (*then)(struct mcp_work *work));

/* ---- watch.c: subscriptions ---- */
void mcp_subscribe(struct sc_mcp *mcp, const json_t *id, const json_t *params);
void mcp_unsubscribe(struct sc_mcp *mcp, const json_t *id, const json_t *params);
/* Looks at what the client subscribed to, tells what has changed, then goes on with work->then. */
void mcp_look_at_watched(struct mcp_work *work);
/* The session was ended, and its files with it. */
void mcp_watched_are_gone(struct sc_mcp *mcp);

#endif
