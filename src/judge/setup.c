#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "judge/parts.h"
#include "spec/json_read.h"

static int no_memory(struct sc_err *err)
{
    return sc_err_sys(err, -ENOMEM, "a test's cells");
}

static int add_mount(struct sc_spec *spec, const char *host, struct sc_err *err)
{
    json_t *request = json_pack("{s:[{s:s, s:s, s:b}]}", "dirs", "host", host, "path", SC_JUDGE_FOLDER,
                                "read_only_mount", 1);
    if (!request)
        return no_memory(err);
    int r = sc_spec_read(spec, request, "", err);
    json_decref(request);
    return r;
}

static int add_args(struct sc_spec *spec, const struct sc_setup_change *change, struct sc_err *err)
{
    int r = 0;
    for (size_t i = 0; change->test && i < change->test->args.n && r == 0; i++)
        r = sc_strv_add(&spec->args, change->test->args.v[i]);
    for (const char *const *arg = change->args; arg && *arg && r == 0; arg++)
        r = sc_strv_add(&spec->args, *arg);
    return r < 0 ? no_memory(err) : 0;
}

static int change_spec(struct sc_spec *spec, const struct sc_setup_change *change, struct sc_err *err)
{
    int r = add_args(spec, change, err);
    if (r == 0 && change->test && change->test->has_limits)
        spec->limits = change->test->limits;
    if (r == 0 && change->build)
        r = add_mount(spec, change->build, err);
    if (r == 0 && change->pin && *change->pin)
        r = sc_spec_set(spec, "pin", change->pin, err);
    /* Each run brings its own stdin: the cells are made with a pipe for it. */
    if (r == 0 && !spec->stdin_data)
        r = sc_spec_set_stdin(spec, "", 0, err);
    return r;
}

int sc_setup_open(struct sc_setup *setup, const struct sc_spec *part, const struct sc_setup_change *change,
                  const struct sc_host *host, struct sc_err *err)
{
    *setup = (struct sc_setup){0};
    if (sc_spec_copy(part, &setup->spec) < 0) {
        sc_spec_init(&setup->spec);
        return no_memory(err);
    }
    int r = change_spec(&setup->spec, change, err);
    if (r == 0)
        r = sc_spec_check(&setup->spec, host->memory_bytes, err);
    if (r == 0)
        r = sc_plan_make(&setup->spec, host, &setup->plan, err);
    if (r == 0)
        r = sc_works_new(setup->plan, &setup->works, err);
    if (r < 0)
        sc_setup_close(setup);
    return r;
}

void sc_setup_close(struct sc_setup *setup)
{
    sc_works_free(setup->works);
    sc_plan_free(setup->plan);
    sc_spec_fini(&setup->spec);
    *setup = (struct sc_setup){0};
}
