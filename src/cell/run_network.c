/* Refused network, told by the kernel: a cell's namespace has no route but to itself, and counts what had none to take. Looked
 * at from outside while process 1 still lives; nothing inside can change it, and no call of the program is held up. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "cell/run.h"

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

static uint64_t count(pid_t pid, const char *file, bool v6)
{
    char path[48];
    struct sc_buf text;
    uint64_t r = 0;
    snprintf(path, sizeof path, "/proc/%d/net/%s", pid, file);
    sc_buf_init(&text, 64 * 1024);
    if (sc_buf_read_file(&text, -100 /* AT_FDCWD: the path is absolute */, path) == 0 && text.len > 0)
        r = v6 ? line((char *)text.data, "Ip6OutNoRoutes") : column((char *)text.data, "Ip: ", "OutNoRoutes");
    sc_buf_fini(&text);
    return r;
}

void sc_run_look_at_network(struct sc_run *run)
{
    struct sc_result *result = run->result;
    uint64_t refused = count(run->pid, "snmp", false) + count(run->pid, "snmp6", true);
    if (refused == 0)
        return;
    sc_result_deny(result, "network", "connect", "an address outside the cell", "network:none",
                   "a cell has no network; names do not resolve and only 127.0.0.1 and ::1 answer");
    for (size_t i = 0; i < result->n_denials; i++)
        if (!strcmp(result->denials[i].layer, "network"))
            result->denials[i].count = refused;
}
