/* The OpenAPI 3.1 document, and a page of requests to try, both made of the table of routes. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "gate/examples.h"
#include "gate/schema.h"

#define VERSION_OF_API "1"

static json_t *ref(const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "#/components/schemas/%s", name);
    return json_pack("{s:s}", "$ref", path);
}

static json_t *media(const char *type, json_t *schema)
{
    return json_pack("{s:{s:o}}", type, "schema", schema);
}

/* ---- parameters ---- */

static void add_path_params(json_t *list, const char *path)
{
    for (const char *at = strchr(path, '{'); at; at = strchr(at + 1, '{')) {
        char name[32];
        size_t len = strcspn(at + 1, "*}");
        snprintf(name, sizeof name, "%.*s", (int)len, at + 1);
        bool number = !strcmp(name, "process"), file = !strcmp(name, "path");
        json_t *schema = number ? json_pack("{s:s, s:i, s:I}", "type", "integer", "minimum", 1, "maximum",
                                            (json_int_t)UINT32_MAX)
                         : file
                             ? json_pack("{s:s, s:i}", "type", "string", "minLength", 1)
                             : json_pack("{s:s, s:s}", "type", "string", "pattern", "^[A-Za-z0-9_.-]{1,64}$");
        (void)json_array_append_new(list, json_pack("{s:s, s:s, s:b, s:o}", "name", name, "in", "path",
                                                    "required", 1, "schema", schema));
    }
}

/* In a query nothing is null. */
static json_t *not_null(json_t *schema)
{
    const json_t *type = json_array_get(json_object_get(schema, "type"), 0);
    if (type)
        (void)json_object_set_new(schema, "type", json_string(json_string_value(type)));
    return schema;
}

static json_t *parameters(const struct route *route)
{
    json_t *list = json_array();
    add_path_params(list, route->path);
    for (const struct field *field = route->query; field && field->name; field++)
        (void)json_array_append_new(list, json_pack("{s:s, s:s, s:b, s:o}", "name", field->name, "in",
                                                    "query", "required", field->required, "schema",
                                                    not_null(schema_of_field(field))));
    return list;
}

/* ---- bodies ---- */

static const struct field NO_FIELDS[] = {{NULL}};

static json_t *request_body(const struct route *route)
{
    if (route->body_kind == BODY_STREAM)
        return json_pack(
            "{s:b, s:o}", "required", !(route->flags & ROUTE_PASSES), "content",
            media("application/octet-stream", json_pack("{s:s, s:s}", "type", "string", "format", "binary")));
    /* Without a type: any text is taken, and each line told what is wrong with it. */
    if (route->body_kind == BODY_LINES)
        return json_pack(
            "{s:b, s:o}", "required", 1, "content",
            media("application/x-ndjson",
                  json_pack("{s:s}", "description",
                            "A job a line: {\"id\", \"key\", \"spec\"}; spec is the body of /v1/run "
                            "without priority and deadline_ms.")));
    json_t *content = media("application/json", schema_of_fields(route->body ? route->body : NO_FIELDS));
    const char *example = example_of(route);
    json_error_t where;
    json_t *value = NULL;
    if (example && sc_json_load(example, strlen(example), 0, &value, &where) == 0)
        (void)json_object_set_new(json_object_get(content, "application/json"), "example", value);
    bool required = false;
    for (const struct field *field = route->body; field && field->name; field++)
        required = required || field->required;
    return json_pack("{s:b, s:o}", "required", required, "content", content);
}

static json_t *success_content(const struct route *route)
{
    json_t *content = json_object();
    bool is_schema = route->answer && isupper((unsigned char)*route->answer);
    if (is_schema)
        (void)json_object_update_new(content, media("application/json", ref(route->answer)));
    else if (route->answer && *route->answer)
        (void)json_object_update_new(
            content, media(route->answer, json_pack("{s:s, s:s}", "type", "string", "format", "binary")));
    if (route->flags & (ROUTE_STREAMS | ROUTE_FOLLOWS)) {
        (void)json_object_update_new(content, media("text/event-stream", ref("Events")));
        (void)json_object_update_new(content, media("application/x-ndjson", ref("Events")));
    }
    return content;
}

static json_t *responses(const struct route *route)
{
    char status[8];
    json_t *all = json_pack("{s:{s:s, s:o}}", "default", "description", "A problem document (RFC 9457).",
                            "content", media("application/problem+json", ref("Problem")));
    json_t *content = success_content(route);
    json_t *success = json_pack("{s:s}", "description", route->status == 204 ? "Done." : "It went well.");
    if (json_object_size(content) > 0)
        (void)json_object_set(success, "content", content);
    json_decref(content);
    snprintf(status, sizeof status, "%u", route->status);
    if (route->status < 400)
        (void)json_object_set(all, status, success);
    json_decref(success);
    return all;
}

/* ---- the document ---- */

static json_t *operation(const struct route *route)
{
    json_t *op = json_pack("{s:s, s:[s], s:o, s:o}", "summary", route->summary, "tags", route->group,
                           "parameters", parameters(route), "responses", responses(route));
    bool asks =
        !strcmp(route->method, "GET") || !strcmp(route->method, "HEAD") || !strcmp(route->method, "OPTIONS");
    if (route->body_kind != BODY_NONE && !asks)
        (void)json_object_set_new(op, "requestBody", request_body(route));
    if (route->flags & ROUTE_OPEN)
        (void)json_object_set_new(op, "security", json_array());
    return op;
}

/* "/files/{path*}" as the document writes it: "/files/{path}". */
static void document_path(const char *path, char *ret_path, size_t size)
{
    size_t n = 0;
    for (; *path && n + 1 < size; path++)
        if (*path != '*')
            ret_path[n++] = *path;
    ret_path[n] = '\0';
}

static json_t *paths(void)
{
    json_t *all = json_object();
    for (const struct route *route = ROUTES; route->method; route++) {
        char path[128], method[8];
        if (route->flags & ROUTE_FOREIGN)
            continue;
        document_path(route->path, path, sizeof path);
        size_t i = 0;
        for (; route->method[i] && i + 1 < sizeof method; i++)
            method[i] = (char)tolower((unsigned char)route->method[i]);
        method[i] = '\0';
        if (!json_object_get(all, path))
            (void)json_object_set_new(all, path, json_object());
        (void)json_object_set_new(json_object_get(all, path), method, operation(route));
    }
    return all;
}

char *sc_gate_openapi(void)
{
    json_t *document =
        json_pack("{s:s, s:{s:s, s:s, s:s}, s:o, s:{s:o, s:{s:{s:s, s:s}}}, s:[{s:[]}]}", "openapi", "3.1.0",
                  "info", "title", "Snapcell", "version", VERSION_OF_API, "description",
                  "Runs code that nobody vouches for in sealed cells. docs/http.md tells the rest.", "paths",
                  paths(), "components", "schemas", schema_components(), "securitySchemes", "key", "type",
                  "http", "scheme", "bearer", "security", "key");
    char *text = sc_json_dump(document, JSON_COMPACT);
    json_decref(document);
    return text;
}

void handle_openapi(struct request *request)
{
    char *text = sc_gate_openapi();
    answer_text(request, MHD_HTTP_OK, "application/json", text, text ? strlen(text) : 0);
}

/* ---- the page ---- */

static int put_escaped(struct sc_buf *page, const char *text)
{
    int r = 0;
    for (; *text && r == 0; text++) {
        const char *as = *text == '<' ? "&lt;" : *text == '>' ? "&gt;" : *text == '&' ? "&amp;" : NULL;
        r = as ? sc_buf_add_str(page, as) : sc_buf_add(page, text, 1);
    }
    return r;
}

static int put_route(struct sc_buf *page, const struct route *route)
{
    char line[1024], path[128];
    const char *example = example_of(route);
    document_path(route->path, path, sizeof path);
    int r =
        sc_buf_printf(page, "<h3><code>%s %s</code></h3><p>%s</p><pre>", route->method, path, route->summary);
    example_line(route, example, line, sizeof line);
    if (r == 0)
        r = put_escaped(page, line);
    return r < 0 ? r : sc_buf_add_str(page, "</pre>\n");
}

void handle_docs(struct request *request)
{
    static const char head[] =
        "<!DOCTYPE html><html lang=\"en\"><head><meta "
        "charset=\"utf-8\"><title>Snapcell</title><style>body{max-width:60em;"
        "margin:2em "
        "auto;font-family:sans-serif}pre{background:#eee;padding:.6em;overflow-x:auto}</style></head><body>"
        "<h1>Snapcell</h1><p>The lines run as they stand in a shell with <code>URL</code>, <code>KEY</code> "
        "and "
        "<code>ID</code> (a session's) set; <a href=\"openapi.json\">openapi.json</a> tells every "
        "field.</p>\n";
    struct sc_buf page;
    size_t len = 0;
    sc_buf_init(&page, 1u << 20);
    int r = sc_buf_add_str(&page, head);
    for (const struct route *route = ROUTES; route->method && r == 0; route++)
        r = route->flags & ROUTE_FOREIGN ? 0 : put_route(&page, route);
    if (r == 0)
        r = sc_buf_add_str(&page, "</body></html>\n");
    char *text = r == 0 ? sc_buf_steal(&page, &len) : NULL;
    sc_buf_fini(&page);
    answer_text(request, MHD_HTTP_OK, "text/html; charset=utf-8", text, len);
    answer_header(request, "Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'");
}
