/* A port inside, asked for by the name that clients make of it, PORT-ID.DOMAIN, or by the headers that say
 * the same. Such a request is the program's there, whatever its path: nothing of the gate's own is served by
 * it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "gate/e2b/e2b.h"
#include "gate/port.h"

/* Their daemon and their interpreter, which are this front itself. */
#define ENVD_PORT 49983
#define RUN_PORT 49999

static bool read_headers(const char *id, const char *port, unsigned *ret_port, char ret_id[65])
{
    uint64_t number = 0;
    if (sc_parse_u64(port, &number) < 0 || number < 1 || number > UINT16_MAX)
        return false;
    snprintf(ret_id, 65, "%s", id);
    *ret_port = (unsigned)number;
    return true;
}

/* Headers count more than Host. False: no port is named. */
static bool read_port(const struct request *request, unsigned *ret_port, char ret_id[65])
{
    const char *id = e2b_header(request, "E2b-Sandbox-Id"), *port = e2b_header(request, "E2b-Sandbox-Port");
    const char *host = e2b_header(request, "Host");
    if (id && port)
        return read_headers(id, port, ret_port, ret_id);
    /* The service's own name may begin with a number, too. */
    return !id && host && e2b_read_host(host, ret_port, ret_id) == 0 && strlen(ret_id) == E2B_ID;
}

bool e2b_wants_port(const struct request *request)
{
    unsigned port;
    char id[65];
    return !request->person->debug && read_port(request, &port, id) && port != ENVD_PORT && port != RUN_PORT;
}

const struct route *e2b_port_route(const char *method)
{
    const struct route *route = E2B_PORT_ROUTES;
    while (route->method && strcmp(route->method, method) != 0)
        route++;
    return route->method ? route : NULL;
}

void e2b_handle_port(struct request *request)
{
    char session[65], access[E2B_SECRET + 1], id[65], *target = NULL;
    unsigned port = 0;
    if (!e2b_enter(request))
        return;
    const struct e2b_call *call = request->of_handler;
    memcpy(session, call->session, sizeof session);
    memcpy(access, call->access, sizeof access);
    /* What follows is the passing's request. */
    request->free_handler(request);
    request->free_handler = NULL;
    if (!read_port(request, &port, id) ||
        asprintf(&target, "%s%s%s", request->uri, request->raw_query ? "?" : "",
                 request->raw_query ? request->raw_query : "") < 0) {
        problem_begin(request, -ENOMEM);
    } else {
        port_pass(request, &(struct port_way){.session = session,
                                              .access = access,
                                              .port = port,
                                              .method = request->route->method,
                                              .target = target});
        free(target);
    }
    explicit_bzero(access, sizeof access);
}

/* Of a gateway's form. What the request holds of a handler's is the passing's by now. */
void e2b_refuse_port(struct request *request, const char *kind, const char *field, const char *message,
                     const json_t *more)
{
    char id[65] = "";
    unsigned port = 0;
    (void)read_port(request, &port, id);
    bool is_gone = !strcmp(field, "session") && (!strcmp(kind, "not_found") || !strcmp(kind, "ended"));
    bool is_closed = !strcmp(kind, "port") && strstr(message, PORT_CLOSED);
    if (request->answered)
        return;
    if (is_gone)
        answer_json(request, MHD_HTTP_BAD_GATEWAY,
                    json_pack("{s:s, s:s, s:i}", "sandboxId", id, "message", "The sandbox was not found",
                              "code", MHD_HTTP_BAD_GATEWAY));
    else if (!strcmp(kind, "port"))
        answer_json(request, MHD_HTTP_BAD_GATEWAY,
                    json_pack("{s:s, s:s, s:i, s:i}", "sandboxId", id, "message",
                              is_closed ? "The sandbox is running but port is not open" : message, "port",
                              (int)port, "code", MHD_HTTP_BAD_GATEWAY));
    else
        e2b_refuse_control(request, kind, field, message, more);
}
