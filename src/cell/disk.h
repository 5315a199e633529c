/* Disk-backed work folders (root): an ext4 file system in an unlinked file, behind a loop device that goes by
 * itself. */
#ifndef SC_CELL_DISK_H
#define SC_CELL_DISK_H

#include "plan/plan.h"

/* The host's folder for what is too large for memory: SNAPCELL_DISK_DIR, or /var/tmp. */
const char *sc_disk_folder(void);
/* A detached mount of a fresh file system of the plan's size, owned by `uid`. `ret_disk` is its block device.
 * Nothing of it stays when the last descriptor and mount are gone, whoever is killed. */
int sc_disk_open(const struct sc_plan *plan, uint32_t uid, int *ret_mount, struct sc_host_disk *ret_disk,
                 struct sc_err *err);

#endif
