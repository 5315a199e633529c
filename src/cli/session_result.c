#include <string.h>

#include "base/clock.h"
#include "cli/session.h"

static void copy_text(char *to, size_t size, const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    size_t len = text ? strlen(text) : 0;
    len = len < size ? len : size - 1;
    if (len)
        memcpy(to, text, len);
    to[len] = '\0';
}

static uint64_t count_of(const json_t *object, const char *name)
{
    json_int_t value = json_integer_value(json_object_get(object, name));
    return value > 0 ? (uint64_t)value : 0;
}

static uint64_t ns_of(const json_t *object, const char *name)
{
    double ms = json_number_value(json_object_get(object, name));
    return ms > 0 ? (uint64_t)(ms * (double)SC_NS_PER_MS) : 0;
}

static enum sc_status status_of(const json_t *reply)
{
    const char *name = json_string_value(json_object_get(reply, "status"));
    for (int status = SC_STATUS_OK; name && status <= SC_STATUS_SANDBOX_ERROR; status++)
        if (!strcmp(SC_STATUS_NAMES[status], name))
            return (enum sc_status)status;
    return SC_STATUS_SANDBOX_ERROR;
}

static enum sc_start start_of(const json_t *reply)
{
    const char *kind = json_string_value(json_object_get(json_object_get(reply, "start"), "kind"));
    for (int start = SC_START_COLD; kind && start <= SC_START_FORK; start++)
        if (!strcmp(SC_START_NAMES[start], kind))
            return (enum sc_start)start;
    return SC_START_COLD;
}

static uint32_t bits_of(const json_t *names, const char *const *all)
{
    uint32_t bits = 0;
    const json_t *name;
    size_t i;
    json_array_foreach(names, i, name)
    {
        for (unsigned bit = 0; all[bit]; bit++)
            if (json_is_string(name) && !strcmp(all[bit], json_string_value(name)))
                bits |= 1u << bit;
    }
    return bits;
}

static void read_usage(const json_t *usage, struct sc_usage *ret_usage)
{
    *ret_usage = (struct sc_usage){
        .wall_ns = ns_of(usage, "wall_ms"),
        .start_ns = ns_of(usage, "start_ms"),
        .queue_ns = ns_of(usage, "queue_ms"),
        .cpu_user_ns = ns_of(usage, "cpu_user_ms"),
        .cpu_system_ns = ns_of(usage, "cpu_system_ms"),
        .memory_peak_bytes = count_of(usage, "memory_peak_bytes"),
        .rss_peak_bytes = count_of(usage, "rss_peak_bytes"),
        .tasks_peak = count_of(usage, "tasks_peak"),
        .stdout_bytes = count_of(usage, "stdout_bytes"),
        .stderr_bytes = count_of(usage, "stderr_bytes"),
        .disk_bytes = count_of(usage, "disk_bytes"),
        .disk_inodes = count_of(usage, "disk_inodes"),
    };
}

static void read_denials(const json_t *denials, struct sc_result *ret_result)
{
    const json_t *entry;
    size_t i;
    json_array_foreach(denials, i, entry)
    {
        if (ret_result->n_denials == SC_DENIALS_MAX)
            break;
        struct sc_denial *denial = &ret_result->denials[ret_result->n_denials++];
        copy_text(denial->layer, sizeof denial->layer, entry, "layer");
        copy_text(denial->action, sizeof denial->action, entry, "action");
        copy_text(denial->resource, sizeof denial->resource, entry, "resource");
        copy_text(denial->rule, sizeof denial->rule, entry, "rule");
        copy_text(denial->hint, sizeof denial->hint, entry, "hint");
        denial->count = count_of(entry, "count");
    }
}

/* A restricted run's `error` is a sentence, and the object stands beside it. */
static json_t *error_of(const json_t *reply)
{
    json_t *info = json_object_get(reply, "error_info");
    json_t *error = info ? info : json_object_get(reply, "error");
    return json_is_object(error) ? json_incref(error) : NULL;
}

static void read_inside(const json_t *reply, struct sc_inside *ret_inside)
{
    json_t *value = json_object_get(reply, "value");
    ret_inside->present = json_object_get(reply, "said_from_inside") != NULL;
    ret_inside->value = json_is_object(value) ? json_incref(value) : NULL;
    ret_inside->error = error_of(reply);
}

void sc_cli_session_result(const json_t *reply, struct sc_result *ret_result)
{
    const json_t *code = json_object_get(reply, "exit_code"), *signal = json_object_get(reply, "signal");
    sc_result_init(ret_result, 1, 1);
    ret_result->status = status_of(reply);
    ret_result->exit_code = json_is_integer(code) ? (int)json_integer_value(code) : -1;
    ret_result->signal = (int)json_integer_value(signal);
    copy_text(ret_result->message, sizeof ret_result->message, reply, "message");
    read_usage(json_object_get(reply, "usage"), &ret_result->usage);
    ret_result->out.total = ret_result->usage.stdout_bytes;
    ret_result->err.total = ret_result->usage.stderr_bytes;
    ret_result->out.truncated = json_is_true(json_object_get(reply, "stdout_truncated"));
    ret_result->err.truncated = json_is_true(json_object_get(reply, "stderr_truncated"));
    ret_result->limits_hit = bits_of(json_object_get(reply, "limits_hit"), SC_HIT_NAMES);
    ret_result->degraded = bits_of(json_object_get(reply, "degraded"), SC_DEGRADE_NAMES);
    ret_result->start = start_of(reply);
    ret_result->context_lost = json_is_true(json_object_get(reply, "context_lost"));
    read_denials(json_object_get(reply, "denials"), ret_result);
    read_inside(reply, &ret_result->inside);
    const json_t *findings = json_object_get(reply, "findings");
    ret_result->findings = json_is_array(findings) ? json_incref((json_t *)findings) : NULL;
}
