/* What a Python expression may be. */
#include <stdlib.h>
#include <string.h>

#include "check/python.h"

static void add_name(struct sc_reading *reading, struct sc_values *values, const char *name)
{
    sc_values_add(values, SC_VALUE_NAME, sc_python_canonical(reading, name));
}

bool sc_python_is_namespace(const char *name)
{
    return !strcmp(name, "sys.modules") || !strcmp(name, SC_PYTHON_NAMESPACE) || !strcmp(name, "builtins") ||
           sc_name_ends_with(name, ".__dict__");
}

const char *sc_python_lookup_of(struct sc_reading *reading, const char *function)
{
    static const char *const methods[] = {".get", ".__getitem__", ".pop", ".setdefault"};
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        if (!sc_name_ends_with(function, methods[i]))
            continue;
        const char *object = sc_pool_text(&reading->pool, function, strlen(function) - strlen(methods[i]));
        return sc_python_is_namespace(object) ? object : NULL;
    }
    return NULL;
}

enum sc_python_gate sc_python_gate_of(const char *function)
{
    static const char *const imports[] = {"builtins.__import__", "importlib.import_module",
                                          "importlib.__import__", "pkgutil.resolve_name", "pydoc.locate"};
    for (size_t i = 0; i < sizeof imports / sizeof imports[0]; i++)
        if (!strcmp(imports[i], function))
            return SC_GATE_IMPORT;
    return !strcmp(function, "builtins.getattr") ? SC_GATE_ATTRIBUTE : SC_GATE_NONE;
}

uint32_t sc_python_argument(struct sc_reading *reading, uint32_t call, uint32_t index, const char *keyword)
{
    uint32_t arguments = sc_tree_field(&reading->tree, call, SC_FIELD_ARGUMENTS);
    if (sc_reading_kind(reading, arguments) != SC_KIND_ARGUMENT_LIST)
        return SC_NO_NODE;
    uint32_t i = 0;
    for (uint32_t child = sc_tree_first(&reading->tree, arguments); child != SC_NO_NODE;
         child = sc_tree_next(&reading->tree, child)) {
        enum sc_kind kind = sc_reading_kind(reading, child);
        if (kind == SC_KIND_KEYWORD_ARGUMENT) {
            uint32_t name = sc_tree_field(&reading->tree, child, SC_FIELD_NAME);
            if (keyword && name != SC_NO_NODE && !strcmp(sc_python_identifier(reading, name), keyword))
                return sc_tree_field(&reading->tree, child, SC_FIELD_VALUE);
        } else if (kind == SC_KIND_LIST_SPLAT) {
            return SC_NO_NODE; /* what it holds moves all that follows */
        } else if (i++ == index) {
            return child;
        }
    }
    return SC_NO_NODE;
}

/* ---- names ---- */

/* True: the scope says all there is to say. */
static bool look_in(struct sc_reading *reading, uint32_t scope, uint32_t node, const char *what,
                    struct sc_values *values, bool *ret_global)
{
    const struct sc_meaning *meaning = sc_binding_meaning(reading, scope, what);
    enum sc_scope_kind kind = reading->scopes[scope].kind;
    *ret_global = false;
    if (!meaning)
        return false;
    *ret_global = meaning->is_global && scope != 0;
    if (meaning->is_global || meaning->is_outer || !meaning->is_bound)
        return false;
    sc_values_join(values, &meaning->values);
    /* A function's names are its own wherever they are bound. A module's or a class's are looked for outside
     * as long as they are not. */
    return kind == SC_SCOPE_FUNCTION || (meaning->firm_at != SC_NO_NODE && meaning->firm_at < node);
}

static void add_stars(struct sc_reading *reading, uint32_t scope, const char *what, struct sc_values *values)
{
    const struct sc_meaning *stars = sc_binding_meaning(reading, scope, sc_pool_text(&reading->pool, "*", 1));
    for (uint8_t i = 0; stars && i < stars->values.n; i++)
        add_name(reading, values, sc_pool_printf(&reading->pool, "%s.%s", stars->values.v[i].text, what));
}

static void look_up(struct sc_reading *reading, uint32_t from, uint32_t node, const char *what,
                    struct sc_values *values)
{
    for (uint32_t scope = from; scope != SC_NO_NODE;) {
        bool is_global;
        bool seen = reading->scopes[scope].kind != SC_SCOPE_CLASS || scope == from;
        if (seen && look_in(reading, scope, node, what, values, &is_global))
            return;
        if (seen && reading->scopes[scope].has_stars)
            add_stars(reading, scope, what, values);
        scope = seen && is_global ? 0 : reading->scopes[scope].parent;
    }
    add_name(reading, values, sc_pool_printf(&reading->pool, "builtins.%s", what));
}

static void identifier_value(struct sc_reading *reading, uint32_t node, struct sc_values *values)
{
    look_up(reading, reading->scope_of[node], node, sc_python_identifier(reading, node), values);
}

/* ---- attributes and lookups ---- */

static void add_attribute(struct sc_reading *reading, const struct sc_values *object, const char *name,
                          struct sc_values *values)
{
    values->other |= object->other || object->n == 0;
    for (uint8_t i = 0; i < object->n; i++)
        if (object->v[i].kind == SC_VALUE_NAME)
            add_name(reading, values, sc_pool_printf(&reading->pool, "%s.%s", object->v[i].text, name));
        else
            values->other = true;
}

static void attribute_value(struct sc_reading *reading, uint32_t node, struct sc_values *values)
{
    uint32_t object = sc_tree_field(&reading->tree, node, SC_FIELD_OBJECT);
    uint32_t attribute = sc_tree_field(&reading->tree, node, SC_FIELD_ATTRIBUTE);
    if (attribute == SC_NO_NODE)
        values->other = true;
    else
        add_attribute(reading, sc_reading_value(reading, object), sc_python_identifier(reading, attribute),
                      values);
}

/* What stands under `key` in a namespace. */
static void add_entry(struct sc_reading *reading, uint32_t node, const char *space, const char *key,
                      struct sc_values *values)
{
    if (!strcmp(space, "sys.modules"))
        add_name(reading, values, key);
    else if (!strcmp(space, SC_PYTHON_NAMESPACE))
        look_up(reading, 0, node, key, values);
    else if (sc_name_ends_with(space, ".__dict__"))
        add_name(reading, values,
                 sc_pool_printf(&reading->pool, "%.*s.%s", (int)(strlen(space) - strlen(".__dict__")), space,
                                key));
    else
        add_name(reading, values, sc_pool_printf(&reading->pool, "%s.%s", space, key));
}

static void add_entries(struct sc_reading *reading, uint32_t node, const char *space, uint32_t key,
                        struct sc_values *values)
{
    const struct sc_values *keys = key == SC_NO_NODE ? NULL : sc_reading_value(reading, key);
    values->other |= !keys || keys->other || keys->n == 0;
    for (uint8_t i = 0; keys && i < keys->n; i++)
        if (keys->v[i].kind == SC_VALUE_TEXT)
            add_entry(reading, node, space, keys->v[i].text, values);
        else
            values->other = true;
}

/* [a, b][0], {"a": b}["a"]: any of the elements. */
static void add_elements(struct sc_reading *reading, uint32_t display, struct sc_values *values)
{
    for (uint32_t child = sc_tree_first(&reading->tree, display); child != SC_NO_NODE;
         child = sc_tree_next(&reading->tree, child)) {
        uint32_t element = sc_reading_kind(reading, child) == SC_KIND_PAIR
                               ? sc_tree_field(&reading->tree, child, SC_FIELD_VALUE)
                               : child;
        if (element != SC_NO_NODE)
            sc_values_join(values, sc_reading_value(reading, element));
    }
}

static void subscript_value(struct sc_reading *reading, uint32_t node, struct sc_values *values)
{
    uint32_t object = sc_tree_field(&reading->tree, node, SC_FIELD_VALUE);
    uint32_t key = sc_tree_field(&reading->tree, node, SC_FIELD_SUBSCRIPT);
    switch (sc_reading_kind(reading, object)) {
    case SC_KIND_LIST:
    case SC_KIND_TUPLE:
    case SC_KIND_DICTIONARY:
        add_elements(reading, object, values);
        return;
    default:
        break;
    }
    const struct sc_values *spaces = sc_reading_value(reading, object);
    values->other |= spaces->n == 0 || spaces->other;
    for (uint8_t i = 0; i < spaces->n; i++)
        if (spaces->v[i].kind == SC_VALUE_NAME && sc_python_is_namespace(spaces->v[i].text))
            add_entries(reading, node, spaces->v[i].text, key, values);
        else
            values->other = true;
}

/* ---- calls ---- */

/* __import__("a.b") is a, import_module("a.b") is a.b; a fromlist turns the first into the second. */
static void add_imported(struct sc_reading *reading, uint32_t call, const char *function,
                         struct sc_values *values)
{
    uint32_t name = sc_python_argument(reading, call, 0, "name");
    const struct sc_values *texts = name == SC_NO_NODE ? NULL : sc_reading_value(reading, name);
    values->other |= !texts || texts->other || texts->n == 0;
    for (uint8_t i = 0; texts && i < texts->n; i++) {
        if (texts->v[i].kind != SC_VALUE_TEXT) {
            values->other = true;
            continue;
        }
        const char *text = texts->v[i].text, *dot = strchr(text, '.');
        if (dot && sc_name_ends_with(function, "__import__"))
            add_name(reading, values, sc_pool_text(&reading->pool, text, (size_t)(dot - text)));
        const char *colon = strchr(text, ':');
        add_name(reading, values,
                 colon ? sc_pool_printf(&reading->pool, "%.*s.%s", (int)(colon - text), text, colon + 1)
                       : text);
    }
}

static void add_got(struct sc_reading *reading, const struct sc_values *object, uint32_t name,
                    struct sc_values *values)
{
    const struct sc_values *names = name == SC_NO_NODE ? NULL : sc_reading_value(reading, name);
    values->other |= !names || names->other || names->n == 0;
    for (uint8_t i = 0; names && i < names->n; i++)
        if (names->v[i].kind == SC_VALUE_TEXT)
            add_attribute(reading, object, names->v[i].text, values);
        else
            values->other = true;
}

/* os.__getattribute__("system"), object.__getattribute__(os, "system") */
static void add_got_by_method(struct sc_reading *reading, uint32_t call, const char *function,
                              struct sc_values *values)
{
    uint32_t first = sc_python_argument(reading, call, 0, NULL),
             second = sc_python_argument(reading, call, 1, NULL);
    const char *dot = strrchr(function, '.');
    struct sc_values object = {0};
    if (second == SC_NO_NODE)
        sc_values_add(&object, SC_VALUE_NAME,
                      sc_pool_text(&reading->pool, function, (size_t)(dot - function)));
    else
        object = *sc_reading_value(reading, first);
    add_got(reading, &object, second == SC_NO_NODE ? first : second, values);
}

static void add_result(struct sc_reading *reading, uint32_t call, const char *function,
                       struct sc_values *values)
{
    enum sc_python_gate gate = sc_python_gate_of(function);
    uint32_t first = sc_python_argument(reading, call, 0, NULL);
    const char *space = sc_python_lookup_of(reading, function);
    if (gate == SC_GATE_IMPORT) {
        add_imported(reading, call, function, values);
    } else if (gate == SC_GATE_ATTRIBUTE && first != SC_NO_NODE) {
        add_got(reading, sc_reading_value(reading, first), sc_python_argument(reading, call, 1, NULL),
                values);
    } else if (!strcmp(function, "builtins.vars") && first != SC_NO_NODE) {
        add_attribute(reading, sc_reading_value(reading, first), "__dict__", values);
    } else if (!strcmp(function, "builtins.vars") || !strcmp(function, "builtins.globals") ||
               !strcmp(function, "builtins.locals")) {
        sc_values_add(values, SC_VALUE_NAME,
                      sc_pool_text(&reading->pool, SC_PYTHON_NAMESPACE, strlen(SC_PYTHON_NAMESPACE)));
    } else if (sc_name_ends_with(function, ".__getattribute__") && first != SC_NO_NODE) {
        add_got_by_method(reading, call, function, values);
    } else if (space) {
        add_entries(reading, call, space, first, values);
    } else {
        add_name(reading, values, sc_pool_printf(&reading->pool, "%s()", function));
    }
}

static void call_value(struct sc_reading *reading, uint32_t node, struct sc_values *values)
{
    const struct sc_values *functions =
        sc_reading_value(reading, sc_tree_field(&reading->tree, node, SC_FIELD_FUNCTION));
    for (uint8_t i = 0; i < functions->n; i++)
        if (functions->v[i].kind == SC_VALUE_NAME)
            add_result(reading, node, functions->v[i].text, values);
    if (functions->n == 0 || functions->other)
        sc_values_add_text(values, sc_python_text_method(reading, node));
}

/* ---- the rest ---- */

static const char *joined(struct sc_reading *reading, const char *a, const char *b)
{
    size_t len = a && b ? strlen(a) + strlen(b) : SIZE_MAX;
    return len < SC_VALUE_TEXT_MAX ? sc_pool_printf(&reading->pool, "%s%s", a, b) : NULL;
}

static void concatenated_value(struct sc_reading *reading, uint32_t node, struct sc_values *values)
{
    const char *text = "";
    for (uint32_t child = sc_tree_first(&reading->tree, node); child != SC_NO_NODE && text;
         child = sc_tree_next(&reading->tree, child))
        text = joined(reading, text, sc_reading_constant(reading, child));
    sc_values_add_text(values, text ? sc_pool_text(&reading->pool, text, strlen(text)) : NULL);
}

static void operator_value(struct sc_reading *reading, uint32_t node, struct sc_values *values)
{
    size_t len;
    uint32_t operator= sc_tree_field(&reading->tree, node, SC_FIELD_OPERATOR);
    bool is_plus = operator!= SC_NO_NODE && sc_reading_text(reading, operator, & len)[0] == '+';
    const char *left =
        is_plus ? sc_reading_constant(reading, sc_tree_field(&reading->tree, node, SC_FIELD_LEFT)) : NULL;
    sc_values_add_text(values, left ? joined(reading, left,
                                             sc_reading_constant(reading, sc_tree_field(&reading->tree, node,
                                                                                        SC_FIELD_RIGHT)))
                                    : NULL);
}

static void join_child(struct sc_reading *reading, uint32_t child, struct sc_values *values)
{
    if (child == SC_NO_NODE)
        values->other = true;
    else
        sc_values_join(values, sc_reading_value(reading, child));
}

/* x if c else y: the condition is the one in the middle. */
static void conditional_value(struct sc_reading *reading, uint32_t node, struct sc_values *values)
{
    uint32_t yes = sc_tree_first(&reading->tree, node);
    uint32_t condition = yes == SC_NO_NODE ? yes : sc_tree_next(&reading->tree, yes);
    join_child(reading, yes, values);
    join_child(reading, condition == SC_NO_NODE ? condition : sc_tree_next(&reading->tree, condition),
               values);
}

void sc_python_value(struct sc_reading *reading, uint32_t node, struct sc_values *values)
{
    const struct sc_tree *tree = &reading->tree;
    switch (sc_reading_kind(reading, node)) {
    case SC_KIND_IDENTIFIER:
        identifier_value(reading, node, values);
        break;
    case SC_KIND_ATTRIBUTE:
        attribute_value(reading, node, values);
        break;
    case SC_KIND_SUBSCRIPT:
        subscript_value(reading, node, values);
        break;
    case SC_KIND_CALL:
        call_value(reading, node, values);
        break;
    case SC_KIND_STRING:
        sc_values_add_text(values, sc_python_string(reading, node));
        break;
    case SC_KIND_CONCATENATED_STRING:
        concatenated_value(reading, node, values);
        break;
    case SC_KIND_BINARY_OPERATOR:
        operator_value(reading, node, values);
        break;
    case SC_KIND_PARENTHESIZED:
    case SC_KIND_AWAIT:
    case SC_KIND_EXPRESSION_STATEMENT:
        join_child(reading, sc_tree_first(tree, node), values);
        break;
    case SC_KIND_CONDITIONAL:
        conditional_value(reading, node, values);
        break;
    case SC_KIND_BOOLEAN_OPERATOR:
        join_child(reading, sc_tree_field(tree, node, SC_FIELD_LEFT), values);
        join_child(reading, sc_tree_field(tree, node, SC_FIELD_RIGHT), values);
        break;
    case SC_KIND_NAMED_EXPRESSION:
        join_child(reading, sc_tree_field(tree, node, SC_FIELD_VALUE), values);
        break;
    case SC_KIND_ASSIGNMENT:
        join_child(reading, sc_tree_field(tree, node, SC_FIELD_RIGHT), values);
        break;
    default:
        values->other = true;
    }
}
