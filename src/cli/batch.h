/* What the files of `snapcell batch` share. */
#ifndef SC_CLI_BATCH_H
#define SC_CLI_BATCH_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/sha256.h"

#define BATCH_JOBS_MAX 1000000
#define BATCH_FILE_MAX ((size_t)4 * 1024 * 1024 * 1024)
#define BATCH_AT_ONCE_MAX 64

enum batch_kind {
    BATCH_WARM,  /* code that the keeper runs */
    BATCH_PLAIN, /* a program as it is: a process of ours runs it */
    BATCH_JUDGE, /* a build and its tests: the same */
};
enum batch_state { BATCH_WAITS, BATCH_RUNS, BATCH_DONE };
enum batch_outcome { BATCH_OK, BATCH_FAILED, BATCH_ERROR, BATCH_OUTCOMES };

struct batch_job {
    const char *text; /* its line */
    size_t len;
    char *id;
    char *key;                 /* idempotency key, or NULL */
    char hash[SC_SHA256_TEXT]; /* of all but id and key */
    enum batch_kind kind;
    enum batch_state state;
    struct batch_job *first;  /* its answer is this one's too; or NULL */
    struct batch_job *others; /* of a first: those that have its answer, by `next` */
    struct batch_job *next;
    bool ended_once; /* in a service: its cell ended before it had an answer */
};

struct batch {
    int jobs_fd, results_fd;
    const char *map;
    size_t map_len;
    const char *jobs_name, *results_name;
    struct batch_job *jobs;
    size_t n_jobs;
    bool same_once;  /* jobs of the same content are run once */
    bool stop_first; /* at the first that is not ok */
    bool stopped;
    bool json;       /* nobody watches */
    uint64_t bar_ns; /* when the bar was shown last */
    size_t done, resumed, duplicates, outcomes[BATCH_OUTCOMES];
    uint64_t since_ns;
};

/* ---- batch_jobs.c: the jobs' file ---- */

/* Reads all lines and checks them. Errors name line and field. */
int batch_read(struct batch *batch, const char *name, struct sc_err *err);
void batch_fini(struct batch *batch);
/* The job's object, whole; the caller's reference. */
json_t *batch_value(const struct batch_job *job);

/* ---- batch_results.c: the results' file ---- */

/* Opens it; what stands in it is done, and half a line at its end is cut off. */
int batch_resume(struct batch *batch, const char *name, struct sc_err *err);
/* Writes the answer of a job, and of those that have it as theirs. `name` is "result", "report" or "error";
 * takes the reference of `value`. */
int batch_answer(struct batch *batch, struct batch_job *job, const char *name, json_t *value,
                 struct sc_err *err);

/* ---- batch_told.c: for people ---- */

/* At most a few times a second, but for the `last`. */
void batch_show_bar(struct batch *batch, bool last);
/* The sum: an exit status. */
int batch_tell(const struct batch *batch);

/* ---- batch_url.c: a service runs the jobs ---- */

struct batch_service {
    const char *url, *key_file; /* as sc_cli_http_open takes them */
    unsigned at_once;           /* 0: as many as the service thinks right */
    int stop_fd;
};
/* All that has no answer yet. False: stop_fd became readable. What else ended it stands in `err`. */
bool batch_url_work(struct batch *batch, const struct batch_service *service, struct sc_err *err);

/* ---- batch_lane.c: a job in a process of ours ---- */

struct batch_lane {
    pid_t pid; /* 0: free */
    int fd;    /* what it says, until its end */
    struct sc_buf said;
    struct batch_job *job;
};
int batch_lane_start(struct batch_lane *lane, struct batch_job *job, struct sc_err *err);
/* Readable. 1: it has ended; then *ret_name and *ret_value are as batch_answer takes them. 0: not yet. */
int batch_lane_read(struct batch_lane *lane, const char **ret_name, json_t **ret_value);
void batch_lane_kill(struct batch_lane *lane);

#endif
