/* The plan as the agent reads it: one flat, sealed, read-only block, the same for every cell of a plan. All
 * places are offsets from its start; the agent maps it and never writes. Trusted: only the supervisor makes
 * it. */
#ifndef SC_AGENT_IMAGE_H
#define SC_AGENT_IMAGE_H

#include <stdint.h>

#define SC_IMAGE_MAGIC 0x5343454cu
#define SC_IMAGE_VERSION 2
#define SC_IMAGE_FRESH_MAX 8
#define SC_IMAGE_MASK_MAX 48
#define SC_IMAGE_LOCK_MAX 12
#define SC_IMAGE_RLIMIT_MAX 16

enum sc_image_fresh_kind { SC_IMAGE_TMPFS, SC_IMAGE_PROC, SC_IMAGE_DEVPTS, SC_IMAGE_WORKDISK };

struct sc_image_fresh {
    uint32_t kind, path, mode, owned;
    uint64_t bytes, inodes;
};
struct sc_image_mask {
    uint32_t path, with; /* `with`: template path that is laid over */
};
struct sc_image_lock {
    uint64_t access;
    uint32_t path, pad;
};
struct sc_image_rlimit {
    uint64_t value;
    uint32_t resource, pad;
};

#define SC_IMAGE_ROOTLESS 0x1
#define SC_IMAGE_SHARED_UID 0x2 /* agent and program have one uid */
#define SC_IMAGE_APPARMOR 0x4
#define SC_IMAGE_PTY 0x8
#define SC_IMAGE_STAY 0x10 /* commands come instead of START */
#define SC_IMAGE_FIXED_LAYOUT 0x20

struct sc_image {
    uint32_t magic, version, size, flags;
    uint32_t n_fresh, n_masks, n_locks, n_rlimits;
    struct sc_image_fresh fresh[SC_IMAGE_FRESH_MAX];
    struct sc_image_mask masks[SC_IMAGE_MASK_MAX];
    struct sc_image_lock locks[SC_IMAGE_LOCK_MAX];
    struct sc_image_rlimit rlimits[SC_IMAGE_RLIMIT_MAX];
    uint64_t zygote_tasks; /* RLIMIT_NPROC of a cell that can be forked; 0: as in rlimits */
    uint64_t landlock_fs, landlock_scoped;
    uint32_t filter, n_insns; /* struct sock_filter array */
    uint32_t forkable_filter,
        n_forkable_insns; /* of cells that can be forked; 0 of them: the plan has none */
    uint32_t argv, argc;  /* uint32_t offsets of strings */
    uint32_t env, envc;
    uint32_t cwd, hostname;
    uint32_t agent_uid, program_uid; /* inside */
    uint32_t n_pin;                  /* bytes of a processor mask at `pin`; 0: not pinned */
    uint32_t pin;
};

static inline const char *sc_image_text(const struct sc_image *image, uint32_t at)
{
    return (const char *)image + at;
}

#endif
