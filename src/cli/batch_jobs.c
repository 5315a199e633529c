/* The jobs of a batch: an object a line. */
#include "cli/batch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "judge/judge.h"
#include "spec/job_line.h"
#include "spec/json_read.h"
#include "spec/spec.h"

static int wrong(const struct batch *batch, size_t line, int r, struct sc_err *err)
{
    return sc_err_wrap(err, r, "%s: line %zu", batch->jobs_name, line);
}

/* ---- one job ---- */

/* Code of a language with runners is run by them, unless it says otherwise. */
static int kind_of_spec(const json_t *value, enum batch_kind *ret_kind, struct sc_err *err)
{
    struct sc_spec spec;
    sc_spec_init(&spec);
    int r = sc_spec_read(&spec, value, "spec", err);
    bool said = json_object_get(value, "mode") != NULL;
    bool runs =
        spec.code && (spec.lang == SC_LANG_PYTHON || spec.lang == SC_LANG_NODE || spec.lang == SC_LANG_BASH);
    bool warm = said ? spec.mode != SC_MODE_PLAIN : runs;
    *ret_kind = warm && spec.n_outs == 0 && spec.code ? BATCH_WARM : BATCH_PLAIN;
    if (r == 0 && !spec.code && !spec.program && !spec.command)
        r = sc_err_usage(err, "spec", "spec: code, program or command must be given");
    sc_spec_fini(&spec);
    return r;
}

static int check_judge(const json_t *value, struct sc_err *err)
{
    struct sc_judge_task task;
    sc_judge_task_init(&task);
    char *text = sc_json_dump(value, JSON_COMPACT);
    int r = text ? sc_judge_task_from_json(&task, text, strlen(text), err) : sc_err_sys(err, -ENOMEM, "job");
    free(text);
    sc_judge_task_fini(&task);
    return r;
}

static char *copy_text(const char *text)
{
    return text ? strdup(text) : NULL;
}

static int read_object(struct batch_job *job, json_t *object, struct sc_err *err)
{
    struct sc_job_line line;
    int r = sc_job_line_read(object, &line, err);
    if (r < 0)
        return r;
    memcpy(job->hash, line.hash, sizeof job->hash);
    job->id = copy_text(line.id);
    job->key = copy_text(line.key);
    if ((line.id && !job->id) || (line.key && !job->key))
        return sc_err_sys(err, -ENOMEM, "job");
    job->kind = BATCH_JUDGE;
    return line.judge ? check_judge(line.judge, err) : kind_of_spec(line.spec, &job->kind, err);
}

json_t *batch_value(const struct batch_job *job)
{
    json_t *value = NULL;
    json_error_t where;
    return sc_json_load(job->text, job->len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &value, &where) < 0
               ? NULL
               : value;
}

static int read_job(struct batch_job *job, size_t line, struct sc_err *err)
{
    json_t *object = NULL;
    json_error_t where;
    int r = job->len > SC_SPEC_JSON_MAX
                ? sc_err_usage(err, "job", "job: at most 64M are allowed")
                : sc_json_load(job->text, job->len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &object, &where);
    if (r == -EINVAL && err->kind == SC_ERR_NONE)
        sc_json_parse_error(&where, err);
    else if (r == -ENOMEM)
        sc_err_sys(err, r, "job");
    else if (r == 0)
        r = read_object(job, object, err);
    json_decref(object);
    if (r == 0 && !job->id && asprintf(&job->id, "line-%zu", line) < 0) {
        job->id = NULL;
        r = sc_err_sys(err, -ENOMEM, "job");
    }
    return r;
}

/* ---- the whole file ---- */

static int map_file(struct batch *batch, struct sc_err *err)
{
    struct stat st;
    batch->jobs_fd = open(batch->jobs_name, O_RDONLY | O_CLOEXEC);
    if (batch->jobs_fd < 0 || fstat(batch->jobs_fd, &st) < 0)
        return sc_err_usage(err, "", "%s: must be a readable file of jobs: %s", batch->jobs_name,
                            strerror(errno));
    if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size > BATCH_FILE_MAX)
        return sc_err_usage(err, "", "%s: must be a file of at most 4G", batch->jobs_name);
    if (st.st_size == 0)
        return 0;
    void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, batch->jobs_fd, 0);
    if (map == MAP_FAILED)
        return sc_err_sys(err, -errno, "%s", batch->jobs_name);
    batch->map = map;
    batch->map_len = (size_t)st.st_size;
    return 0;
}

static int add_job(struct batch *batch, size_t *capacity, struct sc_err *err)
{
    if (batch->n_jobs == BATCH_JOBS_MAX)
        return sc_err_usage(err, "", "%s: at most %d jobs are allowed", batch->jobs_name, BATCH_JOBS_MAX);
    if (batch->n_jobs == *capacity) {
        *capacity = *capacity ? 2 * *capacity : 256;
        struct batch_job *more = realloc(batch->jobs, *capacity * sizeof *more);
        if (!more)
            return sc_err_sys(err, -ENOMEM, "%s", batch->jobs_name);
        batch->jobs = more;
    }
    batch->jobs[batch->n_jobs++] = (struct batch_job){0};
    return 0;
}

static int by_id(const void *a, const void *b)
{
    return strcmp((*(struct batch_job *const *)a)->id, (*(struct batch_job *const *)b)->id);
}

/* Jobs in the order of `compare`; NULL when memory ran out. Freed by the caller. */
static struct batch_job **sorted(const struct batch *batch, int (*compare)(const void *, const void *))
{
    struct batch_job **list = calloc(batch->n_jobs + 1, sizeof(struct batch_job *));
    for (size_t i = 0; list && i < batch->n_jobs; i++)
        list[i] = &batch->jobs[i];
    if (list)
        qsort(list, batch->n_jobs, sizeof(struct batch_job *), compare);
    return list;
}

static int check_ids(const struct batch *batch, struct sc_err *err)
{
    struct batch_job **list = sorted(batch, by_id);
    int r = list ? 0 : sc_err_sys(err, -ENOMEM, "%s", batch->jobs_name);
    for (size_t i = 1; i < batch->n_jobs && r == 0; i++)
        if (!strcmp(list[i - 1]->id, list[i]->id))
            r = sc_err_usage(err, "id", "%s: id %.200s: stands there twice; must be another",
                             batch->jobs_name, list[i]->id);
    free(list);
    return r;
}

static int by_content(const void *a, const void *b)
{
    const struct batch_job *x = *(struct batch_job *const *)a, *y = *(struct batch_job *const *)b;
    int order = strcmp(x->hash, y->hash);
    return order ? order : x < y ? -1 : 1;
}

static int by_key(const void *a, const void *b)
{
    const struct batch_job *x = *(struct batch_job *const *)a, *y = *(struct batch_job *const *)b;
    int order = strcmp(x->key ? x->key : "", y->key ? y->key : "");
    return order ? order : x < y ? -1 : 1;
}

static struct batch_job *first_of(struct batch_job *job)
{
    while (job->first)
        job = job->first;
    return job;
}

static int join_keys(const struct batch *batch, struct sc_err *err)
{
    struct batch_job **list = sorted(batch, by_key);
    int r = list ? 0 : sc_err_sys(err, -ENOMEM, "%s", batch->jobs_name);
    for (size_t i = 1; i < batch->n_jobs && r == 0; i++) {
        if (!list[i]->key || !list[i - 1]->key || strcmp(list[i]->key, list[i - 1]->key) != 0)
            continue;
        if (strcmp(list[i]->hash, list[i - 1]->hash) != 0)
            r = sc_err_usage(err, "key", "%s: key %.200s: is that of two jobs of different content",
                             batch->jobs_name, list[i]->key);
        list[i]->first = first_of(list[i - 1]);
    }
    free(list);
    return r;
}

static int join_same(const struct batch *batch, struct sc_err *err)
{
    struct batch_job **list = sorted(batch, by_content);
    if (!list)
        return sc_err_sys(err, -ENOMEM, "%s", batch->jobs_name);
    for (size_t i = 1; i < batch->n_jobs; i++) {
        struct batch_job *first = first_of(list[i - 1]);
        if (!strcmp(list[i]->hash, list[i - 1]->hash) && first_of(list[i]) != first)
            list[i]->first = first;
    }
    free(list);
    return 0;
}

/* Each has the very first as its first. */
static void link_others(const struct batch *batch)
{
    for (size_t i = batch->n_jobs; i-- > 0;) {
        struct batch_job *job = &batch->jobs[i];
        if (!job->first)
            continue;
        job->first = first_of(job);
        job->next = job->first->others;
        job->first->others = job;
    }
}

int batch_read(struct batch *batch, const char *name, struct sc_err *err)
{
    size_t capacity = 0, line = 0;
    batch->jobs_name = name;
    int r = map_file(batch, err);
    const char *at = batch->map, *end = at + batch->map_len;
    while (r == 0 && at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t len = (size_t)((stop ? stop : end) - at);
        line++;
        if (strspn(at, " \t\r") < len && (r = add_job(batch, &capacity, err)) == 0) {
            struct batch_job *job = &batch->jobs[batch->n_jobs - 1];
            job->text = at;
            job->len = len;
            r = read_job(job, line, err);
            if (r < 0)
                wrong(batch, line, r, err);
        }
        at += len + 1;
    }
    if (r == 0)
        r = check_ids(batch, err);
    if (r == 0)
        r = join_keys(batch, err);
    if (r == 0 && batch->same_once)
        r = join_same(batch, err);
    if (r == 0)
        link_others(batch);
    return r;
}

void batch_fini(struct batch *batch)
{
    for (size_t i = 0; i < batch->n_jobs; i++) {
        free(batch->jobs[i].id);
        free(batch->jobs[i].key);
    }
    free(batch->jobs);
    if (batch->map)
        munmap((void *)batch->map, batch->map_len);
    sc_close(&batch->jobs_fd);
    sc_close(&batch->results_fd);
}
