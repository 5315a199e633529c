/* Who is there, and may they: Host and Origin here; key or peer are the keeper's to judge. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#include "base/json.h"
#include "gate/parts.h"

#define KEY_MAX 512

static const char *header(const struct request *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

/* `host` without its port. */
static bool is_host(const char *host, const char *name)
{
    size_t len = strlen(name);
    if (strncasecmp(host, name, len) != 0)
        return false;
    const char *port = host + len;
    if (*port == '\0')
        return true;
    size_t digits = *port == ':' ? strspn(port + 1, "0123456789") : 0;
    return digits > 0 && digits <= 5 && port[1 + digits] == '\0';
}

static bool is_loopback(const char *host)
{
    static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (is_host(host, names[i]))
            return true;
    return false;
}

/* One that --host gave. */
static bool is_given(const struct request *request, const char *host)
{
    const struct sc_gate_options *options = request->gate->options;
    for (size_t i = 0; i < options->n_hosts; i++)
        if (is_host(host, options->hosts[i]))
            return true;
    return false;
}

/* Loopback's names, and those that --host gave; of the other protocol those of sandboxes below them, too. Who
 * could point a name below localhost, or below one of the operator's, could point these themselves. */
static bool is_own(const struct request *request, const char *host)
{
    const char *domain = request->route && (request->route->flags & ROUTE_E2B) ? e2b_domain(host) : NULL;
    return is_loopback(host) || is_given(request, host) ||
           (domain && (is_host(domain, "localhost") || is_given(request, domain)));
}

const char *who_domain(const struct request *request, char *room, size_t size)
{
    const char *host = header(request, "Host");
    if (!host || !request->person->tcp)
        return NULL;
    if (is_given(request, host))
        return host;
    if (!is_loopback(host))
        return NULL;
    const char *colon = *host == '[' ? strstr(host, "]:") : strchr(host, ':');
    snprintf(room, size, "localhost%s", !colon ? "" : *colon == ']' ? colon + 1 : colon);
    return room;
}

/* A page of a name that was pointed at loopback (DNS rebinding) says that name here. A unix socket has no
 * name that could be pointed anywhere. */
static bool host_ok(const struct request *request)
{
    const char *host = header(request, "Host");
    return !request->person->tcp || (host && is_own(request, host));
}

/* Of a page of this machine, or of a name of ours: still it needs a key, and no page may read an answer. */
static bool origin_ok(const struct request *request)
{
    static const char *const schemes[] = {"http://", "https://"};
    const char *origin = header(request, "Origin");
    if (!origin)
        return true;
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
        if ((request->route->flags & ROUTE_ORIGIN) && !strncasecmp(origin, schemes[i], strlen(schemes[i])))
            return is_own(request, origin + strlen(schemes[i]));
    return false;
}

bool who_may(struct request *request)
{
    if (!host_ok(request)) {
        problem(request, "host_header", "Host",
                "Host: allowed are loopback's names and those that --host gave");
        return false;
    }
    if (!origin_ok(request)) {
        problem(request, "origin", "Origin", "Origin: a web page's requests are refused");
        return false;
    }
    return true;
}

/* ---- the key ---- */

/* NULL: none was given; "": one that can be none. */
static const char *key_of(struct request *request)
{
    const char *given = header(request, "Authorization");
    if (request->route->flags & ROUTE_E2B) {
        given = header(request, "X-API-Key");
        return given ? e2b_key(given, request->key, sizeof request->key) : NULL;
    }
    if (!given)
        return header(request, "X-API-Key");
    if (strncasecmp(given, "Bearer ", strlen("Bearer ")) != 0)
        return "";
    given += strlen("Bearer ");
    return given + strspn(given, " ");
}

static void on_identified(void *userdata, const char *ok, size_t len, const json_t *error)
{
    struct request *request = userdata;
    struct person *person = request->person;
    json_t *object = NULL;
    json_error_t where;
    request->ask = NULL;
    if (!ok) {
        problem_keeper(request, error);
        return;
    }
    (void)sc_json_load(ok, len, 0, &object, &where);
    const char *token = json_string_value(json_object_get(object, "token"));
    if (token && *token && strlen(token) < sizeof person->token) {
        memcpy(person->token, token, strlen(token) + 1);
        const char *tenant = json_string_value(json_object_get(object, "tenant"));
        snprintf(person->tenant, sizeof person->tenant, "%s", tenant ? tenant : "");
        person->operator= json_is_true(json_object_get(object, "operator"));
        person->has_network = json_is_true(json_object_get(object, "network"));
        person->generation = request->gate->generation;
        request->identified = true;
        body_wake(request);
    } else {
        problem(request, "sandbox", "", "the keeper's answer could not be read");
    }
    json_decref(object);
}

static bool same_key(const struct person *person, const char *key)
{
    return key ? person->key && !strcmp(person->key, key) : !person->key;
}

/* {"request": "identify", …}; NULL: it was answered. */
static json_t *message_for(struct request *request, const char *key)
{
    uint8_t nonce[SC_KEEPER_NONCE];
    char text[2 * SC_KEEPER_NONCE + 1];
    if (key)
        return json_pack("{s:s, s:s}", "request", "identify", "key", key);
    if (getrandom(nonce, sizeof nonce, 0) != sizeof nonce ||
        door_peer(request->gate, request->person->sock, nonce) < 0) {
        problem(request, "overloaded", "", "too many clients come at once");
        return NULL;
    }
    for (size_t i = 0; i < sizeof nonce; i++)
        snprintf(text + 2 * i, 3, "%02x", nonce[i]);
    return json_pack("{s:s, s:s}", "request", "identify", "peer", text);
}

int who_identify(struct request *request)
{
    static const struct ask_events events = {.done = on_identified};
    struct person *person = request->person;
    const char *key = key_of(request);
    int why = 0;
    if (person->token[0] && person->generation == request->gate->generation && same_key(person, key))
        return 1;
    person->token[0] = '\0';
    free(person->key);
    person->key = key ? strndup(key, KEY_MAX) : NULL;
    if (!key && person->tcp) {
        problem(request, "unauthorized", "Authorization", "no key was given: Authorization: Bearer KEY");
        return 0;
    }
    if (key && (!*key || strlen(key) > KEY_MAX)) {
        problem(request, "unauthorized", "Authorization", "this is no key");
        return 0;
    }
    json_t *message = message_for(request, key);
    if (!message)
        return 0;
    request->ask = ask_begin(request->gate, message, NULL, false, &events, request, &why);
    if (!request->ask)
        problem_begin(request, why);
    return 0;
}
