/* From parsed arguments to a plan: what `run`, `plan` and `shell` have in common. */
#ifndef SC_CLI_JOB_H
#define SC_CLI_JOB_H

#include "cli/options.h"
#include "host/host.h"
#include "plan/plan.h"
#include "spec/spec.h"

struct sc_cli_job {
    struct sc_spec spec;
    struct sc_host host;
    struct sc_plan *plan;
    int stdin_fd; /* owned, or -1 */
};

/* Fills the spec from the arguments: request file first, then options in their order, then what runs. */
int sc_cli_job_init(struct sc_cli_job *job, const struct sc_cli_args *args, struct sc_err *err);
/* A program that is a file becomes its source, with its language: for who cannot read this folder. */
int sc_cli_run_read_program(struct sc_spec *spec, struct sc_err *err);
/* Checks the spec, looks at the host, makes the plan. */
int sc_cli_job_plan(struct sc_cli_job *job, struct sc_err *err);
void sc_cli_job_fini(struct sc_cli_job *job);

/* The group below which cells are made: the option's value, else $SNAPCELL_CGROUP_PARENT, else NULL. */
int sc_cli_cgroup_parent(struct sc_spec *spec, struct sc_err *err);
/* A request file (--spec) on top of what is there. */
int sc_cli_read_spec(struct sc_spec *spec, const char *path, struct sc_err *err);
/* Applies SET, ADD and LANGUAGE options in their order. */
int sc_cli_apply(struct sc_spec *spec, const struct sc_cli_args *args, struct sc_err *err);

#endif
