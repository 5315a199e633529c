#include "keeper/pressure.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

/* "12.34" behind `key` in the line that begins with `line`; as thousandths, 100 % being 1000. */
static uint64_t read_share(const char *text, const char *line, const char *key)
{
    const char *at = strstr(text, line);
    at = at ? strstr(at, key) : NULL;
    if (!at)
        return SC_PRESSURE_NONE;
    double percent = strtod(at + strlen(key), NULL);
    return percent >= 0 && percent <= 100 ? (uint64_t)(percent * 10) : SC_PRESSURE_NONE;
}

static bool read_file(const char *proc, const char *name, char *ret_text, size_t size)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", proc, name);
    return sc_read_text(AT_FDCWD, path, ret_text, size) > 0;
}

static uint64_t read_full(const char *proc, const char *name)
{
    char text[512];
    return read_file(proc, name, text, sizeof text) ? read_share(text, "full ", "avg10=") : SC_PRESSURE_NONE;
}

static uint64_t read_load(const char *proc)
{
    char text[128];
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    if (processors < 1 || !read_file(proc, "loadavg", text, sizeof text))
        return SC_PRESSURE_NONE;
    double load = strtod(text, NULL);
    return load >= 0 && load < 1e9 ? (uint64_t)(load * 1000 / (double)processors) : SC_PRESSURE_NONE;
}

static bool read_kib(const char *text, const char *key, double *ret_kib)
{
    const char *at = strstr(text, key);
    if (!at)
        return false;
    *ret_kib = strtod(at + strlen(key), NULL);
    return *ret_kib >= 0;
}

static uint64_t read_free(const char *proc)
{
    char text[4096];
    double total = 0, available = 0;
    if (!read_file(proc, "meminfo", text, sizeof text) || !read_kib(text, "MemTotal:", &total) ||
        !read_kib(text, "MemAvailable:", &available) || total < 1)
        return SC_PRESSURE_NONE;
    return available >= total ? 1000 : (uint64_t)(available * 1000 / total);
}

void sc_pressure_read(const char *proc, struct sc_pressure *ret_pressure)
{
    *ret_pressure = (struct sc_pressure){.memory_full = read_full(proc, "pressure/memory"),
                                         .io_full = read_full(proc, "pressure/io"),
                                         .load = read_load(proc),
                                         .free = read_free(proc)};
}

static bool is_above(uint64_t value, uint64_t bound)
{
    return value != SC_PRESSURE_NONE && value > bound;
}

const char *sc_pressure_beyond(const struct sc_pressure *pressure, const struct sc_pressure_bounds *bounds)
{
    bool stalls_told = pressure->memory_full != SC_PRESSURE_NONE;
    if (is_above(pressure->memory_full, bounds->memory_full))
        return "memory";
    if (is_above(pressure->io_full, bounds->io_full))
        return "disks";
    if (!stalls_told && is_above(pressure->load, bounds->load))
        return "load";
    if (pressure->free != SC_PRESSURE_NONE && pressure->free < bounds->free)
        return "free memory";
    return NULL;
}
