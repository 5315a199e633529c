/* Scopes and bindings of JavaScript and TypeScript source. */
#include <stdlib.h>
#include <string.h>

#include "check/javascript.h"

/* "\u0065" or "\u{65}" at `text`: its length, and the character if it is one of ASCII, as all names that
 * rules speak of are; others become "_". 0: no escape. */
static size_t escape_at(const char *text, size_t len, char *ret_character)
{
    char digits[8] = "";
    size_t from = 2, n = 0, whole;
    if (len < 4 || text[0] != '\\' || text[1] != 'u')
        return 0;
    if (text[2] == '{')
        from = 3;
    while (n < sizeof digits - 1 && from + n < len && n < (from == 3 ? 6u : 4u) && text[from + n] != '}')
        digits[n] = text[from + n], n++;
    unsigned long code = strtoul(digits, NULL, 16);
    *ret_character = code > 0 && code < 0x80 ? (char)code : '_';
    whole = from + n + (from == 3);
    return whole < len ? whole : len;
}

const char *sc_javascript_identifier(struct sc_reading *reading, uint32_t node)
{
    size_t len, used = 0;
    char room[256];
    const char *text = sc_reading_text(reading, node, &len);
    if (!memchr(text, '\\', len) || len > sizeof room)
        return sc_pool_text(&reading->pool, text, len);
    for (size_t i = 0; i < len;) {
        size_t escaped = escape_at(text + i, len - i, &room[used]);
        if (!escaped)
            room[used] = text[i];
        used++;
        i += escaped ? escaped : 1;
    }
    return sc_pool_text(&reading->pool, room, used);
}

const char *sc_javascript_module(struct sc_reading *reading, const char *name)
{
    char room[256];
    if (!strncmp(name, "node:", 5))
        name += 5;
    size_t len = strlen(name);
    if (len >= sizeof room || name[0] == '.' || name[0] == '/' || name[0] == '@')
        return sc_pool_text(&reading->pool, name, len);
    for (size_t i = 0; i <= len; i++)
        room[i] = name[i] == '/' ? '.' : name[i];
    return sc_pool_text(&reading->pool, room, len);
}

const char *sc_javascript_source(struct sc_reading *reading, uint32_t statement)
{
    uint32_t source = sc_tree_field(&reading->tree, statement, SC_FIELD_SOURCE);
    const char *text = source == SC_NO_NODE ? NULL : sc_values_constant(sc_reading_value(reading, source));
    return text ? sc_javascript_module(reading, text) : NULL;
}

/* ---- scopes ---- */

static bool is_function(enum sc_kind kind)
{
    switch (kind) {
    case SC_KIND_FUNCTION_DECLARATION:
    case SC_KIND_FUNCTION_EXPRESSION:
    case SC_KIND_GENERATOR_FUNCTION:
    case SC_KIND_GENERATOR_FUNCTION_DECLARATION:
    case SC_KIND_ARROW_FUNCTION:
    case SC_KIND_METHOD_DEFINITION:
        return true;
    default:
        return false;
    }
}

static bool is_block(enum sc_kind kind)
{
    switch (kind) {
    case SC_KIND_STATEMENT_BLOCK:
    case SC_KIND_FOR_STATEMENT:
    case SC_KIND_FOR_IN_STATEMENT:
    case SC_KIND_CATCH_CLAUSE:
    case SC_KIND_SWITCH_BODY:
    case SC_KIND_CLASS_STATIC_BLOCK:
        return true;
    default:
        return false;
    }
}

static void place(struct sc_reading *reading, uint32_t node)
{
    const struct sc_node *one = &reading->tree.nodes[node];
    enum sc_kind kind = (enum sc_kind)one->kind;
    uint32_t scope = 0;
    if (one->parent != SC_NO_NODE) {
        scope = reading->scope_of[one->parent];
        uint32_t inner = reading->inner_of[one->parent];
        /* The name of a function expression is seen inside; that of a declaration is bound outside, too. */
        if (inner != SC_NO_NODE)
            scope = inner;
    }
    reading->scope_of[node] = scope;
    reading->inner_of[node] = SC_NO_NODE;
    if (is_function(kind))
        reading->inner_of[node] = sc_scope_add(reading, scope, node, SC_SCOPE_FUNCTION);
    else if (is_block(kind))
        reading->inner_of[node] = sc_scope_add(reading, scope, node, SC_SCOPE_BLOCK);
}

/* ---- bindings ---- */

static void bind_in(struct sc_reading *reading, uint32_t scope, uint32_t identifier,
                    struct sc_binding binding)
{
    binding.scope = scope;
    binding.what = sc_javascript_identifier(reading, identifier);
    binding.at = identifier;
    sc_binding_add(reading, &binding);
}

/* `var` reaches up to its function. */
static uint32_t function_scope(const struct sc_reading *reading, uint32_t scope)
{
    while (reading->scopes[scope].kind == SC_SCOPE_BLOCK)
        scope = reading->scopes[scope].parent;
    return scope;
}

static bool is_name(enum sc_kind kind)
{
    return kind == SC_KIND_IDENTIFIER || kind == SC_KIND_SHORTHAND_PROPERTY_PATTERN;
}

/* All names below a pattern, each with nothing known of it. */
static void bind_own(struct sc_reading *reading, uint32_t scope, uint32_t pattern)
{
    if (pattern == SC_NO_NODE)
        return;
    if (is_name(sc_reading_kind(reading, pattern))) {
        bind_in(reading, scope, pattern, (struct sc_binding){.how = SC_BIND_OWN, .firm = true});
        return;
    }
    switch (sc_reading_kind(reading, pattern)) {
    case SC_KIND_ASSIGNMENT_PATTERN:
    case SC_KIND_OBJECT_ASSIGNMENT_PATTERN:
        bind_own(reading, scope, sc_tree_field(&reading->tree, pattern, SC_FIELD_LEFT));
        break;
    case SC_KIND_PAIR_PATTERN:
        bind_own(reading, scope, sc_tree_field(&reading->tree, pattern, SC_FIELD_VALUE));
        break;
    case SC_KIND_OBJECT_PATTERN:
    case SC_KIND_ARRAY_PATTERN:
    case SC_KIND_REST_PATTERN:
    case SC_KIND_FORMAL_PARAMETERS:
        for (uint32_t child = sc_tree_first(&reading->tree, pattern); child != SC_NO_NODE;
             child = sc_tree_next(&reading->tree, child))
            bind_own(reading, scope, child);
        break;
    case SC_KIND_REQUIRED_PARAMETER:
    case SC_KIND_OPTIONAL_PARAMETER:
        bind_own(reading, scope, sc_tree_field(&reading->tree, pattern, SC_FIELD_PATTERN));
        break;
    default:
        break;
    }
}

/* {a, b: c, d = 1} = value */
static void bind_members(struct sc_reading *reading, uint32_t scope, uint32_t pattern, uint32_t value)
{
    const struct sc_tree *tree = &reading->tree;
    for (uint32_t child = sc_tree_first(tree, pattern); child != SC_NO_NODE;
         child = sc_tree_next(tree, child)) {
        uint32_t key = child, target = child;
        if (sc_reading_kind(reading, child) == SC_KIND_OBJECT_ASSIGNMENT_PATTERN)
            key = target = sc_tree_field(tree, child, SC_FIELD_LEFT);
        if (sc_reading_kind(reading, child) == SC_KIND_PAIR_PATTERN) {
            key = sc_tree_field(tree, child, SC_FIELD_KEY);
            target = sc_tree_field(tree, child, SC_FIELD_VALUE);
            if (sc_reading_kind(reading, target) == SC_KIND_ASSIGNMENT_PATTERN)
                target = sc_tree_field(tree, target, SC_FIELD_LEFT);
        }
        const char *name = NULL;
        if (is_name(sc_reading_kind(reading, key)) ||
            sc_reading_kind(reading, key) == SC_KIND_PROPERTY_IDENTIFIER)
            name = sc_javascript_identifier(reading, key);
        else if (sc_reading_kind(reading, key) == SC_KIND_STRING)
            name = sc_values_constant(sc_reading_value(reading, key));
        if (name && target != SC_NO_NODE && is_name(sc_reading_kind(reading, target)))
            bind_in(reading, scope, target,
                    (struct sc_binding){.how = SC_BIND_MEMBER, .node = value, .name = name, .firm = true});
        else
            bind_own(reading, scope, child);
    }
}

static void bind_target(struct sc_reading *reading, uint32_t scope, uint32_t target, uint32_t value,
                        bool firm)
{
    const struct sc_tree *tree = &reading->tree;
    uint32_t part = 0;
    switch (sc_reading_kind(reading, target)) {
    case SC_KIND_IDENTIFIER:
        bind_in(reading, scope, target,
                (struct sc_binding){.how = SC_BIND_VALUE, .node = value, .firm = firm});
        break;
    case SC_KIND_OBJECT_PATTERN:
        bind_members(reading, scope, target, value);
        break;
    case SC_KIND_ARRAY_PATTERN:
        for (uint32_t child = sc_tree_first(tree, target); child != SC_NO_NODE;
             child = sc_tree_next(tree, child), part++)
            if (is_name(sc_reading_kind(reading, child)))
                bind_in(reading, scope, child,
                        (struct sc_binding){.how = SC_BIND_PART, .node = value, .part = part, .firm = firm});
            else
                bind_own(reading, scope, child);
        break;
    default:
        bind_own(reading, scope, target);
    }
}

static void bind_imported(struct sc_reading *reading, uint32_t identifier, const char *name)
{
    struct sc_binding binding = {.how = name ? SC_BIND_NAME : SC_BIND_OWN, .name = name, .firm = true};
    bind_in(reading, reading->scope_of[identifier], identifier, binding);
}

static void bind_specifiers(struct sc_reading *reading, uint32_t named, const char *module)
{
    const struct sc_tree *tree = &reading->tree;
    for (uint32_t one = sc_tree_first(tree, named); one != SC_NO_NODE; one = sc_tree_next(tree, one)) {
        uint32_t name = sc_tree_field(tree, one, SC_FIELD_NAME),
                 alias = sc_tree_field(tree, one, SC_FIELD_ALIAS);
        if (name == SC_NO_NODE)
            continue;
        const char *what = sc_javascript_identifier(reading, name);
        const char *whole = !module ? NULL
                            : strcmp(what, "default") == 0
                                ? module
                                : sc_pool_printf(&reading->pool, "%s.%s", module, what);
        bind_imported(reading, alias == SC_NO_NODE ? name : alias, whole);
    }
}

/* import a, * as b, {c as d} from "m"; import e = require("m") */
static void bind_import(struct sc_reading *reading, uint32_t statement)
{
    const struct sc_tree *tree = &reading->tree;
    const char *module = sc_javascript_source(reading, statement);
    for (uint32_t clause = sc_tree_first(tree, statement); clause != SC_NO_NODE;
         clause = sc_tree_next(tree, clause)) {
        if (sc_reading_kind(reading, clause) == SC_KIND_IMPORT_REQUIRE_CLAUSE) {
            uint32_t name = sc_tree_first(tree, clause);
            bind_imported(reading, name, sc_javascript_source(reading, clause));
        }
        if (sc_reading_kind(reading, clause) != SC_KIND_IMPORT_CLAUSE)
            continue;
        for (uint32_t one = sc_tree_first(tree, clause); one != SC_NO_NODE; one = sc_tree_next(tree, one))
            switch (sc_reading_kind(reading, one)) {
            case SC_KIND_IDENTIFIER:
                bind_imported(reading, one, module);
                break;
            case SC_KIND_NAMESPACE_IMPORT:
                if (sc_tree_first(tree, one) != SC_NO_NODE)
                    bind_imported(reading, sc_tree_first(tree, one), module);
                break;
            case SC_KIND_NAMED_IMPORTS:
                bind_specifiers(reading, one, module);
                break;
            default:
                break;
            }
    }
}

static void bind_declarator(struct sc_reading *reading, uint32_t node)
{
    const struct sc_tree *tree = &reading->tree;
    bool is_var = sc_reading_kind(reading, tree->nodes[node].parent) == SC_KIND_VARIABLE_DECLARATION;
    uint32_t scope = is_var ? function_scope(reading, reading->scope_of[node]) : reading->scope_of[node];
    uint32_t name = sc_tree_field(tree, node, SC_FIELD_NAME),
             value = sc_tree_field(tree, node, SC_FIELD_VALUE);
    if (value == SC_NO_NODE)
        bind_own(reading, scope, name);
    else
        bind_target(reading, scope, name, value, true);
}

static void bind_function(struct sc_reading *reading, uint32_t node)
{
    const struct sc_tree *tree = &reading->tree;
    uint32_t name = sc_tree_field(tree, node, SC_FIELD_NAME), inner = reading->inner_of[node];
    enum sc_kind kind = sc_reading_kind(reading, node);
    if (name != SC_NO_NODE && sc_reading_kind(reading, name) == SC_KIND_IDENTIFIER) {
        bool is_declaration =
            kind == SC_KIND_FUNCTION_DECLARATION || kind == SC_KIND_GENERATOR_FUNCTION_DECLARATION;
        bind_own(reading, is_declaration ? reading->scope_of[node] : inner, name);
    }
    bind_own(reading, inner, sc_tree_field(tree, node, SC_FIELD_PARAMETER));
    bind_own(reading, inner, sc_tree_field(tree, node, SC_FIELD_PARAMETERS));
    /* Outside functions they are those of the module's wrapper, `require` among them. */
    if (kind != SC_KIND_ARROW_FUNCTION)
        sc_binding_add(reading, &(struct sc_binding){.what = sc_pool_text(&reading->pool, "arguments", 9),
                                                     .scope = inner,
                                                     .how = SC_BIND_OWN,
                                                     .firm = true,
                                                     .at = node});
}

static void declare(struct sc_reading *reading, uint32_t node)
{
    const struct sc_tree *tree = &reading->tree;
    enum sc_kind kind = sc_reading_kind(reading, node);
    if (is_function(kind)) {
        bind_function(reading, node);
        return;
    }
    switch (kind) {
    case SC_KIND_IMPORT_STATEMENT:
        bind_import(reading, node);
        break;
    case SC_KIND_VARIABLE_DECLARATOR:
        bind_declarator(reading, node);
        break;
    case SC_KIND_CLASS_DECLARATION:
        bind_own(reading, reading->scope_of[node], sc_tree_field(tree, node, SC_FIELD_NAME));
        break;
    case SC_KIND_CATCH_CLAUSE:
        bind_own(reading, reading->inner_of[node], sc_tree_field(tree, node, SC_FIELD_PARAMETER));
        break;
    case SC_KIND_FOR_IN_STATEMENT:
        /* Declares only with a word in front of it; without, it is an assignment. */
        if (sc_tree_field(tree, node, SC_FIELD_KIND) != SC_NO_NODE)
            bind_own(reading, reading->inner_of[node], sc_tree_field(tree, node, SC_FIELD_LEFT));
        break;
    default:
        break;
    }
}

/* x = value, where x was declared somewhere around, or nowhere: then it is global, and may be so before. */
static void assign(struct sc_reading *reading, uint32_t node)
{
    uint32_t left = sc_tree_field(&reading->tree, node, SC_FIELD_LEFT);
    uint32_t right = sc_tree_field(&reading->tree, node, SC_FIELD_RIGHT);
    if (left == SC_NO_NODE || right == SC_NO_NODE)
        return;
    uint32_t scope = reading->scope_of[node];
    if (sc_reading_kind(reading, left) == SC_KIND_IDENTIFIER) {
        const char *what = sc_javascript_identifier(reading, left);
        while (scope != 0 && !sc_binding_has(reading, scope, what))
            scope = reading->scopes[scope].parent;
        bind_target(reading, scope, left, right, false);
    } else if (sc_reading_kind(reading, left) == SC_KIND_OBJECT_PATTERN ||
               sc_reading_kind(reading, left) == SC_KIND_ARRAY_PATTERN) {
        bind_target(reading, 0, left, right, false);
    }
}

static void bind_all(struct sc_reading *reading)
{
    sc_scope_add(reading, SC_NO_NODE, 0, SC_SCOPE_MODULE);
    for (uint32_t node = 0; node < reading->tree.n; node++)
        place(reading, node);
    for (uint32_t node = 0; node < reading->tree.n; node++)
        declare(reading, node);
    for (uint32_t node = 0; node < reading->tree.n; node++)
        if (sc_reading_kind(reading, node) == SC_KIND_ASSIGNMENT_EXPRESSION)
            assign(reading, node);
}

const struct sc_reader SC_READER_NODE = {bind_all, sc_javascript_value, sc_javascript_walk,
                                         sc_javascript_canonical};
