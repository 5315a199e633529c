/* What a tenant may ask for at all, before anything is looked up or made. A request of a gate's is a
 * stranger's: paths of the host would be read with the keeper's rights, and a control group or a processor is
 * the operator's to choose. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "judge/judge.h"
#include "keeper/parts.h"
#include "keeper/reply.h"

#define NOT_YOURS "names something of the host's; not allowed through the service"

static char *forbidden(const char *field, const char *why)
{
    char message[SC_ERR_MESSAGE_MAX];
    snprintf(message, sizeof message, "%s: %s", field, why);
    return sc_keeper_reply_error("forbidden", field, message);
}

static bool has_host_file(const struct sc_spec *spec, size_t *ret_at)
{
    for (size_t i = 0; i < spec->n_files; i++) {
        if (spec->files[i].host) {
            *ret_at = i;
            return true;
        }
    }
    return false;
}

/* Built-in sets have names; what has a slash or a dot is a file. */
static bool has_rule_file(const struct sc_validate *validate)
{
    for (size_t i = 0; i < validate->rules.n; i++)
        if (strpbrk(validate->rules.v[i], "/."))
            return true;
    return false;
}

/* `part`: where the spec stands in the request. A build's outputs stay in the keeper. */
static char *refuse_places(const struct sc_spec *spec, const char *part, bool may_leave)
{
    const struct {
        bool given;
        const char *field;
    } rows[] = {
        {spec->program, "program"},
        {spec->n_dirs > 0, "dirs"},
        {spec->n_outs > 0 && !may_leave, "out"},
        {spec->root, "root"},
        {spec->venv, "venv"},
        {spec->interpreter, "interpreter"},
        {spec->cgroup_parent, "cgroup_parent"},
        {spec->pin, "pin"},
        {has_rule_file(&spec->validate), "validate.rules"},
    };
    char field[SC_ERR_FIELD_MAX];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].given) {
            snprintf(field, sizeof field, "%s.%s", part, rows[i].field);
            return forbidden(field, NOT_YOURS);
        }
    size_t at = 0;
    if (has_host_file(spec, &at)) {
        snprintf(field, sizeof field, "%s.files[%zu].host", part, at);
        return forbidden(field, NOT_YOURS);
    }
    return NULL;
}

static char *refuse_degraded(const struct sc_quota *quota, const struct sc_spec *spec, const char *part)
{
    char field[SC_ERR_FIELD_MAX];
    if (!(spec->allow_degraded & ~quota->allow_degraded))
        return NULL;
    snprintf(field, sizeof field, "%s.allow_degraded", part);
    return forbidden(field, "weaker than this tenant may accept");
}

/* What a tenant may ask of a task's cell. */
static char *refuse_step(const struct sc_quota *quota, const struct sc_spec *spec, const char *part,
                         bool may_leave)
{
    char *refusal = refuse_places(spec, part, may_leave);
    return refusal ? refusal : refuse_degraded(quota, spec, part);
}

static char *refuse_test_files(const struct sc_judge_task *task)
{
    char field[SC_ERR_FIELD_MAX];
    for (size_t i = 0; i < task->n_tests; i++) {
        const struct sc_judge_test *test = &task->tests[i];
        if (!test->input.file && !test->expected.file)
            continue;
        snprintf(field, sizeof field, "judge.tests[%zu].%s", i,
                 test->input.file ? "stdin_file" : "expected_file");
        return forbidden(field, NOT_YOURS);
    }
    return NULL;
}

static char *refuse_task(const struct sc_quota *quota, const struct sc_judge_task *task)
{
    char *refusal = refuse_step(quota, &task->build, "judge.build", true);
    if (!refusal)
        refusal = refuse_step(quota, &task->run, "judge.run", false);
    if (!refusal)
        refusal = refuse_step(quota, &task->checker, "judge.checker", false);
    if (!refusal)
        refusal = refuse_test_files(task);
    if (!refusal && task->pin_each)
        refusal = forbidden("judge.pin", NOT_YOURS);
    if (!refusal && quota->some_templates)
        refusal = forbidden("judge", "this tenant may only use templates, which a task has none of");
    return refusal;
}

static char *refuse_template(const struct sc_quota *quota, const struct sc_spec *spec)
{
    if (!quota->some_templates)
        return NULL;
    for (size_t i = 0; spec->template && i < quota->templates.n; i++)
        if (!strcmp(quota->templates.v[i], spec->template))
            return NULL;
    return forbidden("spec.template", spec->template ? "not one of those that this tenant may use"
                                                     : "must be given: this tenant may only use templates");
}

/* What a tenant's cells reach is what request, template and the operator's rules for the tenant allow alike.
 */
int policy_network(const struct caller *caller, struct sc_spec *spec, struct sc_err *err)
{
    if (!caller->tenant || spec->net.mode == SC_NET_NONE)
        return 0;
    const json_t *rules = caller->tenant->quota->network;
    if (!rules)
        return sc_err_usage(err, "spec.network", "spec.network: this tenant has none: allowed is none");
    struct sc_net *ceiling = calloc(1, sizeof *ceiling);
    if (!ceiling)
        return sc_err_sys(err, -ENOMEM, "spec.network");
    struct sc_net **last = &spec->net.within;
    while (*last)
        last = &(*last)->within;
    *last = ceiling; /* the spec's from now on */
    return sc_net_from_json(ceiling, rules, "tenants.network", err);
}

/* Of whatever request makes a session. */
static char *refuse_session(const struct sc_quota *quota, const struct sc_keeper_request *request)
{
    char why[100];
    if (!quota->forkable && (request->spec.forkable || request->forkable))
        return forbidden(request->forkable ? "forkable" : "spec.forkable",
                         "not allowed to this tenant: forkable sessions have fewer walls");
    if (request->total_ns <= quota->session_ns)
        return NULL;
    snprintf(why, sizeof why, "%llu: at most %llu are allowed to this tenant",
             (unsigned long long)(request->total_ns / SC_NS_PER_MS),
             (unsigned long long)(quota->session_ns / SC_NS_PER_MS));
    return forbidden("total_ms", why);
}

char *policy_refuse(const struct sc_quota *quota, const struct sc_keeper_request *request)
{
    const struct sc_spec *spec = &request->spec;
    if (request->verb == SC_KEEPER_JUDGE)
        return refuse_task(quota, request->judge);
    char *refusal = refuse_session(quota, request);
    if (refusal)
        return refusal;
    if (request->verb != SC_KEEPER_ONCE && request->verb != SC_KEEPER_SESSION_START)
        return has_rule_file(&spec->validate) ? forbidden("validate.rules", NOT_YOURS) : NULL;
    refusal = refuse_places(spec, "spec", false);
    if (!refusal)
        refusal = refuse_template(quota, spec);
    if (!refusal)
        refusal = refuse_degraded(quota, spec, "spec");
    return refusal;
}

char *policy_refuse_stored(const struct sc_quota *quota, const struct sc_spec *spec)
{
    char *refusal = refuse_template(quota, spec);
    if (!refusal && (spec->allow_degraded & ~quota->allow_degraded))
        refusal = forbidden("allow_degraded", "weaker than this tenant may accept now");
    if (!refusal && spec->forkable && !quota->forkable)
        refusal = forbidden("forkable", "not allowed to this tenant any more");
    return refusal;
}

uint64_t policy_total_ns(const struct tenant *tenant, uint64_t asked_ns, uint64_t usual_ns)
{
    uint64_t total = asked_ns ? asked_ns : usual_ns;
    return tenant ? sc_min_u64(total, tenant->quota->session_ns) : total;
}
