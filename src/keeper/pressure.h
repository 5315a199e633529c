/* How hard the machine is pressed: pressure stall information where the kernel has it, else the load; and
 * free memory in either case. */
#ifndef SC_KEEPER_PRESSURE_H
#define SC_KEEPER_PRESSURE_H

#include <stdbool.h>
#include <stdint.h>

#define SC_PRESSURE_NONE UINT64_MAX /* not told here */

/* Thousandths: of a percent's hundredths no more is told. */
struct sc_pressure {
    uint64_t
        memory_full;  /* thousandths of the last ten seconds in which nothing went on for want of memory */
    uint64_t io_full; /* the same, of disks */
    uint64_t load;    /* thousandths: of the last minute, for each processor */
    uint64_t free;    /* thousandths of all memory that programs could still have */
};

struct sc_pressure_bounds {
    uint64_t memory_full, io_full, load; /* at most */
    uint64_t free;                       /* at least */
};
#define SC_PRESSURE_MEMORY_FULL 100
#define SC_PRESSURE_IO_FULL 600
#define SC_PRESSURE_LOAD 16000
#define SC_PRESSURE_FREE 50

/* `proc` is /proc, or a made-up one. */
void sc_pressure_read(const char *proc, struct sc_pressure *ret_pressure);
/* What is beyond its bound ("memory", "disks", "load", "free memory"), or NULL. The load counts where the
 * kernel tells no pressure. */
const char *sc_pressure_beyond(const struct sc_pressure *pressure, const struct sc_pressure_bounds *bounds);

#endif
