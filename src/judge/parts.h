/* What the files of this folder share. */
#ifndef SC_JUDGE_PARTS_H
#define SC_JUDGE_PARTS_H

#include <limits.h>
#include <stdatomic.h>
#include <pthread.h>

#include "cell/cell.h"
#include "judge/judge.h"

/* ---- compare.c ---- */

/* ACCEPTED, PRESENTATION_ERROR (they differ in blanks only) or WRONG_ANSWER. `compare` is EXACT or TRIMMED.
 * `ret_line`: the first line that differs, from 1. */
enum sc_verdict sc_judge_compare(enum sc_compare compare, const char *got, size_t got_len,
                                 const char *expected, size_t expected_len, size_t *ret_line);

/* ---- store.c: what was built, on its way from one cell into the others ---- */

struct sc_store {
    char outer[PATH_MAX]; /* for the caller alone */
    char path[PATH_MAX];  /* in it, and open to whoever sees it mounted */
    int folder;           /* of `path`, or -1 */
    int lock;             /* of `outer`, held while its judge lives, or -1 */
};

#define SC_STORE_NONE ((struct sc_store){.folder = -1, .lock = -1})
/* A new, empty folder of the host's disk. Removes those whose judge was killed. */
int sc_store_open(struct sc_store *store, struct sc_err *err);
/* Copies `size` bytes of fd to `name` below it, which a hostile build chose. Readable by all, executable
 * where the build's file was, writable by nobody. Negative errno. */
int sc_store_put(struct sc_store *store, const char *name, int fd, uint64_t size);
/* Removes all of it. Safe on one that was not opened: SC_STORE_NONE. */
void sc_store_close(struct sc_store *store);

/* ---- setup.c: from a part of the task to cells ---- */

struct sc_setup {
    struct sc_spec spec; /* checked; the plan borrows it */
    struct sc_plan *plan;
    struct sc_works *works; /* NULL: not open */
};

/* What a lane or a test changes of its part; NULL members: nothing. */
struct sc_setup_change {
    const char *build; /* host folder to be mounted as SC_JUDGE_FOLDER */
    const char *pin;
    const struct sc_judge_test *test; /* its limits and arguments */
    const char *const *args;          /* more arguments, ended by NULL */
};

int sc_setup_open(struct sc_setup *setup, const struct sc_spec *part, const struct sc_setup_change *change,
                  const struct sc_host *host, struct sc_err *err);
void sc_setup_close(struct sc_setup *setup);

/* ---- verdict.c ---- */

/* What a run's end says by itself: ACCEPTED where it ended well and its output is whole. */
enum sc_verdict sc_judge_status(const struct sc_result *result);
/* What a checker said by its end. */
enum sc_verdict sc_judge_checker_status(const struct sc_result *result);

/* ---- the work under way ---- */

/* What the lanes share. */
struct sc_judge_work {
    const struct sc_judge_task *task;
    const struct sc_host *host;
    const struct sc_judge_callbacks *callbacks;
    struct sc_store store;
    struct sc_judge_report *report;
    pthread_mutex_t lock; /* of the callbacks */
    atomic_size_t next;   /* test */
    atomic_bool stopped;  /* nothing more is begun */
};

/* The caller wants no more; asks it. */
bool sc_judge_cancelled(struct sc_judge_work *work);
/* Callbacks of any cell of the work, with `input`. */
struct sc_callbacks sc_judge_cell_callbacks(struct sc_judge_work *work, const struct sc_run_input *input);

/* build.c: into report->build; the outputs lie in the store. Negative errno: the task is at fault, or this
 * host. */
int sc_judge_build(struct sc_judge_work *work, struct sc_err *err);

/* lane.c: one thread's tests, one after the other. */
struct sc_lane {
    struct sc_judge_work *work;
    char pin[16];            /* its own processor, or "" */
    struct sc_setup run;     /* of all tests that change nothing */
    struct sc_setup special; /* of the last one that did */
    struct sc_setup checker;
};
void sc_lane_init(struct sc_lane *lane, struct sc_judge_work *work);
/* Makes its plans now. Optional: they are made when they are first needed, but what is wrong with them is
 * then told of single tests. */
int sc_lane_open(struct sc_lane *lane, struct sc_err *err);
/* Tests until none is left or the work is stopped. */
void sc_lane_work(struct sc_lane *lane);
void sc_lane_fini(struct sc_lane *lane);

/* The files that a checker gets, in this order also as its last arguments. */
enum { SC_CHECKER_INPUT, SC_CHECKER_OUTPUT, SC_CHECKER_EXPECTED, SC_CHECKER_FILES };
extern const char *const SC_CHECKER_NAMES[]; /* ended by NULL */

#endif
