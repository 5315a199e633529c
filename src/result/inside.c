#include "result/inside.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "result/writer.h"

static json_t *or_null(json_t *value)
{
    return value ? json_incref(value) : json_null();
}

static const char *text_member(json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text && *text ? text : NULL;
}

/* "2.0", "0.25": at least one place behind the point, and not more than the limit has. */
static void show_seconds(char *ret_text, size_t size, uint64_t ns)
{
    int places = ns % (100 * SC_NS_PER_MS) == 0 ? 1 : ns % (10 * SC_NS_PER_MS) == 0 ? 2 : 3;
    snprintf(ret_text, size, "%.*f", places, (double)ns / (double)SC_NS_PER_S);
}

/* The one sentence that a restricted run's `error` is. Where it is not of our making, *ret_from_inside. */
static void put_sentence(struct sc_writer *w, const struct sc_result *result, bool *ret_from_inside)
{
    const char *said = text_member(result->inside.error, "message");
    char seconds[32], text[600];
    *ret_from_inside = false;
    show_seconds(seconds, sizeof seconds, result->passed_ns);
    if (result->status == SC_STATUS_TIMEOUT && result->passed_ns)
        snprintf(text, sizeof text, "Execution timed out after %ss", seconds);
    else if (result->status == SC_STATUS_CPU_TIMEOUT && result->passed_ns)
        snprintf(text, sizeof text, "Execution timed out after %ss of processor time", seconds);
    else if (result->status == SC_STATUS_SYNTAX_ERROR && said) {
        *ret_from_inside = true;
        json_t *value = json_sprintf("Syntax error: %s", said);
        sc_writer_put(w, "error", value);
        return;
    } else if (result->status == SC_STATUS_ERROR && said) {
        *ret_from_inside = true;
        sc_writer_put(w, "error", json_incref(json_object_get(result->inside.error, "message")));
        return;
    } else
        snprintf(text, sizeof text, "%s",
                 result->message[0] ? result->message : SC_STATUS_NAMES[result->status]);
    sc_writer_put_text(w, "error", text);
}

/* Names the members that hold what came from inside the cell. */
static void put_marking(struct sc_writer *w, const char *const *names)
{
    json_t *array = json_array();
    for (; *names; names++)
        if (json_array_append_new(array, json_string(*names)) < 0)
            w->failed = true;
    sc_writer_put(w, "said_from_inside", array);
}

static void put_said(struct sc_writer *w, const struct sc_inside *inside)
{
    sc_writer_put(w, "value", or_null(inside->value));
    sc_writer_put(w, "locals", inside->locals ? json_incref(inside->locals) : json_object());
    sc_writer_put(w, "displays", inside->displays ? json_incref(inside->displays) : json_array());
}

static void put_rich(struct sc_writer *w, const struct sc_result *result)
{
    static const char *const said[] = {"value", "locals", "displays", "error", NULL};
    put_said(w, &result->inside);
    sc_writer_put(w, "error", or_null(result->inside.error));
    put_marking(w, said);
}

/* The shape that agents' calculator tools have; what it has no place for stands in `error_info`. */
static void put_restricted(struct sc_writer *w, const struct sc_result *result)
{
    const char *said[] = {"value", "locals", "displays", "error_info", NULL, NULL};
    bool from_inside = false;
    put_said(w, &result->inside);
    sc_writer_put_bool(w, "success", result->status == SC_STATUS_OK);
    if (result->status == SC_STATUS_OK)
        sc_writer_put(w, "error", json_null());
    else
        put_sentence(w, result, &from_inside);
    sc_writer_put(w, "error_info", or_null(result->inside.error));
    if (from_inside)
        said[4] = "error";
    put_marking(w, said);
}

bool sc_findings_allow(const json_t *findings)
{
    for (size_t i = 0; i < json_array_size(findings); i++) {
        const char *severity = json_string_value(json_object_get(json_array_get(findings, i), "severity"));
        if (!severity || strcmp(severity, "note") != 0)
            return false;
    }
    return true;
}

json_t *sc_result_inside_object(const struct sc_result *result)
{
    struct sc_writer w = sc_writer_begin();
    if (result->mode == SC_MODE_RICH)
        put_rich(&w, result);
    else if (result->mode == SC_MODE_RESTRICTED)
        put_restricted(&w, result);
    if (result->mode != SC_MODE_PLAIN)
        sc_writer_put_bool(&w, "context_lost", result->context_lost);
    if (result->findings) {
        sc_writer_put_bool(&w, "allowed",
                           result->status != SC_STATUS_SYNTAX_ERROR && sc_findings_allow(result->findings));
        sc_writer_put(&w, "findings", json_incref(result->findings));
    }
    if (w.failed || !w.object) {
        json_decref(w.object);
        return NULL;
    }
    return w.object;
}
