/* POST /sandboxes: their body as the request that starts a session. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gate/e2b/e2b.h"

#define IDLE_MS (24 * 3600 * 1000) /* a sandbox ends at its time, whether or not it is used */

static bool wrong(struct request *request, const char *field, const char *why)
{
    problem(request, "usage", field, "%s: %s", field, why);
    return false;
}

/* What is there must be of the type; what is served only when it asks for nothing must do that. */
static bool check_types(struct request *request, const json_t *body)
{
    static const char *const names[] = {"templateID",
                                        "timeout",
                                        "metadata",
                                        "envVars",
                                        "allow_internet_access",
                                        "secure",
                                        "network",
                                        "autoPause",
                                        "autoPauseMemory",
                                        "autoResume",
                                        "mcp",
                                        "iam",
                                        "volumeMounts",
                                        NULL};
    static const char *const unserved[] = {"mcp", "iam", "volumeMounts", NULL};
    const json_t *resume = json_object_get(json_object_get(body, "autoResume"), "enabled");
    if (!e2b_only(request, body, names))
        return false;
    for (size_t i = 0; unserved[i]; i++) {
        const json_t *value = json_object_get(body, unserved[i]);
        if (value && !json_is_null(value) && !(json_is_array(value) && json_array_size(value) == 0))
            return wrong(request, unserved[i], "is not served here");
    }
    if (json_is_true(json_object_get(body, "autoPause")) ||
        json_is_true(json_object_get(body, "autoPauseMemory")))
        return wrong(request, "autoPause", "a sandbox of this version ends at its time, it is not paused");
    if (json_is_true(resume))
        return wrong(request, "autoResume.enabled", "a sandbox of this version is not resumed by itself");
    if (!e2b_text(body, "templateID"))
        return wrong(request, "templateID", "must be a text");
    if (strlen(e2b_text(body, "templateID")) > 128)
        return wrong(request, "templateID", "at most 128 bytes are allowed");
    return true;
}

/* Seconds → ms; 0: it was answered. */
static json_int_t timeout_of(struct request *request, const json_t *body, const char *name)
{
    const json_t *value = json_object_get(body, name);
    json_int_t seconds = value && !json_is_null(value) ? json_integer_value(value) : E2B_TIMEOUT_STANDARD_S;
    if (seconds >= 1 && seconds <= E2B_TIMEOUT_MOST_S)
        return seconds * 1000;
    problem(request, "usage", name, "%s: must be a number of seconds, 1 to %d", name, E2B_TIMEOUT_MOST_S);
    return 0;
}

json_int_t e2b_timeout(struct request *request, const char *name)
{
    const struct e2b_call *call = request->of_handler;
    return timeout_of(request, call->body, name);
}

static bool add_metadata(struct request *request, const json_t *body, json_t *metadata)
{
    const json_t *given = json_object_get(body, "metadata");
    const char *name = "";
    if (given && !json_is_null(given) && !json_is_object(given))
        return wrong(request, "metadata", "must be an object of texts");
    int r = e2b_put_metadata(metadata, given, &name);
    if (r == 0 && json_object_size(metadata) <= 32)
        return true;
    if (r == -ENOMEM)
        problem_begin(request, r);
    else
        problem(
            request, "usage", "metadata",
            "metadata: %.64s: allowed are 28 texts of at most 256 bytes, under names of at most 64 bytes of "
            "which all but letters, digits, - and _ count thrice",
            name);
    return false;
}

/* A network that was not said more of is what the tenant has. */
static bool add_network(struct request *request, const json_t *body, json_t *spec, json_t *metadata)
{
    char why[200] = "";
    json_t *asked = json_object_get(body, "network"), *network = NULL;
    json_t *all = json_is_object(asked) ? json_copy(asked) : json_object();
    json_t *internet = json_object_get(body, "allow_internet_access");
    if (asked && !json_is_null(asked) && !json_is_object(asked)) {
        json_decref(all);
        return wrong(request, "network", "must be an object");
    }
    if (internet)
        (void)json_object_set(all, "allow_internet_access", internet);
    int r = e2b_network(all, &network, why, sizeof why);
    json_decref(all);
    if (r < 0) {
        problem(request, r == -ENOMEM ? "sandbox" : "usage", "network", "%s", why);
        return false;
    }
    const char *mode = e2b_text(network, "mode");
    if (!strcmp(mode, "open") && !request->person->has_network) {
        json_decref(network);
        network = json_pack("{s:s}", "mode", "none");
    }
    bool is_none = !strcmp(e2b_text(network, "mode"), "none");
    (void)json_object_set_new(metadata, "e2b..internet", json_string(is_none ? "false" : "true"));
    (void)json_object_set_new(spec, "network", network);
    return true;
}

/* Their protocol has no word for it, and it costs walls: who wants copies says so. */
static bool is_forkable(const json_t *metadata)
{
    const char *wish = e2b_text(metadata, "snapcell.forkable");
    return wish && !strcmp(wish, "true");
}

json_t *e2b_start_message(struct request *request)
{
    struct e2b_call *call = request->of_handler;
    const json_t *body = call->body, *env = json_object_get(body, "envVars");
    if (!check_types(request, body))
        return NULL;
    const char *template_id = e2b_text(body, "templateID"), *ours = e2b_template(template_id);
    json_int_t total_ms = timeout_of(request, body, "timeout");
    json_t *spec = json_object(), *metadata = json_pack("{s:s}", "e2b..template", template_id);
    bool fine =
        total_ms > 0 && add_metadata(request, body, metadata) && add_network(request, body, spec, metadata);
    if (fine && is_forkable(json_object_get(body, "metadata")))
        (void)json_object_set_new(spec, "forkable", json_true());
    if (fine && ours)
        (void)json_object_set_new(spec, "template", json_string(ours));
    if (fine && env && !json_is_null(env))
        (void)json_object_set(spec, "env", (json_t *)env);
    if (fine && request->gate->options->e2b_accepts)
        (void)json_object_set(spec, "allow_degraded", request->gate->options->e2b_accepts);
    if (!fine) {
        json_decref(spec);
        json_decref(metadata);
        return NULL;
    }
    return json_pack("{s:s, s:o, s:o, s:i, s:I}", "request", "session.start", "spec", spec, "metadata",
                     metadata, "idle_ms", IDLE_MS, "total_ms", total_ms);
}
