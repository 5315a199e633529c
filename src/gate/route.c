/* What is served: one table, from which requests are routed and the OpenAPI document is made. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "gate/body.h"

#define JSON "application/json"

/* clang-format off */
const struct route ROUTES[] = {
    {"GET", "/healthz", ROUTE_OPEN, BODY_NONE, NULL, NULL, handle_health, "service", "Is the gate alive?",
     "Status", 200},
    {"GET", "/readyz", ROUTE_OPEN, BODY_NONE, NULL, NULL, handle_ready, "service", "Can work be done now?",
     "Status", 200},
    {"POST", "/v1/run", ROUTE_STREAMS, BODY_JSON, NULL, RUN_FIELDS, handle_run, "runs",
     "Run code or a command in a fresh cell.", "Result", 200},
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

const struct route *route_find(const char *method, char *path, char *ret_params[ROUTE_PARAMS_MAX],
                               unsigned *ret_status, char *ret_allowed, size_t size)
{
    *ret_status = 404;
    for (const struct route *route = ROUTES; route->method; route++) {
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
            params[i][lens[i]] = '\0';
            if (text_unescape(params[i], false) < 0) {
                *ret_status = 400;
                return NULL;
            }
            ret_params[i] = params[i];
        }
        return route;
    }
    return NULL;
}
