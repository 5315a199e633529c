/* Limits that follow from others.
 *
 *   cpu        wall times cpus, rounded up, within cpu's own range
 *   disk, tmp, shm
 *              128, 64, 64 MiB at 512 MiB of memory and above, else a quarter, an eighth, an eighth of
 * memory. A disk on an image is 128 MiB. file_size  the larger of disk and tmp
 *
 * tmpfs is the cell's memory: what lies in it together may be three quarters of memory, so that a cell whose
 * file systems are full can still run. Sizes that were given stand; derived ones give way to them, but not
 * below a 32nd of memory each, for a /tmp of a few kilobytes only makes programs fail in odd ways. What then
 * still does not fit is refused. A disk of disk_backing "auto" lies in memory where a given size fits, else
 * on an image. */
#include "spec/spec.h"

#include <stdio.h>

#include "base/num.h"
#include "spec/spec_internal.h"

#define PAGE 4096ull

/* The three sizes, in the order of the error messages. */
enum { DISK, TMP, SHM, SIZES };
static const char *const SIZE_NAMES[SIZES] = {"disk", "tmp", "shm"};

struct sizes {
    uint64_t memory;
    uint64_t given[SIZES]; /* SC_DERIVED: to be found */
    bool in_memory[SIZES];
};

static uint64_t row_min(const char *option)
{
    size_t len = 0;
    while (option[len])
        len++;
    return sc_limit_row_by_option(option, len)->min;
}

static uint64_t standard_size(int which, uint64_t memory)
{
    static const uint64_t full[SIZES] = {128 * SC_MIB, 64 * SC_MIB, 64 * SC_MIB};
    static const uint64_t share[SIZES] = {4, 8, 8};
    uint64_t size = memory >= 512 * SC_MIB ? full[which] : memory / share[which] / PAGE * PAGE;
    return sc_max_u64(size, row_min(SIZE_NAMES[which]));
}

static uint64_t smallest_size(int which, uint64_t memory)
{
    uint64_t floor = sc_max_u64(memory / 32 / PAGE * PAGE, row_min(SIZE_NAMES[which]));
    return sc_min_u64(floor, standard_size(which, memory));
}

/* What those that lie in memory need at least: given sizes whole, derived ones at their smallest. */
static uint64_t least_sum(const struct sizes *s)
{
    uint64_t sum = 0;
    for (int i = 0; i < SIZES; i++)
        if (s->in_memory[i])
            sum += s->given[i] == SC_DERIVED ? smallest_size(i, s->memory) : s->given[i];
    return sum;
}

/* "disk 300M, tmp 16M, shm 16M" without those that do not lie in memory. */
static void list_sizes(const struct sizes *s, char *ret_text, size_t size)
{
    size_t n = 0;
    for (int i = 0; i < SIZES; i++) {
        if (!s->in_memory[i])
            continue;
        char value[32];
        sc_format_bytes(s->given[i] == SC_DERIVED ? smallest_size(i, s->memory) : s->given[i], value,
                        sizeof value);
        n += (size_t)snprintf(ret_text + n, size - n, "%s%s %s", n ? ", " : "", SIZE_NAMES[i], value);
    }
}

/* Derived sizes alone always fit, so that one was given. */
static int largest_given(const struct sizes *s)
{
    int largest = TMP;
    for (int i = 0; i < SIZES; i++)
        if (s->in_memory[i] && s->given[i] != SC_DERIVED &&
            (s->given[largest] == SC_DERIVED || s->given[i] > s->given[largest]))
            largest = i;
    return largest;
}

/* Names the largest of the given sizes: it is the one to mend. */
static int refuse(const struct sizes *s, uint64_t budget, struct sc_err *err)
{
    char list[128], value[32], sum_text[32], memory[32], allowed[32], fits[64] = "";
    int worst = largest_given(s);
    uint64_t sum = least_sum(s), others = sum - s->given[worst];
    const char *name = SIZE_NAMES[worst];
    list_sizes(s, list, sizeof list);
    sc_format_bytes(s->given[worst], value, sizeof value);
    sc_format_bytes(sum, sum_text, sizeof sum_text);
    sc_format_bytes(s->memory, memory, sizeof memory);
    sc_format_bytes(budget, allowed, sizeof allowed);
    if (others + row_min(name) <= budget) {
        char most[32];
        sc_format_bytes(budget - others, most, sizeof most);
        snprintf(fits, sizeof fits, "at most %s fits here; or ", most);
    }
    return sc_err_usage(
        err, name,
        "%s: %s: %s lie in memory, %s together; allowed are %s, three quarters of the memory limit %s: "
        "%smake memory larger%s",
        name, value, list, sum_text, allowed, memory, fits, worst == DISK ? ", or disk-backing image" : "");
}

/* Derived sizes lie between their smallest and their standard, all at the same part of the way. */
static void share_out(struct sizes *s, uint64_t budget)
{
    uint64_t spare = budget - least_sum(s), span = 0;
    for (int i = 0; i < SIZES; i++)
        if (s->in_memory[i] && s->given[i] == SC_DERIVED)
            span += standard_size(i, s->memory) - smallest_size(i, s->memory);
    for (int i = 0; i < SIZES; i++) {
        if (s->given[i] != SC_DERIVED)
            continue;
        if (!s->in_memory[i]) {
            s->given[i] = standard_size(i, 512 * SC_MIB);
            continue;
        }
        uint64_t low = smallest_size(i, s->memory), way = standard_size(i, s->memory) - low;
        if (spare < span)
            way = (uint64_t)((unsigned __int128)way * spare / span) / PAGE * PAGE;
        s->given[i] = low + way;
    }
}

static int derive_sizes(struct sc_limits *limits, enum sc_disk_backing *backing, struct sc_err *err)
{
    struct sizes s = {limits->memory, {limits->disk, limits->tmp, limits->shm}, {true, true, true}};
    uint64_t budget = limits->memory / 4 * 3;
    enum sc_disk_backing resolved = *backing;
    s.in_memory[DISK] = resolved != SC_DISK_IMAGE;
    if (resolved == SC_DISK_AUTO) {
        resolved = SC_DISK_MEMORY;
        /* A disk that was not asked for never needs an image: it gives way. */
        if (least_sum(&s) > budget && s.given[DISK] != SC_DERIVED) {
            resolved = SC_DISK_IMAGE;
            s.in_memory[DISK] = false;
        }
    }
    if (least_sum(&s) > budget)
        return refuse(&s, budget, err);
    share_out(&s, budget);
    limits->disk = s.given[DISK];
    limits->tmp = s.given[TMP];
    limits->shm = s.given[SHM];
    *backing = resolved;
    return 0;
}

static uint64_t derive_cpu(const struct sc_limits *limits)
{
    const struct sc_limit_row *row = sc_limit_row_by_option("cpu", 3);
    unsigned __int128 cpu = ((unsigned __int128)limits->wall * limits->cpus + 999) / 1000;
    if (cpu > row->max)
        return row->max;
    return sc_max_u64((uint64_t)cpu, row->min);
}

int sc_limits_derive(struct sc_limits *limits, enum sc_disk_backing *backing, struct sc_err *err)
{
    struct sc_limits derived = *limits;
    int r = derive_sizes(&derived, backing, err);
    if (r < 0)
        return r;
    if (derived.cpu == SC_DERIVED)
        derived.cpu = derive_cpu(&derived);
    if (derived.file_size == SC_DERIVED)
        derived.file_size = sc_max_u64(derived.disk, derived.tmp);
    *limits = derived;
    return 0;
}
