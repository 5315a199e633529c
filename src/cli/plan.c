/* `snapcell plan`: what `run` would do, without doing it. */
#include "cli/job.h"
#include "cli/say.h"

int sc_cli_plan(const struct sc_cli_args *args)
{
    struct sc_cli_job job;
    struct sc_err err = {0};
    int status;
    if (sc_cli_job_init(&job, args, &err) < 0)
        return sc_cli_fail(&err);
    if (sc_cli_job_plan(&job, &err) < 0)
        status = sc_cli_fail(&err);
    else if (args->flags & SC_FLAG_JSON)
        status = sc_cli_print_json(sc_plan_to_json(job.plan));
    else
        status = sc_cli_print(sc_plan_to_text(job.plan));
    sc_cli_job_fini(&job);
    return status;
}
