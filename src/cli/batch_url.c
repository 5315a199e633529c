/* A service runs the jobs of a batch: POST /v1/batch, with as many of them as one request may hold, until all
 * have an answer. What is sent and has none when a request ends waits as before. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "cli/batch.h"
#include "cli/http.h"
#include "cli/url_body.h"
#include "spec/json_read.h"

/* The service takes 64 MiB, 100,000 jobs and 16 MiB a line; large requests make it wait before it can begin.
 */
#define LINE_MAX_BYTES ((size_t)16 * 1024 * 1024 - 1)
#define SLICE_BYTES ((size_t)32 * 1024 * 1024)
#define SLICE_JOBS 20000

/* One request's jobs. */
struct slice {
    struct batch *batch;
    struct sc_buf body;
    struct batch_job *jobs[SLICE_JOBS]; /* by their ids, once it is full */
    size_t n;
    bool lost; /* the service's keeper died under some of them */
    struct sc_err *err;
};

/* ---- what is sent ---- */

static int body_of_spec(const struct batch_job *job, const json_t *given, json_t **ret_body,
                        struct sc_err *err)
{
    struct sc_spec spec;
    sc_spec_init(&spec);
    int r = sc_spec_read(&spec, given, "spec", err);
    if (r == 0 && job->kind == BATCH_WARM && !json_object_get(given, "mode"))
        spec.mode = SC_MODE_RICH;
    if (r == 0)
        r = sc_cli_url_body(&spec, ret_body, err);
    sc_spec_fini(&spec);
    return r;
}

/* The line of a job; the caller frees it. */
static int make_line(const struct batch_job *job, char **ret_text, struct sc_err *err)
{
    json_t *value = batch_value(job), *body = NULL;
    const char *name = job->kind == BATCH_JUDGE ? "judge" : "spec";
    const json_t *given = json_object_get(value, name);
    int r = !value                     ? sc_err_sys(err, -ENOMEM, "job")
            : job->kind == BATCH_JUDGE ? sc_cli_url_task(given, &body, err)
                                       : body_of_spec(job, given, &body, err);
    json_decref(value);
    if (r < 0)
        return r;
    json_t *line = json_pack("{s:s, s:o}", "id", job->id, name, body);
    char *text = sc_json_dump(line, JSON_COMPACT);
    json_decref(line);
    if (!text)
        return sc_err_sys(err, -ENOMEM, "job");
    if (strlen(text) > LINE_MAX_BYTES) {
        free(text);
        return sc_err_usage(err, "job", "job: with its files more than the 16M that a service takes");
    }
    *ret_text = text;
    return 0;
}

static json_t *error_value(const struct sc_err *err)
{
    return json_pack("{s:s, s:s, s:s}", "kind", err->kind == SC_ERR_USAGE ? "usage" : "sandbox", "field",
                     err->field, "message", err->message);
}

/* One that cannot be sent has its answer at once. */
static int add_job(struct slice *slice, struct batch_job *job)
{
    struct sc_err err = {0};
    char *text = NULL;
    if (make_line(job, &text, &err) < 0)
        return batch_answer(slice->batch, job, "error", error_value(&err), slice->err);
    int r = sc_buf_add_str(&slice->body, text);
    if (r == 0)
        r = sc_buf_add(&slice->body, "\n", 1);
    free(text);
    if (r < 0)
        return sc_err_sys(slice->err, r, "batch");
    job->state = BATCH_RUNS;
    slice->jobs[slice->n++] = job;
    return 0;
}

static int by_id(const void *a, const void *b)
{
    return strcmp((*(struct batch_job *const *)a)->id, (*(struct batch_job *const *)b)->id);
}

/* Jobs from *at on; *at moves behind those that were looked at. */
static int fill(struct slice *slice, size_t *at)
{
    struct batch *batch = slice->batch;
    int r = 0;
    while (r == 0 && !batch->stopped && *at < batch->n_jobs && slice->n < SLICE_JOBS &&
           slice->body.len < SLICE_BYTES) {
        struct batch_job *job = &batch->jobs[(*at)++];
        if (job->state == BATCH_WAITS && !job->first)
            r = add_job(slice, job);
    }
    qsort(slice->jobs, slice->n, sizeof *slice->jobs, by_id);
    return r;
}

/* ---- what comes back ---- */

static int compare_id(const void *key, const void *job)
{
    return strcmp(key, (*(struct batch_job *const *)job)->id);
}

/* It did not come to an answer for no reason of its own. A cell that has ended under it may have been ended
 * by it: the second time that is told. */
static bool has_not_run(struct slice *slice, struct batch_job *job, const json_t *error)
{
    const char *kind = json_string_value(json_object_get(error, "kind"));
    if (!kind)
        return false;
    if (!strcmp(kind, "keeper_lost") || !strcmp(kind, "keeper_away")) {
        slice->lost = true;
        return true;
    }
    if (strcmp(kind, "ended") != 0 || job->ended_once)
        return false;
    job->ended_once = true;
    return true;
}

static int take_line(void *userdata, const json_t *line)
{
    static const char *const names[] = {"result", "report", "error"};
    struct slice *slice = userdata;
    const char *id = json_string_value(json_object_get(line, "id"));
    struct batch_job **found =
        id ? bsearch(id, slice->jobs, slice->n, sizeof *slice->jobs, compare_id) : NULL;
    const char *name = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (json_is_object(json_object_get(line, names[i])))
            name = names[i];
    if (!found || !name || (*found)->state != BATCH_RUNS)
        return -EPROTO;
    json_t *value = json_object_get(line, name);
    if (!strcmp(name, "error") && has_not_run(slice, *found, value)) {
        (*found)->state = BATCH_WAITS;
        return 0;
    }
    int r = batch_answer(slice->batch, *found, name, json_incref(value), slice->err);
    return r == 0 && slice->batch->stopped ? -ECANCELED : r;
}

static void on_idle(void *userdata)
{
    batch_show_bar(((struct slice *)userdata)->batch, false);
}

static int send_slice(struct slice *slice, const struct batch_service *service)
{
    struct sc_cli_http *http = NULL;
    char target[64];
    char at_once[24] = "";
    if (service->at_once)
        snprintf(at_once, sizeof at_once, "&at_once=%u", service->at_once);
    snprintf(target, sizeof target, "/v1/batch?stop_first=%s%s", slice->batch->stop_first ? "true" : "false",
             at_once);
    const struct sc_cli_http_batch batch = {.target = target,
                                            .body = (const char *)slice->body.data,
                                            .len = slice->body.len,
                                            .stop_fd = service->stop_fd,
                                            .userdata = slice,
                                            .line = take_line,
                                            .idle = on_idle};
    int r = sc_cli_http_open(service->url, service->key_file, &http, slice->err);
    if (r == 0)
        r = sc_cli_http_batch(http, &batch, slice->err);
    sc_cli_http_close(http);
    return r;
}

/* A whole answer has a line for each. */
static int check_all(struct slice *slice)
{
    for (size_t i = 0; i < slice->n; i++)
        if (slice->jobs[i]->state == BATCH_RUNS && !slice->batch->stopped)
            return sc_err_set(slice->err, SC_ERR_SANDBOX, -EPROTO,
                              "url: job %.100s: the service did not answer", slice->jobs[i]->id);
    if (slice->lost)
        return sc_err_set(slice->err, SC_ERR_SANDBOX, -EPIPE,
                          "url: the service's keeper died; the same command goes on where it stopped");
    return 0;
}

static int work(struct slice *slice, const struct batch_service *service)
{
    struct batch *batch = slice->batch;
    size_t at = 0;
    int r = 0;
    while (r == 0 && !batch->stopped) {
        slice->n = 0;
        slice->body.len = 0;
        r = fill(slice, &at);
        if (r < 0 || slice->n == 0)
            return r;
        r = send_slice(slice, service);
        if (r == 0)
            r = check_all(slice);
        if (at == batch->n_jobs)
            at = 0; /* some may wait again */
    }
    return batch->stopped ? 0 : r;
}

bool batch_url_work(struct batch *batch, const struct batch_service *service, struct sc_err *err)
{
    struct slice *slice = calloc(1, sizeof *slice);
    if (!slice) {
        sc_err_sys(err, -ENOMEM, "batch");
        return true;
    }
    slice->batch = batch;
    slice->err = err;
    sc_buf_init(&slice->body, SLICE_BYTES + LINE_MAX_BYTES + 1);
    int r = work(slice, service);
    sc_buf_fini(&slice->body);
    free(slice);
    return r != -ECANCELED;
}
