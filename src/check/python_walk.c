/* What Python source does: every use of a name, import and attribute is told to the rules. */
#include <string.h>

#include "check/python.h"

/* An identifier that names something new, or part of a name, and is no use of what it spells. */
static bool is_no_use(const struct sc_reading *reading, uint32_t node)
{
    enum sc_field field = sc_reading_field(reading, node);
    switch (sc_reading_kind(reading, sc_reading_parent(reading, node))) {
    case SC_KIND_ATTRIBUTE:
        return field == SC_FIELD_ATTRIBUTE;
    case SC_KIND_KEYWORD_ARGUMENT:
    case SC_KIND_FUNCTION_DEFINITION:
    case SC_KIND_CLASS_DEFINITION:
    case SC_KIND_DEFAULT_PARAMETER:
    case SC_KIND_TYPED_DEFAULT_PARAMETER:
    case SC_KIND_NAMED_EXPRESSION:
        return field == SC_FIELD_NAME;
    case SC_KIND_TYPED_PARAMETER:
        return field == SC_FIELD_NONE;
    case SC_KIND_ASSIGNMENT:
    case SC_KIND_FOR_STATEMENT:
    case SC_KIND_FOR_IN_CLAUSE:
        return field == SC_FIELD_LEFT;
    case SC_KIND_PARAMETERS:
    case SC_KIND_LAMBDA_PARAMETERS:
    case SC_KIND_PATTERN_LIST:
    case SC_KIND_TUPLE_PATTERN:
    case SC_KIND_LIST_PATTERN:
    case SC_KIND_LIST_SPLAT_PATTERN:
    case SC_KIND_DICTIONARY_SPLAT_PATTERN:
    case SC_KIND_AS_PATTERN_TARGET:
    case SC_KIND_ALIASED_IMPORT:
    case SC_KIND_DOTTED_NAME:
    case SC_KIND_KEYWORD_PATTERN:
    case SC_KIND_GLOBAL_STATEMENT:
    case SC_KIND_NONLOCAL_STATEMENT:
        return true;
    default:
        return false;
    }
}

/* (x), x if c else y, x or y, (n := x): what x is, they may be. */
static bool passes_on(const struct sc_reading *reading, uint32_t node)
{
    switch (sc_reading_kind(reading, sc_reading_parent(reading, node))) {
    case SC_KIND_PARENTHESIZED:
    case SC_KIND_CONDITIONAL:
    case SC_KIND_BOOLEAN_OPERATOR:
        return true;
    case SC_KIND_NAMED_EXPRESSION:
        return sc_reading_field(reading, node) == SC_FIELD_VALUE;
    default:
        return false;
    }
}

/* x = os: followed by the names. In a class the name becomes an attribute, which is not. */
static bool is_followed_assignment(const struct sc_reading *reading, uint32_t value)
{
    uint32_t assignment = sc_reading_parent(reading, value);
    enum sc_kind left = sc_reading_kind(reading, sc_tree_field(&reading->tree, assignment, SC_FIELD_LEFT));
    if (reading->scopes[reading->scope_of[value]].kind == SC_SCOPE_CLASS)
        return false;
    return left == SC_KIND_IDENTIFIER || left == SC_KIND_PATTERN_LIST || left == SC_KIND_TUPLE_PATTERN;
}

/* getattr(os, …), hasattr(os, …), vars(os): what is done with it is looked at there. */
static bool is_argument_of_lookup(struct sc_reading *reading, uint32_t node)
{
    uint32_t call = sc_reading_parent(reading, sc_reading_parent(reading, node));
    const struct sc_values *functions =
        sc_reading_value(reading, sc_tree_field(&reading->tree, call, SC_FIELD_FUNCTION));
    for (uint8_t i = 0; i < functions->n; i++) {
        const char *name = functions->v[i].text;
        if (!strcmp(name, "builtins.getattr") || !strcmp(name, "builtins.hasattr") ||
            !strcmp(name, "builtins.vars") || !strcmp(name, "builtins.dir") ||
            !strcmp(name, "builtins.print") || strstr(name, ".__getattribute__"))
            return true;
    }
    return false;
}

enum use { USE_FOLLOWED, USE_CALLED, USE_HANDED_ON };

/* Where does a module or a function go from here: somewhere that the reader follows, or out of its sight? */
static enum use use_of(struct sc_reading *reading, uint32_t node)
{
    while (passes_on(reading, node))
        node = sc_reading_parent(reading, node);
    enum sc_field field = sc_reading_field(reading, node);
    uint32_t parent = sc_reading_parent(reading, node);
    switch (sc_reading_kind(reading, parent)) {
    case SC_KIND_ATTRIBUTE:
        return field == SC_FIELD_OBJECT ? USE_FOLLOWED : USE_HANDED_ON;
    case SC_KIND_SUBSCRIPT:
        return field == SC_FIELD_VALUE ? USE_FOLLOWED : USE_HANDED_ON;
    case SC_KIND_CALL:
        return field == SC_FIELD_FUNCTION ? USE_CALLED : USE_HANDED_ON;
    case SC_KIND_ASSIGNMENT:
        return field == SC_FIELD_RIGHT && is_followed_assignment(reading, node) ? USE_FOLLOWED
                                                                                : USE_HANDED_ON;
    case SC_KIND_EXPRESSION_LIST:
    case SC_KIND_TUPLE:
    case SC_KIND_LIST:
        return sc_reading_kind(reading, sc_reading_parent(reading, parent)) == SC_KIND_ASSIGNMENT &&
                       sc_reading_field(reading, parent) == SC_FIELD_RIGHT &&
                       sc_reading_kind(reading,
                                       sc_tree_field(&reading->tree, sc_reading_parent(reading, parent),
                                                     SC_FIELD_LEFT)) == SC_KIND_PATTERN_LIST
                   ? USE_FOLLOWED
                   : USE_HANDED_ON;
    case SC_KIND_ARGUMENT_LIST:
        return is_argument_of_lookup(reading, node) ? USE_FOLLOWED : USE_HANDED_ON;
    case SC_KIND_DEFAULT_PARAMETER:
    case SC_KIND_TYPED_DEFAULT_PARAMETER:
    case SC_KIND_EXPRESSION_STATEMENT:
    case SC_KIND_COMPARISON_OPERATOR:
    case SC_KIND_NOT_OPERATOR:
    case SC_KIND_DELETE_STATEMENT:
        return USE_FOLLOWED;
    default:
        return USE_HANDED_ON;
    }
}

/* A function that leads anywhere, used in a way that is not followed. */
static void use_gate(struct sc_reading *reading, uint32_t node, const char *name)
{
    enum sc_python_gate gate = sc_python_gate_of(name);
    if (gate == SC_GATE_NONE)
        return;
    uint32_t at = node;
    while (passes_on(reading, at))
        at = sc_reading_parent(reading, at);
    bool is_attribute_of = sc_reading_kind(reading, sc_reading_parent(reading, at)) == SC_KIND_ATTRIBUTE;
    if (use_of(reading, node) == USE_HANDED_ON || is_attribute_of)
        sc_reading_use_as(reading, node,
                          gate == SC_GATE_IMPORT ? SC_USE_DYNAMIC_IMPORT : SC_USE_DYNAMIC_ATTRIBUTE, name);
}

/* "statistics.random": modules carry what they import along as attributes, often behind an underscore. */
static void use_carried(struct sc_reading *reading, uint32_t node, const char *name)
{
    /* Functions, classes and texts that are spelt as a module is. */
    static const char *const others[] = {"sys.platform", "os.stat", "os.path", "datetime.time",
                                         "collections.abc"};
    size_t first = strcspn(name, ".");
    if (name[first] != '.' || !strncmp(name, "builtins.", 9) || !sc_python_is_stdlib(name, first))
        return;
    const char *part = name + first + 1;
    while (*part == '_')
        part++;
    size_t len = strcspn(part, ".");
    const char *carried = sc_pool_text(&reading->pool, part, len);
    const char *whole = sc_pool_text(&reading->pool, name, (size_t)(part - name) + len);
    bool is_other = len == first && !memcmp(name, part, len);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        is_other |= !strcmp(whole, others[i]);
    if (len && !is_other)
        sc_reading_use_denied(reading, node, carried);
}

static void use_values(struct sc_reading *reading, uint32_t node)
{
    const struct sc_values *values = sc_reading_value(reading, node);
    for (uint8_t i = 0; i < values->n; i++) {
        const char *name = values->v[i].text;
        /* A call has been told by its function's name. */
        if (values->v[i].kind != SC_VALUE_NAME || sc_name_ends_with(name, "()"))
            continue;
        sc_reading_use(reading, node, name);
        use_carried(reading, node, name);
        bool is_module = !strchr(name, '.') && name[0] != '<';
        if (is_module && sc_reading_watches_below(reading, name) && use_of(reading, node) == USE_HANDED_ON)
            sc_reading_use_as(reading, node, SC_USE_MODULE_VALUE, name);
        use_gate(reading, node, name);
    }
}

/* "{0.__globals__[x]}": attributes and keys in the fields of a format. */
static void use_fields(struct sc_reading *reading, uint32_t node, const char *format)
{
    bool inside = false;
    for (const char *at = format; *at; at++) {
        if (*at == '{' || *at == '}')
            inside = *at == '{';
        if (!inside || (*at != '.' && *at != '['))
            continue;
        size_t len = strcspn(at + 1, ".[]!:}{");
        if (len)
            sc_reading_use_attribute(reading, node, sc_pool_text(&reading->pool, at + 1, len));
    }
}

static void use_template(struct sc_reading *reading, uint32_t node, uint32_t text)
{
    const char *format = text == SC_NO_NODE ? NULL : sc_values_constant(sc_reading_value(reading, text));
    if (format)
        use_fields(reading, node, format);
}

static bool is_template_method(const char *name)
{
    return !strcmp(name, "format") || !strcmp(name, "format_map") || !strcmp(name, "vformat");
}

/* ".__globals__": the attribute of whatever it is. */
static void walk_attribute(struct sc_reading *reading, uint32_t node)
{
    uint32_t attribute = sc_tree_field(&reading->tree, node, SC_FIELD_ATTRIBUTE);
    if (attribute != SC_NO_NODE) {
        const char *name = sc_python_identifier(reading, attribute);
        sc_reading_use_attribute(reading, attribute, name);
        if (is_template_method(name))
            use_template(reading, node, sc_tree_field(&reading->tree, node, SC_FIELD_OBJECT));
    }
    use_values(reading, node);
}

static void walk_getattr(struct sc_reading *reading, uint32_t call, uint32_t name)
{
    const struct sc_values *names = name == SC_NO_NODE ? NULL : sc_reading_value(reading, name);
    for (uint8_t i = 0; names && i < names->n; i++)
        if (names->v[i].kind == SC_VALUE_TEXT)
            sc_reading_use_attribute(reading, name, names->v[i].text);
    if (names && sc_values_are_texts(names))
        return;
    uint32_t object = sc_python_argument(reading, call, 0, NULL);
    const struct sc_values *objects = object == SC_NO_NODE ? NULL : sc_reading_value(reading, object);
    bool of_module = false;
    for (uint8_t i = 0; objects && i < objects->n; i++)
        of_module |= objects->v[i].kind == SC_VALUE_NAME && !strstr(objects->v[i].text, "()") &&
                     strncmp(objects->v[i].text, "builtins.", strlen("builtins.")) != 0;
    sc_reading_use_as(reading, call, of_module ? SC_USE_DYNAMIC_ATTRIBUTE : SC_USE_UNKNOWN_ATTRIBUTE,
                      "getattr");
}

static void walk_lookup(struct sc_reading *reading, uint32_t node, const char *space, uint32_t key)
{
    if (key == SC_NO_NODE || !sc_values_are_texts(sc_reading_value(reading, key)))
        sc_reading_use_as(reading, node, SC_USE_DYNAMIC_ATTRIBUTE, space);
}

static void walk_function(struct sc_reading *reading, uint32_t call, const char *function)
{
    switch (sc_python_gate_of(function)) {
    case SC_GATE_IMPORT: {
        uint32_t name = sc_python_argument(reading, call, 0, "name");
        if (name == SC_NO_NODE || !sc_values_are_texts(sc_reading_value(reading, name)))
            sc_reading_use_as(reading, call, SC_USE_DYNAMIC_IMPORT, function);
        return;
    }
    case SC_GATE_ATTRIBUTE:
        walk_getattr(reading, call, sc_python_argument(reading, call, 1, NULL));
        return;
    case SC_GATE_NONE:
        break;
    }
    if (strstr(function, ".__getattribute__")) {
        uint32_t second = sc_python_argument(reading, call, 1, NULL);
        walk_getattr(reading, call,
                     second == SC_NO_NODE ? sc_python_argument(reading, call, 0, NULL) : second);
    } else if (sc_python_lookup_of(reading, function)) {
        walk_lookup(reading, call, sc_python_lookup_of(reading, function),
                    sc_python_argument(reading, call, 0, NULL));
    }
}

/* str.format("…", …), and format_map. "…".format is found where it stands, called or not. */
static void walk_format(struct sc_reading *reading, uint32_t call, uint32_t function)
{
    uint32_t attribute = sc_tree_field(&reading->tree, function, SC_FIELD_ATTRIBUTE);
    if (sc_reading_kind(reading, function) == SC_KIND_ATTRIBUTE && attribute != SC_NO_NODE &&
        is_template_method(sc_python_identifier(reading, attribute)))
        use_template(reading, call, sc_python_argument(reading, call, 0, NULL));
}

static void walk_call(struct sc_reading *reading, uint32_t node)
{
    uint32_t function = sc_tree_field(&reading->tree, node, SC_FIELD_FUNCTION);
    const struct sc_values *functions = sc_reading_value(reading, function);
    for (uint8_t i = 0; i < functions->n; i++)
        if (functions->v[i].kind == SC_VALUE_NAME)
            walk_function(reading, node, functions->v[i].text);
    /* x.__getattribute__ of an object that nothing is known of */
    if (functions->n == 0 && sc_reading_kind(reading, function) == SC_KIND_ATTRIBUTE) {
        uint32_t attribute = sc_tree_field(&reading->tree, function, SC_FIELD_ATTRIBUTE);
        if (attribute != SC_NO_NODE && !strcmp(sc_python_identifier(reading, attribute), "__getattribute__"))
            walk_getattr(reading, node, sc_python_argument(reading, node, 0, NULL));
    }
    walk_format(reading, node, function);
    use_values(reading, node);
}

static void walk_subscript(struct sc_reading *reading, uint32_t node)
{
    uint32_t object = sc_tree_field(&reading->tree, node, SC_FIELD_VALUE);
    const struct sc_values *spaces = object == SC_NO_NODE ? NULL : sc_reading_value(reading, object);
    for (uint8_t i = 0; spaces && i < spaces->n; i++)
        if (spaces->v[i].kind == SC_VALUE_NAME && sc_python_is_namespace(spaces->v[i].text))
            walk_lookup(reading, node, spaces->v[i].text,
                        sc_tree_field(&reading->tree, node, SC_FIELD_SUBSCRIPT));
    /* The elements of [a, b][0] have been told where they stand. */
    if (spaces && spaces->n)
        use_values(reading, node);
}

/* ---- imports ---- */

static void use_import(struct sc_reading *reading, uint32_t node, const char *module)
{
    /* As it is written, and as what it is another name of. */
    sc_reading_use(reading, node, module);
    const char *same = sc_python_canonical(reading, module);
    if (same != module)
        sc_reading_use(reading, node, same);
    use_carried(reading, node, module);
}

static void walk_import(struct sc_reading *reading, uint32_t node)
{
    const struct sc_tree *tree = &reading->tree;
    for (uint32_t child = sc_tree_first(tree, node); child != SC_NO_NODE; child = sc_tree_next(tree, child)) {
        uint32_t name = sc_reading_kind(reading, child) == SC_KIND_ALIASED_IMPORT
                            ? sc_tree_field(tree, child, SC_FIELD_NAME)
                            : child;
        if (name != SC_NO_NODE)
            use_import(reading, name, sc_python_dotted(reading, name));
    }
}

static void walk_from(struct sc_reading *reading, uint32_t node)
{
    const struct sc_tree *tree = &reading->tree;
    uint32_t from = sc_tree_field(tree, node, SC_FIELD_MODULE_NAME);
    if (sc_reading_kind(reading, from) != SC_KIND_DOTTED_NAME)
        return;
    const char *module = sc_python_dotted(reading, from);
    use_import(reading, from, module);
    for (uint32_t child = sc_tree_first(tree, node); child != SC_NO_NODE; child = sc_tree_next(tree, child)) {
        uint32_t name = sc_reading_kind(reading, child) == SC_KIND_ALIASED_IMPORT
                            ? sc_tree_field(tree, child, SC_FIELD_NAME)
                            : child;
        if (tree->nodes[child].field != SC_FIELD_NAME || name == SC_NO_NODE)
            continue;
        const char *what = sc_python_dotted(reading, name);
        use_import(reading, name, sc_pool_printf(&reading->pool, "%s.%s", module, what));
        sc_reading_use_attribute(reading, name, what);
    }
}

/* ---- text that the grammar does not understand ---- */

/* Nothing is known of its structure: a word there may be a module, a built-in or an attribute. */
static void use_word(struct sc_reading *reading, uint32_t node)
{
    const char *word = sc_python_identifier(reading, node);
    use_import(reading, node, word);
    sc_reading_use(reading, node, sc_pool_printf(&reading->pool, "builtins.%s", word));
    sc_reading_use_attribute(reading, node, word);
}

static void walk_identifier(struct sc_reading *reading, uint32_t node)
{
    if (sc_reading_kind(reading, sc_reading_parent(reading, node)) == SC_KIND_ERROR)
        use_word(reading, node);
    if (!is_no_use(reading, node))
        use_values(reading, node);
}

void sc_python_walk(struct sc_reading *reading)
{
    for (uint32_t node = 0; node < reading->tree.n; node++)
        switch (sc_reading_kind(reading, node)) {
        case SC_KIND_IDENTIFIER:
            walk_identifier(reading, node);
            break;
        case SC_KIND_ATTRIBUTE:
            walk_attribute(reading, node);
            break;
        case SC_KIND_CALL:
            walk_call(reading, node);
            break;
        case SC_KIND_SUBSCRIPT:
            walk_subscript(reading, node);
            break;
        case SC_KIND_IMPORT_STATEMENT:
            walk_import(reading, node);
            break;
        case SC_KIND_IMPORT_FROM_STATEMENT:
            walk_from(reading, node);
            break;
        case SC_KIND_KEYWORD_PATTERN: {
            uint32_t name = sc_tree_first(&reading->tree, node);
            if (sc_reading_kind(reading, name) == SC_KIND_IDENTIFIER)
                sc_reading_use_attribute(reading, name, sc_python_identifier(reading, name));
            break;
        }
        case SC_KIND_EXEC_STATEMENT:
            sc_reading_use(reading, node, sc_pool_text(&reading->pool, "builtins.exec", 13));
            break;
        default:
            break;
        }
}
