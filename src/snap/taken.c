/* Test builds only: what a request brings to a cell that waits, and $SC_TAKEN_MUTANT ("env,wall") names, is
 * left out. tests/faults shows that it is then missed. */
#include "snap/taken.h"

#ifdef SC_MUTANTS
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

bool sc_taken_without(const char *name)
{
    const char *list = getenv("SC_TAKEN_MUTANT");
    size_t len = strlen(name);
    for (; list && *list; list += strcspn(list, ","), list += *list == ',')
        if (!strncmp(list, name, len) && (list[len] == ',' || list[len] == '\0'))
            return true;
    return false;
}

/* Limits as those of a cell that was parked at its ceiling. */
struct sc_session_run sc_taken_run(const struct sc_session_run *run)
{
    struct sc_session_run left = *run;
    if (sc_taken_without("env"))
        left.env = NULL;
    if (sc_taken_without("stdin")) {
        left.stdin_data = NULL;
        left.stdin_len = 0;
    }
    if (sc_taken_without("wall"))
        left.limits.wall = 600 * SC_NS_PER_S;
    if (sc_taken_without("cpu"))
        left.limits.cpu = 600 * SC_NS_PER_S;
    if (sc_taken_without("stdout"))
        left.limits.stdout = 1 << 20;
    if (sc_taken_without("stderr"))
        left.limits.stderr = 1 << 20;
    if (sc_taken_without("validate"))
        left.validate = NULL;
    return left;
}
#endif
