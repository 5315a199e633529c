/* Real cells for the tests of src/cell, as root and as an ordinary user, and the proof that nothing is left
 * of them. */
#ifndef TEST_CELL_FIXTURE_H
#define TEST_CELL_FIXTURE_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cell/cell.h"
#include "spec/spec.h"

/* The host as it is, probed once for each process; below SNAPCELL_CGROUP_PARENT or, as root, /snapcell. */
const struct sc_host *the_host(void);
/* What cells of this process must do without, as the text of --allow-degraded; "" for nothing. */
const char *to_accept(void);

/* Ends a test binary: runs `tests` as the one who started it and, when that is root, again in a child with an
 * id that nobody has, as an ordinary user does. */
#define RUN_AS_BOTH(tests) run_as_both(#tests, tests, sizeof(tests) / sizeof(tests)[0])
int run_as_both(const char *name, const struct CMUnitTest *tests, size_t n);
/* Skips the test unless it runs as root. */
void need_root(void);

/* One cell's world. Every test starts with begin() and ends with end(), which frees all and proves that
 * nothing is left. */
struct world {
    struct sc_spec spec;
    struct sc_plan *plan;
    struct sc_works *works;
    struct sc_result result;
    struct sc_err err;
    bool has_result;
    char mark[40]; /* in the arguments of every process of the cell that runs `inside` */
};

/* `inside MARK verb arg` as a file of the cell; options as pairs ended by NULL ("wall", "1s", "out", "…"). */
void begin(struct world *world, const char *verb, const char *arg, ...) __attribute__((sentinel));
/* Plan and works, when a test needs them before run(). */
void make_works(struct world *world);
/* One run; what sc_cell_run says. A result of before is freed. */
int run(struct world *world, const struct sc_callbacks *callbacks);
/* The same, and it must have gone so. */
void expect(struct world *world, enum sc_status status, int exit_code);
void end(struct world *world);

/* Processes anywhere whose arguments hold `mark`. */
unsigned marked(const char *mark);
/* Until none is left, for at most a second; how many are. */
unsigned marked_after_a_second(const char *mark);

/* What this process has of the things that can be left behind. */
struct traces {
    unsigned descriptors, children, groups, mounts;
};
struct traces traces_of_now(void);
void assert_same_traces(const struct traces *before);
/* Set-up and tear-down of a test that shall leave nothing behind. */
int note_traces(void **state);
int expect_no_traces(void **state);

/* A folder of the test's own that anybody may write to; removed by remove_folder. */
char *make_folder(void);
void remove_folder(char *folder);

#endif
