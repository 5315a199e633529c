#include "cell/image_pack.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "agent/image.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/cpus.h"

#define IMAGE_MAX (16u << 20)

/* The head comes first in the buffer, so places are offsets from its start; it is written over at the end. */
struct packer {
    struct sc_buf buf;
    int error; /* first one; everything after is skipped */
};

static uint32_t put(struct packer *packer, const void *data, size_t len)
{
    static const char zeros[8];
    size_t pad = (8 - packer->buf.len % 8) % 8;
    if (packer->error == 0)
        packer->error = sc_buf_add(&packer->buf, zeros, pad);
    uint32_t at = (uint32_t)packer->buf.len;
    if (packer->error == 0)
        packer->error = sc_buf_add(&packer->buf, data, len);
    return at;
}

static uint32_t put_text(struct packer *packer, const char *text)
{
    return put(packer, text, strlen(text) + 1);
}

static uint32_t put_list(struct packer *packer, const struct sc_strv *list)
{
    uint32_t *places = calloc(list->n + 1, sizeof *places);
    if (!places) {
        packer->error = packer->error ? packer->error : -ENOMEM;
        return 0;
    }
    for (size_t i = 0; i < list->n; i++)
        places[i] = put_text(packer, list->v[i]);
    uint32_t at = put(packer, places, list->n * sizeof *places);
    free(places);
    return at;
}

static void pack_mounts(struct packer *packer, const struct sc_plan *plan, struct sc_image *image)
{
    static const uint32_t kinds[] = {[SC_FRESH_TMPFS] = SC_IMAGE_TMPFS,
                                     [SC_FRESH_PROC] = SC_IMAGE_PROC,
                                     [SC_FRESH_DEVPTS] = SC_IMAGE_DEVPTS,
                                     [SC_FRESH_IMAGE] = SC_IMAGE_WORKDISK};
    _Static_assert(SC_IMAGE_FRESH_MAX >= SC_PLAN_FRESH_MAX && SC_IMAGE_MASK_MAX >= SC_PLAN_MASK_MAX &&
                       SC_IMAGE_LOCK_MAX >= SC_PLAN_LOCK_MAX && SC_IMAGE_RLIMIT_MAX >= SC_PLAN_RLIMIT_MAX,
                   "the image holds what a plan can hold");
    for (size_t i = 0; i < plan->n_fresh; i++)
        image->fresh[i] =
            (struct sc_image_fresh){kinds[plan->fresh[i].kind], put_text(packer, plan->fresh[i].path),
                                    plan->fresh[i].mode,        plan->fresh[i].owned,
                                    plan->fresh[i].bytes,       plan->fresh[i].inodes};
    image->n_fresh = (uint32_t)plan->n_fresh;
    for (size_t i = 0; i < plan->n_masks; i++)
        image->masks[i] = (struct sc_image_mask){put_text(packer, plan->masks[i].path),
                                                 put_text(packer, plan->masks[i].with)};
    image->n_masks = (uint32_t)plan->n_masks;
    for (size_t i = 0; i < plan->n_locks; i++)
        image->locks[i] =
            (struct sc_image_lock){plan->locks[i].access, put_text(packer, plan->locks[i].path), 0};
    image->n_locks = (uint32_t)plan->n_locks;
    image->landlock_fs = plan->landlock_handled_fs;
    image->landlock_scoped = plan->landlock_scoped;
}

static void pack_run(struct packer *packer, const struct sc_plan *plan, struct sc_image *image)
{
    for (size_t i = 0; i < plan->n_rlimits; i++)
        image->rlimits[i] =
            (struct sc_image_rlimit){plan->rlimits[i].value, (uint32_t)plan->rlimits[i].resource, 0};
    image->n_rlimits = (uint32_t)plan->n_rlimits;
    image->zygote_tasks = plan->zygote_tasks;
    image->filter = put(packer, plan->filter->insns, plan->filter->n_insns * sizeof(struct sock_filter));
    image->n_insns = plan->filter->n_insns;
    if (plan->forkable) {
        const struct sc_filter *forkable = sc_filter_forkable(plan->zygote);
        image->forkable_filter = put(packer, forkable->insns, forkable->n_insns * sizeof(struct sock_filter));
        image->n_forkable_insns = forkable->n_insns;
    }
    image->argv = put_list(packer, &plan->argv);
    image->argc = (uint32_t)plan->argv.n;
    image->env = put_list(packer, &plan->env);
    image->envc = (uint32_t)plan->env.n;
    image->cwd = put_text(packer, plan->cwd);
    image->hostname = put_text(packer, plan->hostname);
    if (plan->pin) {
        cpu_set_t set;
        int r = sc_parse_cpu_list(plan->pin, &set);
        packer->error = packer->error ? packer->error : r;
        image->pin = put(packer, &set, sizeof set);
        image->n_pin = sizeof set;
    }
}

int sc_image_pack(const struct sc_plan *plan, struct sc_err *err)
{
    struct packer packer = {0};
    struct sc_image image = {
        .magic = SC_IMAGE_MAGIC,
        .version = SC_IMAGE_VERSION,
        .flags = (plan->rootless ? SC_IMAGE_ROOTLESS : 0) |
                 (plan->agent_shares_uid ? SC_IMAGE_SHARED_UID : 0) |
                 (plan->apparmor ? SC_IMAGE_APPARMOR : 0) | (plan->pty ? SC_IMAGE_PTY : 0) |
                 (plan->stay ? SC_IMAGE_STAY : 0) | (plan->fixed_layout ? SC_IMAGE_FIXED_LAYOUT : 0),
        .agent_uid = plan->agent_shares_uid ? SC_CELL_UID : SC_CELL_AGENT_UID,
        .program_uid = SC_CELL_UID,
    };
    sc_buf_init(&packer.buf, IMAGE_MAX);
    put(&packer, &image, sizeof image);
    pack_mounts(&packer, plan, &image);
    pack_run(&packer, plan, &image);
    int r = packer.error;
    if (r == 0) {
        image.size = (uint32_t)packer.buf.len;
        memcpy(packer.buf.data, &image, sizeof image);
        r = sc_memfd_sealed("snapcell-plan", packer.buf.data, packer.buf.len);
    }
    sc_buf_fini(&packer.buf);
    return r < 0 ? sc_err_sys(err, r, "packing the plan for the agent") : r;
}
