#include "snap/prelude.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "snap/recipe.h"

void sc_prelude_fini(struct sc_prelude *prelude)
{
    sc_strv_fini(&prelude->imports);
    free(prelude->code);
    *prelude = (struct sc_prelude){0};
}

bool sc_prelude_is_empty(const struct sc_prelude *prelude)
{
    return prelude->imports.n == 0 && !prelude->code;
}

static bool has(const struct sc_strv *imports, const char *name)
{
    for (size_t i = 0; i < imports->n; i++)
        if (!strcmp(imports->v[i], name))
            return true;
    return false;
}

bool sc_prelude_has(const struct sc_prelude *prelude, const struct sc_strv *imports)
{
    for (size_t i = 0; i < imports->n; i++)
        if (!has(&prelude->imports, imports->v[i]))
            return false;
    return true;
}

static int add(struct sc_strv *to, const struct sc_strv *imports)
{
    int r = 0;
    for (size_t i = 0; i < imports->n && r == 0; i++)
        if (!has(to, imports->v[i]))
            r = sc_strv_add(to, imports->v[i]);
    return r;
}

/* The runners that take one: docs/runner-protocol.md. */
static bool is_loaded_by(enum sc_lang lang)
{
    return lang == SC_LANG_PYTHON || lang == SC_LANG_NODE || lang == SC_LANG_BASH;
}

int sc_prelude_of(const struct sc_recipe *recipe, const struct sc_strv *imports, enum sc_lang lang,
                  struct sc_prelude *ret_prelude)
{
    *ret_prelude = (struct sc_prelude){0};
    if (!is_loaded_by(lang))
        return 0;
    int r = add(&ret_prelude->imports, &recipe->imports);
    if (r == 0)
        r = add(&ret_prelude->imports, imports);
    if (r == 0 && recipe->code && !(ret_prelude->code = strdup(recipe->code)))
        r = -ENOMEM;
    if (r < 0)
        sc_prelude_fini(ret_prelude);
    return r;
}
