/* An example of each request, for the document and the page; a test runs them all. */
#ifndef SC_GATE_EXAMPLES_H
#define SC_GATE_EXAMPLES_H

#include <stddef.h>

struct route;

/* A JSON body, or NULL. */
const char *example_of(const struct route *route);
/* A line for a shell in which URL, KEY and ID are set. */
void example_line(const struct route *route, const char *example, char *ret_line, size_t size);

#endif
