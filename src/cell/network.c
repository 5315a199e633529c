/* Refused network, told by the kernel: a cell's namespace has no route but to itself, and counts what had
 * none to take. Read from outside; nothing inside can change it, and no call of the program is held up. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cell/usage.h"

/* Value below `name` in a table of two lines: names, then numbers. */
static uint64_t column(const char *table, const char *prefix, const char *name)
{
    const char *names = strstr(table, prefix);
    const char *values = names ? strstr(names + 1, prefix) : NULL;
    if (!values)
        return 0;
    names += strlen(prefix);
    values += strlen(prefix);
    while (*names && *names != '\n') {
        size_t len = strcspn(names, " \n");
        size_t skip = strcspn(values, " \n");
        if (len == strlen(name) && !strncmp(names, name, len))
            return strtoull(values, NULL, 10);
        names += len + (names[len] == ' ');
        values += skip + (values[skip] == ' ');
    }
    return 0;
}

static uint64_t line(const char *table, const char *name)
{
    const char *at = strstr(table, name);
    return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

static uint64_t read_count(int fd, bool v6)
{
    char text[16 * 1024];
    ssize_t n = fd < 0 ? 0 : pread(fd, text, sizeof text - 1, 0);
    if (n <= 0)
        return 0;
    text[n] = '\0';
    return v6 ? line(text, "Ip6OutNoRoutes") : column(text, "Ip: ", "OutNoRoutes");
}

uint64_t sc_cell_network_refused(const struct sc_cell *cell)
{
    const int *counts = cell->space.net_counts;
    return read_count(counts[0], false) + read_count(counts[1], true);
}

void sc_cell_deny_network(struct sc_result *result, uint64_t count)
{
    if (count == 0)
        return;
    sc_result_deny(result, "network", "connect", "an address outside the cell", "network:none",
                   "a cell has no network; names do not resolve and only 127.0.0.1 and ::1 answer");
    for (size_t i = 0; i < result->n_denials; i++)
        if (!strcmp(result->denials[i].layer, "network"))
            result->denials[i].count = count;
}
