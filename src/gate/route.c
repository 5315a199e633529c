/* What is served: one table, from which requests are routed and the OpenAPI document is made. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "gate/body.h"

#define S "/v1/sessions"
#define ONE S "/{session}"
#define SNAPSHOTS "/v1/snapshots"
#define PORT(method)                                                                                         \
    {                                                                                                        \
        method, ONE "/ports/{port*}", ROUTE_PASSES, BODY_STREAM, NULL, NULL, handle_port, "ports",           \
            "Ask a program that listens on a port inside; the path goes on behind the port.",                \
            "application/octet-stream", 200                                                                  \
    }

/* clang-format off */
const struct route ROUTES[] = {
    {"GET", "/healthz", ROUTE_OPEN, BODY_NONE, NULL, NULL, handle_health, "service", "Is the gate alive?",
     "Status", 200},
    {"GET", "/readyz", ROUTE_OPEN, BODY_NONE, NULL, NULL, handle_ready, "service", "Can work be done now?",
     "Status", 200},
    {"GET", "/openapi.json", ROUTE_OPEN, BODY_NONE, NULL, NULL, handle_openapi, "service", "This document.", "Anything", 200},
    {"GET", "/metrics", 0, BODY_NONE, NULL, NULL, handle_metrics, "service", "What is counted, in Prometheus' text form.", "text/plain", 200},
    {"GET", "/v1/events", ROUTE_FOLLOWS, BODY_NONE, NULL, NULL, handle_events, "service", "Tell what happens, until the client goes.", "", 200},
    {"GET", "/docs", ROUTE_OPEN, BODY_NONE, NULL, NULL, handle_docs, "service", "Requests to try.", "text/html", 200},
    {"POST", "/v1/run", ROUTE_STREAMS, BODY_JSON, NULL, RUN_FIELDS, handle_run, "runs", "Run code or a command in a fresh cell.", "Result", 200},
    {"POST", "/v1/batch", 0, BODY_LINES, BATCH_QUERY, NULL, handle_batch, "runs", "Run many jobs; a result a line, as each comes.", "application/x-ndjson", 200},
    {"POST", "/v1/judge", 0, BODY_JSON, NULL, JUDGE_FIELDS, handle_judge, "runs", "Build a program once and run tests of it, each with a verdict.", "Report", 200},
    {"POST", "/v1/check", 0, BODY_JSON, NULL, CHECK_FIELDS, handle_check, "runs", "Read code without running it.", "Checked", 200},
    {"GET", "/v1/templates", 0, BODY_NONE, NULL, NULL, handle_templates, "service", "List the templates.", "Templates", 200},
    {"GET", "/v1/host", 0, BODY_NONE, NULL, NULL, handle_host, "service", "What the host can do; for operators.", "Anything", 200},

    {"POST", "/mcp", ROUTE_ORIGIN | ROUTE_FOREIGN, BODY_WHOLE, MCP_QUERY, NULL, handle_mcp_post, "mcp", "A message of the Model Context Protocol.", NULL, 200},
    {"GET", "/mcp", ROUTE_ORIGIN | ROUTE_FOREIGN, BODY_NONE, MCP_QUERY, NULL, handle_mcp_get, "mcp", "Its stream.", NULL, 200},
    {"DELETE", "/mcp", ROUTE_ORIGIN | ROUTE_FOREIGN, BODY_NONE, MCP_QUERY, NULL, handle_mcp_delete, "mcp", "Its end.", NULL, 204},

    {"POST", S, 0, BODY_JSON, NULL, SESSION_FIELDS, handle_session_create, "sessions", "Make a session.", "Started", 201},
    {"GET", S, 0, BODY_NONE, LIST_QUERY, NULL, handle_session_list, "sessions", "List your sessions.", "Sessions", 200},
    {"GET", ONE, 0, BODY_NONE, NULL, NULL, handle_session_get, "sessions", "Tell about a session.", "Session", 200},
    {"DELETE", ONE, 0, BODY_NONE, NULL, NULL, handle_session_delete, "sessions", "End a session and all that is in it.", "Ended", 200},
    {"POST", ONE "/run", ROUTE_STREAMS, BODY_JSON, NULL, CODE_FIELDS, handle_session_run, "sessions", "Run code in a context, which keeps its variables.", "Result", 200},
    {"POST", ONE "/exec", ROUTE_STREAMS, BODY_JSON, NULL, EXEC_FIELDS, handle_session_exec, "sessions", "Run a command and wait for its end.", "Result", 200},
    {"POST", ONE "/interrupt", 0, BODY_JSON, NULL, INTERRUPT_FIELDS, handle_interrupt, "sessions", "Interrupt what runs; its state stays.", "Interrupted", 200},
    {"POST", ONE "/keepalive", 0, BODY_JSON, NULL, NULL, handle_keepalive, "sessions", "Set its idle clock back.", "Session", 200},
    {"GET", ONE "/metrics", 0, BODY_NONE, NULL, NULL, handle_session_metrics, "sessions", "What it has used.", "Usage", 200},
    {"PUT", ONE "/network", 0, BODY_JSON, NULL, NETWORK_FIELDS, handle_network, "sessions", "Change the rules of its network; what they do not allow is cut.", NULL, 204},
    {"POST", ONE "/fork", 0, BODY_JSON, NULL, FORK_FIELDS, handle_session_fork, "copies", "Make copies of it that go on where it stands.", "Forked", 201},
    {"POST", ONE "/snapshot", 0, BODY_JSON, NULL, SNAPSHOT_FIELDS, handle_session_snapshot, "copies", "Keep what it is now.", "Kept", 201},
    {"POST", ONE "/rollback", 0, BODY_JSON, NULL, ROLLBACK_FIELDS, handle_session_rollback, "copies", "Make it what a snapshot kept.", "Started", 200},
    {"POST", ONE "/pause", 0, BODY_JSON, NULL, NULL, handle_session_pause, "sessions", "Put its files on disk and end its cell.", "Paused", 200},
    {"POST", ONE "/resume", 0, BODY_JSON, NULL, RESUME_FIELDS, handle_session_resume, "sessions", "Make a cell with the files that are on disk.", "Started", 200},
    {"GET", SNAPSHOTS, 0, BODY_NONE, LIST_QUERY, NULL, handle_snapshot_list, "copies", "List your snapshots.", "Snapshots", 200},
    {"GET", SNAPSHOTS "/{snapshot}", 0, BODY_NONE, NULL, NULL, handle_snapshot_get, "copies", "Tell about a snapshot.", "Snapshot", 200},
    {"DELETE", SNAPSHOTS "/{snapshot}", 0, BODY_NONE, NULL, NULL, handle_snapshot_delete, "copies", "Drop a snapshot.", "Ended", 200},
    {"GET", ONE "/contexts", 0, BODY_NONE, NULL, NULL, handle_contexts, "sessions", "List its contexts.", "Contexts", 200},
    {"POST", ONE "/contexts/{context}/restart", 0, BODY_JSON, NULL, NULL, handle_context_restart, "sessions", "Forget a context's state.", NULL, 204},

    {"POST", ONE "/commands", ROUTE_FOLLOWS, BODY_JSON, NULL, COMMAND_FIELDS, handle_command_start, "commands", "Start a command and follow it.", "Process", 200},
    {"GET", ONE "/commands", 0, BODY_NONE, NULL, NULL, handle_command_list, "commands", "List its commands.", "Processes", 200},
    {"POST", ONE "/commands/{process}/stdin", 0, BODY_STREAM, STDIN_QUERY, NULL, handle_command_stdin, "commands", "Write to a command that is followed.", NULL, 204},
    {"POST", ONE "/commands/{process}/resize", 0, BODY_JSON, NULL, RESIZE_FIELDS, handle_command_resize, "commands", "Change the size of its terminal.", NULL, 204},
    {"POST", ONE "/commands/{process}/signal", 0, BODY_JSON, NULL, SIGNAL_FIELDS, handle_command_signal, "commands", "Send it a signal.", NULL, 204},

    {"GET", ONE "/files/{path*}", 0, BODY_NONE, READ_QUERY, NULL, handle_file_read, "files", "Read a file.", "application/octet-stream", 200},
    {"PUT", ONE "/files/{path*}", 0, BODY_STREAM, WRITE_QUERY, NULL, handle_file_write, "files", "Write a file, in one step.", "Moved", 200},
    {"DELETE", ONE "/files/{path*}", 0, BODY_NONE, REMOVE_QUERY, NULL, handle_file_remove, "files", "Remove a file or folder.", "Moved", 200},
    {"PATCH", ONE "/files/{path*}", 0, BODY_JSON, NULL, CHANGE_FIELDS, handle_file_change, "files", "Rename it, or change its mode.", "Moved", 200},
    {"GET", ONE "/stat/{path*}", 0, BODY_NONE, NULL, NULL, handle_stat, "files", "Tell about a file.", "Entry", 200},
    {"GET", ONE "/folders", 0, BODY_NONE, PATH_QUERY, NULL, handle_list, "files", "List a folder.", "Entries", 200},
    {"GET", ONE "/folders/{path*}", 0, BODY_NONE, NULL, NULL, handle_list, "files", "List a folder.", "Entries", 200},
    {"PUT", ONE "/folders/{path*}", 0, BODY_NONE, MKDIR_QUERY, NULL, handle_mkdir, "files", "Make a folder.", "Moved", 201},
    {"GET", ONE "/watch", ROUTE_FOLLOWS, BODY_NONE, PATH_QUERY, NULL, handle_watch, "files", "Tell what changes in a folder, until the client goes.", "", 200},
    {"GET", ONE "/tar", 0, BODY_NONE, PATH_QUERY, NULL, handle_tar_out, "files", "Take a folder as a tar stream.", "application/x-tar", 200},
    {"PUT", ONE "/tar", 0, BODY_STREAM, PATH_QUERY, NULL, handle_tar_in, "files", "Unpack a tar stream into a folder.", "Moved", 200},
    PORT("GET"), PORT("HEAD"), PORT("POST"), PORT("PUT"), PORT("PATCH"), PORT("DELETE"), PORT("OPTIONS"),
    {NULL},
};
/* clang-format on */

/* One part of a path against one of the pattern; a name in braces takes anything but nothing. */
static bool part_fits(const char *pattern, size_t pattern_len, const char *part, size_t len)
{
    if (pattern_len > 1 && *pattern == '{')
        return len > 0;
    return pattern_len == len && !memcmp(pattern, part, len);
}

/* Fills the starts of what the names in braces took; `path` is left as it is. */
static bool path_fits(const char *pattern, char *path, char *ret_params[ROUTE_PARAMS_MAX],
                      size_t ret_lens[ROUTE_PARAMS_MAX])
{
    size_t n = 0;
    while (*pattern == '/' && *path == '/') {
        size_t pattern_len = strcspn(++pattern, "/"), len = strcspn(++path, "/");
        bool rest = pattern_len > 2 && pattern[pattern_len - 2] == '*';
        if (rest)
            len = strlen(path);
        if (!part_fits(pattern, pattern_len, path, len))
            return false;
        if (*pattern == '{' && n < ROUTE_PARAMS_MAX) {
            ret_params[n] = path;
            ret_lens[n++] = len;
        }
        pattern += pattern_len;
        path += len;
    }
    return *pattern == '\0' && *path == '\0';
}

static void add_allowed(char *allowed, size_t size, const char *method)
{
    size_t used = strlen(allowed);
    snprintf(allowed + used, size - used, "%s%s", used ? ", " : "", method);
}

const struct route *route_find(const struct route *table, const char *method, char *path,
                               char *ret_params[ROUTE_PARAMS_MAX], unsigned *ret_status, char *ret_allowed,
                               size_t size)
{
    *ret_status = 404;
    for (const struct route *route = table; route->method; route++) {
        char *params[ROUTE_PARAMS_MAX] = {NULL};
        size_t lens[ROUTE_PARAMS_MAX] = {0};
        if (!path_fits(route->path, path, params, lens))
            continue;
        if (strcmp(method, route->method) != 0) {
            *ret_status = 405;
            add_allowed(ret_allowed, size, route->method);
            continue;
        }
        for (size_t i = 0; i < ROUTE_PARAMS_MAX && params[i]; i++) {
            bool stays = route->flags & ROUTE_PASSES && i > 0;
            params[i][lens[i]] = '\0';
            if (!stays &&
                (text_unescape(params[i], false) < 0 || !sc_utf8_valid(params[i], strlen(params[i])))) {
                *ret_status = 400;
                return NULL;
            }
            ret_params[i] = params[i];
        }
        return route;
    }
    return NULL;
}
