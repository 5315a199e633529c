/* Build once, run many: a program is built in one cell, its outputs are read-only for N runs in fresh cells,
 * each with its own stdin, limits and expected output, and each comes to a verdict. docs/judge.md.
 *
 *     task (JSON, checked) → build → tests, by one or more lanes → report
 *
 * What is expected never enters the cell of a run. Nothing of one test can be seen by another: every one has
 * a cell of its own, made from plans that all of a lane's tests share.
 */
#ifndef SC_JUDGE_JUDGE_H
#define SC_JUDGE_JUDGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strv.h"
#include "host/host.h"
#include "result/result.h"
#include "spec/spec.h"

#define SC_JUDGE_TESTS_MAX 10000
#define SC_JUDGE_JOBS_MAX 64
#define SC_JUDGE_SHOWN_MAX 65536 /* bytes of a test's output in the report */
#define SC_JUDGE_EXPECTED_MAX (1024 * SC_MIB)
#define SC_JUDGE_FOLDER "/build" /* where runs find what was built */

/* What became of a test. A closed set: docs/judge.md. */
enum sc_verdict {
    SC_VERDICT_ACCEPTED = 0,
    SC_VERDICT_WRONG_ANSWER,
    SC_VERDICT_PRESENTATION_ERROR,
    SC_VERDICT_RUNTIME_ERROR,
    SC_VERDICT_TIME_LIMIT,
    SC_VERDICT_MEMORY_LIMIT,
    SC_VERDICT_OUTPUT_LIMIT,
    SC_VERDICT_DISK_LIMIT,
    SC_VERDICT_PROCESS_LIMIT,
    SC_VERDICT_BUILD_ERROR,
    SC_VERDICT_CHECKER_ERROR,
    SC_VERDICT_SKIPPED,
    SC_VERDICT_SANDBOX_ERROR,
    SC_VERDICTS,
};
extern const char *const SC_VERDICT_NAMES[]; /* ended by NULL */

enum sc_compare {
    SC_COMPARE_UNSAID = 0, /* before the task was read to its end */
    SC_COMPARE_NONE,       /* it only has to end well */
    SC_COMPARE_EXACT,      /* byte for byte */
    SC_COMPARE_TRIMMED,    /* but blanks at the ends of lines, and blank lines at the end */
    SC_COMPARE_CHECKER,    /* as the task's checker says */
};

/* Bytes that are given, or a host file that is read when they are needed. */
struct sc_judge_bytes {
    char *data;
    size_t len;
    char *file;
};

struct sc_judge_test {
    char *name;
    struct sc_judge_bytes input, expected;
    struct sc_strv args; /* behind those of `run` */
    bool has_limits;
    struct sc_limits limits; /* those of `run`, with this test's own in their place */
    enum sc_compare compare;
};

struct sc_judge_task {
    bool has_build, has_run, has_checker;
    struct sc_spec build, run, checker; /* build.outs: what is taken out */
    struct sc_judge_test *tests;
    size_t n_tests;
    enum sc_compare compare; /* of tests that do not say */
    bool stop_on_first_failure;
    bool pin_each; /* each lane to a processor of its own */
    unsigned jobs; /* lanes */
    uint32_t shown_bytes;
};

void sc_judge_task_init(struct sc_judge_task *task);
void sc_judge_task_fini(struct sc_judge_task *task);
/* On failure the task is half filled and fit only for sc_judge_task_fini. */
int sc_judge_task_from_json(struct sc_judge_task *task, const char *text, size_t len, struct sc_err *err);
/* The same of a value; `object` is borrowed during the call. */
int sc_judge_task_read(struct sc_judge_task *task, const json_t *object, struct sc_err *err);
/* Everything that is wrong with a task and can be told before anything is built. Resolves nothing. */
int sc_judge_task_check(const struct sc_judge_task *task, uint64_t host_memory, struct sc_err *err);

/* One test's outcome. */
struct sc_judged {
    enum sc_verdict verdict;
    int exit_code; /* -1: it did not exit by itself, or did not run */
    int signal;
    uint64_t cpu_ns, wall_ns, memory_peak_bytes;
    char message[512];      /* one line: why; of a checker its comment */
    struct sc_buf out, err; /* the first bytes of its output, where the task asks for them */
};

struct sc_judge_report {
    enum sc_verdict verdict; /* that of the first test that is not accepted, or of the build */
    bool has_build;
    enum sc_verdict build_verdict;
    char build_message[512];
    struct sc_result build;
    struct sc_judged *tests;
    size_t n_tests;
};

struct sc_judge_callbacks {
    void *userdata;
    /* The lanes are threads, but one of these is called at a time. NULL is fine. */
    void (*tested)(void *userdata, size_t test, const struct sc_judged *judged);
    int (*cancelled)(void *userdata); /* non-zero: what runs is ended, the rest is skipped */
    int cancel_fd;                    /* becoming readable means the same; -1 or 0: none */
};

/* Checks the task, builds, and runs all tests. 0: `ret_report` tells everything. Starts `jobs` - 1 threads,
 * which are gone when it returns. */
int sc_judge(const struct sc_judge_task *task, const struct sc_host *host,
             const struct sc_judge_callbacks *callbacks, struct sc_judge_report *ret_report,
             struct sc_err *err);
/* The same on this host, which it looks at first. */
int sc_judge_here(const struct sc_judge_task *task, const struct sc_judge_callbacks *callbacks,
                  struct sc_judge_report *ret_report, struct sc_err *err);
void sc_judge_report_fini(struct sc_judge_report *report);
/* Heap text; `task` gives the names. NULL when memory ran out. */
char *sc_judge_report_to_json(const struct sc_judge_report *report, const struct sc_judge_task *task,
                              int indent);

#endif
