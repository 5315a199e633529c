/* `snapcell doctor`: what this host offers and lacks. */
#include "cli/job.h"
#include "cli/say.h"

static bool is_blocked(const struct sc_host *host)
{
    struct sc_finding findings[SC_FINDINGS_MAX];
    int n = sc_host_findings(host, findings);
    for (int i = 0; i < n; i++)
        if (findings[i].level == SC_FINDING_BLOCKER)
            return true;
    return false;
}

/* The group below which cells would be made: doctor judges the same place that a run would use. */
static int probe(const struct sc_cli_args *args, struct sc_host *host, struct sc_err *err)
{
    struct sc_spec spec;
    sc_spec_init(&spec);
    int r = sc_cli_apply(&spec, args, err);
    if (r == 0)
        r = sc_cli_cgroup_parent(&spec, err);
    const struct sc_host_options options = {
        .cgroup_parent = spec.cgroup_parent, .want_scope = true, .thorough = true};
    if (r == 0)
        r = sc_host_probe(host, &options, err);
    sc_spec_fini(&spec);
    return r;
}

int sc_cli_doctor(const struct sc_cli_args *args)
{
    struct sc_host host;
    struct sc_err err = {0};
    if (args->n_operands) {
        sc_err_usage(&err, "", "doctor %s: takes no operands", args->operands[0]);
        return sc_cli_fail(&err);
    }
    if (probe(args, &host, &err) < 0)
        return sc_cli_fail(&err);
    bool json = args->flags & SC_FLAG_JSON;
    int status =
        json ? sc_cli_print_json(sc_host_report_json(&host)) : sc_cli_print(sc_host_report_text(&host));
    if (status != SC_CLI_EXIT_OK)
        return status;
    return is_blocked(&host) ? SC_CLI_EXIT_BLOCKED_HOST : SC_CLI_EXIT_OK;
}
