/* A syntax tree laid flat: the nodes of a parse in the order of the text, with parents and siblings at hand.
 * The readers walk this array; nothing of theirs recurses with the depth of the source.
 */
#ifndef SC_CHECK_TREE_H
#define SC_CHECK_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tree_sitter/api.h>

enum sc_kind {
    SC_KIND_OTHER = 0,
#define KIND(name, text) SC_KIND_##name,
#include "check/kinds.def"
#undef KIND
    SC_KIND_COUNT
};

enum sc_field {
    SC_FIELD_NONE = 0,
#define FIELD(name, text) SC_FIELD_##name,
#include "check/fields.def"
#undef FIELD
    SC_FIELD_COUNT
};

enum sc_grammar {
    SC_GRAMMAR_PYTHON,
    SC_GRAMMAR_JAVASCRIPT,
    SC_GRAMMAR_TYPESCRIPT,
    SC_GRAMMAR_TSX,
    SC_GRAMMAR_BASH,
    SC_GRAMMAR_COUNT
};

/* One grammar, with its numbers for types and fields turned into ours. Made once a process. */
struct sc_language {
    const TSLanguage *grammar;
    uint8_t *kinds;  /* by symbol */
    uint8_t *fields; /* by field id */
};
const struct sc_language *sc_language_get(enum sc_grammar grammar);

#define SC_NO_NODE UINT32_MAX
/* Deeper than any program that a person or an interpreter would take (CPython: 200 brackets). */
#define SC_TREE_DEPTH_MAX 1000
#define SC_TREE_NODES_MAX (4u * 1000 * 1000)

struct sc_node {
    uint32_t parent, next, child; /* next sibling, first child; SC_NO_NODE */
    uint32_t start, end;          /* bytes */
    uint16_t symbol;              /* the grammar's */
    uint8_t kind, field;          /* enum sc_kind, enum sc_field */
};

enum sc_tree_state { SC_TREE_WHOLE, SC_TREE_PARTLY, SC_TREE_TOO_DEEP, SC_TREE_TOO_LARGE, SC_TREE_TOO_SLOW };

struct sc_tree {
    TSTree *parsed;
    const struct sc_language *language;
    struct sc_node *nodes; /* [0] is the root */
    uint32_t n, room;
    uint32_t first_error; /* where the grammar was first at a loss; SC_NO_NODE: nowhere */
};

/* Parses and lays flat: named nodes, and unnamed ones that are a field. PARTLY: some of the text is not
 * understood. On the other three there are no nodes. */
enum sc_tree_state sc_tree_read(struct sc_tree *tree, const struct sc_language *language, const char *text,
                                size_t len, uint64_t time_us);
void sc_tree_fini(struct sc_tree *tree);

/* First child with this field, or SC_NO_NODE. */
uint32_t sc_tree_field(const struct sc_tree *tree, uint32_t node, enum sc_field field);
/* The flat node of a parsed one, or SC_NO_NODE. */
uint32_t sc_tree_find(const struct sc_tree *tree, TSNode node);

static inline enum sc_kind sc_tree_kind(const struct sc_tree *tree, uint32_t node)
{
    return node == SC_NO_NODE ? SC_KIND_OTHER : (enum sc_kind)tree->nodes[node].kind;
}

/* For (uint32_t child = first; child != SC_NO_NODE; child = next) without comments. */
uint32_t sc_tree_first(const struct sc_tree *tree, uint32_t node);
uint32_t sc_tree_next(const struct sc_tree *tree, uint32_t node);

#endif
