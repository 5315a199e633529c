#include "result/result.h"

#include <jansson.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const SC_START_NAMES[] = {
    [SC_START_COLD] = "cold", [SC_START_WARM] = "warm", [SC_START_FORK] = "fork"};
const char *const SC_STATUS_NAMES[] = {
    [SC_STATUS_OK] = "ok",
    [SC_STATUS_ERROR] = "error",
    [SC_STATUS_SIGNALED] = "signaled",
    [SC_STATUS_TIMEOUT] = "timeout",
    [SC_STATUS_CPU_TIMEOUT] = "cpu_timeout",
    [SC_STATUS_OUT_OF_MEMORY] = "out_of_memory",
    [SC_STATUS_OUTPUT_LIMIT] = "output_limit",
    [SC_STATUS_DISK_LIMIT] = "disk_limit",
    [SC_STATUS_PROCESS_LIMIT] = "process_limit",
    [SC_STATUS_BLOCKED] = "blocked",
    [SC_STATUS_SYNTAX_ERROR] = "syntax_error",
    [SC_STATUS_CANCELLED] = "cancelled",
    [SC_STATUS_SANDBOX_ERROR] = "sandbox_error",
    NULL,
};

const char *const SC_HIT_NAMES[] = {
    "wall",       "cpu", "memory", "tasks",  "disk",      "disk_inodes", "tmp",
    "tmp_inodes", "shm", "stdout", "stderr", "artifacts", "file_size",   NULL,
};

void sc_result_init(struct sc_result *result, uint64_t stdout_max, uint64_t stderr_max)
{
    memset(result, 0, sizeof *result);
    result->exit_code = -1;
    sc_buf_init(&result->out.kept, stdout_max);
    sc_buf_init(&result->err.kept, stderr_max);
}

void sc_result_fini(struct sc_result *result)
{
    if (!result)
        return;
    sc_buf_fini(&result->out.kept);
    sc_buf_fini(&result->err.kept);
    for (size_t i = 0; i < result->n_artifacts; i++) {
        free(result->artifacts[i].path);
        free(result->artifacts[i].saved);
    }
    for (size_t i = 0; i < result->n_skipped; i++)
        free(result->skipped[i].path);
    free(result->network);
    free(result->artifacts);
    free(result->skipped);
    json_decref(result->inside.value);
    json_decref(result->inside.locals);
    json_decref(result->inside.displays);
    json_decref(result->inside.error);
    json_decref(result->findings);
    free(result->template);
    free(result->trouble);
    memset(result, 0, sizeof *result);
    result->exit_code = -1;
}

void sc_result_move(struct sc_result *ret_to, struct sc_result *from)
{
    *ret_to = *from;
    memset(from, 0, sizeof *from);
    from->exit_code = -1;
}

static bool same_text(const char *kept, size_t size, const char *text)
{
    /* What is kept may have been cut. */
    return !strncmp(kept, text, size - 1);
}

static void keep_denial(struct sc_result *result, const char *layer, const char *action, const char *resource,
                        const char *rule, const char *hint, uint64_t count)
{
    struct sc_denial *d = &result->denials[result->n_denials++];
    snprintf(d->layer, sizeof d->layer, "%s", layer);
    snprintf(d->action, sizeof d->action, "%s", action);
    snprintf(d->resource, sizeof d->resource, "%s", resource);
    snprintf(d->rule, sizeof d->rule, "%s", rule);
    snprintf(d->hint, sizeof d->hint, "%s", hint ? hint : "");
    d->count = count;
}

static void count_up(struct sc_denial *denial, uint64_t count)
{
    denial->count = denial->count + count < count ? UINT64_MAX : denial->count + count;
}

const struct sc_denial *sc_result_deny(struct sc_result *result, const char *layer, const char *action,
                                       const char *resource, const char *rule, const char *hint)
{
    return sc_result_deny_many(result, layer, action, resource, rule, hint, 1);
}

const struct sc_denial *sc_result_deny_many(struct sc_result *result, const char *layer, const char *action,
                                            const char *resource, const char *rule, const char *hint,
                                            uint64_t count)
{
    for (size_t i = 0; i < result->n_denials; i++) {
        struct sc_denial *d = &result->denials[i];
        if (!same_text(d->layer, sizeof d->layer, layer) || !same_text(d->action, sizeof d->action, action) ||
            !same_text(d->resource, sizeof d->resource, resource) ||
            !same_text(d->rule, sizeof d->rule, rule))
            continue;
        count_up(d, count);
        return d;
    }
    /* The last place counts all that have none: a program may make up any number of kinds. */
    if (result->n_denials == SC_DENIALS_MAX)
        count_up(&result->denials[SC_DENIALS_MAX - 1], count);
    else if (result->n_denials == SC_DENIALS_MAX - 1)
        keep_denial(result, "result", "more", "denials of other kinds", "at most 64 kinds are kept", NULL,
                    count);
    else
        keep_denial(result, layer, action, resource, rule, hint, count);
    return &result->denials[result->n_denials - 1];
}

int sc_result_add_network(struct sc_result *result, const struct sc_network_record *record)
{
    if (result->n_network == SC_NETWORK_RECORDS_MAX)
        return -E2BIG;
    struct sc_network_record *list = reallocarray(result->network, result->n_network + 1, sizeof *list);
    if (!list)
        return -ENOMEM;
    list[result->n_network++] = *record;
    result->network = list;
    return 0;
}

int sc_result_add_artifact(struct sc_result *result, const char *path, const char *saved, uint64_t size)
{
    struct sc_artifact one = {.path = strdup(path), .saved = saved ? strdup(saved) : NULL, .size = size};
    struct sc_artifact *list = NULL;
    if (one.path && (one.saved || !saved))
        list = reallocarray(result->artifacts, result->n_artifacts + 1, sizeof *list);
    if (!list) {
        free(one.path);
        free(one.saved);
        return -ENOMEM;
    }
    list[result->n_artifacts++] = one;
    result->artifacts = list;
    return 0;
}

int sc_result_add_skip(struct sc_result *result, const char *path, const char *why)
{
    char *copy = strdup(path);
    struct sc_artifact_skip *list =
        copy ? reallocarray(result->skipped, result->n_skipped + 1, sizeof *list) : NULL;
    if (!list) {
        free(copy);
        return -ENOMEM;
    }
    list[result->n_skipped++] = (struct sc_artifact_skip){.path = copy, .why = why};
    result->skipped = list;
    return 0;
}

/* The program's own status where it ended by itself, else `killed`. */
static int own_or(const struct sc_result *result, int killed)
{
    return result->exit_code > 0 ? result->exit_code : killed;
}

int sc_result_exit_status(const struct sc_result *result)
{
    switch (result->status) {
    case SC_STATUS_OK:
        return 0;
    case SC_STATUS_ERROR:
    case SC_STATUS_SYNTAX_ERROR:
        return own_or(result, 1);
    case SC_STATUS_SIGNALED:
        return result->signal > 0 ? 128 + result->signal : 137;
    case SC_STATUS_TIMEOUT:
    case SC_STATUS_CPU_TIMEOUT:
        return 124;
    case SC_STATUS_OUT_OF_MEMORY:
    case SC_STATUS_OUTPUT_LIMIT:
        return 137;
    case SC_STATUS_DISK_LIMIT:
    case SC_STATUS_PROCESS_LIMIT:
        return own_or(result, 137);
    case SC_STATUS_BLOCKED:
        return 126;
    case SC_STATUS_CANCELLED:
        return 130;
    case SC_STATUS_SANDBOX_ERROR:
        break;
    }
    return 125;
}
