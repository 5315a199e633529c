/* What a person is told on stderr after a run. */
#ifndef SC_CLI_REPORT_H
#define SC_CLI_REPORT_H

#include "base/buf.h"
#include "cli/sink.h"
#include "result/result.h"
#include "spec/spec.h"

/* Most bytes that sc_cli_report_inside adds to a sink. */
#define SC_CLI_INSIDE_MAX (256 * 1024)
/* Behind the program's output, what the run said about itself: its value to `out`, the traceback of its error
 * to `err`, as an interpreter at a terminal does. Nothing for a plain run. */
void sc_cli_report_inside(const struct sc_result *result, struct sc_cli_sink *out, struct sc_cli_sink *err);
/* Adds to `out` one line for each thing that the program's own exit does not tell: what ended the run, output
 * that was cut, artifacts that were left, refusals when the program failed. Nothing for an ordinary end. */
void sc_cli_report_short(const struct sc_result *result, struct sc_buf *out);
/* Adds verdict, usage against `limits`, what was gone without, artifacts and all refusals. */
void sc_cli_report_long(const struct sc_result *result, const struct sc_limits *limits, struct sc_buf *out);

#endif
