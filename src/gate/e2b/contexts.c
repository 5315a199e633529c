/* Contexts: made with a first run that only enters their folder. The keeper knows their names and languages;
 * the folder is remembered here, for as long as this gate lives. */
#include "gate/e2b/contexts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/json.h"
#include "gate/e2b/memory.h"

static const struct {
    const char *theirs, *ours;
} LANGUAGES[] = {
    {"python", "python"}, {"javascript", "node"}, {"js", "node"}, {"bash", "bash"}, {"node", "node"}};

const char *contexts_language(const char *theirs)
{
    for (size_t i = 0; i < sizeof LANGUAGES / sizeof *LANGUAGES; i++)
        if (!strcmp(LANGUAGES[i].theirs, theirs))
            return LANGUAGES[i].ours;
    return NULL;
}

bool contexts_is_gone(struct request *request, const json_t *context)
{
    const struct e2b_call *call = request->of_handler;
    const char *name = e2b_text(context, "name"), *state = e2b_text(context, "state");
    return state && !strcmp(state, "ending") && strcmp(name, e2b_text(context, "language")) != 0 &&
           !memory_folder(request->gate, call->session, name);
}

static const char *their_name(const char *ours)
{
    return !strcmp(ours, "node") ? "javascript" : ours;
}

/* ---- entering a folder ---- */

/* 'FOLDER' for a shell. */
static int add_quoted(struct sc_buf *code, const char *text)
{
    int r = sc_buf_add_str(code, "'");
    for (; *text && r == 0; text++)
        r = *text == '\'' ? sc_buf_add_str(code, "'\\''") : sc_buf_add(code, text, 1);
    return r < 0 ? r : sc_buf_add_str(code, "'");
}

/* A text in JSON's form is one in Python and JavaScript, too. */
static json_t *code_of(const char *language, const char *folder)
{
    struct sc_buf code;
    json_t *text = json_string(folder), *value = NULL;
    char *literal = sc_json_dump(text, JSON_ENCODE_ANY);
    int r = literal ? 0 : -ENOMEM;
    sc_buf_init(&code, 65536);
    if (r == 0 && !strcmp(language, "bash")) {
        r = sc_buf_add_str(&code, "cd -- ");
        r = r < 0 ? r : add_quoted(&code, folder);
    } else if (r == 0) {
        r = sc_buf_printf(
            &code, !strcmp(language, "node") ? "process.chdir(%s)" : "__import__('os').chdir(%s)", literal);
    }
    if (r == 0)
        value = json_stringn((char *)code.data, code.len);
    free(literal);
    json_decref(text);
    sc_buf_fini(&code);
    return value;
}

struct making {
    char id[65], language[16];
    char *folder;
    bool again; /* it was there before */
};

static void free_making(struct request *request)
{
    struct e2b_call *call = request->of_handler;
    struct making *making = call->state;
    free(making->folder);
    free(making);
}

static json_t *told(const char *id, const char *language, const char *folder)
{
    return json_pack("{s:s, s:s, s:s}", "id", id, "language", their_name(language), "cwd", folder);
}

static void on_entered(struct request *request, const struct e2b_said *said)
{
    struct e2b_call *call = request->of_handler;
    const struct making *making = call->state;
    const char *status = e2b_text(said->ok, "status");
    const char *message = e2b_text(json_object_get(said->ok, "error"), "message");
    if (!e2b_fine(request, said))
        return;
    if (!status || strcmp(status, "ok") != 0) {
        problem(request, "usage", "cwd", "cwd: cannot be entered: %s",
                message  ? message
                : status ? status
                         : "");
        return;
    }
    memory_keep(request->gate, call->session, making->id, making->folder);
    answer_json(request, MHD_HTTP_OK, told(making->id, making->language, making->folder));
}

static void make(struct request *request)
{
    struct e2b_call *call = request->of_handler;
    const struct making *making = call->state;
    e2b_ask(request,
            json_pack("{s:s, s:s, s:s, s:o, s:s}", "request", "run", "language", making->language, "context",
                      making->id, "code", code_of(making->language, making->folder), "output", "reply"),
            false, on_entered);
}

/* ---- made, listed ---- */

void e2b_handle_context_new(struct request *request)
{
    static const char *const names[] = {"language", "cwd", NULL};
    struct making *making = e2b_state(request, sizeof *making, free_making);
    uint8_t bytes[16];
    if (!making || !e2b_enter(request) || !e2b_read_body(request))
        return;
    struct e2b_call *call = request->of_handler;
    const char *theirs = e2b_text(call->body, "language"), *folder = e2b_text(call->body, "cwd");
    const char *language = contexts_language(theirs ? theirs : "python");
    if (!e2b_only(request, call->body, names))
        return;
    if (!language) {
        problem(request, "usage", "language", "language: allowed here are python, javascript, bash");
        return;
    }
    making->folder = e2b_path(folder ? folder : "");
    if (!making->folder || getrandom(bytes, sizeof bytes, 0) != sizeof bytes) {
        problem_begin(request, -ENOMEM);
        return;
    }
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(making->id + 2 * i, 3, "%02x", bytes[i]);
    snprintf(making->language, sizeof making->language, "%s", language);
    make(request);
}

static void on_listed(struct request *request, const struct e2b_said *said)
{
    struct e2b_call *call = request->of_handler;
    json_t *all = json_array(), *context;
    size_t i;
    if (!e2b_fine(request, said)) {
        json_decref(all);
        return;
    }
    json_array_foreach(json_object_get(said->ok, "contexts"), i, context)
    {
        const char *id = e2b_text(context, "name"), *folder = memory_folder(request->gate, call->session, id);
        if (!contexts_is_gone(request, context))
            (void)json_array_append_new(all,
                                        told(id, e2b_text(context, "language"), folder ? folder : E2B_HOME));
    }
    answer_json(request, MHD_HTTP_OK, all);
}

void e2b_handle_context_list(struct request *request)
{
    if (e2b_enter(request))
        e2b_ask(request, json_pack("{s:s}", "request", "context.list"), false, on_listed);
}

/* ---- begun anew, ended ---- */

static json_t *restart_message(const struct request *request)
{
    return json_pack("{s:s, s:s}", "request", "context.restart", "context", request->params[0]);
}

static void on_forgotten(struct request *request, const struct e2b_said *said)
{
    if (e2b_fine(request, said))
        make(request);
}

static void on_known(struct request *request, const struct e2b_said *said)
{
    struct e2b_call *call = request->of_handler;
    struct making *making = call->state;
    json_t *context;
    size_t i;
    if (!e2b_fine(request, said))
        return;
    json_array_foreach(json_object_get(said->ok, "contexts"), i, context)
    {
        const char *id = e2b_text(context, "name"), *folder = memory_folder(request->gate, call->session, id);
        if (strcmp(id, request->params[0]) != 0 || contexts_is_gone(request, context))
            continue;
        making->folder = strdup(folder ? folder : E2B_HOME);
        snprintf(making->id, sizeof making->id, "%s", id);
        snprintf(making->language, sizeof making->language, "%s", e2b_text(context, "language"));
        e2b_ask(request, restart_message(request), false, on_forgotten);
        return;
    }
    problem(request, "not_found", "context", "Context %.64s not found", request->params[0]);
}

void e2b_handle_context_restart(struct request *request)
{
    struct making *making = e2b_state(request, sizeof *making, free_making);
    if (making && e2b_enter(request))
        e2b_ask(request, json_pack("{s:s}", "request", "context.list"), false, on_known);
}

static void on_removed(struct request *request, const struct e2b_said *said)
{
    struct e2b_call *call = request->of_handler;
    const char *kind = e2b_text(said->error, "kind"), *field = e2b_text(said->error, "field");
    if (kind && field && !strcmp(kind, "not_found") && !strcmp(field, "context")) {
        problem(request, "not_found", "context", "Context %.64s not found", request->params[0]);
        return;
    }
    if (!e2b_fine(request, said))
        return;
    memory_forget(request->gate, call->session, request->params[0]);
    answer_json(request, MHD_HTTP_OK, json_object());
}

void e2b_handle_context_remove(struct request *request)
{
    if (e2b_enter(request))
        e2b_ask(request, restart_message(request), false, on_removed);
}
