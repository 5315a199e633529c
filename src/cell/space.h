/* What a cell needs of its own and can be made before anybody asks: control groups, network and time
 * namespaces, a user namespace with its id map, and the host ids in it. Used once. */
#ifndef SC_CELL_SPACE_H
#define SC_CELL_SPACE_H

#include <stdint.h>

#include "cell/group.h"
#include "cell/template.h"
#include "net/table.h"

/* A forkable cell has so many pairs of ids at most, its own included; a forkable child cell gets this part of
 * the longest stretch that its parent has left, so that there is something for many children, and for many
 * generations. Inside, the children's begin here. */
#define SC_KIN_MAX 4096
#define SC_KIN_SHARE 4
#define SC_KIN_FIRST 2000

struct sc_space {
    struct sc_group group;
    bool has_group;
    int tasks[SC_CTL_COUNT]; /* v1: where process 1 joins the groups */
    int n_tasks;
    int net_ns;        /* `lo` is up, nothing else is there */
    int net_counts[2]; /* its counters, v4 and v6, open for reading */
    bool has_egress;   /* it answers for every address, and these listen in it */
    int egress[SC_NET_FD_COUNT];
    int time_ns; /* its boot clock started when it was made, its monotonic one, too, unless it is a child */
    uint64_t monotonic_s; /* what its monotonic clock is behind ours: a child's is its parent's, for forks
                             remember times */
    uint64_t boot_s;      /* what its boot clock is behind ours */
    int user_ns;          /* maps the agent's and the program's ids; no namespace can be made in it */
    int id_lock;          /* holds the host ids while anybody has it open; rootless: -1 */
    uint32_t host_uid;    /* the program's, in the namespace that owns the template */
    /* A forkable cell's, as root: ids for the cells below it, a pair for each. */
    uint32_t kin_pairs, kin_host;       /* how many, and the first one's host_uid */
    uint64_t kin_used[SC_KIN_MAX / 64]; /* a bit for each */
    uint32_t own_pair, own_pairs;       /* a child cell's, of its parent's; own_pairs 0: none */
};

/* `table`: what the network namespace does with packets (sc_net_table_build); empty: it has no network. */
int sc_space_open(const struct sc_plan *plan, const struct sc_template *tmpl, const struct sc_buf *table,
                  struct sc_space *ret_space, struct sc_err *err);
/* For a cell below the one that has `parent`; sc_space_release gives its ids back there. */
int sc_space_open_child(const struct sc_plan *plan, const struct sc_template *tmpl,
                        const struct sc_buf *table, struct sc_space *parent, bool forkable,
                        struct sc_space *ret_space, struct sc_err *err);
void sc_space_release(struct sc_space *parent, struct sc_space *child);
/* Closes all but the groups: what a dead cell needs no more. */
void sc_space_shed(struct sc_space *space);
/* Also removes the groups; negative errno when they do not go. An empty space (SC_SPACE_NONE) is fine. */
int sc_space_close(struct sc_space *space);

#define SC_SPACE_NONE                                                                                        \
    ((struct sc_space){.net_ns = -1, .net_counts = {-1, -1}, .time_ns = -1, .user_ns = -1, .id_lock = -1})

/* Host ids (root only): so many pairs in a row out of the host's range that no live cell has, on any process
 * of this machine. Returns a descriptor that holds them (also when inherited), and the first program's id;
 * its agent's is one above, and so on. */
int sc_ids_take(const struct sc_host *host, uint32_t n_pairs, uint32_t *ret_uid, struct sc_err *err);

#endif
