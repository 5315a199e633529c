/* `snapcell serve`: what it was asked for. */
#include "cli/serve.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/num.h"
#include "cli/keeper.h"
#include "cli/options.h"
#include "cli/say.h"
#include "host/host.h"
#include "keeper/place.h"
#include "spec/spec_internal.h"

#define DEV_LISTEN "127.0.0.1:8480"
#define DRAIN_NS (30 * SC_NS_PER_S)
#define DRAIN_MOST (3600 * SC_NS_PER_S)
#define GATE_USER "snapcell-gate"
#define GATE_UID 2147440001u /* where there is no such user: a number that is nobody's */

/* The HTTP socket of --dev lies beside the keeper's, in a folder that is nobody else's. */
static int default_socket(struct sc_serve_wants *wants, struct sc_err *err)
{
    const char *slash = strrchr(wants->socket, '/');
    int n = snprintf(wants->http_socket, sizeof wants->http_socket, "%.*s/http.sock",
                     slash ? (int)(slash - wants->socket) : 1, slash ? wants->socket : ".");
    if (n < 0 || (size_t)n >= sizeof wants->http_socket)
        return sc_err_usage(err, "http-socket", "http-socket: the path is too long");
    return 0;
}

/* As root the gate is somebody without any right; an ordinary user has no other user to be. */
static uid_t gate_uid(void)
{
    if (geteuid() != 0)
        return 0;
    const struct passwd *user = getpwnam(GATE_USER);
    return user && user->pw_uid != 0 ? user->pw_uid : GATE_UID;
}

static int read_numbers(const struct sc_cli_args *args, struct sc_serve_wants *wants, struct sc_err *err)
{
    const char *clients = args->texts[SC_TEXT_CLIENTS], *drain = args->texts[SC_TEXT_DRAIN];
    uint64_t n = SC_GATE_CLIENTS_STANDARD;
    if (clients && (sc_parse_u64(clients, &n) < 0 || n < 1 || n > SC_GATE_CLIENTS_MOST))
        return sc_err_usage(err, "clients", "clients: %s: allowed are 1 to %d", clients,
                            SC_GATE_CLIENTS_MOST);
    wants->clients = (unsigned)n;
    wants->drain_ns = DRAIN_NS;
    if (drain && (sc_parse_duration(drain, &wants->drain_ns) < 0 || wants->drain_ns > DRAIN_MOST))
        return sc_err_usage(err, "drain", "drain: %s: must be a duration like 30s, 0s to 1h", drain);
    return 0;
}

/* Options that are the keeper's alone: it reads them, and says what is wrong. */
static void pass_on(const struct sc_cli_args *args, struct sc_serve_wants *wants)
{
    static const struct {
        enum sc_cli_text text;
        const char *option;
    } rows[] = {{SC_TEXT_SESSIONS, "--sessions"},    {SC_TEXT_POOL, "--pool"},
                {SC_TEXT_RUNNING, "--running"},      {SC_TEXT_QUEUE, "--queue"},
                {SC_TEXT_MIN_FREE, "--min-free"},    {SC_TEXT_MAX_LOAD, "--max-load"},
                {SC_TEXT_AUDIT_SIZE, "--audit-size"}};
    _Static_assert(2 * sizeof rows / sizeof *rows + 1 <= SC_SERVE_PASSED_MAX,
                   "SC_SERVE_PASSED_MAX is too small");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!args->texts[rows[i].text])
            continue;
        wants->passed[wants->n_passed++] = rows[i].option;
        wants->passed[wants->n_passed++] = args->texts[rows[i].text];
    }
    if (args->flags & SC_FLAG_NO_ZYGOTES)
        wants->passed[wants->n_passed++] = "--no-zygotes";
    if (args->flags & SC_FLAG_AUDIT_STRICT)
        wants->passed[wants->n_passed++] = "--audit-strict";
}

/* "a.example,b.example" */
static int read_hosts(const char *list, struct sc_serve_wants *wants, struct sc_err *err)
{
    while (*list) {
        size_t len = strcspn(list, ",");
        if (len == 0 || len >= sizeof wants->hosts[0] || wants->n_hosts == SC_GATE_HOSTS_MAX)
            return sc_err_usage(err, "host",
                                "host: must be 1 to %d names of 1 to %zu bytes, with commas between them",
                                SC_GATE_HOSTS_MAX, sizeof wants->hosts[0] - 1);
        snprintf(wants->hosts[wants->n_hosts++], sizeof wants->hosts[0], "%.*s", (int)len, list);
        list += len + (list[len] == ',');
    }
    return 0;
}

/* "memory,cpu"; NULL: nothing. */
static int read_degraded(const char *list, uint32_t *ret_bits, struct sc_err *err)
{
    int r = 0;
    while (list && *list && r == 0) {
        size_t len = strcspn(list, ",");
        r = sc_spec_degrade("e2b-degraded", list, len, ret_bits, err);
        list += len + (list[len] == ',');
    }
    return r;
}

static int read_texts(const struct sc_cli_args *args, struct sc_serve_wants *wants, struct sc_err *err)
{
    const char *socket = args->texts[SC_TEXT_SOCKET], *http = args->texts[SC_TEXT_HTTP_SOCKET];
    const char *listen = args->texts[SC_TEXT_LISTEN];
    int r = socket ? 0 : sc_keeper_path(wants->socket, err);
    if (r < 0)
        return r;
    if ((socket && strlen(socket) >= sizeof wants->socket) ||
        (http && strlen(http) >= sizeof wants->http_socket))
        return sc_err_usage(err, "socket", "socket: the path is too long");
    if (socket)
        memcpy(wants->socket, socket, strlen(socket) + 1);
    if (http)
        memcpy(wants->http_socket, http, strlen(http) + 1);
    else if (wants->dev)
        r = default_socket(wants, err);
    if (listen && strlen(listen) >= sizeof wants->listen)
        return sc_err_usage(err, "listen", "listen: must be ADDRESS:PORT, as 127.0.0.1:8480 or [::1]:8480");
    if (listen || wants->dev)
        snprintf(wants->listen, sizeof wants->listen, "%s", listen ? listen : DEV_LISTEN);
    if (listen && (r = sc_serve_listen_check(listen, err)) < 0)
        return r;
    if (args->texts[SC_TEXT_HOST] && (r = read_hosts(args->texts[SC_TEXT_HOST], wants, err)) < 0)
        return r;
    if ((r = read_degraded(args->texts[SC_TEXT_E2B_DEGRADED], &wants->e2b_degraded, err)) < 0)
        return r;
    const char *state = args->texts[SC_TEXT_STATE];
    if (state && strlen(state) >= sizeof wants->state)
        return sc_err_usage(err, "state", "state: the path is too long");
    snprintf(wants->state, sizeof wants->state, "%s", state ? state : "");
    pass_on(args, wants);
    return r;
}

int sc_serve_read(const struct sc_cli_args *args, struct sc_serve_wants *wants, struct sc_err *err)
{
    *wants = (struct sc_serve_wants){.dev = args->flags & SC_FLAG_DEV, .gate_uid = gate_uid()};
    int r = read_numbers(args, wants, err);
    wants->e2b_debug = args->flags & SC_FLAG_E2B_DEBUG;
    if (r == 0 && wants->e2b_debug && !wants->dev)
        r = sc_err_usage(err, "e2b-debug", "e2b-debug: goes with --dev only: who comes there needs no key");
    return r < 0 ? r : read_texts(args, wants, err);
}

static int read_options(const struct sc_cli_args *args, struct sc_serve_wants *wants, struct sc_err *err)
{
    if (args->n_operands)
        return sc_err_usage(err, "", "serve %s: takes no operands", args->operands[0]);
    int r = sc_serve_read(args, wants, err);
    return r == 0 && wants->dev ? sc_serve_dev(wants, err) : r;
}

/* At SIGHUP. What the gate is told anew counts; a keeper cannot be told without ending its sessions. */
static int reread(const struct sc_cli_args *args, struct sc_serve_wants *wants)
{
    static struct sc_serve_wants fresh;
    struct sc_cli_args merged;
    struct sc_err err = {0};
    if (sc_serve_config(args, &merged) != SC_CLI_EXIT_OK)
        return -EINVAL;
    if (sc_serve_read(&merged, &fresh, &err) < 0) {
        sc_cli_say("serve: %s", err.message);
        return -EINVAL;
    }
    memcpy(wants->hosts, fresh.hosts, sizeof wants->hosts);
    wants->n_hosts = fresh.n_hosts;
    wants->clients = fresh.clients;
    wants->drain_ns = fresh.drain_ns;
    return 0;
}

/* In a group of our own that systemd delegated, all three must be in its leaf before the keeper makes others
 * beside that: children stay where they are born. */
static int settle(struct sc_err *err)
{
    static struct sc_host host;
    const struct sc_host_options options = {.cgroup_parent = getenv("SNAPCELL_CGROUP_PARENT"),
                                            .want_scope = true};
    return sc_host_probe(&host, &options, err);
}

int sc_cli_serve(const struct sc_cli_args *args)
{
    static struct sc_serve_wants wants;
    static struct sc_serve_listeners listeners;
    struct sc_cli_args merged;
    struct sc_err err = {0};
    int status = sc_serve_config(args, &merged);
    if (status != SC_CLI_EXIT_OK)
        return status;
    if (read_options(&merged, &wants, &err) < 0 || sc_cli_keeper_check(&merged, &err) < 0 ||
        settle(&err) < 0 || sc_serve_listen(&wants, &listeners, &err) < 0)
        return sc_cli_fail(&err);
    status = sc_serve_watch(&wants, &listeners, reread, args);
    sc_serve_unlisten(&listeners);
    return status;
}
