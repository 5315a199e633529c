/* Sessions as E2B tells of sandboxes. What only E2B knows of one stands in the session's metadata, under
 * names that begin with "e2b..", which no name of a client's becomes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gate/e2b/e2b.h"

#define PLAIN "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
#define NAME_MOST 64
#define VALUE_MOST 256
#define OURS "e2b.."

/* ---- metadata ---- */

/* What is no letter, digit, - or _ becomes ".XX". -EMSGSIZE. */
static int escape_name(const char *name, char ret_name[NAME_MOST + 1])
{
    size_t n = 0;
    for (; *name; name++) {
        bool plain = strchr(PLAIN, *name);
        if (n + (plain ? 1 : 3) > NAME_MOST)
            return -EMSGSIZE;
        if (plain)
            ret_name[n++] = *name;
        else
            n += (size_t)snprintf(ret_name + n, 4, ".%02x", (unsigned char)*name);
    }
    ret_name[n] = '\0';
    return n ? 0 : -EMSGSIZE;
}

static void unescape_name(const char *name, char ret_name[NAME_MOST + 1])
{
    size_t n = 0;
    for (; *name && n < NAME_MOST; name++) {
        unsigned byte = 0;
        if (*name == '.' && sscanf(name + 1, "%2x", &byte) == 1) {
            ret_name[n++] = (char)byte;
            name += 2;
        } else {
            ret_name[n++] = *name;
        }
    }
    ret_name[n] = '\0';
}

int e2b_put_metadata(json_t *into, const json_t *metadata, const char **ret_name)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)metadata, name, value)
    {
        char escaped[NAME_MOST + 1];
        *ret_name = name;
        if (!json_is_string(value) || json_string_length(value) > VALUE_MOST ||
            escape_name(name, escaped) < 0)
            return -EINVAL;
        if (json_object_set(into, escaped, value) < 0)
            return -ENOMEM;
    }
    return 0;
}

json_t *e2b_take_metadata(const json_t *of_session)
{
    const char *name;
    json_t *value, *all = json_object();
    json_object_foreach((json_t *)of_session, name, value)
    {
        char plain[NAME_MOST + 1];
        if (!strncmp(name, OURS, strlen(OURS)))
            continue;
        unescape_name(name, plain);
        (void)json_object_set(all, plain, value);
    }
    return all;
}

/* ---- what is told ---- */

bool e2b_is_sandbox(const json_t *info)
{
    const char *state = e2b_text(info, "state");
    return e2b_text(json_object_get(info, "metadata"), OURS "template") &&
           !(state && !strcmp(state, "snapshot"));
}

void e2b_time(json_int_t ms_from_now, char *ret_text, size_t size)
{
    struct timespec now;
    struct tm parts;
    char seconds[32];
    clock_gettime(CLOCK_REALTIME, &now);
    long long ms = (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000 + ms_from_now;
    time_t when = (time_t)(ms / 1000);
    if (!gmtime_r(&when, &parts) || !strftime(seconds, sizeof seconds, "%Y-%m-%dT%H:%M:%S", &parts))
        snprintf(seconds, sizeof seconds, "1970-01-01T00:00:00");
    snprintf(ret_text, size, "%s.%03lldZ", seconds, ms % 1000);
}

json_t *e2b_describe(const json_t *info)
{
    const json_t *metadata = json_object_get(info, "metadata"), *limits = json_object_get(info, "limits");
    const char *state = e2b_text(info, "state"), *internet = e2b_text(metadata, OURS "internet");
    char started[40], ends[40];
    double cpus = json_number_value(json_object_get(limits, "cpus"));
    e2b_time(-json_integer_value(json_object_get(info, "age_ms")), started, sizeof started);
    e2b_time(json_integer_value(json_object_get(info, "left_ms")), ends, sizeof ends);
    json_t *told =
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:i, s:I, s:I, s:s, s:s, s:o}", "templateID",
                  e2b_text(metadata, OURS "template"), "sandboxID", e2b_text(info, "session"), "clientID",
                  "snapcell", "startedAt", started, "endAt", ends, "cpuCount", cpus > 1 ? (int)cpus : 1,
                  "memoryMB", json_integer_value(json_object_get(limits, "memory_bytes")) / 1048576,
                  "diskSizeMB", json_integer_value(json_object_get(limits, "disk_bytes")) / 1048576, "state",
                  state && !strcmp(state, "paused") ? "paused" : "running", "envdVersion", E2B_ENVD_VERSION,
                  "metadata", e2b_take_metadata(metadata));
    if (told && internet)
        (void)json_object_set_new(told, "allowInternetAccess", json_boolean(!strcmp(internet, "true")));
    return told;
}
