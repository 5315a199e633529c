/* spec + host → plan: exactly what will be done on this host. Frozen, printable, comparable; used for any
 * number of cells. */
#ifndef SC_PLAN_PLAN_H
#define SC_PLAN_PLAN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

#include "base/err.h"
#include "base/strv.h"
#include "host/host.h"
#include "plan/filter.h"
#include "spec/spec.h"

/* Ids inside every cell. */
#define SC_CELL_UID 1000
#define SC_CELL_AGENT_UID 999
#define SC_CELL_HOME "/home/user"
#define SC_CELL_USER "user"
/* Whom programs trust in TLS, in cells that have an authority of their own. */
#define SC_CELL_TRUST_FOLDER "/run/snapcell"
#define SC_CELL_TRUST SC_CELL_TRUST_FOLDER "/ca.pem"

enum sc_mount_kind {
    SC_MOUNT_DIR,     /* an empty folder of the template root */
    SC_MOUNT_SYMLINK, /* `target` */
    SC_MOUNT_FILE,    /* `content` */
    SC_MOUNT_COPY,    /* small host file `source`, copied: each mount of the template costs every cell a
                         microsecond or two */
    SC_MOUNT_BIND,    /* host path `source`, read-only, nosuid, nodev, recursively */
    SC_MOUNT_DEVICE,  /* host device node `source` */
    SC_MOUNT_BYTES,   /* `bytes`: a program of Snapcell's own */
};

/* One step in building the template tree, in order. Paths are absolute inside the cell. */
struct sc_plan_mount {
    enum sc_mount_kind kind;
    char *path;
    char *source;      /* BIND, DEVICE: host path; SYMLINK: target */
    char *content;     /* FILE */
    const void *bytes; /* BYTES: borrowed */
    size_t n_bytes;
    uint32_t mode;
};

enum sc_fresh_kind { SC_FRESH_TMPFS, SC_FRESH_PROC, SC_FRESH_DEVPTS, SC_FRESH_IMAGE };

/* A file system made anew for every cell. */
struct sc_plan_fresh {
    enum sc_fresh_kind kind;
    const char *path;
    uint64_t bytes, inodes;
    uint32_t mode;
    bool owned; /* by the cell's user; else by the template's root */
};

/* Paths of the fresh /proc that are covered: by a made-up file of the template, or by nothing. */
struct sc_plan_mask {
    const char *path;
    const char *with; /* what of the template is laid over it */
};

struct sc_plan_lock {
    const char *path;
    uint64_t access; /* LANDLOCK_ACCESS_FS_* */
};

struct sc_plan_rlimit {
    int resource;
    uint64_t value;
};

/* One cgroup control file. `controller` tells whose directory it is in. */
struct sc_plan_cgroup {
    enum sc_controller controller;
    const char *file;
    char value[64];
};

#define SC_PLAN_FRESH_MAX 8
#define SC_PLAN_MASK_MAX 48
#define SC_PLAN_LOCK_MAX 12
#define SC_PLAN_RLIMIT_MAX 12
#define SC_PLAN_CGROUP_MAX 24

struct sc_plan {
    const struct sc_host *host; /* borrowed: outlives the plan */
    struct sc_limits limits;    /* resolved */
    enum sc_lang lang;
    enum sc_overflow overflow;
    const struct sc_filter *filter;
    uint32_t degraded; /* enum sc_degrade bits this plan goes without, all accepted by the spec */
    bool rootless;
    bool agent_shares_uid;
    bool apparmor; /* enter "snapcell-cell", or "snapcell-forkable", at exec */
    bool pty;
    bool disk_image;
    bool fixed_layout; /* programs have their memory at the same addresses each time */
    bool forkable; /* its cells' programs can be forked into cells below them, and the fork library lies in
                      /snapcell */
    bool zygote;   /* `forkable` for what runs its template's code only */
    bool own_authority; /* its rules are about requests over TLS: each cell has an authority of its own */
    bool stay; /* no program of its own: the cell waits for commands, and the runners lie in /snapcell */

    struct sc_plan_mount *mounts;
    size_t n_mounts;
    struct sc_plan_fresh fresh[SC_PLAN_FRESH_MAX];
    size_t n_fresh;
    struct sc_plan_mask masks[SC_PLAN_MASK_MAX];
    size_t n_masks;
    struct sc_plan_lock locks[SC_PLAN_LOCK_MAX];
    size_t n_locks;
    uint64_t landlock_handled_fs,
        landlock_scoped; /* what the ruleset handles at this host's ABI; 0: no Landlock */
    struct sc_plan_rlimit rlimits[SC_PLAN_RLIMIT_MAX];
    size_t n_rlimits;
    uint64_t zygote_tasks; /* RLIMIT_NPROC of the cell of a zygote; 0: as rlimits say */
    struct sc_plan_cgroup cgroup[SC_PLAN_CGROUP_MAX];
    size_t n_cgroup;

    struct sc_strv argv; /* argv[0] is looked up inside the cell */
    struct sc_strv env;
    char *cwd;
    char *hostname;
    char *pin;

    /* What goes in before and comes out after; borrowed from the spec, which must outlive the plan. */
    const struct sc_spec *spec;
};

/* `spec` must have passed sc_spec_check. Errors: HOST when the host lacks something that was not accepted as
 * degraded: names it and the option that accepts it. */
int sc_plan_make(const struct sc_spec *spec, const struct sc_host *host, struct sc_plan **ret_plan,
                 struct sc_err *err);
void sc_plan_free(struct sc_plan *plan);
/* For who makes cells for work of Snapcell's own, before anything is made of the plan: a program at `path`,
 * which no cell can change. `bytes` are borrowed and outlive the plan. 0 or -ENOMEM. */
int sc_plan_add_program(struct sc_plan *plan, const char *path, const void *bytes, size_t n_bytes);

/* What runs source of `lang` inside the cell: the spec's, the environment's, or the language's own. */
#define SC_PLAN_INTERPRETER_MAX 4200
const char *sc_plan_interpreter(const struct sc_plan *plan, enum sc_lang lang,
                                char room[SC_PLAN_INTERPRETER_MAX]);

/* Exactly what would be done: for people, and as JSON (heap text, NULL when memory ran out). Equal plans
 * print equally. */
char *sc_plan_to_text(const struct sc_plan *plan);
char *sc_plan_to_json(const struct sc_plan *plan);

#endif
