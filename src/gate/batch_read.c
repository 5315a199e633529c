/* The lines of a batch, as they come: each is read and checked once, between two pieces of the body, so that
 * nobody else waits for all of them. A line that is wrong is a job with an error for its answer. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "gate/batch.h"
#include "gate/body.h"
#include "spec/job_line.h"
#include "spec/json_read.h"

#define BODY_MOST (64u * 1024 * 1024)
#define VALUES_MOST 200000

static int no_memory(struct sc_err *err)
{
    return sc_err_sys(err, -ENOMEM, "gate");
}

/* ---- one job ---- */

static int check_spec(const json_t *spec, struct sc_err *err)
{
    if (!json_is_object(spec))
        return sc_json_wrong_type("spec", spec, "an object", err);
    int r = body_check_paths(spec, err);
    if (r == 0)
        r = fields_check(RUN_FIELDS + RUN_FIELDS_OF_QUEUE, spec, err);
    if (r < 0)
        sc_err_below(err, "spec");
    return r;
}

/* By the same table as the body of /v1/judge; what is in a test is the keeper's to say. */
static int check_judge(const json_t *judge, struct sc_err *err)
{
    if (!json_is_object(judge))
        return sc_json_wrong_type("judge", judge, "an object", err);
    int r = fields_check(JUDGE_FIELDS + RUN_FIELDS_OF_QUEUE, judge, err);
    if (r < 0)
        sc_err_below(err, "judge");
    return r;
}

/* ---- the same again ---- */

static struct batch_job *find(const json_t *table, const char *text)
{
    return (struct batch_job *)(uintptr_t)json_integer_value(json_object_get(table, text));
}

static int remember(json_t *table, const char *text, struct batch_job *job)
{
    return json_object_set_new(table, text, json_integer((json_int_t)(uintptr_t)job));
}

/* The job whose answer is this one's too goes to *ret_first. */
static int look_up(struct batch *batch, struct batch_job *job, const char *key, struct batch_job **ret_first,
                   struct sc_err *err)
{
    struct batch_job *of_key = key ? find(batch->keys, key) : NULL;
    struct batch_job *of_content = batch->same_once ? find(batch->contents, job->hash) : NULL;
    if (of_key && strcmp(of_key->hash, job->hash) != 0)
        return sc_err_usage(err, "key", "key: is that of a job of other content");
    *ret_first = of_key ? of_key : of_content;
    struct batch_job *first = *ret_first ? *ret_first : job;
    if (key && !of_key && remember(batch->keys, key, first) < 0)
        return no_memory(err);
    if (batch->same_once && !of_content && remember(batch->contents, job->hash, first) < 0)
        return no_memory(err);
    return 0;
}

static int take_id(struct batch *batch, struct batch_job *job, const char *id, struct sc_err *err)
{
    char of_line[32];
    snprintf(of_line, sizeof of_line, "line-%zu", job->line);
    bool twice = find(batch->ids, id ? id : of_line);
    job->id = strdup(id && !twice ? id : of_line);
    if (!job->id)
        return no_memory(err);
    if (twice)
        return sc_err_usage(err, "id", "id: %.200s: stands there twice; must be another", id ? id : of_line);
    return remember(batch->ids, job->id, job) < 0 ? no_memory(err) : 0;
}

static int read_object(struct batch *batch, struct batch_job *job, json_t *object,
                       struct batch_job **ret_first, struct sc_err *err)
{
    struct sc_job_line line;
    struct sc_err of_id = {0};
    int r = sc_job_line_read(object, &line, err);
    /* One that is wrong has its answer under its own id. */
    if (take_id(batch, job, line.id, &of_id) < 0 && r == 0) {
        *err = of_id;
        r = of_id.code;
    }
    if (r == 0)
        r = line.spec ? check_spec(line.spec, err) : check_judge(line.judge, err);
    if (r < 0)
        return r;
    job->is_task = line.judge;
    memcpy(job->hash, line.hash, sizeof job->hash);
    return look_up(batch, job, line.key, ret_first, err);
}

/* ---- lines ---- */

static int load(const char *text, size_t len, json_t **ret_object, struct sc_err *err)
{
    json_error_t where;
    if (sc_json_count(text, len) > VALUES_MOST)
        return sc_err_usage(err, "job",
                            "job: at most %d JSON values, and 4096 bytes for one number, are allowed",
                            VALUES_MOST);
    int r = sc_json_load(text, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, ret_object, &where);
    return r == -EINVAL ? sc_json_parse_error(&where, err) : r < 0 ? no_memory(err) : 0;
}

static json_t *error_of(const struct sc_err *err)
{
    return json_pack("{s:s, s:s, s:s}", "kind", err->kind == SC_ERR_USAGE ? "usage" : "sandbox", "field",
                     err->field, "message", err->message);
}

/* A whole job, or one with its error. False: no memory. */
static bool read_job(struct batch *batch, struct batch_job *job, const char *text, size_t len)
{
    struct sc_err err = {0};
    struct batch_job *first = NULL;
    json_t *object = NULL;
    int r = batch->too_long ? sc_err_usage(&err, "job", "job: at most %u bytes are allowed", BATCH_LINE_MAX)
                            : load(text, len, &object, &err);
    if (r == 0)
        r = read_object(batch, job, object, &first, &err);
    json_decref(object);
    if (r < 0) {
        job->error = error_of(&err);
        *job->hash = '\0';
        if (!job->id && asprintf(&job->id, "line-%zu", job->line) < 0)
            job->id = NULL;
    } else if (!first && (job->text = malloc(len + 1))) {
        memcpy(job->text, text, len);
        job->text[len] = '\0';
        job->len = len;
    }
    if (first)
        STAILQ_INSERT_TAIL(&first->others, job, entry);
    else
        STAILQ_INSERT_TAIL(&batch->waiting, job, entry);
    return job->id && (first || job->error || job->text);
}

static bool take_line(struct batch *batch)
{
    const char *text = batch->held.data ? (const char *)batch->held.data : "";
    size_t len = batch->held.len;
    bool ok = true;
    batch->n_lines++;
    if (batch->too_long || strspn(text, " \t\r") < len) {
        struct batch_job *job = batch->n_jobs < BATCH_JOBS_MAX ? calloc(1, sizeof *job) : NULL;
        if (job) {
            STAILQ_INIT(&job->others);
            job->line = batch->n_lines;
            batch->n_jobs++;
        }
        ok = job && read_job(batch, job, text, len);
        if (!ok && batch->n_jobs == BATCH_JOBS_MAX)
            problem(batch->request, "too_large", "body", "body: at most %d jobs are allowed", BATCH_JOBS_MAX);
        else if (!ok)
            problem(batch->request, "sandbox", "", "gate: out of memory");
    }
    sc_buf_fini(&batch->held);
    batch->too_long = false;
    return ok;
}

bool batch_take(struct batch *batch, const void *data, size_t len)
{
    const char *at = data, *end = at + len;
    batch->body_len += len;
    if (batch->body_len > BODY_MOST) {
        problem(batch->request, "too_large", "body", "body: at most %u bytes are allowed", BODY_MOST);
        return false;
    }
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t piece = (size_t)((stop ? stop : end) - at);
        if (!batch->held.data)
            sc_buf_init(&batch->held, BATCH_LINE_MAX);
        int r = batch->too_long ? 0 : sc_buf_add(&batch->held, at, piece);
        if (r == -EMSGSIZE) {
            batch->too_long = true;
            sc_buf_fini(&batch->held);
        } else if (r < 0) {
            problem(batch->request, "sandbox", "", "gate: out of memory");
            return false;
        }
        if (stop && !take_line(batch))
            return false;
        at += piece + (stop ? 1 : 0);
    }
    return true;
}

bool batch_take_end(struct batch *batch)
{
    if ((batch->held.len > 0 || batch->too_long) && !take_line(batch))
        return false;
    if (batch->n_jobs > 0)
        return true;
    problem(batch->request, "usage", "body", "body: must hold a job, a line of JSON");
    return false;
}

json_t *batch_part(const struct batch_job *job)
{
    json_t *object = NULL;
    json_error_t where;
    if (sc_json_load(job->text, job->len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &object, &where) < 0)
        return NULL;
    json_t *part = json_incref(json_object_get(object, job->is_task ? "judge" : "spec"));
    json_decref(object);
    return part;
}

void batch_job_free(struct batch_job *job)
{
    struct batch_job *other;
    while ((other = STAILQ_FIRST(&job->others))) {
        STAILQ_REMOVE_HEAD(&job->others, entry);
        batch_job_free(other); /* has no others itself */
    }
    json_decref(job->error);
    free(job->text);
    free(job->id);
    free(job);
}
