/* Plan, run, result. */
#include "api/parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "snap/recipe.h"

int sc_api_check_parent(const struct sc_spec *spec, const struct snapcell_host *host, struct sc_err *err)
{
    const char *probed = host->cgroup_parent ? host->cgroup_parent : "";
    if (!spec->cgroup_parent || !strcmp(spec->cgroup_parent, probed))
        return 0;
    return sc_err_usage(err, "cgroup-parent",
                        "cgroup-parent: %s: allowed is what snapcell_host_probe was given: \"%s\"",
                        spec->cgroup_parent, probed);
}

int sc_api_plan(const struct sc_spec *spec, bool session, const struct snapcell_host *host,
                struct sc_spec *ret_spec, struct sc_plan **ret_plan, struct sc_err *err)
{
    sc_spec_init(ret_spec);
    if (sc_spec_copy(spec, ret_spec) < 0)
        return sc_api_no_memory(err);
    ret_spec->session = session;
    int r = sc_recipe_apply(ret_spec, err);
    if (r == 0)
        r = sc_spec_check(ret_spec, host->host.memory_bytes, err);
    if (r == 0)
        r = sc_api_check_parent(ret_spec, host, err);
    return r < 0 ? r : sc_plan_make(ret_spec, &host->host, ret_plan, err);
}

int snapcell_plan_new(struct snapcell_spec *spec, const struct snapcell_host *host,
                      struct snapcell_plan **ret_plan, struct snapcell_error *error)
{
    struct sc_err *err = sc_api_error(error);
    struct snapcell_plan *plan = calloc(1, sizeof *plan);
    if (!plan)
        return sc_api_no_memory(err);
    int r = sc_api_plan(&spec->spec, false, host, &plan->spec, &plan->plan, err);
    if (r < 0) {
        snapcell_plan_free(plan);
        return r;
    }
    *ret_plan = plan;
    return 0;
}

void snapcell_plan_free(struct snapcell_plan *plan)
{
    if (!plan)
        return;
    sc_works_free(plan->works);
    sc_plan_free(plan->plan);
    sc_spec_fini(&plan->spec);
    free(plan);
}

char *snapcell_plan_text(const struct snapcell_plan *plan)
{
    return sc_plan_to_text(plan->plan);
}

char *snapcell_plan_json(const struct snapcell_plan *plan)
{
    return sc_plan_to_json(plan->plan);
}

/* Takes both texts. */
static int same_texts(char *a, char *b)
{
    int r = a && b ? !strcmp(a, b) : -ENOMEM;
    free(a);
    free(b);
    return r;
}

int snapcell_plan_equal(const struct snapcell_plan *a, const struct snapcell_plan *b)
{
    if (a->spec.stdin_fd != b->spec.stdin_fd)
        return 0;
    int r = same_texts(sc_plan_to_json(a->plan), sc_plan_to_json(b->plan));
    /* A plan prints how, but not every byte of what goes in: code, stdin, files. */
    return r == 1 ? same_texts(sc_spec_to_json_whole(&a->spec), sc_spec_to_json_whole(&b->spec)) : r;
}

static int make_works(struct snapcell_plan *plan, struct sc_err *err)
{
    return plan->works ? 0 : sc_works_new(plan->plan, &plan->works, err);
}

int snapcell_plan_ready(struct snapcell_plan *plan, unsigned cells, struct snapcell_error *error)
{
    struct sc_err *err = sc_api_error(error);
    int r = make_works(plan, err);
    return r < 0 ? r : sc_works_ready(plan->works, cells, err);
}

int snapcell_run(struct snapcell_plan *plan, const struct snapcell_callbacks *callbacks,
                 struct snapcell_result **ret_result, struct snapcell_error *error)
{
    struct sc_err *err = sc_api_error(error);
    struct sc_callbacks inner = {.cancel_fd = -1};
    if (callbacks) {
        inner.userdata = callbacks->userdata;
        inner.output = callbacks->output;
        inner.cancelled = callbacks->cancelled;
        inner.artifact = callbacks->artifact;
    }
    int r = make_works(plan, err);
    if (r < 0)
        return r;
    struct snapcell_result *result = calloc(1, sizeof *result);
    if (!result)
        return sc_api_no_memory(err);
    sc_result_init(&result->result, plan->plan->limits.stdout, plan->plan->limits.stderr);
    r = sc_run_once(plan->works, &inner, 0, &result->result, err);
    if (r < 0) {
        snapcell_result_free(result);
        return r;
    }
    /* A sandbox_error is told by the result, whose message this is. */
    sc_err_clear(err);
    *ret_result = result;
    return 0;
}

void snapcell_result_free(struct snapcell_result *result)
{
    if (result)
        sc_result_fini(&result->result);
    free(result);
}

const char *snapcell_result_status(const struct snapcell_result *result)
{
    return SC_STATUS_NAMES[result->result.status];
}

int snapcell_result_exit_code(const struct snapcell_result *result)
{
    return result->result.exit_code;
}

int snapcell_result_signal(const struct snapcell_result *result)
{
    return result->result.signal;
}

const char *snapcell_result_message(const struct snapcell_result *result)
{
    return result->result.message;
}

static const char *bytes_of(const struct sc_stream *stream, size_t *ret_len)
{
    if (ret_len)
        *ret_len = stream->kept.len;
    return stream->kept.len ? (const char *)stream->kept.data : "";
}

const char *snapcell_result_stdout(const struct snapcell_result *result, size_t *ret_len)
{
    return bytes_of(&result->result.out, ret_len);
}

const char *snapcell_result_stderr(const struct snapcell_result *result, size_t *ret_len)
{
    return bytes_of(&result->result.err, ret_len);
}

uint64_t snapcell_result_wall_ns(const struct snapcell_result *result)
{
    return result->result.usage.wall_ns;
}

uint64_t snapcell_result_start_ns(const struct snapcell_result *result)
{
    return result->result.usage.start_ns;
}

uint64_t snapcell_result_cpu_ns(const struct snapcell_result *result)
{
    return result->result.usage.cpu_user_ns + result->result.usage.cpu_system_ns;
}

uint64_t snapcell_result_memory_peak_bytes(const struct snapcell_result *result)
{
    return result->result.usage.memory_peak_bytes;
}

char *snapcell_result_json(const struct snapcell_result *result)
{
    return sc_result_to_json(&result->result, 2);
}
