/* Which sandbox a request is for, as whom, and where in it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/num.h"
#include "base/text.h"
#include "gate/e2b/memory.h"

#define HEX "0123456789abcdef"
#define LETTERS HEX "ghijklmnopqrstuvwxyz"

/* ---- keys ---- */

/* Ours is sck_ID_SECRET, 16 and 64 digits. Their clients want nothing but digits behind "e2b_". */
const char *e2b_key(const char *given, char *room, size_t size)
{
    const char *digits = given + 4;
    if (strncmp(given, "e2b_", 4) != 0)
        return given;
    if (strlen(digits) != 80 || strspn(digits, HEX) != 80)
        return "";
    snprintf(room, size, "sck_%.16s_%s", digits, digits + 16);
    return room;
}

/* ---- addresses ---- */

int e2b_read_host(const char *host, unsigned *ret_port, char ret_id[65])
{
    size_t digits = strspn(host, "0123456789"), len;
    uint64_t port = 0;
    char number[8];
    if (digits == 0 || digits > 5 || host[digits] != '-')
        return -EINVAL;
    snprintf(number, sizeof number, "%.*s", (int)digits, host);
    len = strcspn(host + digits + 1, ".");
    if (len == 0 || len > 64 || strspn(host + digits + 1, LETTERS) != len || host[digits + 1 + len] != '.' ||
        sc_parse_u64(number, &port) < 0 || port < 1 || port > UINT16_MAX)
        return -EINVAL;
    snprintf(ret_id, 65, "%.*s", (int)len, host + digits + 1);
    *ret_port = (unsigned)port;
    return 0;
}

const char *e2b_domain(const char *host)
{
    unsigned port;
    char id[65];
    return e2b_read_host(host, &port, id) < 0 ? NULL : strchr(host, '.') + 1;
}

bool e2b_wants(const struct request *request)
{
    return !strcmp(request->uri, "/metrics") && e2b_header(request, "E2b-Sandbox-Id");
}

int e2b_read_token(const char *token, char ret_id[E2B_ID + 1], char ret_secret[E2B_SECRET + 1])
{
    if (strlen(token) != E2B_TOKEN || strspn(token, HEX) != E2B_TOKEN)
        return -EINVAL;
    memcpy(ret_id, token, E2B_ID);
    ret_id[E2B_ID] = '\0';
    memcpy(ret_secret, token + E2B_ID, E2B_SECRET + 1);
    return 0;
}

/* By the header, or by the name in Host; "": neither says. */
static void read_id(const struct request *request, char ret_id[65])
{
    const char *header = e2b_header(request, "E2b-Sandbox-Id"), *host = e2b_header(request, "Host");
    unsigned port;
    *ret_id = '\0';
    if (header && strlen(header) <= 64 && sc_utf8_valid(header, strlen(header)))
        snprintf(ret_id, 65, "%s", header);
    else if (!header && host && e2b_read_host(host, &port, ret_id) < 0)
        *ret_id = '\0';
}

bool e2b_enter(struct request *request)
{
    struct e2b_call *call = e2b_call(request);
    /* To a port the other header may be its program's own. */
    const bool to_port = request->route->flags & ROUTE_PASSES;
    const char *token = to_port ? NULL : e2b_header(request, "X-Access-Token");
    char id[E2B_ID + 1];
    if (!call)
        return false;
    if (*call->session)
        return true;
    if (request->gate->draining) {
        problem(request, "draining", "", "the service is ending and takes no new requests");
        return false;
    }
    if (request->person->debug) {
        const struct e2b *memory = request->gate->e2b;
        memcpy(call->session, memory->debug_session, sizeof call->session);
        memcpy(call->access, memory->debug_secret, sizeof call->access);
        return true;
    }
    if (!token)
        token = e2b_header(request, "E2B-Traffic-Access-Token");
    read_id(request, call->session);
    if (!token || e2b_read_token(token, id, call->access) < 0 ||
        (*call->session && strcmp(call->session, id) != 0)) {
        const char *field = to_port ? "E2B-Traffic-Access-Token" : "X-Access-Token";
        problem(request, "unauthorized", field, "%s: must be the token that the sandbox was made with",
                field);
        return false;
    }
    memcpy(call->session, id, sizeof id);
    return true;
}

/* ---- users ---- */

static bool is_user(const char *name, size_t len)
{
    return len == 0 || (len == strlen(E2B_USER) && !memcmp(name, E2B_USER, len));
}

static bool refuse_user(struct request *request, const char *name)
{
    char shown[64];
    sc_text_show(shown, sizeof shown, name, strlen(name));
    problem(request, "unauthorized", "user", "user: %s: a sandbox has the one user \"" E2B_USER "\"", shown);
    return false;
}

bool e2b_user(struct request *request, const char *name)
{
    const char *given = e2b_header(request, "Authorization");
    if (name && !is_user(name, strlen(name)))
        return refuse_user(request, name);
    if (!given || strncasecmp(given, "Basic ", 6) != 0)
        return true;
    struct sc_buf text;
    sc_buf_init(&text, 1024);
    given += 6 + strspn(given + 6, " ");
    int r = sc_b64_decode(&text, given, strlen(given));
    const char *user = text.data ? (const char *)text.data : "";
    size_t len = strcspn(user, ":");
    if (text.data)
        text.data[len] = '\0';
    bool fine = r == 0 && is_user(user, len);
    if (!fine)
        (void)refuse_user(request, user);
    sc_buf_fini(&text);
    return fine;
}

char *e2b_path(const char *path)
{
    char *whole = NULL;
    if (*path == '/')
        return strdup(path);
    if (!strcmp(path, "~") || !*path)
        return strdup(E2B_HOME);
    if (!strncmp(path, "~/", 2))
        path += 2;
    return asprintf(&whole, E2B_HOME "/%s", path) < 0 ? NULL : whole;
}
