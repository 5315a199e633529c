/* Forms of a value, as E2B's clients name them. */
#include <string.h>

#include "gate/e2b/e2b.h"

static const struct {
    const char *media, *name;
} FORMS[] = {
    {"text/plain", "text"},        {"text/html", "html"},
    {"text/markdown", "markdown"}, {"image/svg+xml", "svg"},
    {"image/png", "png"},          {"image/jpeg", "jpeg"},
    {"application/pdf", "pdf"},    {"text/latex", "latex"},
    {"application/json", "json"},  {"application/javascript", "javascript"},
};

/* A text as the code would show it, without its quotes: so theirs tell it. */
static json_t *plain_text(const json_t *value)
{
    const char *text = json_string_value(value);
    size_t len = json_string_length(value);
    if (text && len > 1 && text[0] == text[len - 1] && (text[0] == '\'' || text[0] == '"'))
        return json_stringn(text + 1, len - 2);
    return json_incref((json_t *)value);
}

/* {"columns", "rows"} → {COLUMN: [its values]}. */
static json_t *columns_of(const json_t *table)
{
    json_t *all = json_object(), *name, *row;
    size_t i, k;
    json_array_foreach(json_object_get(table, "columns"), i, name)
    {
        json_t *column = json_array();
        json_array_foreach(json_object_get(table, "rows"), k, row)
        {
            json_t *value = json_array_get(row, i);
            (void)json_array_append(column, value ? value : json_null());
        }
        if (json_is_string(name))
            (void)json_object_set(all, json_string_value(name), column);
        json_decref(column);
    }
    return all;
}

json_t *e2b_result(const json_t *forms, bool is_main)
{
    json_t *result = json_pack("{s:s, s:b}", "type", "result", "is_main_result", (int)is_main);
    for (size_t i = 0; result && i < sizeof FORMS / sizeof *FORMS; i++) {
        json_t *value = json_object_get(forms, FORMS[i].media);
        if (value)
            (void)json_object_set_new(result, FORMS[i].name, i == 0 ? plain_text(value) : json_incref(value));
    }
    json_t *table = json_object_get(forms, "application/vnd.snapcell.table+json");
    json_t *chart = json_object_get(forms, "application/vnd.snapcell.chart+json");
    if (result && table)
        (void)json_object_set_new(result, "data", columns_of(table));
    if (result && chart)
        (void)json_object_set(result, "chart", chart);
    return result;
}
