/* The pieces of the probe, private to this folder. Each fills its own fields of the host and never fails for
 * what is merely missing. */
#ifndef SC_HOST_PROBE_H
#define SC_HOST_PROBE_H

#include "host/host.h"

/* Runs fn(arg) in a child that sends no SIGCHLD and that no waitpid(-1) of the caller's can steal, and reads
 * `size` bytes it writes to the descriptor given to fn. 0, or negative errno (-ENODATA: it died before it
 * reported). fn may only do what is allowed between fork and exec. */
int sc_host_try(void (*fn)(void *arg, int report_fd), void *arg, void *ret_report, size_t size);

/* userns.c: user namespaces, by making one with all a cell needs in it. */
void sc_probe_userns(struct sc_host *host, bool thorough);
/* kernel.c: version, system calls, Landlock, seccomp, namespaces. */
void sc_probe_kernel(struct sc_host *host);
/* apparmor.c; before sc_probe_userns, whose failures it explains. */
void sc_probe_apparmor(struct sc_host *host);
/* identity.c: root or not, the ids of cells, subordinate ids, who we are. */
int sc_probe_identity(struct sc_host *host, struct sc_err *err);
/* disks.c: what io limits are for, from the text of /proc/self/mountinfo. */
void sc_probe_disks(struct sc_host *host, const char *mountinfo);
/* surroundings.c: container, systemd, memory, processors, descriptors, loop devices. */
void sc_probe_surroundings(struct sc_host *host);

/* Parsers of identity.c, apart for tests. */
/* First id of the line of "/etc/subuid" text that belongs to `name` (may be NULL) or `id`; (uint32_t)-1:
 * none. */
uint32_t sc_subid_first(const char *text, const char *name, uint32_t id);
/* Chooses the ids of cells from a uid_map's text: 0, or -ENOENT when no range is left for them. */
int sc_cell_id_range(const char *uid_map, uint32_t *ret_base, uint32_t *ret_count);
/* What `id` is outside, by a uid_map's text; UINT64_MAX when it is not mapped. */
uint64_t sc_outer_id(const char *uid_map, uint32_t id);
/* Parser of surroundings.c: true when /proc/1/cgroup's text names a container engine. */
bool sc_cgroup_names_container(const char *text);

#define SC_CELL_UID_BASE 0x70000000u
#define SC_CELL_UID_COUNT 4194304u

void sc_probe_criu(struct sc_host *host);

#endif
