/* Constant texts of Python source, and what a few methods make of them. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "check/python.h"

/* A text being put together, up to SC_VALUE_TEXT_MAX. */
struct room {
    char text[SC_VALUE_TEXT_MAX];
    size_t len;
    bool full;
};

static void put(struct room *room, const char *text, size_t len)
{
    if (room->full || len > sizeof room->text - room->len || memchr(text, '\0', len)) {
        room->full = true;
        return;
    }
    memcpy(room->text + room->len, text, len);
    room->len += len;
}

static void put_code(struct room *room, unsigned long code)
{
    char bytes[4];
    size_t n = 0;
    if (code == 0 || code > 0x10ffff) {
        room->full = true;
        return;
    }
    if (code < 0x80) {
        bytes[n++] = (char)code;
    } else if (code < 0x800) {
        bytes[n++] = (char)(0xc0 | code >> 6);
    } else if (code < 0x10000) {
        bytes[n++] = (char)(0xe0 | code >> 12);
        bytes[n++] = (char)(0x80 | (code >> 6 & 0x3f));
    } else {
        bytes[n++] = (char)(0xf0 | code >> 18);
        bytes[n++] = (char)(0x80 | (code >> 12 & 0x3f));
        bytes[n++] = (char)(0x80 | (code >> 6 & 0x3f));
    }
    if (code >= 0x80)
        bytes[n++] = (char)(0x80 | (code & 0x3f));
    put(room, bytes, n);
}

/* "\x65", "\145", "\n": at least two bytes. Names of characters (\N{…}) are not looked up: not known. */
static void put_escape(struct room *room, const char *text, size_t len)
{
    static const char from[] = "abfnrtv\\'\"", to[] = "\a\b\f\n\r\t\v\\'\"";
    const char *simple = strchr(from, text[1]);
    char digits[12] = "";
    if (text[1] == '\n')
        return;
    if (simple && text[1]) {
        put(room, &to[simple - from], 1);
    } else if (text[1] == 'x' || text[1] == 'u' || text[1] == 'U') {
        memcpy(digits, text + 2, len - 2 < sizeof digits ? len - 2 : sizeof digits - 1);
        put_code(room, strtoul(digits, NULL, 16));
    } else if (text[1] >= '0' && text[1] <= '7') {
        memcpy(digits, text + 1, len - 1 < sizeof digits ? len - 1 : sizeof digits - 1);
        put_code(room, strtoul(digits, NULL, 8));
    } else {
        room->full = true;
    }
}

static void put_content(struct sc_reading *reading, struct room *room, uint32_t content, bool is_raw)
{
    const struct sc_node *nodes = reading->tree.nodes;
    uint32_t at = nodes[content].start;
    for (uint32_t child = nodes[content].child; child != SC_NO_NODE && !is_raw; child = nodes[child].next) {
        if (nodes[child].kind != SC_KIND_ESCAPE_SEQUENCE)
            continue;
        put(room, reading->source.text + at, nodes[child].start - at);
        if (nodes[child].end - nodes[child].start >= 2)
            put_escape(room, reading->source.text + nodes[child].start,
                       nodes[child].end - nodes[child].start);
        at = nodes[child].end;
    }
    put(room, reading->source.text + at, nodes[content].end - at);
}

static bool is_raw(const struct sc_reading *reading, uint32_t start)
{
    size_t len;
    const char *text = sc_reading_text(reading, start, &len);
    return memchr(text, 'r', len) || memchr(text, 'R', len);
}

/* {…} in an f-string: what it holds, when that is constant and not formatted. */
static void put_interpolation(struct sc_reading *reading, struct room *room, uint32_t node)
{
    uint32_t expression = sc_tree_first(&reading->tree, node);
    const char *text = expression == SC_NO_NODE || sc_tree_next(&reading->tree, expression) != SC_NO_NODE
                           ? NULL
                           : sc_values_constant(sc_reading_value(reading, expression));
    if (text)
        put(room, text, strlen(text));
    else
        room->full = true;
}

const char *sc_python_string(struct sc_reading *reading, uint32_t node)
{
    struct room room = {.len = 0};
    bool raw = false;
    for (uint32_t child = sc_tree_first(&reading->tree, node); child != SC_NO_NODE && !room.full;
         child = sc_tree_next(&reading->tree, child)) {
        switch (sc_tree_kind(&reading->tree, child)) {
        case SC_KIND_STRING_START:
            raw = is_raw(reading, child);
            break;
        case SC_KIND_STRING_CONTENT:
            put_content(reading, &room, child, raw);
            break;
        case SC_KIND_INTERPOLATION:
            put_interpolation(reading, &room, child);
            break;
        case SC_KIND_STRING_END:
            break;
        default:
            room.full = true;
        }
    }
    return room.full ? NULL : sc_pool_text(&reading->pool, room.text, room.len);
}

static const char *join(struct sc_reading *reading, const char *separator, uint32_t list)
{
    enum sc_kind kind = sc_tree_kind(&reading->tree, list);
    struct room room = {.full = kind != SC_KIND_LIST && kind != SC_KIND_TUPLE};
    if (kind == SC_KIND_STRING) /* "".join("os") */
        return *separator ? NULL : sc_values_constant(sc_reading_value(reading, list));
    bool first = true;
    for (uint32_t child = room.full ? SC_NO_NODE : sc_tree_first(&reading->tree, list);
         child != SC_NO_NODE && !room.full; child = sc_tree_next(&reading->tree, child)) {
        const char *text = sc_values_constant(sc_reading_value(reading, child));
        if (!text)
            return NULL;
        if (!first)
            put(&room, separator, strlen(separator));
        put(&room, text, strlen(text));
        first = false;
    }
    return room.full ? NULL : sc_pool_text(&reading->pool, room.text, room.len);
}

static const char *in_case(struct sc_reading *reading, const char *text, int (*change)(int))
{
    char room[SC_VALUE_TEXT_MAX];
    size_t len = strlen(text);
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)text[i] >= 0x80)
            return NULL;
        room[i] = (char)change((unsigned char)text[i]);
    }
    return sc_pool_text(&reading->pool, room, len);
}

static const char *stripped(struct sc_reading *reading, const char *text)
{
    size_t len = strlen(text);
    while (len && isspace((unsigned char)*text))
        text++, len--;
    while (len && isspace((unsigned char)text[len - 1]))
        len--;
    return sc_pool_text(&reading->pool, text, len);
}

static const char *replaced(struct sc_reading *reading, const char *text, const char *old, const char *new)
{
    struct room room = {.full = !old || !new || !*old};
    while (*text && !room.full) {
        if (!strncmp(text, old, strlen(old))) {
            put(&room, new, strlen(new));
            text += strlen(old);
        } else {
            put(&room, text++, 1);
        }
    }
    return room.full ? NULL : sc_pool_text(&reading->pool, room.text, room.len);
}

const char *sc_python_text_method(struct sc_reading *reading, uint32_t call)
{
    uint32_t function = sc_tree_field(&reading->tree, call, SC_FIELD_FUNCTION);
    if (sc_tree_kind(&reading->tree, function) != SC_KIND_ATTRIBUTE)
        return NULL;
    const char *text = sc_values_constant(
        sc_reading_value(reading, sc_tree_field(&reading->tree, function, SC_FIELD_OBJECT)));
    if (!text)
        return NULL;
    const char *method =
        sc_python_identifier(reading, sc_tree_field(&reading->tree, function, SC_FIELD_ATTRIBUTE));
    uint32_t first = sc_python_argument(reading, call, 0, NULL),
             second = sc_python_argument(reading, call, 1, NULL);
    if (!strcmp(method, "join"))
        return join(reading, text, first);
    if (!strcmp(method, "lower") || !strcmp(method, "casefold"))
        return in_case(reading, text, tolower);
    if (!strcmp(method, "upper"))
        return in_case(reading, text, toupper);
    if (!strcmp(method, "strip") && first == SC_NO_NODE)
        return stripped(reading, text);
    if (!strcmp(method, "replace") && second != SC_NO_NODE)
        return replaced(reading, text, sc_values_constant(sc_reading_value(reading, first)),
                        sc_values_constant(sc_reading_value(reading, second)));
    return NULL;
}
