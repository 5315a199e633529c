/* One reading of one source: what its parts share. All of it lives as long as the reading. */
#ifndef SC_CHECK_READING_H
#define SC_CHECK_READING_H

#include "check/findings.h"
#include "check/names.h"
#include "check/pool.h"
#include "check/rules.h"
#include "check/source.h"
#include "check/tree.h"
#include "check/values.h"

#define SC_SETS_MAX 96
#define SC_PATTERN_PLACES_MAX 64

struct sc_binding;

enum sc_scope_kind { SC_SCOPE_MODULE, SC_SCOPE_FUNCTION, SC_SCOPE_CLASS, SC_SCOPE_BLOCK };

struct sc_scope {
    uint32_t parent; /* SC_NO_NODE: none */
    uint32_t node;
    enum sc_scope_kind kind;
    bool has_stars;    /* from M import * stands in it */
    bool has_declared; /* global or nonlocal stands in it */
};

struct sc_reading {
    enum sc_grammar grammar;
    struct sc_source source;
    struct sc_tree tree;
    struct sc_pool pool;
    struct sc_findings findings;

    const struct sc_rule_set *sets[SC_SETS_MAX];
    size_t n_sets;
    /* Nodes where a name is used that patterns of a set hang on. More than fit: the whole tree is looked at.
     */
    uint32_t pattern_places[SC_PATTERN_PLACES_MAX];
    size_t n_pattern_places;
    struct sc_names denied; /* of the request's lists → index into denied_names */
    const char **denied_names;
    size_t n_denied;

    /* bindings.c */
    struct sc_scope *scopes;
    uint32_t n_scopes, scopes_room;
    uint32_t *scope_of; /* by node: the scope it stands in */
    uint32_t *inner_of; /* by node: the scope it opens, or SC_NO_NODE */
    struct sc_binding *bindings;
    uint32_t n_bindings, bindings_room;
    uint32_t *binding_slots;
    uint32_t n_binding_slots;

    const struct sc_values **value_of; /* by node; NULL: not asked for yet */
    unsigned depth;                    /* of the value being computed */
};

/* Text of a node. */
static inline const char *sc_reading_text(const struct sc_reading *reading, uint32_t node, size_t *ret_len)
{
    *ret_len = reading->tree.nodes[node].end - reading->tree.nodes[node].start;
    return reading->source.text + reading->tree.nodes[node].start;
}

static inline enum sc_kind sc_reading_kind(const struct sc_reading *reading, uint32_t node)
{
    return sc_tree_kind(&reading->tree, node);
}

static inline uint32_t sc_reading_parent(const struct sc_reading *reading, uint32_t node)
{
    return reading->tree.nodes[node].parent;
}

/* As what the node stands in its parent. */
static inline enum sc_field sc_reading_field(const struct sc_reading *reading, uint32_t node)
{
    return (enum sc_field)reading->tree.nodes[node].field;
}

/* reading.c */
/* `name` is used at `node`: findings of every rule and list that speak of it. */
void sc_reading_use(struct sc_reading *reading, uint32_t node, const char *name);
/* The same, shown to people under another name. Rules may speak of pseudo names ("?dynamic-import"): what was
 * done, where no name tells. */
void sc_reading_use_as(struct sc_reading *reading, uint32_t node, const char *name, const char *shown);
/* Of the request's lists only. */
void sc_reading_use_denied(struct sc_reading *reading, uint32_t node, const char *name);
/* Does any rule or list speak of something below this name, but not of all of it? */
bool sc_reading_watches_below(const struct sc_reading *reading, const char *name);
/* What the expression at `node` may be; computed by the language's reader, kept. */
const struct sc_values *sc_reading_value(struct sc_reading *reading, uint32_t node);
/* The one constant text that it is, or NULL. */
const char *sc_reading_constant(struct sc_reading *reading, uint32_t node);
/* The attribute `name` of anything is used at `node`. */
void sc_reading_use_attribute(struct sc_reading *reading, uint32_t node, const char *name);
/* A path outside /home/user and /tmp, absolute or by "..". */
bool sc_path_is_outside(const char *path);

/* One file a language. `bind` collects what names stand for, `value` computes one expression, `walk` reports.
 */
struct sc_reader {
    void (*bind)(struct sc_reading *reading);
    void (*value)(struct sc_reading *reading, uint32_t node, struct sc_values *ret_values);
    void (*walk)(struct sc_reading *reading);
    /* The name that detours of the language's own come to; NULL: it has none. */
    const char *(*canonical)(struct sc_reading *reading, const char *name);
};
extern const struct sc_reader SC_READER_PYTHON, SC_READER_NODE, SC_READER_BASH;
const struct sc_reader *sc_reader_of(enum sc_grammar grammar);

#endif
