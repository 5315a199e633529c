/* What is served of E2B's protocol. None of its paths is one of ours; where both have one (/metrics), the
 * header that names the sandbox decides. */
#include <stddef.h>

#include "gate/e2b/e2b.h"

#define KEY (ROUTE_TEXT | ROUTE_E2B)
#define TOKEN (ROUTE_TEXT | ROUTE_E2B | ROUTE_OPEN) /* the sandbox's token is the handler's to look at */
#define STREAM (TOKEN | ROUTE_FOLLOWS)
#define CONTROL(method, path, body, name)                                                                    \
    {                                                                                                        \
        method, path, KEY, body, NULL, NULL, e2b_handle_##name, NULL, NULL, NULL, 0, e2b_refuse_control      \
    }
#define ENVD(method, path, body, name)                                                                       \
    {                                                                                                        \
        method, path, TOKEN, body, NULL, NULL, e2b_handle_##name, NULL, NULL, NULL, 0, e2b_refuse_envd       \
    }
#define RUNS(method, path, body, name)                                                                       \
    {                                                                                                        \
        method, path, TOKEN, body, NULL, NULL, e2b_handle_##name, NULL, NULL, NULL, 0, e2b_refuse_text       \
    }
#define RPC(path, flags, name)                                                                               \
    {                                                                                                        \
        "POST", path, flags, BODY_WHOLE, NULL, NULL, e2b_handle_##name, NULL, NULL, NULL, 0, e2b_refuse_rpc  \
    }
#define PORT(method)                                                                                         \
    {                                                                                                        \
        method, "", TOKEN | ROUTE_PASSES, BODY_STREAM, NULL, NULL, e2b_handle_port, NULL, NULL, NULL, 0,     \
            e2b_refuse_port                                                                                  \
    }
#define FILES "/filesystem.Filesystem/"
#define PROCESS "/process.Process/"

/* By their method alone: see e2b_port_route. */
const struct route E2B_PORT_ROUTES[] = {PORT("GET"),   PORT("HEAD"),   PORT("POST"),    PORT("PUT"),
                                        PORT("PATCH"), PORT("DELETE"), PORT("OPTIONS"), {NULL}};

/* clang-format off */
const struct route E2B_ROUTES[] = {
    CONTROL("POST", "/sandboxes", BODY_WHOLE, create),
    CONTROL("POST", "/v2/sandboxes", BODY_WHOLE, create),
    CONTROL("GET", "/sandboxes", BODY_NONE, list),
    CONTROL("GET", "/v2/sandboxes", BODY_NONE, list),
    CONTROL("GET", "/sandboxes/metrics", BODY_NONE, all_metrics),
    CONTROL("GET", "/sandboxes/{id}", BODY_NONE, get),
    CONTROL("DELETE", "/sandboxes/{id}", BODY_NONE, kill),
    CONTROL("POST", "/sandboxes/{id}/timeout", BODY_WHOLE, timeout),
    CONTROL("POST", "/sandboxes/{id}/refreshes", BODY_WHOLE, refresh),
    CONTROL("POST", "/sandboxes/{id}/pause", BODY_WHOLE, pause),
    CONTROL("POST", "/sandboxes/{id}/resume", BODY_WHOLE, resume),
    CONTROL("POST", "/sandboxes/{id}/connect", BODY_WHOLE, connect),
    CONTROL("POST", "/v2/sandboxes/{id}/connect", BODY_WHOLE, connect),
    CONTROL("PUT", "/sandboxes/{id}/network", BODY_WHOLE, network),
    CONTROL("POST", "/sandboxes/{id}/snapshots", BODY_WHOLE, snapshot),
    CONTROL("GET", "/snapshots", BODY_NONE, snapshots),
    CONTROL("DELETE", "/templates/{id}", BODY_NONE, template_delete),
    CONTROL("POST", "/sandboxes/{id}/fork", BODY_WHOLE, fork),
    CONTROL("GET", "/sandboxes/{id}/metrics", BODY_NONE, metrics),
    CONTROL("GET", "/sandboxes/{id}/logs", BODY_NONE, logs),
    CONTROL("GET", "/v2/sandboxes/{id}/logs", BODY_NONE, logs),
    /* What belongs to a service that builds and stores things for its users. */
    CONTROL("GET", "/templates/{rest*}", BODY_NONE, unserved),
    CONTROL("POST", "/templates/{rest*}", BODY_WHOLE, unserved),
    CONTROL("POST", "/templates", BODY_WHOLE, unserved),
    CONTROL("GET", "/templates", BODY_NONE, unserved),
    CONTROL("POST", "/v2/templates/{rest*}", BODY_WHOLE, unserved),
    CONTROL("POST", "/v2/templates", BODY_WHOLE, unserved),
    CONTROL("POST", "/v3/templates", BODY_WHOLE, unserved),
    CONTROL("GET", "/volumes", BODY_NONE, unserved),
    CONTROL("POST", "/volumes", BODY_WHOLE, unserved),
    CONTROL("GET", "/volumes/{rest*}", BODY_NONE, unserved),
    CONTROL("DELETE", "/volumes/{rest*}", BODY_NONE, unserved),
    CONTROL("GET", "/secrets", BODY_NONE, unserved),
    CONTROL("POST", "/secrets", BODY_WHOLE, unserved),
    CONTROL("GET", "/teams", BODY_NONE, unserved),

    ENVD("GET", "/health", BODY_NONE, health),
    ENVD("GET", "/envs", BODY_NONE, envs),
    ENVD("GET", "/metrics", BODY_NONE, inside_metrics),
    ENVD("GET", "/files", BODY_NONE, read),
    ENVD("POST", "/files", BODY_FED, write),
    ENVD("POST", "/files/compose", BODY_WHOLE, unserved),

    RPC(FILES "Stat", TOKEN, stat),
    RPC(FILES "ListDir", TOKEN, list_dir),
    RPC(FILES "MakeDir", TOKEN, make_dir),
    RPC(FILES "Move", TOKEN, move),
    RPC(FILES "Remove", TOKEN, remove),
    RPC(FILES "WatchDir", STREAM, watch),
    RPC(FILES "CreateWatcher", TOKEN, watcher_new),
    RPC(FILES "GetWatcherEvents", TOKEN, watcher_events),
    RPC(FILES "RemoveWatcher", TOKEN, watcher_remove),
    RPC(PROCESS "List", TOKEN, process_list),
    RPC(PROCESS "Start", STREAM, process_start),
    RPC(PROCESS "Connect", STREAM, process_connect),
    RPC(PROCESS "Update", TOKEN, process_update),
    RPC(PROCESS "SendInput", TOKEN, process_input),
    RPC(PROCESS "CloseStdin", TOKEN, process_close),
    RPC(PROCESS "SendSignal", TOKEN, process_signal),
    RPC(PROCESS "StreamInput", TOKEN, rpc_unserved),

    RUNS("POST", "/execute", BODY_WHOLE, execute),
    RUNS("POST", "/contexts", BODY_WHOLE, context_new),
    RUNS("GET", "/contexts", BODY_NONE, context_list),
    RUNS("POST", "/contexts/{id}/restart", BODY_WHOLE, context_restart),
    RUNS("DELETE", "/contexts/{id}", BODY_NONE, context_remove),
    {NULL},
};
/* clang-format on */
