/* What a person is told on stderr after a run. */
#ifndef SC_CLI_REPORT_H
#define SC_CLI_REPORT_H

#include "base/buf.h"
#include "result/result.h"
#include "spec/spec.h"

/* Adds to `out` one line for each thing that the program's own exit does not tell: what ended the run, output
 * that was cut, artifacts that were left, refusals when the program failed. Nothing for an ordinary end. */
void sc_cli_report_short(const struct sc_result *result, struct sc_buf *out);
/* Adds verdict, usage against `limits`, what was gone without, artifacts and all refusals. */
void sc_cli_report_long(const struct sc_result *result, const struct sc_limits *limits, struct sc_buf *out);

#endif
