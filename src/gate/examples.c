#include "gate/examples.h"

#include <stdio.h>
#include <string.h>

#include "gate/parts.h"

#define S "/v1/sessions"
#define ONE S "/{session}"

static const struct {
    const char *method, *path, *body, *query;
} EXAMPLES[] = {
    {"POST", "/v1/run", "{\"language\": \"python\", \"code\": \"print(6 * 7)\"}"},
    {"POST", "/v1/batch", "{\"id\": \"a\", \"spec\": {\"language\": \"python\", \"code\": \"print(1)\"}}"},
    {"POST", "/v1/judge",
     "{\"run\": {\"language\": \"python\", \"code\": \"print(int(input())**2)\"}, "
     "\"tests\": [{\"stdin\": \"3\", \"expected\": \"9\\n\"}]}"},
    {"POST", "/v1/check", "{\"language\": \"python\", \"code\": \"import os\"}"},
    {"POST", S, "{\"metadata\": {\"for\": \"trying\"}}"},
    {"GET", S, NULL, "?metadata=for"},
    {"POST", ONE "/run", "{\"language\": \"python\", \"code\": \"x = 41; x + 1\"}"},
    {"POST", ONE "/exec", "{\"command\": [\"uname\", \"-s\"]}"},
    {"POST", ONE "/interrupt", "{}"},
    {"POST", ONE "/keepalive", "{}"},
    {"PUT", ONE "/network", "{\"network\": {\"mode\": \"none\"}}"},
    {"POST", ONE "/contexts/{context}/restart", "{}"},
    {"POST", ONE "/fork", "{\"copies\": 2}"},
    {"POST", ONE "/snapshot", "{\"name\": \"before\"}"},
    {"POST", ONE "/rollback", "{\"snapshot\": \"before\"}"},
    {"POST", ONE "/pause", "{}"},
    {"POST", ONE "/resume", "{}"},
    {"POST", ONE "/commands", "{\"command\": [\"sleep\", \"60\"], \"background\": true}"},
    {"POST", ONE "/commands/{process}/resize", "{\"rows\": 40, \"cols\": 120}"},
    {"POST", ONE "/commands/{process}/signal", "{\"signal\": \"TERM\"}"},
    {"PATCH", ONE "/files/{path*}", "{\"mode\": \"0600\"}"},
    {"PUT", ONE "/folders/{path*}", NULL, "?parents=true"},
    {"GET", ONE "/folders", NULL, "?path=."},
};

static size_t find(const struct route *route)
{
    size_t n = sizeof EXAMPLES / sizeof *EXAMPLES;
    for (size_t i = 0; i < n; i++)
        if (!strcmp(EXAMPLES[i].method, route->method) && !strcmp(EXAMPLES[i].path, route->path))
            return i;
    return n;
}

const char *example_of(const struct route *route)
{
    size_t i = find(route);
    return i < sizeof EXAMPLES / sizeof *EXAMPLES ? EXAMPLES[i].body : NULL;
}

/* The path with values in the place of its names. */
static void fill_path(const char *path, char *ret_path, size_t size)
{
    static const struct {
        const char *name, *value;
    } values[] = {{"{session}", "$ID"}, {"{path*}", "notes"}, {"{context}", "python"},
                  {"{port*}", "8080/"}, {"{process}", "1"},   {"{snapshot}", "before"}};
    size_t n = 0;
    while (*path && n + 1 < size) {
        size_t i = 0, count = sizeof values / sizeof *values;
        while (i < count && strncmp(path, values[i].name, strlen(values[i].name)) != 0)
            i++;
        if (i < count) {
            int added = snprintf(ret_path + n, size - n, "%s", values[i].value);
            n += added > 0 && (size_t)added < size - n ? (size_t)added : 0;
            path += strlen(values[i].name);
        } else {
            ret_path[n++] = *path++;
        }
    }
    ret_path[n] = '\0';
}

void example_line(const struct route *route, const char *example, char *ret_line, size_t size)
{
    char path[256], method[24] = "";
    size_t i = find(route);
    const char *query = i < sizeof EXAMPLES / sizeof *EXAMPLES && EXAMPLES[i].query ? EXAMPLES[i].query : "";
    bool implied = !strcmp(route->method, "GET") || (!strcmp(route->method, "POST") && example);
    fill_path(route->path, path, sizeof path);
    if (!strcmp(route->method, "HEAD"))
        snprintf(method, sizeof method, " -I");
    else if (!implied)
        snprintf(method, sizeof method, " -X %s", route->method);
    int n = snprintf(ret_line, size, "curl -sS%s \"$URL%s%s\" -H \"Authorization: Bearer $KEY\"", method,
                     path, query);
    if (n < 0 || (size_t)n >= size)
        return;
    bool sends = strcmp(route->method, "GET") != 0 && strcmp(route->method, "HEAD") != 0;
    if (route->body_kind == BODY_STREAM && sends)
        snprintf(ret_line + n, size - (size_t)n, " --data-binary @-");
    else if (example && route->body_kind == BODY_LINES)
        snprintf(ret_line + n, size - (size_t)n,
                 " -H 'Content-Type: application/x-ndjson' --data-binary '%s'", example);
    else if (example)
        snprintf(ret_line + n, size - (size_t)n, " --json '%s'", example);
}
