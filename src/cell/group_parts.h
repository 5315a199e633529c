/* What the files of group*.c share. */
#ifndef SC_CELL_GROUP_PARTS_H
#define SC_CELL_GROUP_PARTS_H

#include "cell/group.h"

/* How long killing and removing wait for processes that are dying. */
#define SC_GROUP_WAIT_NS 2000000000ull

/* True for one controller of each distinct directory that is open. */
bool sc_group_is_first(const struct sc_group *group, int controller);
/* Sleeps and doubles *ns, up to 10 ms: there is nothing to wait on for a v1 group becoming empty. */
void sc_group_pause(uint64_t *ns);
/* rmdir, tried until the deadline while it is EBUSY. Absence is success. */
int sc_group_remove(int parent_fd, const char *name, uint64_t deadline_ns);

#endif
