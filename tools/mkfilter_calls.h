/* The tables of system calls policies are written against: names from libseccomp, and our own for newer
 * calls. */
#ifndef SC_TOOLS_MKFILTER_CALLS_H
#define SC_TOOLS_MKFILTER_CALLS_H

#include "plan/filter_rules.h"

/* 0, or -ENOENT when the architecture is not built yet, -ENOMEM. sc_mkfilter_arch_fini frees what it holds.
 */
int sc_mkfilter_arch_init(const char *name, struct sc_filter_arch *ret_arch);
void sc_mkfilter_arch_fini(struct sc_filter_arch *arch);

#endif
