/* Messages to the keeper, made of the bodies that clients send. */
#include "gate/body.h"

#include <errno.h>
#include <string.h>

#include "spec/json_read.h"

json_t *body_spec(struct request *request, const char *const *leave_out)
{
    struct sc_err err = {0};
    if (body_check_paths(request->body, &err) < 0) {
        problem_err(request, &err);
        return NULL;
    }
    json_t *spec = json_copy(request->body);
    for (; spec && leave_out && *leave_out; leave_out++)
        (void)json_object_del(spec, *leave_out);
    if (!spec) {
        problem(request, "sandbox", "", "gate: out of memory");
        return NULL;
    }
    return spec;
}

json_t *body_message(struct request *request, const char *name, bool streams)
{
    struct sc_err err = {0};
    if (body_check_paths(request->body, &err) < 0) {
        problem_err(request, &err);
        return NULL;
    }
    json_t *message = message_of(request, name);
    const char *output = streams ? "stream" : "reply";
    if (!message || json_object_update(message, request->body) < 0 ||
        json_object_set_new(message, "output", json_string(output)) < 0) {
        json_decref(message);
        problem(request, "sandbox", "", "gate: out of memory");
        return NULL;
    }
    return message;
}

void body_turn(const json_t *from, json_t *message)
{
    static const char *const names[] = {"priority", "deadline_ms", NULL};
    for (size_t i = 0; names[i]; i++) {
        json_t *value = json_object_get(from, names[i]);
        if (value && !json_is_null(value))
            (void)json_object_set(message, names[i], value);
    }
}
