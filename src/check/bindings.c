#include "check/bindings.h"

#include <stdlib.h>
#include <string.h>

uint32_t sc_scope_add(struct sc_reading *reading, uint32_t parent, uint32_t node, enum sc_scope_kind kind)
{
    if (reading->n_scopes == reading->scopes_room) {
        reading->scopes_room = reading->scopes_room ? reading->scopes_room * 2 : 64;
        reading->scopes = sc_check_realloc(reading->scopes, reading->scopes_room, sizeof *reading->scopes);
    }
    reading->scopes[reading->n_scopes] = (struct sc_scope){.parent = parent, .node = node, .kind = kind};
    return reading->n_scopes++;
}

static uint32_t *slot(const struct sc_reading *reading, uint32_t scope, const char *what)
{
    uintptr_t key[2] = {(uintptr_t)what, scope};
    return &reading->binding_slots[sc_check_hash(key, sizeof key) & (reading->n_binding_slots - 1)];
}

static void grow(struct sc_reading *reading)
{
    reading->bindings_room = reading->bindings_room ? reading->bindings_room * 2 : 256;
    reading->bindings =
        sc_check_realloc(reading->bindings, reading->bindings_room, sizeof *reading->bindings);
    reading->n_binding_slots = reading->bindings_room * 2;
    reading->binding_slots =
        sc_check_realloc(reading->binding_slots, reading->n_binding_slots, sizeof *reading->binding_slots);
    memset(reading->binding_slots, 0xff, reading->n_binding_slots * sizeof *reading->binding_slots);
    for (uint32_t i = 0; i < reading->n_bindings; i++) {
        uint32_t *first = slot(reading, reading->bindings[i].scope, reading->bindings[i].what);
        reading->bindings[i].next = *first;
        *first = i;
    }
}

void sc_binding_add(struct sc_reading *reading, const struct sc_binding *binding)
{
    if (reading->n_bindings == reading->bindings_room)
        grow(reading);
    uint32_t *first = slot(reading, binding->scope, binding->what);
    reading->bindings[reading->n_bindings] = *binding;
    reading->bindings[reading->n_bindings].next = *first;
    *first = reading->n_bindings++;
}

static uint32_t matching(const struct sc_reading *reading, uint32_t i, uint32_t scope, const char *what)
{
    while (i != SC_NO_NODE && (reading->bindings[i].scope != scope || reading->bindings[i].what != what))
        i = reading->bindings[i].next;
    return i;
}

static uint32_t first(const struct sc_reading *reading, uint32_t scope, const char *what)
{
    return reading->n_bindings ? matching(reading, *slot(reading, scope, what), scope, what) : SC_NO_NODE;
}

static uint32_t next(const struct sc_reading *reading, uint32_t binding)
{
    const struct sc_binding *one = &reading->bindings[binding];
    return matching(reading, one->next, one->scope, one->what);
}

bool sc_binding_is(const struct sc_reading *reading, uint32_t scope, const char *what,
                   enum sc_binding_how how)
{
    for (uint32_t i = first(reading, scope, what); i != SC_NO_NODE; i = next(reading, i))
        if (reading->bindings[i].how == how)
            return true;
    return false;
}

bool sc_binding_has(const struct sc_reading *reading, uint32_t scope, const char *what)
{
    return first(reading, scope, what) != SC_NO_NODE;
}

static bool is_display(enum sc_kind kind)
{
    return kind == SC_KIND_TUPLE || kind == SC_KIND_LIST || kind == SC_KIND_SET ||
           kind == SC_KIND_EXPRESSION_LIST || kind == SC_KIND_ARRAY;
}

/* Element `part` of a display, or any of them; of anything else, nothing is known. */
static void part_value(struct sc_reading *reading, const struct sc_binding *binding, struct sc_values *values)
{
    const struct sc_tree *tree = &reading->tree;
    uint32_t child =
        is_display(sc_tree_kind(tree, binding->node)) ? sc_tree_first(tree, binding->node) : SC_NO_NODE;
    values->other |= child == SC_NO_NODE;
    for (uint32_t i = 0; child != SC_NO_NODE; i++, child = sc_tree_next(tree, child))
        if (binding->part == SC_PART_ANY || i == binding->part)
            sc_values_join(values, sc_reading_value(reading, child));
}

static void member_value(struct sc_reading *reading, const struct sc_binding *binding,
                         struct sc_values *values)
{
    const struct sc_values *object = sc_reading_value(reading, binding->node);
    values->other |= object->n == 0 || object->other;
    for (uint8_t i = 0; i < object->n; i++)
        if (object->v[i].kind == SC_VALUE_NAME)
            sc_values_add(values, SC_VALUE_NAME,
                          sc_reader_of(reading->grammar)
                              ->canonical(reading, sc_pool_printf(&reading->pool, "%s.%s", object->v[i].text,
                                                                  binding->name)));
}

static void add_to(struct sc_reading *reading, const struct sc_binding *binding, struct sc_meaning *meaning)
{
    switch (binding->how) {
    case SC_BIND_VALUE:
        sc_values_join(&meaning->values, sc_reading_value(reading, binding->node));
        break;
    case SC_BIND_PART:
        part_value(reading, binding, &meaning->values);
        break;
    case SC_BIND_MEMBER:
        member_value(reading, binding, &meaning->values);
        break;
    case SC_BIND_NAME:
        sc_values_add(&meaning->values, SC_VALUE_NAME, binding->name);
        break;
    case SC_BIND_OWN:
        meaning->values.other = true;
        break;
    case SC_BIND_GLOBAL:
        meaning->is_global = true;
        return;
    case SC_BIND_OUTER:
        meaning->is_outer = true;
        return;
    case SC_BIND_UNDONE:
    case SC_BIND_SUM:
        return;
    }
    meaning->is_bound = true;
    if (binding->firm && binding->at < meaning->firm_at)
        meaning->firm_at = binding->at;
}

const struct sc_meaning *sc_binding_meaning(struct sc_reading *reading, uint32_t scope, const char *what)
{
    uint32_t i = first(reading, scope, what);
    if (i == SC_NO_NODE)
        return NULL;
    if (reading->bindings[i].how == SC_BIND_SUM)
        return reading->bindings[i].meaning;
    /* Entered before it is known, so that a name that leads to itself ends: "x = x.y" knows nothing of the x
     * in it. It stands first in its slot, and is found at once from now on. */
    struct sc_meaning *meaning = sc_pool_alloc(&reading->pool, sizeof *meaning);
    meaning->firm_at = SC_NO_NODE;
    meaning->is_bound = meaning->values.other = true;
    sc_binding_add(
        reading, &(struct sc_binding){.what = what, .scope = scope, .how = SC_BIND_SUM, .meaning = meaning});
    struct sc_meaning sum = {.firm_at = SC_NO_NODE};
    bool undone = false;
    for (uint32_t j = first(reading, scope, what); j != SC_NO_NODE; j = next(reading, j)) {
        struct sc_binding binding = reading->bindings[j]; /* a copy: values below may add to the table */
        undone |= binding.how == SC_BIND_UNDONE;
        add_to(reading, &binding, &sum);
    }
    if (undone)
        sum.firm_at = SC_NO_NODE;
    *meaning = sum;
    return meaning;
}
