/* What stands behind the opaque types of snapcell.h. */
#ifndef SC_API_PARTS_H
#define SC_API_PARTS_H

#include "cell/cell.h"
#include "host/host.h"
#include "plan/plan.h"
#include "result/result.h"
#include "snap/session.h"
#include "snapcell.h"
#include "spec/spec.h"

struct snapcell_error {
    struct sc_err err;
};

struct snapcell_host {
    struct sc_host host;
    char *cgroup_parent; /* as it was probed with, or NULL */
};

struct snapcell_spec {
    struct sc_spec spec;
};

struct snapcell_plan {
    struct sc_spec
        spec; /* a checked copy: the plan borrows from it, and the caller's stays as it was written */
    struct sc_plan *plan;
    struct sc_works *works; /* made by the first run, or by snapcell_plan_ready */
};

struct snapcell_result {
    struct sc_result result;
};

/* The error to fill, empty; NULL when the caller wants none. Every function that takes an error starts with
 * it. */
struct sc_err *sc_api_error(struct snapcell_error *error);
int sc_api_no_memory(struct sc_err *err);

#endif
