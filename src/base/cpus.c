#include "base/cpus.h"

#include <errno.h>
#include <stdlib.h>

int sc_parse_cpu_list(const char *text, cpu_set_t *ret_set)
{
    CPU_ZERO(ret_set);
    while (*text) {
        char *end;
        unsigned long first = strtoul(text, &end, 10), last = first;
        if (end == text)
            return -EINVAL;
        if (*end == '-') {
            text = end + 1;
            last = strtoul(text, &end, 10);
            if (end == text)
                return -EINVAL;
        }
        if (last < first || last >= CPU_SETSIZE || (*end && *end != ','))
            return -EINVAL;
        for (unsigned long cpu = first; cpu <= last; cpu++)
            CPU_SET(cpu, ret_set);
        text = *end ? end + 1 : end;
    }
    return 0;
}
