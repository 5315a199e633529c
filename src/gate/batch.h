/* POST /v1/batch: many jobs in one request. Private to the files of that name.
 *
 *     body ── batch_read: lines ── jobs that wait ── batch: lanes ── keeper
 *                                                      └── results, as they come ── client
 *
 * The whole body is there before anything runs: libmicrohttpd answers behind it only. It is held as the text
 * of the jobs that have no answer yet; of results no more is held than SC_GATE_WINDOW and what the lanes
 * bring. */
#ifndef SC_GATE_BATCH_H
#define SC_GATE_BATCH_H

#include "base/sha256.h"
#include "gate/parts.h"

#define BATCH_JOBS_MAX 100000
#define BATCH_LINE_MAX (16u * 1024 * 1024)

struct batch_job {
    STAILQ_ENTRY(batch_job) entry;   /* of those that wait, or of a first's others */
    STAILQ_HEAD(, batch_job) others; /* have the answer of this one */
    char *text;                      /* its line; NULL: refused, or another's answer is its own */
    size_t len, line;
    char *id;
    char hash[SC_SHA256_TEXT]; /* of all but id and key; "": it could not be read */
    json_t *error;             /* what is wrong with it, or NULL */
    bool is_task;              /* `judge` in the place of `spec` */
};

/* One job under way, then its answer until all who have it as theirs were told. */
struct batch_lane {
    struct batch *batch;
    struct batch_job *job; /* NULL: free */
    struct ask *ask;
    char *session;    /* of a program as it is: made for it */
    json_t *message;  /* what is asked once there is the session */
    const char *name; /* "result", "report" or "error"; NULL: not answered yet */
    char *answer;
    size_t answer_len;
};

struct batch {
    struct request *request;
    struct sc_buf held; /* of a line that is not whole */
    bool too_long;      /* that line: left out */
    size_t body_len, n_lines, n_jobs;
    json_t *ids, *keys, *contents; /* text → job, while lines come */
    STAILQ_HEAD(, batch_job) waiting;
    struct batch_lane lanes[SC_GATE_BATCH_LANES_MAX];
    size_t at_once, n_running;
    bool same_once, stop_first, stopped, pumping;
    unsigned generation;    /* of the keeper that knows the client's token */
    uint64_t hold_until_ns; /* the keeper has no room: begin nothing before */
};

/* ---- batch_read.c ---- */

/* Bytes of the body. False: it was answered why not. */
bool batch_take(struct batch *batch, const void *data, size_t len);
/* The last line need not end. */
bool batch_take_end(struct batch *batch);
/* The job's `spec` or `judge`, its own copy; NULL: no memory. */
json_t *batch_part(const struct batch_job *job);
void batch_job_free(struct batch_job *job);

/* ---- batch.c: from here on jobs run ---- */

void batch_go(struct batch *batch);

/* ---- batch_lane.c ---- */

/* Begins the job, or answers it with what is wrong. */
void lane_start(struct batch_lane *lane, struct batch_job *job);
/* Nobody wants what it does. */
void lane_drop(struct batch_lane *lane);
/* Called by a lane that has its answer, or (`again`) whose job found no room and waits as before. */
void batch_lane_done(struct batch_lane *lane);
void batch_lane_again(struct batch_lane *lane, uint64_t retry_ms);

#endif
