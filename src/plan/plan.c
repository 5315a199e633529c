#include "plan/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan_internal.h"
#include "plan/runners.h"

static char *copy(const char *text, int *failed)
{
    if (!text)
        return NULL;
    char *r = strdup(text);
    if (!r)
        *failed = 1;
    return r;
}

int sc_plan_add_mount(struct sc_plan *plan, enum sc_mount_kind kind, const char *path, const char *source,
                      const char *content, uint32_t mode)
{
    struct sc_plan_mount *mounts = reallocarray(plan->mounts, plan->n_mounts + 1, sizeof *mounts);
    if (!mounts)
        return -ENOMEM;
    plan->mounts = mounts;
    int failed = 0;
    mounts[plan->n_mounts++] = (struct sc_plan_mount){
        .kind = kind,
        .path = copy(path, &failed),
        .source = copy(source, &failed),
        .content = copy(content, &failed),
        .mode = mode,
    };
    return failed ? -ENOMEM : 0;
}

int sc_plan_add_program(struct sc_plan *plan, const char *path, const void *bytes, size_t n_bytes)
{
    int r = sc_plan_add_mount(plan, SC_MOUNT_BYTES, path, NULL, NULL, 0555);
    if (r == 0) {
        plan->mounts[plan->n_mounts - 1].bytes = bytes;
        plan->mounts[plan->n_mounts - 1].n_bytes = n_bytes;
    }
    return r;
}

void sc_plan_free(struct sc_plan *plan)
{
    if (!plan)
        return;
    for (size_t i = 0; i < plan->n_mounts; i++) {
        free(plan->mounts[i].path);
        free(plan->mounts[i].source);
        free(plan->mounts[i].content);
    }
    free(plan->mounts);
    sc_strv_fini(&plan->argv);
    sc_strv_fini(&plan->env);
    free(plan->cwd);
    free(plan->hostname);
    free(plan->pin);
    free(plan);
}

/* What no cell can be made without, on any terms. */
static int check_host(const struct sc_host *host, struct sc_err *err)
{
    if (host->kernel_major < 5 || (host->kernel_major == 5 && host->kernel_minor < 12))
        return sc_err_set(err, SC_ERR_HOST, -ENOSYS,
                          "kernel %d.%d is too old: a cell needs Linux 5.12 (mount_setattr) or newer",
                          host->kernel_major, host->kernel_minor);
    if (!host->pidfd || !host->seccomp_user_notif)
        return sc_err_set(err, SC_ERR_HOST, -ENOSYS, "this kernel lacks %s; see `snapcell doctor`",
                          host->pidfd ? "seccomp user notification" : "clone3 with pidfds");
    if (host->userns_errno)
        return sc_err_set(err, SC_ERR_HOST, host->userns_errno,
                          "user namespaces cannot be used here (%s: %s); see `snapcell doctor` for the fix",
                          host->userns_step, strerror(-host->userns_errno));
    if (*host->missing_call)
        return sc_err_set(err, SC_ERR_HOST, -ENOSYS,
                          "this kernel lacks the system call %s; see `snapcell doctor`", host->missing_call);
    /* Behind a map or not, host uid 0 owns the host's files: /proc/sys, devices, everything. */
    if (host->bare_uid0 || (host->root && host->cell_uid_base == 0))
        return sc_err_set(
            err, SC_ERR_HOST, -EPERM,
            "a cell's user would be uid 0 of the host behind a map; see `snapcell doctor` for the fix");
    if (!host->time_namespace || !host->cgroup_namespace)
        return sc_err_set(err, SC_ERR_HOST, -ENOSYS, "this kernel lacks %s namespaces; see `snapcell doctor`",
                          host->time_namespace ? "cgroup" : "time");
    return 0;
}

static int plan_forks(struct sc_plan *plan)
{
    const struct {
        const char *path;
        const unsigned char *bytes;
        size_t len;
    } files[] = {{SC_FORK_LIBRARY, sc_fork_library, sc_fork_library_len},
                 {SC_FORK_NODE_SHIM, sc_fork_node_shim, sc_fork_node_shim_len},
                 {SC_FORK_NODE_ADDON, sc_fork_node_addon, sc_fork_node_addon_len},
                 {SC_FORK_BASH_BUILTIN, sc_fork_bash_builtin, sc_fork_bash_builtin_len}};
    int r = 0;
    for (size_t i = 0; i < sizeof files / sizeof files[0] && r == 0; i++)
        r = sc_plan_add_program(plan, files[i].path, files[i].bytes, files[i].len);
    return r;
}

static int plan_runners(struct sc_plan *plan, struct sc_err *err)
{
    int r = 0;
    for (const struct sc_runner_file *file = SC_RUNNER_FILES; plan->stay && file->path && r == 0; file++)
        r = sc_plan_add_mount(plan, SC_MOUNT_FILE, file->path, NULL, file->content, 0444);
    if (r == 0 && plan->forkable)
        r = plan_forks(plan);
    return r < 0 ? sc_err_sys(err, r, "plan of the runners") : 0;
}

int sc_plan_make(const struct sc_spec *spec, const struct sc_host *host, struct sc_plan **ret_plan,
                 struct sc_err *err)
{
    int r = check_host(host, err);
    if (r < 0)
        return r;
    struct sc_plan *plan = calloc(1, sizeof *plan);
    if (!plan)
        return sc_err_sys(err, -ENOMEM, "plan");
    plan->host = host;
    plan->spec = spec;
    plan->limits = spec->limits;
    plan->lang = spec->lang;
    plan->overflow = spec->overflow;
    plan->filter = sc_filter_for(spec->profile);
    plan->rootless = !host->root;
    plan->agent_shares_uid = plan->rootless && host->sub_uid == (uid_t)-1;
    plan->pty = spec->pty;
    plan->disk_image = spec->disk_backing == SC_DISK_IMAGE;
    plan->fixed_layout = spec->deterministic.on;
    plan->forkable = spec->forkable;
    plan->own_authority = sc_net_terminates(&spec->net);
    plan->zygote = spec->forkable && spec->zygote;
    plan->stay = spec->session || spec->mode != SC_MODE_PLAIN;

    int (*const parts[])(struct sc_plan *, struct sc_err *) = {
        sc_plan_limits, sc_plan_root, sc_plan_proc, sc_plan_run, plan_runners, sc_plan_deterministic};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && r == 0; i++) {
        r = parts[i](plan, err);
        if (r == -ENOMEM)
            sc_err_sys(err, r, "plan");
    }
    if (r < 0) {
        sc_plan_free(plan);
        return r;
    }
    *ret_plan = plan;
    return 0;
}
