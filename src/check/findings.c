#include "check/findings.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"

const char *const SC_SEVERITY_NAMES[] = {"note", "warning", "error", NULL};

static bool same(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

/* "os" and "os.system" begin at the same place: the longer one says more. */
static bool longer(const char *a, const char *b)
{
    return a && (!b || strlen(a) > strlen(b));
}

void sc_findings_add(struct sc_findings *findings, const struct sc_finding *finding)
{
    for (size_t i = findings->n; i-- > 0;) {
        struct sc_finding *other = &findings->kept[i];
        if (other->at == finding->at && same(other->rule, finding->rule)) {
            if (longer(finding->name, other->name))
                other->name = finding->name;
            return;
        }
    }
    if (findings->n == SC_FINDINGS_KEPT)
        findings->more = true;
    else
        findings->kept[findings->n++] = *finding;
}

static int by_place(const void *a, const void *b)
{
    const struct sc_finding *x = a, *y = b;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    /* The graver one first: it is what a message names. */
    return (int)y->severity - (int)x->severity;
}

static bool starts_character(char byte)
{
    return ((unsigned char)byte & 0xc0) != 0x80;
}

/* Where lines and columns are, walked forward once: findings are sorted. */
struct place {
    size_t at, line_start;
    json_int_t line;
};

static void walk_to(struct place *place, const char *text, size_t len, size_t at)
{
    for (; place->at < at && place->at < len; place->at++)
        if (text[place->at] == '\n') {
            place->line++;
            place->line_start = place->at + 1;
        }
}

static json_int_t column_of(const struct place *place, const char *text)
{
    json_int_t column = 1;
    for (size_t i = place->line_start; i < place->at; i++)
        column += starts_character(text[i]);
    return column;
}

/* The line, cut; control bytes and what is no text as escapes, so that it moves no terminal. */
static json_t *snippet_of(const struct place *place, const char *text, size_t len)
{
    size_t end = place->line_start, characters = 0;
    while (end < len && text[end] != '\n') {
        if (starts_character(text[end]) && ++characters > SC_SNIPPET_MAX)
            break;
        end++;
    }
    char shown[4 * 4 * SC_SNIPPET_MAX + 16]; /* four bytes a character, each shown as four */
    sc_text_show(shown, sizeof shown, text + place->line_start, end - place->line_start);
    return json_string(shown);
}

static json_t *one_to_json(const struct sc_finding *finding, const struct place *place, const char *text,
                           size_t len)
{
    json_t *json = json_pack("{s:s, s:s, s:s*, s:I, s:I, s:o, s:s, s:s*}", "rule", finding->rule, "severity",
                             SC_SEVERITY_NAMES[finding->severity], "name", finding->name, "line", place->line,
                             "column", column_of(place, text), "snippet", snippet_of(place, text, len),
                             "message", finding->message, "advice", finding->advice);
    return json;
}

json_t *sc_findings_to_json(struct sc_findings *findings, const char *text, size_t len)
{
    struct place place = {.line = 1};
    json_t *list = json_array();
    qsort(findings->kept, findings->n, sizeof findings->kept[0], by_place);
    for (size_t i = 0; i < findings->n; i++) {
        walk_to(&place, text, len, findings->kept[i].at);
        json_array_append_new(list, one_to_json(&findings->kept[i], &place, text, len));
    }
    if (findings->more) {
        const struct sc_finding more = {
            .rule = "more-findings",
            .severity = SC_SEVERITY_WARNING,
            .message = "There are more findings than are told.",
            .advice = "Mend these first.",
        };
        json_array_append_new(list, one_to_json(&more, &place, text, len));
    }
    return json_pack("{s:o}", "findings", list);
}
