/* Scopes and bindings of Python source. */
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "check/python.h"

const char *sc_python_identifier(struct sc_reading *reading, uint32_t node)
{
    size_t len;
    const char *text = sc_reading_text(reading, node, &len);
    bool ascii = true;
    for (size_t i = 0; i < len && ascii; i++)
        ascii = (unsigned char)text[i] < 0x80;
    if (ascii)
        return sc_pool_text(&reading->pool, text, len);
    utf8proc_uint8_t *normal = NULL;
    utf8proc_ssize_t n = utf8proc_map((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)len, &normal,
                                      UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT);
    const char *name =
        sc_pool_text(&reading->pool, n > 0 ? (const char *)normal : text, n > 0 ? (size_t)n : len);
    free(normal);
    return name;
}

const char *sc_python_dotted(struct sc_reading *reading, uint32_t node)
{
    const char *name = NULL;
    for (uint32_t part = sc_tree_first(&reading->tree, node); part != SC_NO_NODE;
         part = sc_tree_next(&reading->tree, part)) {
        const char *one = sc_python_identifier(reading, part);
        name = name ? sc_pool_printf(&reading->pool, "%s.%s", name, one) : one;
    }
    return name ? name : "";
}

/* ---- scopes ---- */

static bool opens_scope(enum sc_kind kind, enum sc_scope_kind *ret_kind)
{
    switch (kind) {
    case SC_KIND_FUNCTION_DEFINITION:
    case SC_KIND_LAMBDA:
    case SC_KIND_GENERATOR:
    case SC_KIND_LIST_COMPREHENSION:
    case SC_KIND_SET_COMPREHENSION:
    case SC_KIND_DICTIONARY_COMPREHENSION:
        *ret_kind = SC_SCOPE_FUNCTION;
        return true;
    case SC_KIND_CLASS_DEFINITION:
        *ret_kind = SC_SCOPE_CLASS;
        return true;
    default:
        return false;
    }
}

/* Decorators, base classes and defaults belong to the scope around. */
static bool belongs_inside(const struct sc_reading *reading, uint32_t node)
{
    const struct sc_node *one = &reading->tree.nodes[node];
    enum sc_kind parent = sc_reading_kind(reading, one->parent);
    if (parent == SC_KIND_FUNCTION_DEFINITION || parent == SC_KIND_LAMBDA ||
        parent == SC_KIND_CLASS_DEFINITION)
        return one->field == SC_FIELD_BODY || one->field == SC_FIELD_PARAMETERS;
    return true;
}

static void place(struct sc_reading *reading, uint32_t node)
{
    const struct sc_node *one = &reading->tree.nodes[node];
    enum sc_scope_kind kind;
    uint32_t scope = 0;
    if (one->parent != SC_NO_NODE) {
        scope = reading->scope_of[one->parent];
        uint32_t inner = reading->inner_of[one->parent];
        if (inner != SC_NO_NODE && belongs_inside(reading, node))
            scope = inner;
        enum sc_kind parent = sc_reading_kind(reading, one->parent);
        bool is_default = one->field == SC_FIELD_VALUE &&
                          (parent == SC_KIND_DEFAULT_PARAMETER || parent == SC_KIND_TYPED_DEFAULT_PARAMETER);
        if (is_default && reading->scopes[scope].parent != SC_NO_NODE)
            scope = reading->scopes[scope].parent;
    }
    reading->scope_of[node] = scope;
    reading->inner_of[node] =
        opens_scope((enum sc_kind)one->kind, &kind) ? sc_scope_add(reading, scope, node, kind) : SC_NO_NODE;
}

/* ---- bindings ---- */

/* Does the statement that `node` belongs to stand directly in its scope, so that it is carried out whatever
 * happens? */
static bool is_firm(const struct sc_reading *reading, uint32_t node)
{
    uint32_t at = node;
    for (;;) {
        uint32_t parent = reading->tree.nodes[at].parent;
        switch (sc_reading_kind(reading, parent)) {
        case SC_KIND_MODULE:
            return true;
        case SC_KIND_BLOCK:
            return sc_reading_kind(reading, reading->tree.nodes[parent].parent) == SC_KIND_CLASS_DEFINITION;
        case SC_KIND_EXPRESSION_STATEMENT:
        case SC_KIND_ASSIGNMENT:
        case SC_KIND_DECORATED_DEFINITION:
        case SC_KIND_PATTERN_LIST:
        case SC_KIND_TUPLE_PATTERN:
        case SC_KIND_IMPORT_STATEMENT:
        case SC_KIND_IMPORT_FROM_STATEMENT:
        case SC_KIND_ALIASED_IMPORT:
        case SC_KIND_DOTTED_NAME:
        case SC_KIND_FUNCTION_DEFINITION:
        case SC_KIND_CLASS_DEFINITION:
            at = parent;
            break;
        default:
            return false;
        }
    }
}

static uint32_t last_below(const struct sc_tree *tree, uint32_t node)
{
    for (uint32_t at = node; at != SC_NO_NODE; at = tree->nodes[at].parent)
        if (tree->nodes[at].next != SC_NO_NODE)
            return tree->nodes[at].next - 1;
    return tree->n - 1;
}

/* The last node of what is evaluated before the name is bound: in "eval = eval" the second is still the
 * built-in, and so it is in a default of a function of that name. */
static uint32_t bound_from(const struct sc_reading *reading, uint32_t identifier)
{
    const struct sc_tree *tree = &reading->tree;
    for (uint32_t at = tree->nodes[identifier].parent; at != SC_NO_NODE; at = tree->nodes[at].parent) {
        enum sc_kind kind = sc_tree_kind(tree, at);
        if (kind == SC_KIND_FUNCTION_DEFINITION || kind == SC_KIND_CLASS_DEFINITION) {
            uint32_t body = sc_tree_field(tree, at, SC_FIELD_BODY);
            return body == SC_NO_NODE ? identifier : body;
        }
        if (kind == SC_KIND_EXPRESSION_STATEMENT)
            return last_below(tree, at);
        if (kind != SC_KIND_ASSIGNMENT && kind != SC_KIND_PATTERN_LIST && kind != SC_KIND_TUPLE_PATTERN)
            return identifier;
    }
    return identifier;
}

/* `scope` as a place to bind in: declarations may lead elsewhere. */
static void bind_in(struct sc_reading *reading, uint32_t scope, const char *what, struct sc_binding binding)
{
    binding.firm = is_firm(reading, binding.at);
    if (binding.firm)
        binding.at = bound_from(reading, binding.at);
    if (reading->scopes[scope].has_declared && sc_binding_is(reading, scope, what, SC_BIND_GLOBAL)) {
        scope = 0;
        binding.firm = false;
    }
    while (reading->scopes[scope].has_declared && scope != 0 &&
           sc_binding_is(reading, scope, what, SC_BIND_OUTER)) {
        scope = reading->scopes[scope].parent;
        binding.firm = false;
    }
    binding.what = what;
    binding.scope = scope;
    sc_binding_add(reading, &binding);
}

static void bind(struct sc_reading *reading, uint32_t identifier, struct sc_binding binding)
{
    binding.at = identifier;
    bind_in(reading, reading->scope_of[identifier], sc_python_identifier(reading, identifier), binding);
}

/* All names in a target, each with nothing known of it. */
static void bind_own(struct sc_reading *reading, uint32_t target)
{
    switch (sc_reading_kind(reading, target)) {
    case SC_KIND_IDENTIFIER:
        bind(reading, target, (struct sc_binding){.how = SC_BIND_OWN});
        break;
    case SC_KIND_PATTERN_LIST:
    case SC_KIND_TUPLE_PATTERN:
    case SC_KIND_LIST_PATTERN:
    case SC_KIND_LIST_SPLAT_PATTERN:
    case SC_KIND_DICTIONARY_SPLAT_PATTERN:
    case SC_KIND_AS_PATTERN_TARGET:
    case SC_KIND_TUPLE:
    case SC_KIND_LIST:
    case SC_KIND_PARENTHESIZED:
        /* As deep as the tree, which is bounded. */
        for (uint32_t child = sc_tree_first(&reading->tree, target); child != SC_NO_NODE;
             child = sc_tree_next(&reading->tree, child))
            bind_own(reading, child);
        break;
    default:
        break; /* a.b and a[b] bind no name */
    }
}

static void bind_target(struct sc_reading *reading, uint32_t target, uint32_t value)
{
    switch (sc_reading_kind(reading, target)) {
    case SC_KIND_IDENTIFIER:
        bind(reading, target, (struct sc_binding){.how = SC_BIND_VALUE, .node = value});
        break;
    case SC_KIND_PATTERN_LIST:
    case SC_KIND_TUPLE_PATTERN:
    case SC_KIND_LIST_PATTERN: {
        uint32_t part = 0;
        for (uint32_t child = sc_tree_first(&reading->tree, target); child != SC_NO_NODE;
             child = sc_tree_next(&reading->tree, child), part++)
            if (sc_reading_kind(reading, child) == SC_KIND_IDENTIFIER)
                bind(reading, child, (struct sc_binding){.how = SC_BIND_PART, .node = value, .part = part});
            else
                bind_own(reading, child);
        break;
    }
    default:
        bind_own(reading, target);
    }
}

/* A loop's name may be any element of what is looped over. */
static void bind_element(struct sc_reading *reading, uint32_t target, uint32_t value)
{
    if (sc_reading_kind(reading, target) == SC_KIND_IDENTIFIER && value != SC_NO_NODE)
        bind(reading, target, (struct sc_binding){.how = SC_BIND_PART, .node = value, .part = SC_PART_ANY});
    else
        bind_own(reading, target);
}

static void bind_import(struct sc_reading *reading, uint32_t name)
{
    if (sc_reading_kind(reading, name) == SC_KIND_ALIASED_IMPORT) {
        uint32_t alias = sc_tree_field(&reading->tree, name, SC_FIELD_ALIAS);
        const char *module = sc_python_dotted(reading, sc_tree_field(&reading->tree, name, SC_FIELD_NAME));
        if (alias != SC_NO_NODE)
            bind(reading, alias,
                 (struct sc_binding){.how = SC_BIND_NAME, .name = sc_python_canonical(reading, module)});
        return;
    }
    uint32_t first = sc_tree_first(&reading->tree, name);
    if (first != SC_NO_NODE)
        bind(reading, first,
             (struct sc_binding){.how = SC_BIND_NAME,
                                 .name = sc_python_canonical(reading, sc_python_identifier(reading, first))});
}

static void bind_from(struct sc_reading *reading, uint32_t statement)
{
    const struct sc_tree *tree = &reading->tree;
    uint32_t from = sc_tree_field(tree, statement, SC_FIELD_MODULE_NAME);
    bool is_known = sc_reading_kind(reading, from) == SC_KIND_DOTTED_NAME;
    const char *module = is_known ? sc_python_dotted(reading, from) : "";
    for (uint32_t child = sc_tree_first(tree, statement); child != SC_NO_NODE;
         child = sc_tree_next(tree, child)) {
        if (sc_reading_kind(reading, child) == SC_KIND_WILDCARD_IMPORT && is_known) {
            uint32_t scope = reading->scope_of[child];
            sc_binding_add(reading, &(struct sc_binding){.what = sc_pool_text(&reading->pool, "*", 1),
                                                         .scope = scope,
                                                         .how = SC_BIND_NAME,
                                                         .at = child,
                                                         .name = module});
            reading->scopes[scope].has_stars = true;
        }
        if (tree->nodes[child].field != SC_FIELD_NAME)
            continue;
        bool aliased = sc_reading_kind(reading, child) == SC_KIND_ALIASED_IMPORT;
        uint32_t name = aliased ? sc_tree_field(tree, child, SC_FIELD_NAME) : child;
        uint32_t bound = aliased ? sc_tree_field(tree, child, SC_FIELD_ALIAS) : sc_tree_first(tree, child);
        if (bound == SC_NO_NODE || sc_reading_kind(reading, bound) != SC_KIND_IDENTIFIER)
            continue;
        struct sc_binding binding = {.how = SC_BIND_OWN};
        if (is_known) {
            binding.how = SC_BIND_NAME;
            binding.name = sc_python_canonical(
                reading, sc_pool_printf(&reading->pool, "%s.%s", module, sc_python_dotted(reading, name)));
        }
        bind(reading, bound, binding);
    }
}

static void bind_parameter(struct sc_reading *reading, uint32_t node)
{
    uint32_t name = sc_tree_field(&reading->tree, node, SC_FIELD_NAME);
    uint32_t value = sc_tree_field(&reading->tree, node, SC_FIELD_VALUE);
    if (sc_reading_kind(reading, name) != SC_KIND_IDENTIFIER) {
        bind_own(reading, sc_tree_first(&reading->tree, node));
        return;
    }
    bind_own(reading, name);
    if (value != SC_NO_NODE)
        bind_target(reading, name, value);
}

static void bind_children(struct sc_reading *reading, uint32_t node, enum sc_binding_how how)
{
    if (how == SC_BIND_GLOBAL || how == SC_BIND_OUTER)
        reading->scopes[reading->scope_of[node]].has_declared = true;
    for (uint32_t child = sc_tree_first(&reading->tree, node); child != SC_NO_NODE;
         child = sc_tree_next(&reading->tree, child)) {
        if (sc_reading_kind(reading, child) == SC_KIND_IDENTIFIER && how == SC_BIND_UNDONE)
            bind(reading, child, (struct sc_binding){.how = how});
        else if (sc_reading_kind(reading, child) == SC_KIND_IDENTIFIER)
            sc_binding_add(reading, &(struct sc_binding){.what = sc_python_identifier(reading, child),
                                                         .scope = reading->scope_of[child],
                                                         .how = how,
                                                         .at = child});
        else if (sc_reading_kind(reading, child) == SC_KIND_EXPRESSION_LIST ||
                 sc_reading_kind(reading, child) == SC_KIND_TUPLE ||
                 sc_reading_kind(reading, child) == SC_KIND_PARENTHESIZED)
            bind_children(reading, child, how);
    }
}

/* A walrus in a comprehension binds around it. */
static void bind_walrus(struct sc_reading *reading, uint32_t node)
{
    uint32_t name = sc_tree_field(&reading->tree, node, SC_FIELD_NAME);
    uint32_t value = sc_tree_field(&reading->tree, node, SC_FIELD_VALUE);
    if (name == SC_NO_NODE || value == SC_NO_NODE)
        return;
    uint32_t scope = reading->scope_of[name];
    for (;;) {
        enum sc_kind opener = sc_reading_kind(reading, reading->scopes[scope].node);
        bool is_comprehension = scope != 0 && opener != SC_KIND_FUNCTION_DEFINITION &&
                                opener != SC_KIND_LAMBDA && opener != SC_KIND_CLASS_DEFINITION;
        if (!is_comprehension)
            break;
        scope = reading->scopes[scope].parent;
    }
    struct sc_binding binding = {.how = SC_BIND_VALUE, .node = value, .at = name};
    bind_in(reading, scope, sc_python_identifier(reading, name), binding);
}

/* A name alone in a pattern of match takes what is there. */
static void bind_capture(struct sc_reading *reading, uint32_t pattern)
{
    uint32_t inner = sc_tree_first(&reading->tree, pattern);
    uint32_t name = sc_reading_kind(reading, inner) == SC_KIND_DOTTED_NAME
                        ? sc_tree_first(&reading->tree, inner)
                        : SC_NO_NODE;
    if (name != SC_NO_NODE && sc_tree_next(&reading->tree, name) == SC_NO_NODE)
        bind_own(reading, name);
}

/* What a function's head names. */
static void bind_head(struct sc_reading *reading, uint32_t node)
{
    switch (sc_reading_kind(reading, node)) {
    case SC_KIND_PARAMETERS:
    case SC_KIND_LAMBDA_PARAMETERS:
        bind_children(reading, node, SC_BIND_OWN);
        break;
    case SC_KIND_DEFAULT_PARAMETER:
    case SC_KIND_TYPED_PARAMETER:
    case SC_KIND_TYPED_DEFAULT_PARAMETER:
        bind_parameter(reading, node);
        break;
    case SC_KIND_LIST_SPLAT_PATTERN:
    case SC_KIND_DICTIONARY_SPLAT_PATTERN:
        bind_own(reading, node);
        break;
    default:
        break;
    }
}

static void bind_node(struct sc_reading *reading, uint32_t node)
{
    const struct sc_tree *tree = &reading->tree;
    uint32_t left = SC_NO_NODE, right = SC_NO_NODE;
    switch (sc_reading_kind(reading, node)) {
    case SC_KIND_IMPORT_STATEMENT:
        for (uint32_t child = sc_tree_first(tree, node); child != SC_NO_NODE;
             child = sc_tree_next(tree, child))
            bind_import(reading, child);
        break;
    case SC_KIND_IMPORT_FROM_STATEMENT:
        bind_from(reading, node);
        break;
    case SC_KIND_ASSIGNMENT:
        left = sc_tree_field(tree, node, SC_FIELD_LEFT);
        right = sc_tree_field(tree, node, SC_FIELD_RIGHT);
        if (right != SC_NO_NODE)
            bind_target(reading, left, right);
        break;
    case SC_KIND_AUGMENTED_ASSIGNMENT:
        bind_own(reading, sc_tree_field(tree, node, SC_FIELD_LEFT));
        break;
    case SC_KIND_NAMED_EXPRESSION:
        bind_walrus(reading, node);
        break;
    case SC_KIND_FOR_STATEMENT:
    case SC_KIND_FOR_IN_CLAUSE:
        bind_element(reading, sc_tree_field(tree, node, SC_FIELD_LEFT),
                     sc_tree_field(tree, node, SC_FIELD_RIGHT));
        break;
    case SC_KIND_AS_PATTERN_TARGET:
        bind_own(reading, node);
        break;
    case SC_KIND_CASE_PATTERN:
        bind_capture(reading, node);
        break;
    case SC_KIND_FUNCTION_DEFINITION:
    case SC_KIND_CLASS_DEFINITION:
        bind_own(reading, sc_tree_field(tree, node, SC_FIELD_NAME));
        break;
    case SC_KIND_GLOBAL_STATEMENT:
        bind_children(reading, node, SC_BIND_GLOBAL);
        break;
    case SC_KIND_NONLOCAL_STATEMENT:
        bind_children(reading, node, SC_BIND_OUTER);
        break;
    case SC_KIND_DELETE_STATEMENT:
        bind_children(reading, node, SC_BIND_UNDONE);
        break;
    default:
        bind_head(reading, node);
    }
}

static void bind_all(struct sc_reading *reading)
{
    sc_scope_add(reading, SC_NO_NODE, 0, SC_SCOPE_MODULE);
    for (uint32_t node = 0; node < reading->tree.n; node++)
        place(reading, node);
    for (uint32_t node = 0; node < reading->tree.n; node++)
        bind_node(reading, node);
}

const struct sc_reader SC_READER_PYTHON = {bind_all, sc_python_value, sc_python_walk, sc_python_canonical};
