/* What a rule says about requests: "GET /repos/" followed by a star, and the like. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "spec/network_rule.h"
#include "spec/spec_internal.h"

#define FORM                                                                                                 \
    "allowed: METHOD PATH, where METHOD is a word of capitals or *, and PATH begins with /, may end with "   \
    "*, "                                                                                                    \
    "and has no query, no dot segments and no encoded dots, slashes or percent signs"

/* Encoded forms of what decides where a path leads: . / \ % and the end of a text. */
static bool is_telling_escape(const char *at, size_t len)
{
    static const char *const escapes[] = {"%2e", "%2f", "%5c", "%25", "%00"};
    for (size_t i = 0; len >= 3 && i < sizeof escapes / sizeof escapes[0]; i++)
        if (!strncasecmp(at, escapes[i], 3))
            return true;
    return false;
}

/* "." and "..", also with parameters behind a semicolon, which some servers cut off first. */
static bool is_dot_segment(const char *at, size_t len)
{
    size_t dots = 0;
    while (dots < len && at[dots] == '.')
        dots++;
    return dots > 0 && dots <= 2 && (dots == len || at[dots] == '/' || at[dots] == ';' || at[dots] == '%');
}

bool sc_net_path_is_plain(const char *path, size_t len)
{
    if (len == 0 || path[0] != '/')
        return false;
    for (size_t i = 0; i < len; i++) {
        if (path[i] <= ' ' || path[i] >= 0x7f || path[i] == '\\' || path[i] == '#' || path[i] == '?' ||
            is_telling_escape(path + i, len - i))
            return false;
        if (path[i] == '/' && is_dot_segment(path + i + 1, len - i - 1))
            return false;
    }
    return true;
}

bool sc_net_pattern_fits(const char *pattern, const struct sc_net_request *request)
{
    const char *blank = strchr(pattern, ' '), *path = blank + 1;
    size_t method_len = (size_t)(blank - pattern), len = strlen(path);
    bool any = method_len == 1 && *pattern == '*';
    if (!any && (method_len != request->method_len || memcmp(pattern, request->method, method_len) != 0))
        return false;
    if (path[len - 1] == '*')
        return request->path_len >= len - 1 && !memcmp(request->path, path, len - 1);
    return request->path_len == len && !memcmp(request->path, path, len);
}

static bool is_method(const char *text, size_t len)
{
    if (len == 1 && *text == '*')
        return true;
    for (size_t i = 0; i < len; i++)
        if ((text[i] < 'A' || text[i] > 'Z') && text[i] != '-')
            return false;
    return len > 0 && len <= SC_NET_METHOD_MAX;
}

static bool is_pattern(const char *text)
{
    const char *blank = strchr(text, ' ');
    if (!blank || !is_method(text, (size_t)(blank - text)))
        return false;
    const char *path = blank + 1, *star = strchr(path, '*');
    size_t len = strlen(path);
    if (star && star != path + len - 1)
        return false;
    return sc_net_path_is_plain(path, star ? len - 1 : len);
}

int sc_net_read_pattern(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    const char *text = sc_json_text(value, path, err);
    return text ? sc_net_add_pattern(into, path, text, err) : -EINVAL;
}

int sc_net_add_pattern(struct sc_net_rule *rule, const char *path, const char *text, struct sc_err *err)
{
    int r = sc_spec_text_ok(path, text, SC_NET_RULE_TEXT_MAX, err);
    if (r < 0)
        return r;
    if (rule->n_http == SC_NET_PATTERNS_MAX)
        return sc_spec_bad(err, path, text, "more than the %d requests allowed", SC_NET_PATTERNS_MAX);
    if (!is_pattern(text))
        return sc_spec_bad(err, path, text, FORM);
    if (!strncmp(text, "TRACE ", 6) || !strncmp(text, "CONNECT ", 8))
        return sc_spec_bad(err, path, text, "such requests are never let through: allowed are other methods");
    char **grown = reallocarray(rule->http, rule->n_http + 1, sizeof *grown), *copy = strdup(text);
    if (grown)
        rule->http = grown;
    if (!grown || !copy) {
        free(copy);
        return sc_spec_no_memory(err);
    }
    grown[rule->n_http++] = copy;
    return 0;
}

void sc_net_free_patterns(struct sc_net_rule *rule)
{
    while (rule->n_http)
        free(rule->http[--rule->n_http]);
    free(rule->http);
    rule->http = NULL;
}

int sc_net_copy_patterns(const struct sc_net_rule *from, struct sc_net_rule *to)
{
    to->n_http = 0;
    to->http = from->n_http ? calloc(from->n_http, sizeof *to->http) : NULL;
    if (from->n_http && !to->http)
        return -ENOMEM;
    for (; to->n_http < from->n_http; to->n_http++) {
        to->http[to->n_http] = strdup(from->http[to->n_http]);
        if (!to->http[to->n_http]) {
            sc_net_free_patterns(to);
            return -ENOMEM;
        }
    }
    return 0;
}
