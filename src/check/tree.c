#include "check/tree.h"

#include <stdlib.h>
#include <string.h>

#include "check/pool.h"

const TSLanguage *tree_sitter_python(void);
const TSLanguage *tree_sitter_javascript(void);
const TSLanguage *tree_sitter_typescript(void);
const TSLanguage *tree_sitter_tsx(void);
const TSLanguage *tree_sitter_bash(void);

static const char *const KIND_NAMES[SC_KIND_COUNT] = {
    "",
#define KIND(name, text) text,
#include "check/kinds.def"
#undef KIND
};

static const char *const FIELD_NAMES[SC_FIELD_COUNT] = {
    "",
#define FIELD(name, text) text,
#include "check/fields.def"
#undef FIELD
};

_Static_assert(SC_KIND_COUNT <= 256 && SC_FIELD_COUNT <= 256, "a node keeps them in a byte each");

static uint8_t number_of(const char *name, const char *const *names, unsigned count)
{
    for (unsigned i = 1; i < count; i++)
        if (!strcmp(names[i], name))
            return (uint8_t)i;
    return 0;
}

static void number_all(struct sc_language *language)
{
    uint32_t n = ts_language_symbol_count(language->grammar);
    language->kinds = sc_check_realloc(NULL, n, 1);
    for (uint32_t i = 0; i < n; i++) {
        /* An unnamed symbol may be spelt as a type is: "lambda" the keyword, "lambda" the expression. */
        bool named = ts_language_symbol_type(language->grammar, (TSSymbol)i) == TSSymbolTypeRegular;
        const char *name = ts_language_symbol_name(language->grammar, (TSSymbol)i);
        language->kinds[i] = named ? number_of(name, KIND_NAMES, SC_KIND_COUNT) : 0;
    }
    n = ts_language_field_count(language->grammar);
    language->fields = sc_check_realloc(NULL, n + 1, 1);
    language->fields[0] = SC_FIELD_NONE;
    for (uint32_t i = 1; i <= n; i++)
        language->fields[i] = number_of(ts_language_field_name_for_id(language->grammar, (TSFieldId)i),
                                        FIELD_NAMES, SC_FIELD_COUNT);
}

const struct sc_language *sc_language_get(enum sc_grammar grammar)
{
    static const TSLanguage *(*const makers[SC_GRAMMAR_COUNT])(void) = {
        tree_sitter_python, tree_sitter_javascript, tree_sitter_typescript, tree_sitter_tsx,
        tree_sitter_bash};
    static struct sc_language languages[SC_GRAMMAR_COUNT];
    struct sc_language *language = &languages[grammar];
    if (!language->grammar) {
        language->grammar = makers[grammar]();
        number_all(language);
    }
    return language;
}

/* Takes the cursor's node in as a child of `parent` behind `before`. Its index, or SC_NO_NODE when the node
 * is nothing to keep. */
static uint32_t take(struct sc_tree *tree, const TSTreeCursor *cursor, uint32_t parent, uint32_t before)
{
    TSNode node = ts_tree_cursor_current_node(cursor);
    TSFieldId field_id = ts_tree_cursor_current_field_id(cursor);
    uint8_t field = tree->language->fields[field_id];
    if (!ts_node_is_named(node) && field == SC_FIELD_NONE)
        return SC_NO_NODE;
    if (tree->n == tree->room) {
        tree->room = tree->room ? tree->room * 2 : 4096;
        tree->nodes = sc_check_realloc(tree->nodes, tree->room, sizeof *tree->nodes);
    }
    TSSymbol symbol = ts_node_symbol(node);
    uint32_t at = tree->n++;
    tree->nodes[at] = (struct sc_node){
        .parent = parent,
        .next = SC_NO_NODE,
        .child = SC_NO_NODE,
        .start = ts_node_start_byte(node),
        .end = ts_node_end_byte(node),
        .symbol = symbol,
        /* The symbol of an ERROR lies outside the grammar's table. */
        .kind = symbol == (TSSymbol)-1 ? SC_KIND_ERROR : tree->language->kinds[symbol],
        .field = field,
    };
    if (tree->nodes[at].kind == SC_KIND_ERROR && tree->first_error == SC_NO_NODE)
        tree->first_error = tree->nodes[at].start;
    if (before != SC_NO_NODE)
        tree->nodes[before].next = at;
    else if (parent != SC_NO_NODE)
        tree->nodes[parent].child = at;
    return at;
}

struct level {
    uint32_t parent, last; /* of the nodes on this level */
};

/* Unnamed nodes without a field have no children that matter: a grammar's punctuation. */
static enum sc_tree_state flatten(struct sc_tree *tree, TSNode root)
{
    struct level levels[SC_TREE_DEPTH_MAX + 1];
    unsigned depth = 0;
    enum sc_tree_state state = SC_TREE_WHOLE;
    TSTreeCursor cursor = ts_tree_cursor_new(root);
    levels[0] = (struct level){SC_NO_NODE, SC_NO_NODE};
    for (;;) {
        uint32_t at = take(tree, &cursor, levels[depth].parent, levels[depth].last);
        if (tree->n > SC_TREE_NODES_MAX) {
            state = SC_TREE_TOO_LARGE;
            break;
        }
        if (at != SC_NO_NODE) {
            levels[depth].last = at;
            if (ts_tree_cursor_goto_first_child(&cursor)) {
                if (depth == SC_TREE_DEPTH_MAX) {
                    state = SC_TREE_TOO_DEEP;
                    break;
                }
                levels[++depth] = (struct level){at, SC_NO_NODE};
                continue;
            }
        }
        while (!ts_tree_cursor_goto_next_sibling(&cursor) && depth > 0) {
            ts_tree_cursor_goto_parent(&cursor);
            depth--;
        }
        if (depth == 0)
            break;
    }
    ts_tree_cursor_delete(&cursor);
    return state;
}

enum sc_tree_state sc_tree_read(struct sc_tree *tree, const struct sc_language *language, const char *text,
                                size_t len, uint64_t time_us)
{
    *tree = (struct sc_tree){.language = language, .first_error = SC_NO_NODE};
    TSParser *parser = ts_parser_new();
    ts_parser_set_language(parser, language->grammar);
    ts_parser_set_timeout_micros(parser, time_us);
    tree->parsed = ts_parser_parse_string(parser, NULL, text, (uint32_t)len);
    ts_parser_delete(parser);
    if (!tree->parsed)
        return SC_TREE_TOO_SLOW;
    enum sc_tree_state state = flatten(tree, ts_tree_root_node(tree->parsed));
    if (state != SC_TREE_WHOLE) {
        tree->n = 0;
        return state;
    }
    return ts_node_has_error(ts_tree_root_node(tree->parsed)) ? SC_TREE_PARTLY : SC_TREE_WHOLE;
}

void sc_tree_fini(struct sc_tree *tree)
{
    if (tree->parsed)
        ts_tree_delete(tree->parsed);
    free(tree->nodes);
    *tree = (struct sc_tree){0};
}

uint32_t sc_tree_field(const struct sc_tree *tree, uint32_t node, enum sc_field field)
{
    if (node == SC_NO_NODE)
        return SC_NO_NODE;
    for (uint32_t child = tree->nodes[node].child; child != SC_NO_NODE; child = tree->nodes[child].next)
        if (tree->nodes[child].field == field && tree->nodes[child].kind != SC_KIND_COMMENT)
            return child;
    return SC_NO_NODE;
}

uint32_t sc_tree_find(const struct sc_tree *tree, TSNode node)
{
    uint32_t start = ts_node_start_byte(node), end = ts_node_end_byte(node);
    TSSymbol symbol = ts_node_symbol(node);
    uint32_t low = 0, high = tree->n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (tree->nodes[middle].start < start)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < tree->n && tree->nodes[low].start == start; low++)
        if (tree->nodes[low].end == end && tree->nodes[low].symbol == symbol)
            return low;
    return SC_NO_NODE;
}

static uint32_t past_comments(const struct sc_tree *tree, uint32_t node)
{
    while (node != SC_NO_NODE && tree->nodes[node].kind == SC_KIND_COMMENT)
        node = tree->nodes[node].next;
    return node;
}

uint32_t sc_tree_first(const struct sc_tree *tree, uint32_t node)
{
    return node == SC_NO_NODE ? SC_NO_NODE : past_comments(tree, tree->nodes[node].child);
}

uint32_t sc_tree_next(const struct sc_tree *tree, uint32_t node)
{
    return past_comments(tree, tree->nodes[node].next);
}
