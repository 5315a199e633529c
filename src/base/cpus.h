/* Processor lists as people write them. */
#ifndef SC_BASE_CPUS_H
#define SC_BASE_CPUS_H

#include <sched.h>

/* "0", "0,2-3" → set. 0 or -EINVAL. */
int sc_parse_cpu_list(const char *text, cpu_set_t *ret_set);

#endif
