/* Takes every right from this process but to speak on the descriptors it holds. */
#ifndef SC_CLI_GATE_SEAL_H
#define SC_CLI_GATE_SEAL_H

#include <sys/types.h>

#include "base/err.h"

/* Should: leave a process that cannot open, connect, start or signal anything, with no capability, as `uid`
 * (0: stay who we are). Must not: go on when a stage fails, but for Landlock on a kernel that has none: the
 * filter alone then holds the same (no open, no connect).
 * Verified by: tests/unit/cli/test_gate_seal.c, tests/gate/test_serve.py. */
int sc_gate_seal(uid_t uid, unsigned descriptors, struct sc_err *err);

#endif
