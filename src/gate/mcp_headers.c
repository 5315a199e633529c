#include <string.h>
#include <strings.h>

#include "gate/mcp_peer.h"

static bool is_type(const char *type, size_t len, const char *wanted)
{
    return len == strlen(wanted) && !strncasecmp(type, wanted, len);
}

/* Weights are not looked at: what is named is taken. "Anything" is answered with JSON, since who takes events
 * says so. */
void mcp_accept_read(const char *accept, bool *json, bool *events)
{
    while (*accept) {
        accept += strspn(accept, ", \t");
        size_t len = strcspn(accept, ",; \t");
        if (is_type(accept, len, "application/json") || is_type(accept, len, "application/*") ||
            is_type(accept, len, "*/*"))
            *json = true;
        if (is_type(accept, len, "text/event-stream") || is_type(accept, len, "text/*"))
            *events = true;
        accept += strcspn(accept, ",");
    }
}
