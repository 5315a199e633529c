/* What JavaScript and TypeScript source does, told to the rules. */
#include <string.h>

#include "check/javascript.h"

/* An identifier that names something new. */
static bool is_no_use(const struct sc_reading *reading, uint32_t node)
{
    enum sc_field field = sc_reading_field(reading, node);
    switch (sc_reading_kind(reading, sc_reading_parent(reading, node))) {
    case SC_KIND_VARIABLE_DECLARATOR:
    case SC_KIND_FUNCTION_DECLARATION:
    case SC_KIND_FUNCTION_EXPRESSION:
    case SC_KIND_GENERATOR_FUNCTION:
    case SC_KIND_GENERATOR_FUNCTION_DECLARATION:
    case SC_KIND_CLASS_DECLARATION:
    case SC_KIND_CLASS:
        return field == SC_FIELD_NAME;
    case SC_KIND_ASSIGNMENT_EXPRESSION:
    case SC_KIND_ASSIGNMENT_PATTERN:
    case SC_KIND_OBJECT_ASSIGNMENT_PATTERN:
    case SC_KIND_FOR_IN_STATEMENT:
        return field == SC_FIELD_LEFT;
    case SC_KIND_ARROW_FUNCTION:
    case SC_KIND_CATCH_CLAUSE:
        return field == SC_FIELD_PARAMETER;
    case SC_KIND_REQUIRED_PARAMETER:
    case SC_KIND_OPTIONAL_PARAMETER:
        return field == SC_FIELD_PATTERN;
    case SC_KIND_PAIR_PATTERN:
        return field == SC_FIELD_VALUE;
    case SC_KIND_FORMAL_PARAMETERS:
    case SC_KIND_ARRAY_PATTERN:
    case SC_KIND_REST_PATTERN:
    case SC_KIND_IMPORT_CLAUSE:
    case SC_KIND_NAMESPACE_IMPORT:
    case SC_KIND_IMPORT_SPECIFIER:
    case SC_KIND_IMPORT_REQUIRE_CLAUSE:
        return true;
    default:
        return false;
    }
}

static bool passes_on(const struct sc_reading *reading, uint32_t node)
{
    switch (sc_reading_kind(reading, sc_reading_parent(reading, node))) {
    case SC_KIND_PARENTHESIZED:
    case SC_KIND_TERNARY_EXPRESSION:
    case SC_KIND_AWAIT_EXPRESSION:
    case SC_KIND_AS_EXPRESSION:
    case SC_KIND_NON_NULL_EXPRESSION:
    case SC_KIND_BINARY_EXPRESSION:
        return true;
    default:
        return false;
    }
}

/* Does it go where the reader follows it? */
static bool is_followed(const struct sc_reading *reading, uint32_t node)
{
    while (passes_on(reading, node))
        node = sc_reading_parent(reading, node);
    enum sc_field field = sc_reading_field(reading, node);
    switch (sc_reading_kind(reading, sc_reading_parent(reading, node))) {
    case SC_KIND_MEMBER_EXPRESSION:
    case SC_KIND_SUBSCRIPT_EXPRESSION:
        return field == SC_FIELD_OBJECT;
    case SC_KIND_CALL_EXPRESSION:
        return field == SC_FIELD_FUNCTION;
    case SC_KIND_NEW_EXPRESSION:
        return field == SC_FIELD_CONSTRUCTOR;
    case SC_KIND_VARIABLE_DECLARATOR:
        return field == SC_FIELD_VALUE;
    case SC_KIND_ASSIGNMENT_EXPRESSION: {
        uint32_t left = sc_tree_field(&reading->tree, sc_reading_parent(reading, node), SC_FIELD_LEFT);
        return field == SC_FIELD_RIGHT && sc_reading_kind(reading, left) != SC_KIND_MEMBER_EXPRESSION &&
               sc_reading_kind(reading, left) != SC_KIND_SUBSCRIPT_EXPRESSION;
    }
    case SC_KIND_EXPRESSION_STATEMENT:
        return true;
    default:
        /* typeof require, !process, `if (fs)`: a question, answered without it. */
        return sc_reading_kind(reading, sc_reading_parent(reading, node)) == SC_KIND_OTHER &&
               field == SC_FIELD_ARGUMENT;
    }
}

static bool is_global_object(const char *name)
{
    return !strcmp(name, "globalThis") || !strcmp(name, "global") || !strcmp(name, "window") ||
           !strcmp(name, "self");
}

/* Not Error or Object: classes of the language are handed on everywhere. */
static bool is_watched_module(const struct sc_reading *reading, const char *name)
{
    return !(name[0] >= 'A' && name[0] <= 'Z') && sc_reading_watches_below(reading, name);
}

static void use_values(struct sc_reading *reading, uint32_t node)
{
    const struct sc_values *values = sc_reading_value(reading, node);
    for (uint8_t i = 0; i < values->n; i++) {
        const char *name = values->v[i].text;
        if (values->v[i].kind != SC_VALUE_NAME || sc_name_ends_with(name, "()"))
            continue;
        if (!strcmp(name, SC_JAVASCRIPT_CONSTRUCTOR))
            continue; /* what is done with it counts */
        sc_reading_use(reading, node, name);
        bool followed = is_followed(reading, node);
        if (!followed && sc_javascript_is_require(name) && strcmp(name, "import") != 0)
            sc_reading_use_as(reading, node, "?dynamic-import", name);
        bool is_watched = is_watched_module(reading, name) || is_global_object(name);
        if (!followed && !strchr(name, '.') && is_watched && !values->other)
            sc_reading_use_as(reading, node, "?module-as-value", name);
    }
}

static void walk_member(struct sc_reading *reading, uint32_t node)
{
    uint32_t property = sc_tree_field(&reading->tree, node, SC_FIELD_PROPERTY);
    if (sc_reading_kind(reading, property) == SC_KIND_PROPERTY_IDENTIFIER)
        sc_reading_use_attribute(reading, property, sc_javascript_identifier(reading, property));
    use_values(reading, node);
}

/* globalThis[x], fs[x]: any of them may be meant. arr[i] is everywhere, and says nothing. */
static void walk_subscript(struct sc_reading *reading, uint32_t node)
{
    const struct sc_values *keys =
        sc_reading_value(reading, sc_tree_field(&reading->tree, node, SC_FIELD_INDEX));
    const struct sc_values *objects =
        sc_reading_value(reading, sc_tree_field(&reading->tree, node, SC_FIELD_OBJECT));
    for (uint8_t i = 0; i < keys->n; i++)
        if (keys->v[i].kind == SC_VALUE_TEXT)
            sc_reading_use_attribute(reading, node, keys->v[i].text);
    for (uint8_t i = 0; i < objects->n && !sc_values_are_texts(keys) && !objects->other; i++) {
        const char *name = objects->v[i].text;
        bool reaches = objects->v[i].kind == SC_VALUE_NAME && !strchr(name, '.') &&
                       (sc_reading_watches_below(reading, name) || is_global_object(name));
        if (reaches)
            sc_reading_use_as(reading, node, "?dynamic-attribute", name);
    }
    use_values(reading, node);
}

static void walk_call(struct sc_reading *reading, uint32_t node, enum sc_field callee)
{
    uint32_t function = sc_tree_field(&reading->tree, node, callee);
    const struct sc_values *functions = sc_reading_value(reading, function);
    uint32_t first = sc_javascript_argument(reading, node, 0);
    for (uint8_t i = 0; i < functions->n; i++) {
        const char *name = functions->v[i].text;
        if (functions->v[i].kind != SC_VALUE_NAME)
            continue;
        const struct sc_values *asked = sc_reading_value(reading, first);
        if (sc_javascript_is_require(name) && !sc_values_are_texts(asked))
            sc_reading_use_as(reading, node, "?dynamic-import", name);
        if (!strcmp(name, "import") && asked->n)
            use_values(reading, node);
        bool own = sc_reading_kind(reading, sc_tree_field(&reading->tree, function, SC_FIELD_OBJECT)) ==
                   SC_KIND_THIS;
        if (!strcmp(name, SC_JAVASCRIPT_CONSTRUCTOR) && !own)
            sc_reading_use_as(reading, node, "?constructor", "constructor");
    }
    use_values(reading, node);
}

static void use_module(struct sc_reading *reading, uint32_t node, const char *module)
{
    if (module)
        sc_reading_use(reading, node, module);
}

static void walk_import(struct sc_reading *reading, uint32_t node)
{
    const char *module = sc_javascript_source(reading, node);
    use_module(reading, node, module);
    bool is_export = reading->tree.nodes[node].kind == SC_KIND_EXPORT_STATEMENT;
    if (module && is_export && is_watched_module(reading, module))
        sc_reading_use_as(reading, node, "?module-as-value", module);
}

/* import {exec as run} from "child_process" */
static void walk_specifier(struct sc_reading *reading, uint32_t node)
{
    uint32_t statement = node;
    while (statement != SC_NO_NODE && sc_reading_kind(reading, statement) != SC_KIND_IMPORT_STATEMENT)
        statement = sc_reading_parent(reading, statement);
    const char *module = statement == SC_NO_NODE ? NULL : sc_javascript_source(reading, statement);
    uint32_t name = sc_tree_field(&reading->tree, node, SC_FIELD_NAME);
    if (module && name != SC_NO_NODE)
        sc_reading_use(
            reading, node,
            sc_pool_printf(&reading->pool, "%s.%s", module, sc_javascript_identifier(reading, name)));
}

/* {exec: run} = …: the values of the names that it binds. */
static void walk_pattern(struct sc_reading *reading, uint32_t node)
{
    uint32_t key = node, target = node;
    if (sc_reading_kind(reading, node) == SC_KIND_PAIR_PATTERN) {
        key = sc_tree_field(&reading->tree, node, SC_FIELD_KEY);
        target = sc_tree_field(&reading->tree, node, SC_FIELD_VALUE);
    }
    if (sc_reading_kind(reading, key) == SC_KIND_COMPUTED_PROPERTY_NAME || key == SC_NO_NODE ||
        target == SC_NO_NODE)
        return;
    const char *name = sc_javascript_identifier(reading, key);
    sc_reading_use_attribute(reading, key, name);
    if (!strcmp(name, "constructor"))
        sc_reading_use_as(reading, key, "?constructor", name);
}

static void use_member(struct sc_reading *reading, uint32_t node, const char *object, const char *name)
{
    sc_reading_use(reading, node,
                   sc_javascript_canonical(reading, sc_pool_printf(&reading->pool, "%s.%s", object, name)));
}

/* What destructuring takes out of a module: const {exec: run} = require("child_process"). */
static void walk_destructuring(struct sc_reading *reading, uint32_t node)
{
    const struct sc_tree *tree = &reading->tree;
    uint32_t pattern = sc_tree_field(tree, node, SC_FIELD_NAME),
             value = sc_tree_field(tree, node, SC_FIELD_VALUE);
    if (sc_reading_kind(reading, node) == SC_KIND_ASSIGNMENT_EXPRESSION) {
        pattern = sc_tree_field(tree, node, SC_FIELD_LEFT);
        value = sc_tree_field(tree, node, SC_FIELD_RIGHT);
    }
    if (sc_reading_kind(reading, pattern) != SC_KIND_OBJECT_PATTERN || value == SC_NO_NODE)
        return;
    const struct sc_values *objects = sc_reading_value(reading, value);
    for (uint32_t child = sc_tree_first(tree, pattern); child != SC_NO_NODE;
         child = sc_tree_next(tree, child)) {
        uint32_t key = sc_tree_field(tree, child, SC_FIELD_KEY);
        if (key == SC_NO_NODE)
            key = sc_tree_field(tree, child, SC_FIELD_LEFT) == SC_NO_NODE
                      ? child
                      : sc_tree_field(tree, child, SC_FIELD_LEFT);
        bool computed = sc_reading_kind(reading, key) == SC_KIND_COMPUTED_PROPERTY_NAME;
        bool rest = sc_reading_kind(reading, child) == SC_KIND_REST_PATTERN;
        for (uint8_t i = 0; i < objects->n; i++) {
            const char *object = objects->v[i].text;
            if (objects->v[i].kind != SC_VALUE_NAME)
                continue;
            if ((computed || rest) && sc_reading_watches_below(reading, object))
                sc_reading_use_as(reading, child, "?dynamic-attribute", object);
            else if (!computed && !rest)
                use_member(reading, child, object, sc_javascript_identifier(reading, key));
        }
    }
}

void sc_javascript_walk(struct sc_reading *reading)
{
    for (uint32_t node = 0; node < reading->tree.n; node++)
        switch (sc_reading_kind(reading, node)) {
        case SC_KIND_IDENTIFIER:
            if (sc_reading_kind(reading, sc_reading_parent(reading, node)) == SC_KIND_ERROR)
                use_module(reading, node, sc_javascript_identifier(reading, node));
            if (!is_no_use(reading, node))
                use_values(reading, node);
            break;
        case SC_KIND_SHORTHAND_PROPERTY:
            use_values(reading, node);
            break;
        case SC_KIND_MEMBER_EXPRESSION:
            walk_member(reading, node);
            break;
        case SC_KIND_SUBSCRIPT_EXPRESSION:
            walk_subscript(reading, node);
            break;
        case SC_KIND_CALL_EXPRESSION:
            walk_call(reading, node, SC_FIELD_FUNCTION);
            break;
        case SC_KIND_NEW_EXPRESSION:
            walk_call(reading, node, SC_FIELD_CONSTRUCTOR);
            break;
        case SC_KIND_IMPORT_STATEMENT:
        case SC_KIND_EXPORT_STATEMENT:
        case SC_KIND_IMPORT_REQUIRE_CLAUSE:
            walk_import(reading, node);
            break;
        case SC_KIND_IMPORT_SPECIFIER:
            walk_specifier(reading, node);
            break;
        case SC_KIND_VARIABLE_DECLARATOR:
        case SC_KIND_ASSIGNMENT_EXPRESSION:
            walk_destructuring(reading, node);
            break;
        case SC_KIND_PAIR_PATTERN:
        case SC_KIND_SHORTHAND_PROPERTY_PATTERN:
            walk_pattern(reading, node);
            break;
        case SC_KIND_HTML_COMMENT:
            /* A comment in a script, three operators in a module. */
            sc_reading_use_as(reading, node, "?html-comment", "<!--");
            break;
        default:
            break;
        }
}
