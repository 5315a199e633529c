/* What a cell's namespaces and a child cell's have in common when they are made. */
#ifndef SC_CELL_SPACE_PARTS_H
#define SC_CELL_SPACE_PARTS_H

#include <sys/types.h>
#include <time.h>

#include "cell/maker.h"
#include "cell/space.h"

#define SC_SPACE_FDS 5 /* network, time, its two counters, user: as a helper hands them over */
#define SC_SPACE_FDS_MAX (SC_SPACE_FDS + SC_NET_FD_COUNT) /* with a network these stand before the last */
#define SC_SPACE_MAP 96                                   /* bytes of an id map */

/* space_helpers.c: two helper processes. The outer one has a right over the namespace above, and writes the
 * id map of the inner one, which makes the cell's. Whatever fails is told to the supervisor, and ends who it
 * failed for. */
struct sc_space_helpers {
    const struct sc_buf *table;   /* of the network; empty: none */
    uint64_t monotonic_s, boot_s; /* age of our clocks, which the cell's are taken back by */
    char map[SC_SPACE_MAP];       /* for uid_map and gid_map alike */
    int ready[2], go[2];
};

/* In the outer one: has `inner` run in a child of its own, gives it its id map when it asks, and waits for
 * its end. */
void sc_space_have_inner(int socket, struct sc_space_helpers *helpers, void (*inner)(int socket, void *data),
                         void *data);
/* In the inner one, which has just made its user namespace: returns when it has its ids. */
void sc_space_ask_for_map(struct sc_space_helpers *helpers);
/* In the inner one: a network namespace with `lo` up, and a time namespace. Returns how many descriptors
 * there will be; the last is left open. */
int sc_space_make_own(int socket, const struct sc_space_helpers *helpers, int fds[SC_SPACE_FDS_MAX]);
/* The last is the user namespace that it stands in by now. */
__attribute__((noreturn)) void sc_space_hand_over(int socket, int *fds, int n_fds);

/* In the supervisor. */
uint64_t sc_space_clock_age_s(clockid_t clock);
/* The ids as the parent namespace names them: of the cell itself, and the first of those below it. */
void sc_space_map(char *map, size_t size, uint32_t own, uint32_t kin, uint32_t kin_pairs);
/* What a helper handed over: SC_SPACE_FDS, with a network SC_NET_FD_COUNT more before the last. */
void sc_space_take(struct sc_space *space, const int *fds, int n_fds);
int sc_space_open_group(struct sc_space *space, const struct sc_plan *plan, struct sc_err *err);

#endif
