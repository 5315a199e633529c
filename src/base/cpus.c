#include "base/cpus.h"

#include <errno.h>
#include <stdlib.h>

/* Digits only: strtoul alone would take blanks and signs. */
static int read_number(const char **text, unsigned long *ret_number)
{
    char *end;
    if (**text < '0' || **text > '9')
        return -EINVAL;
    *ret_number = strtoul(*text, &end, 10);
    *text = end;
    return *ret_number < CPU_SETSIZE ? 0 : -EINVAL;
}

int sc_parse_cpu_list(const char *text, cpu_set_t *ret_set)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    for (;; text++) {
        unsigned long first, last;
        if (read_number(&text, &first) < 0)
            return -EINVAL;
        last = first;
        if (*text == '-') {
            text++;
            if (read_number(&text, &last) < 0 || last < first)
                return -EINVAL;
        }
        for (unsigned long cpu = first; cpu <= last; cpu++)
            CPU_SET(cpu, &set);
        if (*text == '\0')
            break;
        if (*text != ',')
            return -EINVAL;
    }
    *ret_set = set;
    return 0;
}
