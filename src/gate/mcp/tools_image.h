/* tools.json, as bytes: what tools/list tells, and what arguments are held against. */
#ifndef SC_GATE_MCP_TOOLS_IMAGE_H
#define SC_GATE_MCP_TOOLS_IMAGE_H

#include <stddef.h>

extern const unsigned char SC_MCP_TOOLS[];
extern const size_t SC_MCP_TOOLS_len;

#endif
