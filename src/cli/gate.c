/* `snapcell gate`: started by `snapcell serve`, which is at the other end of its stdin. What comes there
 * first is the set-up: a length with descriptors (the listeners, the door last), and a JSON object. What
 * comes next, or the end, is the order to finish. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "cli/gate_seal.h"
#include "cli/options.h"
#include "cli/say.h"
#include "cli/serve.h"
#include "gate/gate.h"

#define ORDERS STDIN_FILENO
#define DESCRIPTORS_BESIDE 256 /* links, epolls, the rest */

static int receive(struct sc_gate_options *options, uid_t *ret_uid, json_t **ret_setup, struct sc_err *err)
{
    uint32_t len = 0;
    int fds[SC_GATE_LISTENERS_MAX + 1];
    size_t n_fds = SC_GATE_LISTENERS_MAX + 1;
    json_error_t where;
    char *text = NULL;
    ssize_t n = sc_recv_fds(ORDERS, &len, sizeof len, fds, &n_fds);
    int r = n == sizeof len && len <= SC_SERVE_SETUP_MAX && n_fds > 0 ? 0 : n < 0 ? (int)n : -EPROTO;
    if (r == 0 && !(text = malloc(len + 1)))
        r = -ENOMEM;
    if (r == 0)
        r = sc_read_all(ORDERS, text, len);
    if (r == 0)
        r = sc_json_load(text, len, 0, ret_setup, &where);
    free(text);
    if (r < 0)
        return sc_err_sys(err, r, "gate: set-up");
    const json_t *tcp = json_object_get(*ret_setup, "tcp"), *hosts = json_object_get(*ret_setup, "hosts");
    options->door = fds[--n_fds];
    for (size_t i = 0; i < n_fds; i++)
        options->listeners[i] =
            (struct sc_gate_listener){fds[i], json_is_true(json_array_get(tcp, i)),
                                      json_is_true(json_array_get(json_object_get(*ret_setup, "debug"), i))};
    options->n_listeners = n_fds;
    for (size_t i = 0; i < json_array_size(hosts) && i < SC_GATE_HOSTS_MAX; i++)
        options->hosts[options->n_hosts++] = json_string_value(json_array_get(hosts, i));
    options->clients = (unsigned)json_integer_value(json_object_get(*ret_setup, "clients"));
    options->e2b_key = json_string_value(json_object_get(*ret_setup, "e2b_key"));
    options->e2b_accepts = json_object_get(*ret_setup, "e2b_degraded");
    *ret_uid = (uid_t)json_integer_value(json_object_get(*ret_setup, "become"));
    return 0;
}

int sc_cli_gate(const struct sc_cli_args *args)
{
    struct sc_gate_options options = {.door = -1, .orders = ORDERS};
    struct sc_err err = {0};
    struct stat st;
    json_t *setup = NULL;
    uid_t uid = 0;
    if (args->n_operands || fstat(ORDERS, &st) < 0 || !S_ISSOCK(st.st_mode)) {
        sc_err_usage(&err, "", "gate: is started by snapcell serve, never by hand");
        return sc_cli_fail(&err);
    }
    int r = receive(&options, &uid, &setup, &err);
    if (r == 0)
        r = sc_gate_seal(uid, options.clients * (unsigned)options.n_listeners + DESCRIPTORS_BESIDE, &err);
    if (r == 0)
        r = sc_gate_serve(&options, &err);
    json_decref(setup);
    return r < 0 ? sc_cli_fail(&err) : SC_CLI_EXIT_OK;
}
