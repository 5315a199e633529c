/* The lines of a batch, as they come: each is read and checked once, between two pieces of the body, so that
 * nobody else waits for all of them. A line that is wrong is a job with an error for its answer. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "gate/batch.h"
#include "gate/body.h"
#include "spec/json_read.h"

#define BODY_MOST (64u * 1024 * 1024)
#define VALUES_MOST 200000

static int no_memory(struct sc_err *err)
{
    return sc_err_sys(err, -ENOMEM, "gate");
}

/* ---- one job ---- */

static int read_text(const json_t *object, const char *name, const char **ret_text, struct sc_err *err)
{
    const json_t *value = json_object_get(object, name);
    *ret_text = NULL;
    if (!value || json_is_null(value))
        return 0;
    const char *text = sc_json_text(value, name, err);
    if (!text)
        return -EINVAL;
    if (!*text || strlen(text) > BATCH_ID_MAX)
        return sc_err_usage(err, name, "%s: must be a text of 1 to %d bytes", name, BATCH_ID_MAX);
    *ret_text = text;
    return 0;
}

static int check_names(const json_t *object, struct sc_err *err)
{
    static const char *const names[] = {"id", "key", "spec", NULL};
    const char *name;
    json_t *value;
    if (!json_is_object(object))
        return sc_json_wrong_type("job", object, "an object", err);
    json_object_foreach((json_t *)object, name, value)
    {
        size_t i = 0;
        while (names[i] && strcmp(names[i], name) != 0)
            i++;
        if (!strcmp(name, "judge"))
            return sc_err_usage(err, name, "judge: tasks are not taken here; snapcell batch runs them");
        if (!names[i])
            return sc_json_unknown_field(name, name, names, err);
    }
    return 0;
}

static int check_spec(const json_t *spec, struct sc_err *err)
{
    if (!json_is_object(spec))
        return sc_json_wrong_type("spec", spec, "an object", err);
    int r = body_check_paths(spec, err);
    if (r == 0)
        r = fields_check(RUN_FIELDS + RUN_FIELDS_OF_QUEUE, spec, err);
    if (r < 0 && err->kind == SC_ERR_USAGE)
        body_below_spec(err);
    return r;
}

static int hash_job(struct batch_job *job, json_t *object)
{
    struct sc_sha256 sum;
    (void)json_object_del(object, "id");
    (void)json_object_del(object, "key");
    char *text = sc_json_dump(object, JSON_COMPACT | JSON_SORT_KEYS);
    if (!text)
        return -ENOMEM;
    sc_sha256_init(&sum);
    sc_sha256_add(&sum, text, strlen(text));
    sc_sha256_text(&sum, job->hash);
    free(text);
    return 0;
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
    const char *id, *key;
    int r = check_names(object, err);
    if (r == 0)
        r = read_text(object, "id", &id, err);
    if (r == 0)
        r = take_id(batch, job, id, err);
    if (r == 0)
        r = read_text(object, "key", &key, err);
    const json_t *spec = json_object_get(object, "spec");
    if (r == 0 && !spec)
        r = sc_err_usage(err, "spec", "spec: is missing");
    if (r == 0)
        r = check_spec(spec, err);
    if (r < 0)
        return r;
    json_t *copy = json_copy(object); /* key points into object */
    r = copy && hash_job(job, copy) == 0 ? look_up(batch, job, key, ret_first, err) : no_memory(err);
    json_decref(copy);
    return r;
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

json_t *batch_spec(const struct batch_job *job)
{
    json_t *object = NULL;
    json_error_t where;
    if (sc_json_load(job->text, job->len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &object, &where) < 0)
        return NULL;
    json_t *spec = json_incref(json_object_get(object, "spec"));
    json_decref(object);
    return spec;
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
