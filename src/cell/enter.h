/* The stages of src/cell/stages.def. They run in the agent's small process only: no allocation, no stdio,
 * nothing of the supervisor's memory. Each returns 0, or a negative errno with `object` naming what it was
 * about. */
#ifndef SC_CELL_ENTER_H
#define SC_CELL_ENTER_H

#include <sys/types.h>

#include "agent/image.h"
#include "agent/proto.h"

struct sc_enter {
    const struct sc_image *image;
    struct sc_boot boot;
    const char *object; /* for the report when a stage fails */
    int root_fd;        /* CHILD: the root that was built, until it is entered; -1 */
    int mount_ns;       /* keeps the cell's mount namespace alive: nobody lives in it */
    int work_fd, tmp_fd, shm_fd;
    int proc_fd;  /* detached, writable /proc of the cell: AppArmor, and commands; -1 when not needed */
    int ruleset;  /* Landlock; -1: this host has none, and that was accepted */
    int listener; /* refused calls of interest are told here; -1: none */
    int pty_master, pty_slave;
    int nice;        /* of the maker, and so of programs */
    const char *cwd; /* a command's own; NULL: the image's */
};

#define AGENT_STAGE(name) int enter_##name(struct sc_enter *enter);
#define PROGRAM_STAGE(name) int enter_##name(struct sc_enter *enter);
#include "cell/stages.def"
#undef AGENT_STAGE
#undef PROGRAM_STAGE

/* Runs one stage, unless this is a test build told to leave it out. */
int sc_enter_stage(struct sc_enter *enter, const char *name, int (*stage)(struct sc_enter *));

/* init_child.c: the birth of a child cell's agent. Called with the image mapped and BOOT read; returns in the
 * agent, process 1 of the cell, and ends every other process that takes part. */
void sc_enter_be_born(struct sc_enter *enter);
/* What enter_mounts has made in a child cell's builder, taken by its agent. */
int sc_enter_take_mounts(struct sc_enter *enter);

/* Decimal text of a number, for mount options: returns `buf`. */
char *sc_enter_number(uint64_t value, char buf[24]);

#endif
