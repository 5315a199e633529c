/* Reading the code of a run before anything of it runs. */
#ifndef SC_SNAP_CHECK_FIRST_H
#define SC_SNAP_CHECK_FIRST_H

#include "plan/plan.h"
#include "result/result.h"
#include "snap/checker.h"

/* The source of a plan, read by the rules of its spec. The report is the caller's. */
int sc_check_plan(const struct sc_plan *plan, struct sc_check_report *ret_report, struct sc_err *err);
/* Looks at the source of a plan whose spec asks for it. 1: `result` says why it must not run (blocked, syntax
 * error); 0: it may, and result->findings tells what was found, or is NULL when nothing was asked for;
 * negative errno. */
int sc_check_first(const struct sc_plan *plan, struct sc_result *result, struct sc_err *err);

/* What a report means for the run that it is about: takes its findings into `result`. True: the run must not
 * be, and status and message say why. */
bool sc_check_apply(const struct sc_validate *validate, const struct sc_check_report *report,
                    struct sc_result *result);

#endif
