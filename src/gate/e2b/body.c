/* Bodies and queries. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "gate/e2b/e2b.h"

#define VALUES_MAX 200000

const char *e2b_header(const struct request *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

/* The JSON of a body: all of it, or its one frame. */
static int text_of(const struct request *request, const char **ret_text, size_t *ret_len)
{
    *ret_text = request->raw.data ? (const char *)request->raw.data : "";
    *ret_len = request->raw.len;
    if (!(request->route->flags & ROUTE_FOLLOWS))
        return 0;
    return connect_read(*ret_text, *ret_len, ret_text, ret_len);
}

bool e2b_read_body(struct request *request)
{
    struct e2b_call *call = e2b_call(request);
    const char *text;
    size_t len;
    json_error_t where;
    if (!call)
        return false;
    if (text_of(request, &text, &len) < 0) {
        problem(request, "json", "body", "body: must be one message of the Connect protocol, not compressed");
        return false;
    }
    int r = 0;
    if (len == 0)
        call->body = json_object();
    else if (sc_json_count(text, len) > VALUES_MAX)
        r = -EMSGSIZE;
    else
        r = sc_json_load(text, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &call->body, &where);
    sc_buf_fini(&request->raw);
    if (r == 0 && json_is_object(call->body))
        return true;
    if (r == -ENOMEM)
        problem_begin(request, r);
    else
        problem(request, "json", "body", "body: must be a JSON object of at most %d values", VALUES_MAX);
    return false;
}

bool e2b_only(struct request *request, const json_t *object, const char *const *names)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)object, name, value)
    {
        size_t i = 0;
        while (names[i] && strcmp(names[i], name) != 0)
            i++;
        if (names[i] || json_is_null(value))
            continue;
        char shown[80];
        sc_text_show(shown, sizeof shown, name, strlen(name));
        problem(request, "usage", shown, "%s: is not served here; docs/e2b.md tells what is", shown);
        return false;
    }
    return true;
}

const char *e2b_text(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

char *e2b_query(const struct request *request, const char *name, unsigned n)
{
    const char *at = request->query_text;
    size_t name_len = strlen(name);
    while (*at) {
        size_t len = strcspn(at, "&");
        if (len > name_len && !memcmp(at, name, name_len) && at[name_len] == '=' && n-- == 0) {
            char *value = strndup(at + name_len + 1, len - name_len - 1);
            if (value && text_unescape(value, true) == 0 && sc_utf8_valid(value, strlen(value)))
                return value;
            free(value);
            return NULL;
        }
        at += len + (at[len] == '&');
    }
    return NULL;
}
