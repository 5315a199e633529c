#include "fixture.h"

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

struct sc_host made_up_v1_server(void)
{
    struct sc_host host = made_up_server();
    host.cgroup_layout = SC_LAYOUT_V1;
    host.cgroup_v2_kill = false;
    for (int i = 0; i < SC_CTL_COUNT; i++) {
        host.controllers[i].version = SC_CGROUP_V1;
        snprintf(host.controllers[i].dir, sizeof host.controllers[i].dir, "/sys/fs/cgroup/%s/cells",
                 SC_CONTROLLER_NAMES[i]);
    }
    return host;
}

void without(struct sc_host *host, enum sc_controller controller, const char *why)
{
    host->controllers[controller] = (struct sc_host_controller){.version = SC_CGROUP_NONE};
    snprintf(host->controllers[controller].why, sizeof host->controllers[controller].why, "%s", why);
}

struct sc_host made_up_bare_laptop(const char *why)
{
    struct sc_host host = made_up_laptop();
    for (int i = 0; i < SC_CTL_COUNT; i++)
        without(&host, (enum sc_controller)i, why);
    host.cgroup_layout = SC_LAYOUT_NONE;
    return host;
}

static bool is_repeatable(const char *option)
{
    static const char *const names[] = {"dir", "env", "out", "file", "allow-degraded"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (!strcmp(names[i], option))
            return true;
    return false;
}

static void set_options(struct sc_spec *spec, va_list options)
{
    struct sc_err err = {0};
    for (const char *option; (option = va_arg(options, const char *));) {
        const char *value = va_arg(options, const char *);
        int r = is_repeatable(option) ? sc_spec_add(spec, option, value, &err)
                                      : sc_spec_set(spec, option, value, &err);
        if (r < 0)
            fail_msg("--%s %s: %s", option, value, err.message);
    }
}

void fill_spec(struct sc_spec *spec, const char *code, ...)
{
    va_list options;
    sc_spec_init(spec);
    spec->lang = SC_LANG_PYTHON;
    assert_int_equal(sc_spec_set_code(spec, code, strlen(code), NULL), 0);
    va_start(options, code);
    set_options(spec, options);
    va_end(options);
}

void fill_command(struct sc_spec *spec, const char *const *argv, ...)
{
    va_list options;
    sc_spec_init(spec);
    assert_int_equal(sc_spec_set_command(spec, argv, NULL), 0);
    va_start(options, argv);
    set_options(spec, options);
    va_end(options);
}

static void check(struct sc_spec *spec, const struct sc_host *host)
{
    struct sc_err err = {0};
    if (sc_spec_check(spec, host->memory_bytes, &err) < 0)
        fail_msg("check: %s", err.message);
}

struct sc_plan *plan_of(struct sc_spec *spec, const struct sc_host *host)
{
    struct sc_err err = {0};
    struct sc_plan *plan = NULL;
    check(spec, host);
    if (sc_plan_make(spec, host, &plan, &err) < 0)
        fail_msg("plan: %s", err.message);
    assert_non_null(plan);
    return plan;
}

void refused(struct sc_spec *spec, const struct sc_host *host, struct sc_err *ret_err)
{
    struct sc_plan *untouched = (struct sc_plan *)1, *plan = untouched;
    sc_err_clear(ret_err);
    check(spec, host);
    int r = sc_plan_make(spec, host, &plan, ret_err);
    if (r >= 0)
        fail_msg("the plan was made");
    assert_ptr_equal(plan, untouched);
    assert_int_equal(ret_err->code, r);
}

const struct sc_plan_mount *mount_at(const struct sc_plan *plan, const char *path)
{
    for (size_t i = 0; i < plan->n_mounts; i++)
        if (!strcmp(plan->mounts[i].path, path))
            return &plan->mounts[i];
    return NULL;
}

const struct sc_plan_fresh *fresh_at(const struct sc_plan *plan, const char *path)
{
    for (size_t i = 0; i < plan->n_fresh; i++)
        if (!strcmp(plan->fresh[i].path, path))
            return &plan->fresh[i];
    return NULL;
}

const char *cover_of(const struct sc_plan *plan, const char *path)
{
    for (size_t i = 0; i < plan->n_masks; i++)
        if (!strcmp(plan->masks[i].path, path))
            return plan->masks[i].with;
    return NULL;
}

const char *group_value(const struct sc_plan *plan, const char *file)
{
    for (size_t i = 0; i < plan->n_cgroup; i++)
        if (!strcmp(plan->cgroup[i].file, file))
            return plan->cgroup[i].value;
    return NULL;
}

uint64_t rlimit_of(const struct sc_plan *plan, int resource)
{
    for (size_t i = 0; i < plan->n_rlimits; i++)
        if (plan->rlimits[i].resource == resource)
            return plan->rlimits[i].value;
    return UINT64_MAX;
}

const char *env_of(const struct sc_plan *plan, const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < plan->env.n; i++)
        if (!strncmp(plan->env.v[i], name, len) && plan->env.v[i][len] == '=')
            return plan->env.v[i] + len + 1;
    return NULL;
}

char *make_tree(void)
{
    char *folder = strdup("/tmp/test-plan-XXXXXX");
    assert_non_null(folder);
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chmod(folder, 0755), 0);
    return folder;
}

static void path_of(char path[PATH_MAX], const char *folder, const char *name)
{
    assert_true(snprintf(path, PATH_MAX, "%s/%s", folder, name) < PATH_MAX);
}

void put_file(const char *folder, const char *name, const char *content, unsigned mode)
{
    char path[PATH_MAX];
    path_of(path, folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, content, strlen(content)), strlen(content));
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

void put_folder(const char *folder, const char *name)
{
    char path[PATH_MAX];
    path_of(path, folder, name);
    assert_int_equal(mkdir(path, 0755), 0);
}

void put_link(const char *folder, const char *name, const char *target)
{
    char path[PATH_MAX];
    path_of(path, folder, name);
    assert_int_equal(symlink(target, path), 0);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    return remove(path);
}

void remove_tree(char *folder)
{
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(folder);
}
