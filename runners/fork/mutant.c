/* Test builds only. The list of an order is "filter,root": stages that are left out, or "!filter": one that
 * fails. A test must notice each. */
#include <errno.h>
#include <string.h>

#include "parts.h"

#ifdef SC_MUTANTS
static int is_named(const char *list, char before, const char *name)
{
    size_t len = strlen(name);
    for (; *list; list += strcspn(list, ","), list += *list == ',') {
        const char *at = list;
        if (before && *at++ != before)
            continue;
        if (!strncmp(at, name, len) && (at[len] == ',' || at[len] == '\0'))
            return 1;
    }
    return 0;
}

int sc_fork_mutant(const struct sc_fork_order *order, const char *stage)
{
    if (is_named(order->mutant, '!', stage))
        return -EIO;
    return is_named(order->mutant, '\0', stage);
}
#endif
