/* The text as its interpreter will see it: one kind of line end, no mark in front, valid UTF-8. What cannot
 * be brought into that form without guessing is a finding. */
#ifndef SC_CHECK_SOURCE_H
#define SC_CHECK_SOURCE_H

#include <stddef.h>

#include "check/findings.h"
#include "check/tree.h"

struct sc_source {
    char *text; /* NUL-terminated; holds no other */
    size_t len;
};

void sc_source_read(struct sc_source *source, enum sc_grammar grammar, const char *bytes, size_t len,
                    struct sc_findings *findings);
void sc_source_fini(struct sc_source *source);

#endif
