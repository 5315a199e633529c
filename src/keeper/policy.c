/* What a tenant may ask for at all, before anything is looked up or made. A request of a gate's is a
 * stranger's: paths of the host would be read with the keeper's rights, and a control group or a processor is
 * the operator's to choose. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
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

static char *refuse_places(const struct sc_spec *spec)
{
    const struct {
        bool given;
        const char *field;
    } rows[] = {
        {spec->program, "spec.program"},
        {spec->n_dirs > 0, "spec.dirs"},
        {spec->n_outs > 0, "spec.out"},
        {spec->root, "spec.root"},
        {spec->venv, "spec.venv"},
        {spec->interpreter, "spec.interpreter"},
        {spec->cgroup_parent, "spec.cgroup_parent"},
        {spec->pin, "spec.pin"},
        {has_rule_file(&spec->validate), "spec.validate.rules"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].given)
            return forbidden(rows[i].field, NOT_YOURS);
    size_t at = 0;
    if (has_host_file(spec, &at)) {
        char field[SC_ERR_FIELD_MAX];
        snprintf(field, sizeof field, "spec.files[%zu].host", at);
        return forbidden(field, NOT_YOURS);
    }
    return NULL;
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
    char *refusal = refuse_session(quota, request);
    if (refusal)
        return refusal;
    if (request->verb != SC_KEEPER_ONCE && request->verb != SC_KEEPER_SESSION_START)
        return has_rule_file(&spec->validate) ? forbidden("validate.rules", NOT_YOURS) : NULL;
    refusal = refuse_places(spec);
    if (!refusal)
        refusal = refuse_template(quota, spec);
    if (!refusal && (spec->allow_degraded & ~quota->allow_degraded))
        refusal = forbidden("spec.allow_degraded", "weaker than this tenant may accept");
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
