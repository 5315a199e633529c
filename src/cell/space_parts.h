/* What a cell's namespaces and a child cell's have in common when they are made. */
#ifndef SC_CELL_SPACE_PARTS_H
#define SC_CELL_SPACE_PARTS_H

#include <sys/types.h>
#include <time.h>

#include "cell/maker.h"
#include "cell/space.h"

#define SC_SPACE_FDS 5  /* network, time, its two counters, user: as a helper hands them over */
#define SC_SPACE_MAP 96 /* bytes of an id map */

/* In a helper process; 0 or negative errno. The clocks can be told so only while nobody has entered. */
int sc_space_loopback_up(void);
int sc_space_start_clocks(uint64_t monotonic_s, uint64_t boot_s);
int sc_space_open_counts(const char *path);
/* `file` is setgroups, uid_map or gid_map. */
int sc_space_write_map(pid_t pid, const char *file, const char *text);

/* In the supervisor. */
uint64_t sc_space_clock_age_s(clockid_t clock);
/* The ids as the parent namespace names them: of the cell itself, and the first of those below it. */
void sc_space_map(char *map, size_t size, uint32_t own, uint32_t kin, uint32_t kin_pairs);
/* What a helper handed over: SC_SPACE_FDS, with a network SC_NET_FD_COUNT more before the last. */
void sc_space_take(struct sc_space *space, const int *fds, int n_fds);
int sc_space_open_group(struct sc_space *space, const struct sc_plan *plan, struct sc_err *err);

#endif
