/* Which bytes of a file a header asks for. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/num.h"
#include "gate/e2b/files.h"

int files_range(const char *header, uint64_t size, uint64_t *ret_at, uint64_t *ret_len)
{
    uint64_t first = 0, last = 0;
    char text[48];
    if (!header || strncasecmp(header, "bytes=", 6) != 0 || strlen(header + 6) >= sizeof text ||
        strchr(header, ','))
        return 0;
    snprintf(text, sizeof text, "%s", header + 6);
    char *dash = strchr(text, '-');
    if (!dash)
        return 0;
    *dash++ = '\0';
    if (!*text) { /* so many at the end */
        if (sc_parse_u64(dash, &last) < 0)
            return 0;
        if (last == 0 || size == 0)
            return -ERANGE;
        *ret_len = last < size ? last : size;
        *ret_at = size - *ret_len;
        return 1;
    }
    if (sc_parse_u64(text, &first) < 0 || (*dash && (sc_parse_u64(dash, &last) < 0 || last < first)))
        return 0;
    if (first >= size)
        return -ERANGE;
    last = *dash && last < size ? last : size - 1;
    *ret_at = first;
    *ret_len = last - first + 1;
    return 1;
}
