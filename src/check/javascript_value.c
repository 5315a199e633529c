/* What an expression of JavaScript may be. */
#include <stdlib.h>
#include <string.h>

#include "check/javascript.h"

static bool starts_with(const char *text, const char *start)
{
    return !strncmp(text, start, strlen(start));
}

const char *sc_javascript_canonical(struct sc_reading *reading, const char *name)
{
    static const char *const globals[] = {"globalThis.", "global.", "window.", "self."};
    static const char *const requires[] = {"module.require",           "process.mainModule.require",
                                           "require.main.require",     "module.parent.require",
                                           "module.Module._load",      "module._load",
                                           "module.constructor._load", "module.createRequire()"};
    for (size_t i = 0; i < sizeof globals / sizeof globals[0]; i++)
        while (starts_with(name, globals[i]))
            name += strlen(globals[i]);
    for (size_t i = 0; i < sizeof requires / sizeof requires[0]; i++) {
        size_t len = strlen(requires[i]);
        if (starts_with(name, requires[i]) && (name[len] == '\0' || name[len] == '.'))
            return sc_pool_printf(&reading->pool, "require%s", name + len);
    }
    const char *exported = strstr(name, ".default");
    if (exported && (exported[8] == '\0' || exported[8] == '.'))
        return sc_pool_printf(&reading->pool, "%.*s%s", (int)(exported - name), name, exported + 8);
    return sc_pool_text(&reading->pool, name, strlen(name));
}

static void add_name(struct sc_reading *reading, struct sc_values *values, const char *name)
{
    sc_values_add(values, SC_VALUE_NAME, sc_javascript_canonical(reading, name));
}

bool sc_javascript_is_require(const char *function)
{
    return !strcmp(function, "require") || !strcmp(function, "process.getBuiltinModule") ||
           !strcmp(function, "import") || !strcmp(function, "process.binding") ||
           !strcmp(function, "process._linkedBinding");
}

uint32_t sc_javascript_argument(const struct sc_reading *reading, uint32_t call, uint32_t index)
{
    uint32_t arguments = sc_tree_field(&reading->tree, call, SC_FIELD_ARGUMENTS);
    if (sc_reading_kind(reading, arguments) == SC_KIND_TEMPLATE_STRING)
        return index == 0 ? arguments : SC_NO_NODE;
    uint32_t child = arguments == SC_NO_NODE ? SC_NO_NODE : sc_tree_first(&reading->tree, arguments);
    for (uint32_t i = 0; child != SC_NO_NODE && i < index; i++)
        child = sc_tree_next(&reading->tree, child);
    return child;
}

/* ---- names ---- */

static void look_up(struct sc_reading *reading, uint32_t node, struct sc_values *values)
{
    const char *what = sc_javascript_identifier(reading, node);
    for (uint32_t scope = reading->scope_of[node]; scope != SC_NO_NODE;
         scope = reading->scopes[scope].parent) {
        const struct sc_meaning *meaning = sc_binding_meaning(reading, scope, what);
        if (!meaning || !meaning->is_bound)
            continue;
        sc_values_join(values, &meaning->values);
        /* Declared: then nothing around it is meant. Only assigned: it may be what was there before. */
        if (meaning->firm_at != SC_NO_NODE)
            return;
    }
    add_name(reading, values, what);
}

/* `this` in a plain function is the global object, in a method it is not. */
static void this_value(struct sc_reading *reading, uint32_t node, struct sc_values *values)
{
    values->other = true;
    for (uint32_t at = node; at != SC_NO_NODE; at = reading->tree.nodes[at].parent)
        if (sc_reading_kind(reading, at) == SC_KIND_CLASS_DECLARATION ||
            sc_reading_kind(reading, at) == SC_KIND_CLASS ||
            sc_reading_kind(reading, at) == SC_KIND_METHOD_DEFINITION)
            return;
    sc_values_add(values, SC_VALUE_NAME, sc_pool_text(&reading->pool, "globalThis", 10));
}

static void add_member(struct sc_reading *reading, const struct sc_values *object, const char *name,
                       struct sc_values *values)
{
    values->other |= object->other || object->n == 0;
    for (uint8_t i = 0; i < object->n; i++)
        if (object->v[i].kind == SC_VALUE_NAME)
            add_name(reading, values, sc_pool_printf(&reading->pool, "%s.%s", object->v[i].text, name));
        else
            values->other = true;
    if (!strcmp(name, "constructor"))
        sc_values_add(
            values, SC_VALUE_NAME,
            sc_pool_text(&reading->pool, SC_JAVASCRIPT_CONSTRUCTOR, strlen(SC_JAVASCRIPT_CONSTRUCTOR)));
}

static void member_value(struct sc_reading *reading, uint32_t node, struct sc_values *values)
{
    uint32_t property = sc_tree_field(&reading->tree, node, SC_FIELD_PROPERTY);
    if (sc_reading_kind(reading, property) != SC_KIND_PROPERTY_IDENTIFIER)
        values->other = true;
    else
        add_member(reading, sc_reading_value(reading, sc_tree_field(&reading->tree, node, SC_FIELD_OBJECT)),
                   sc_javascript_identifier(reading, property), values);
}

static void subscript_value(struct sc_reading *reading, uint32_t node, struct sc_values *values)
{
    uint32_t object = sc_tree_field(&reading->tree, node, SC_FIELD_OBJECT);
    if (sc_reading_kind(reading, object) == SC_KIND_ARRAY) {
        for (uint32_t child = sc_tree_first(&reading->tree, object); child != SC_NO_NODE;
             child = sc_tree_next(&reading->tree, child))
            sc_values_join(values, sc_reading_value(reading, child));
        return;
    }
    const struct sc_values *keys =
        sc_reading_value(reading, sc_tree_field(&reading->tree, node, SC_FIELD_INDEX));
    values->other |= keys->n == 0 || keys->other;
    for (uint8_t i = 0; i < keys->n; i++)
        if (keys->v[i].kind == SC_VALUE_TEXT)
            add_member(reading, sc_reading_value(reading, object), keys->v[i].text, values);
}

/* ---- texts ---- */

static void put_escape(char *room, size_t *used, const char *text, size_t len)
{
    static const char from[] = "nrtbfv", to[] = "\n\r\t\b\f\v";
    const char *simple = len == 2 && text[1] ? strchr(from, text[1]) : NULL;
    char digits[8] = "";
    if (text[1] == '\n')
        return;
    if (simple) {
        room[(*used)++] = to[simple - from];
    } else if (text[1] == 'x' || text[1] == 'u') {
        size_t start = text[2] == '{' ? 3 : 2;
        for (size_t i = 0; start + i < len && i < sizeof digits - 1 && text[start + i] != '}'; i++)
            digits[i] = text[start + i];
        unsigned long code = strtoul(digits, NULL, 16);
        room[(*used)++] = code > 0 && code < 0x80 ? (char)code : '_';
    } else {
        room[(*used)++] = text[1] >= '0' && text[1] <= '9' ? '_' : text[1];
    }
}

/* "…", '…', or `…` without anything put in but constants. */
static const char *string_text(struct sc_reading *reading, uint32_t node)
{
    const struct sc_tree *tree = &reading->tree;
    char room[SC_VALUE_TEXT_MAX];
    size_t used = 0, len;
    for (uint32_t child = sc_tree_first(tree, node); child != SC_NO_NODE; child = sc_tree_next(tree, child)) {
        const char *text = sc_reading_text(reading, child, &len);
        if (sc_reading_kind(reading, child) == SC_KIND_TEMPLATE_SUBSTITUTION) {
            uint32_t inner = sc_tree_first(tree, child);
            text = inner == SC_NO_NODE ? NULL : sc_values_constant(sc_reading_value(reading, inner));
            if (!text)
                return NULL;
            len = strlen(text);
        }
        if (len >= sizeof room - used)
            return NULL;
        if (sc_reading_kind(reading, child) == SC_KIND_ESCAPE_SEQUENCE && len >= 2) {
            put_escape(room, &used, text, len);
            continue;
        }
        memcpy(room + used, text, len);
        used += len;
    }
    return sc_pool_text(&reading->pool, room, used);
}

static const char *joined(struct sc_reading *reading, const char *a, const char *b, const char *c)
{
    if (!a || !b || !c || strlen(a) + strlen(b) + strlen(c) >= SC_VALUE_TEXT_MAX)
        return NULL;
    return sc_pool_printf(&reading->pool, "%s%s%s", a, b, c);
}

static const char *sum_text(struct sc_reading *reading, uint32_t node)
{
    size_t len;
    uint32_t operator= sc_tree_field(&reading->tree, node, SC_FIELD_OPERATOR);
    if (operator== SC_NO_NODE || sc_reading_text(reading, operator, & len)[0] != '+')
        return NULL;
    return joined(reading, sc_reading_constant(reading, sc_tree_field(&reading->tree, node, SC_FIELD_LEFT)),
                  "", sc_reading_constant(reading, sc_tree_field(&reading->tree, node, SC_FIELD_RIGHT)));
}

/* ["a", "b"].join(""), "a".concat("b") */
static const char *method_text(struct sc_reading *reading, uint32_t call)
{
    const struct sc_tree *tree = &reading->tree;
    uint32_t function = sc_tree_field(tree, call, SC_FIELD_FUNCTION);
    uint32_t property = sc_tree_field(tree, function, SC_FIELD_PROPERTY);
    uint32_t object = sc_tree_field(tree, function, SC_FIELD_OBJECT);
    if (sc_reading_kind(reading, function) != SC_KIND_MEMBER_EXPRESSION || property == SC_NO_NODE)
        return NULL;
    const char *method = sc_javascript_identifier(reading, property);
    const char *argument = sc_reading_constant(reading, sc_javascript_argument(reading, call, 0)),
               *text = NULL;
    if (!strcmp(method, "concat"))
        return joined(reading, sc_reading_constant(reading, object), "", argument);
    if (strcmp(method, "join") != 0 || sc_reading_kind(reading, object) != SC_KIND_ARRAY)
        return NULL;
    for (uint32_t child = sc_tree_first(tree, object); child != SC_NO_NODE;
         child = sc_tree_next(tree, child)) {
        text = text ? joined(reading, text, argument, sc_reading_constant(reading, child))
                    : sc_reading_constant(reading, child);
        if (!text)
            return NULL;
    }
    return text;
}

/* ---- calls ---- */

static void add_required(struct sc_reading *reading, uint32_t call, struct sc_values *values)
{
    const struct sc_values *names = sc_reading_value(reading, sc_javascript_argument(reading, call, 0));
    values->other |= names->n == 0 || names->other;
    for (uint8_t i = 0; i < names->n; i++)
        if (names->v[i].kind == SC_VALUE_TEXT)
            add_name(reading, values, sc_javascript_module(reading, names->v[i].text));
        else
            values->other = true;
}

/* Reflect.get(o, "n") */
static void add_reflected(struct sc_reading *reading, uint32_t call, struct sc_values *values)
{
    const char *name = sc_reading_constant(reading, sc_javascript_argument(reading, call, 1));
    if (name)
        add_member(reading, sc_reading_value(reading, sc_javascript_argument(reading, call, 0)), name,
                   values);
    else
        values->other = true;
}

static void call_value(struct sc_reading *reading, uint32_t node, enum sc_field callee,
                       struct sc_values *values)
{
    const struct sc_values *functions =
        sc_reading_value(reading, sc_tree_field(&reading->tree, node, callee));
    for (uint8_t i = 0; i < functions->n; i++) {
        if (functions->v[i].kind != SC_VALUE_NAME)
            continue;
        const char *function = functions->v[i].text;
        if (sc_javascript_is_require(function))
            add_required(reading, node, values);
        else if (!strcmp(function, "Reflect.get"))
            add_reflected(reading, node, values);
        else if (sc_name_ends_with(function, ".bind"))
            add_name(reading, values,
                     sc_pool_text(&reading->pool, function, strlen(function) - strlen(".bind")));
        else
            add_name(reading, values, sc_pool_printf(&reading->pool, "%s()", function));
    }
    if (functions->n == 0 || functions->other)
        sc_values_add_text(values, method_text(reading, node));
}

static void join_node(struct sc_reading *reading, uint32_t node, struct sc_values *values)
{
    if (node == SC_NO_NODE)
        values->other = true;
    else
        sc_values_join(values, sc_reading_value(reading, node));
}

static uint32_t last_child(const struct sc_reading *reading, uint32_t node)
{
    uint32_t last = SC_NO_NODE;
    for (uint32_t child = sc_tree_first(&reading->tree, node); child != SC_NO_NODE;
         child = sc_tree_next(&reading->tree, child))
        last = child;
    return last;
}

/* a || b, a ?? b, a && b; anything else with two sides is a number or a text. */
static void binary_value(struct sc_reading *reading, uint32_t node, struct sc_values *values)
{
    size_t len;
    uint32_t operator= sc_tree_field(&reading->tree, node, SC_FIELD_OPERATOR);
    const char *text = operator== SC_NO_NODE ? "" : sc_reading_text(reading, operator, & len);
    if (text[0] == '?' || (text[0] == '|' && text[1] == '|') || (text[0] == '&' && text[1] == '&')) {
        join_node(reading, sc_tree_field(&reading->tree, node, SC_FIELD_LEFT), values);
        join_node(reading, sc_tree_field(&reading->tree, node, SC_FIELD_RIGHT), values);
    } else {
        sc_values_add_text(values, sum_text(reading, node));
    }
}

void sc_javascript_value(struct sc_reading *reading, uint32_t node, struct sc_values *values)
{
    const struct sc_tree *tree = &reading->tree;
    switch (sc_reading_kind(reading, node)) {
    case SC_KIND_IDENTIFIER:
    case SC_KIND_SHORTHAND_PROPERTY:
        look_up(reading, node, values);
        break;
    case SC_KIND_IMPORT:
        sc_values_add(values, SC_VALUE_NAME, sc_pool_text(&reading->pool, "import", 6));
        break;
    case SC_KIND_THIS:
        this_value(reading, node, values);
        break;
    case SC_KIND_MEMBER_EXPRESSION:
        member_value(reading, node, values);
        break;
    case SC_KIND_SUBSCRIPT_EXPRESSION:
        subscript_value(reading, node, values);
        break;
    case SC_KIND_CALL_EXPRESSION:
        call_value(reading, node, SC_FIELD_FUNCTION, values);
        break;
    case SC_KIND_NEW_EXPRESSION:
        call_value(reading, node, SC_FIELD_CONSTRUCTOR, values);
        break;
    case SC_KIND_STRING:
    case SC_KIND_TEMPLATE_STRING:
        sc_values_add_text(values, string_text(reading, node));
        break;
    case SC_KIND_BINARY_EXPRESSION:
        binary_value(reading, node, values);
        break;
    case SC_KIND_PARENTHESIZED:
    case SC_KIND_AWAIT_EXPRESSION:
    case SC_KIND_AS_EXPRESSION:
    case SC_KIND_SATISFIES_EXPRESSION:
    case SC_KIND_NON_NULL_EXPRESSION:
        join_node(reading, sc_tree_first(tree, node), values);
        break;
    case SC_KIND_SEQUENCE_EXPRESSION:
        join_node(reading, last_child(reading, node), values);
        break;
    case SC_KIND_TERNARY_EXPRESSION:
        join_node(reading, sc_tree_field(tree, node, SC_FIELD_CONSEQUENCE), values);
        join_node(reading, sc_tree_field(tree, node, SC_FIELD_ALTERNATIVE), values);
        break;
    case SC_KIND_ASSIGNMENT_EXPRESSION:
        join_node(reading, sc_tree_field(tree, node, SC_FIELD_RIGHT), values);
        break;
    default:
        values->other = true;
    }
}
