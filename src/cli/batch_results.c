/* The results of a batch: an object a line, in the order in which they come. A line is written by one call,
 * so that an interruption leaves whole lines; half a one, of a machine that went down, is cut off by the next
 * run. */
#include "cli/batch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"

static enum batch_outcome outcome_of(const json_t *line)
{
    const json_t *report = json_object_get(line, "report");
    const char *verdict = json_string_value(json_object_get(report, "verdict"));
    const char *status = json_string_value(json_object_get(json_object_get(line, "result"), "status"));
    if (!status && !verdict)
        return BATCH_ERROR;
    return !strcmp(status ? status : verdict, status ? "ok" : "accepted") ? BATCH_OK : BATCH_FAILED;
}

static void count(struct batch *batch, struct batch_job *job, const json_t *line)
{
    enum batch_outcome outcome = outcome_of(line);
    job->state = BATCH_DONE;
    batch->done++;
    batch->outcomes[outcome]++;
    batch->duplicates += json_object_get(line, "duplicate_of") != NULL;
    if (outcome != BATCH_OK && batch->stop_first)
        batch->stopped = true;
}

static int write_line(struct batch *batch, struct batch_job *job, const char *name, json_t *value,
                      struct sc_err *err)
{
    json_t *line = json_pack("{s:s, s:s, s:O}", "id", job->id, "job", job->hash, name, value);
    int r = line ? 0 : -ENOMEM;
    if (r == 0 && job->first)
        r = json_object_set_new(line, "duplicate_of", json_string(job->first->id)) < 0 ? -ENOMEM : 0;
    char *text = r == 0 ? sc_json_dump(line, JSON_COMPACT) : NULL;
    size_t len = text ? strlen(text) : 0;
    if (!text) {
        r = sc_err_sys(err, -ENOMEM, "result");
    } else {
        text[len] = '\n'; /* in the place of its NUL */
        r = sc_write_all(batch->results_fd, text, len + 1);
        if (r < 0)
            sc_err_sys(err, r, "%s", batch->results_name);
        else
            count(batch, job, line);
    }
    free(text);
    json_decref(line);
    return r;
}

static int by_id(const void *key, const void *job)
{
    return strcmp(key, (*(struct batch_job *const *)job)->id);
}

static int compare_ids(const void *a, const void *b)
{
    return strcmp((*(struct batch_job *const *)a)->id, (*(struct batch_job *const *)b)->id);
}

static int take_line(struct batch *batch, struct batch_job **list, const json_t *line, struct sc_err *err)
{
    const char *id = json_string_value(json_object_get(line, "id")),
               *hash = json_string_value(json_object_get(line, "job"));
    if (!id || !hash)
        return sc_err_usage(err, "output", "no result of a batch; choose another file");
    struct batch_job **found = bsearch(id, list, batch->n_jobs, sizeof(struct batch_job *), by_id);
    if (!found || strcmp((*found)->hash, hash) != 0)
        return sc_err_usage(
            err, "output", "%.200s: is no job of these jobs' file, or has other content; choose another file",
            id);
    if ((*found)->state == BATCH_DONE)
        return sc_err_usage(err, "output", "%.200s: stands there twice; choose another file", id);
    count(batch, *found, line);
    batch->resumed++;
    return 0;
}

/* An interruption may have come between an answer and those that have it as theirs. */
static int answer_others(struct batch *batch, const json_t *line, struct batch_job *job, struct sc_err *err)
{
    static const char *const names[] = {"result", "report", "error"};
    int r = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        json_t *value = json_object_get(line, names[i]);
        for (struct batch_job *other = value ? job->others : NULL; other && r == 0; other = other->next)
            if (other->state != BATCH_DONE)
                r = write_line(batch, other, names[i], value, err);
    }
    return r;
}

static int complete(struct batch *batch, struct batch_job **list, const struct sc_buf *text,
                    struct sc_err *err)
{
    const char *at = text->data ? (const char *)text->data : "", *end = at + text->len, *stop;
    int r = 0;
    while (r == 0 && at < end && (stop = memchr(at, '\n', (size_t)(end - at)))) {
        json_t *line = NULL;
        json_error_t where;
        (void)sc_json_load(at, (size_t)(stop - at), JSON_ALLOW_NUL, &line, &where);
        const char *id = json_string_value(json_object_get(line, "id"));
        struct batch_job **found =
            id ? bsearch(id, list, batch->n_jobs, sizeof(struct batch_job *), by_id) : NULL;
        if (found)
            r = answer_others(batch, line, *found, err);
        json_decref(line);
        at = stop + 1;
    }
    return r;
}

static int take_lines(struct batch *batch, const struct sc_buf *text, struct sc_err *err)
{
    const char *at = text->data ? (const char *)text->data : "", *end = at + text->len, *stop;
    struct batch_job **list = calloc(batch->n_jobs + 1, sizeof(struct batch_job *));
    size_t number = 0;
    int r = list ? 0 : sc_err_sys(err, -ENOMEM, "%s", batch->results_name);
    for (size_t i = 0; list && i < batch->n_jobs; i++)
        list[i] = &batch->jobs[i];
    if (list)
        qsort(list, batch->n_jobs, sizeof(struct batch_job *), compare_ids);
    while (r == 0 && at < end && (stop = memchr(at, '\n', (size_t)(end - at)))) {
        json_t *line = NULL;
        json_error_t where;
        number++;
        if (sc_json_load(at, (size_t)(stop - at), JSON_ALLOW_NUL, &line, &where) < 0)
            r = sc_err_usage(err, "output", "no JSON; choose another file");
        else
            r = take_line(batch, list, line, err);
        if (r < 0)
            sc_err_wrap(err, r, "output: %s: line %zu", batch->results_name, number);
        json_decref(line);
        at = stop + 1;
    }
    if (r == 0 && at < end && ftruncate(batch->results_fd, (off_t)(text->len - (size_t)(end - at))) < 0)
        r = sc_err_sys(err, -errno, "%s", batch->results_name);
    if (r == 0)
        r = complete(batch, list, text, err);
    free(list);
    return r;
}

int batch_resume(struct batch *batch, const char *name, struct sc_err *err)
{
    struct sc_buf text;
    batch->results_name = name;
    batch->results_fd = open(name, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (batch->results_fd < 0)
        return sc_err_usage(err, "output", "output: %s: %s", name, strerror(errno));
    if (flock(batch->results_fd, LOCK_EX | LOCK_NB) < 0)
        return sc_err_usage(err, "output", "output: %s: another batch writes there", name);
    sc_buf_init(&text, BATCH_FILE_MAX);
    int r = sc_buf_read_file(&text, AT_FDCWD, name);
    r = r < 0 ? sc_err_sys(err, r, "%s", name) : take_lines(batch, &text, err);
    sc_buf_fini(&text);
    return r;
}

int batch_answer(struct batch *batch, struct batch_job *job, const char *name, json_t *value,
                 struct sc_err *err)
{
    int r = value ? write_line(batch, job, name, value, err) : sc_err_sys(err, -ENOMEM, "result");
    for (struct batch_job *other = job->others; other && r == 0; other = other->next)
        if (other->state != BATCH_DONE)
            r = write_line(batch, other, name, value, err);
    json_decref(value);
    return r;
}
