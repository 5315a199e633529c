/* Folders that are watched: with a client at the stream, or kept until somebody asks. */
#include "gate/e2b/filesystem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/json.h"
#include "gate/e2b/memory.h"

#define WATCHERS_MAX 256
#define EVENTS_MAX 10000
#define QUIET_NS (20 * SC_NS_PER_S)

/* ---- changes ---- */

/* Our own, under which a file is written until it is whole. */
static bool is_temporary(const char *path)
{
    const char *slash = strrchr(path, '/');
    return !strncmp(slash ? slash + 1 : path, ".snapcell-", strlen(".snapcell-"));
}

/* Of one folder: what lies deeper is left out unless it was asked for. NULL: nothing to tell. */
static json_t *event_of(const json_t *change, bool recursive)
{
    static const struct {
        const char *ours, *theirs;
    } rows[] = {{"made", "EVENT_TYPE_CREATE"},
                {"written", "EVENT_TYPE_WRITE"},
                {"removed", "EVENT_TYPE_REMOVE"},
                {"renamed", "EVENT_TYPE_RENAME"},
                {"mode", "EVENT_TYPE_CHMOD"}};
    const char *what = e2b_text(change, "change"), *path = e2b_text(change, "path");
    if (!what || !path || !*path || (!recursive && strchr(path, '/')) || is_temporary(path))
        return NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(rows[i].ours, what))
            return json_pack("{s:s, s:s}", "name", path, "type", rows[i].theirs);
    return NULL;
}

/* The message's path and flags; NULL: answered. */
static char *read_message(struct request *request, bool *ret_recursive)
{
    static const char *const names[] = {"path", "recursive", "includeEntry", "allowNetworkMounts", NULL};
    struct e2b_call *call;
    if (!e2b_enter(request) || !e2b_user(request, NULL) || !e2b_read_body(request))
        return NULL;
    call = request->of_handler;
    if (!e2b_only(request, call->body, names))
        return NULL;
    if (json_is_true(json_object_get(call->body, "includeEntry"))) {
        connect_refuse(request, "unimplemented", "includeEntry: events here have no entry");
        return NULL;
    }
    *ret_recursive = json_is_true(json_object_get(call->body, "recursive"));
    return file_path(request, "path");
}

static bool is_folder(struct request *request, const struct e2b_found *found, const char *path)
{
    const char *type = e2b_text(found->entry, "type");
    if (type && !strcmp(type, "folder"))
        return true;
    connect_refuse(request, "invalid_argument", "path %s is not a directory", path);
    return false;
}

/* ---- with a client at the stream ---- */

struct watching {
    char *path;
    bool recursive;
    struct lines lines;
    uint64_t told_ns;
};

static struct watching *watching_of(struct request *request)
{
    struct e2b_call *call = request->of_handler;
    return call->state;
}

static void free_watching(struct request *request)
{
    struct watching *watching = watching_of(request);
    lines_fini(&watching->lines);
    free(watching->path);
    free(watching);
}

static void tell(struct request *request, json_t *message)
{
    watching_of(request)->told_ns = sc_now_ns();
    connect_send(request, message);
}

static void on_line(void *userdata, const char *text, size_t len)
{
    struct request *request = userdata;
    json_t *value = NULL;
    json_error_t where;
    if (sc_json_load(text, len, JSON_ALLOW_NUL, &value, &where) < 0)
        return;
    json_t *event = event_of(value, watching_of(request)->recursive);
    if (json_object_get(value, "started"))
        tell(request, json_pack("{s:{}}", "start"));
    else if (event)
        tell(request, json_pack("{s:O}", "filesystem", event));
    json_decref(event);
    json_decref(value);
}

static void on_changes(void *userdata, enum sc_keeper_stream stream, const void *data, size_t len)
{
    struct request *request = userdata;
    if (stream == SC_KEEPER_EVENTS)
        lines_add(&watching_of(request)->lines, data, len, on_line, request);
}

static void on_over(void *userdata, const char *ok, size_t len, const json_t *error)
{
    struct request *request = userdata;
    (void)len;
    request->ask = NULL;
    if (ok)
        connect_end(request, NULL, NULL);
    else
        problem_keeper(request, error);
}

static void on_second(struct request *request)
{
    if (request->ask && request->answered && sc_now_ns() - watching_of(request)->told_ns > QUIET_NS)
        tell(request, json_pack("{s:{}}", "keepalive"));
}

static struct ask *begin(struct request *request, const char *path, const struct ask_events *events,
                         void *userdata)
{
    int why = -ENOMEM;
    json_t *message = file_message("file.watch", path);
    struct ask *ask = NULL;
    if (message && e2b_address(request, message) == 0)
        ask = ask_begin(request->gate, message, NULL, true, events, userdata, &why);
    else
        json_decref(message);
    if (!ask)
        problem_begin(request, why);
    return ask;
}

static void on_found(struct request *request, const struct e2b_found *found)
{
    static const struct ask_events events = {.output = on_changes, .done = on_over};
    if (!is_folder(request, found, watching_of(request)->path))
        return;
    request->more = on_second;
    request->ask = begin(request, found->path, &events, request);
}

void e2b_handle_watch(struct request *request)
{
    struct watching *watching = e2b_state(request, sizeof *watching, free_watching);
    if (watching && (watching->path = read_message(request, &watching->recursive)))
        e2b_find(request, watching->path, on_found);
}

/* ---- kept until somebody asks ---- */

struct watcher {
    TAILQ_ENTRY(watcher) entry;
    struct e2b *memory;
    char session[65], id[33];
    bool recursive;
    struct ask *ask; /* NULL: it is over */
    struct lines lines;
    json_t *events;
    struct request *waits; /* that made it, until it watches; NULL */
};

static void watcher_free(struct watcher *watcher)
{
    TAILQ_REMOVE(&watcher->memory->watchers, watcher, entry);
    watcher->memory->n_watchers--;
    if (watcher->ask)
        ask_forget(watcher->ask);
    lines_fini(&watcher->lines);
    json_decref(watcher->events);
    free(watcher);
}

void watchers_close(struct e2b *memory)
{
    while (!TAILQ_EMPTY(&memory->watchers))
        watcher_free(TAILQ_FIRST(&memory->watchers));
}

struct making {
    char *path;
    bool recursive;
    struct watcher *watcher;
};

static void free_making(struct request *request)
{
    struct e2b_call *call = request->of_handler;
    struct making *making = call->state;
    if (making->watcher)
        making->watcher->waits = NULL;
    free(making->path);
    free(making);
}

static void tell_made(struct watcher *watcher)
{
    struct request *request = watcher->waits;
    if (!request)
        return;
    watcher->waits = NULL;
    ((struct making *)((struct e2b_call *)request->of_handler)->state)->watcher = NULL;
    answer_json(request, MHD_HTTP_OK, json_pack("{s:s}", "watcherId", watcher->id));
}

static void on_kept_line(void *userdata, const char *text, size_t len)
{
    struct watcher *watcher = userdata;
    json_t *value = NULL;
    json_error_t where;
    if (sc_json_load(text, len, JSON_ALLOW_NUL, &value, &where) < 0)
        return;
    json_t *event = event_of(value, watcher->recursive);
    if (json_object_get(value, "started"))
        tell_made(watcher);
    if (event && json_array_size(watcher->events) < EVENTS_MAX)
        (void)json_array_append(watcher->events, event);
    json_decref(event);
    json_decref(value);
}

static void on_kept(void *userdata, enum sc_keeper_stream stream, const void *data, size_t len)
{
    struct watcher *watcher = userdata;
    if (stream == SC_KEEPER_EVENTS)
        lines_add(&watcher->lines, data, len, on_kept_line, watcher);
}

static void on_kept_over(void *userdata, const char *ok, size_t len, const json_t *error)
{
    struct watcher *watcher = userdata;
    struct request *request = watcher->waits;
    (void)ok;
    (void)len;
    watcher->ask = NULL;
    if (request) {
        ((struct making *)((struct e2b_call *)request->of_handler)->state)->watcher = NULL;
        problem_keeper(request, error);
    }
    watcher_free(watcher);
}

static struct watcher *watcher_new(struct request *request)
{
    struct e2b_call *call = request->of_handler;
    struct making *making = call->state;
    struct e2b *memory = memory_of(request->gate);
    uint8_t bytes[16];
    if (memory && memory->n_watchers >= WATCHERS_MAX) {
        connect_refuse(request, "resource_exhausted", "%d watchers are kept already", WATCHERS_MAX);
        return NULL;
    }
    struct watcher *watcher = memory ? calloc(1, sizeof *watcher) : NULL;
    if (!watcher || getrandom(bytes, sizeof bytes, 0) != sizeof bytes) {
        free(watcher);
        problem_begin(request, -ENOMEM);
        return NULL;
    }
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(watcher->id + 2 * i, 3, "%02x", bytes[i]);
    snprintf(watcher->session, sizeof watcher->session, "%s", call->session);
    watcher->memory = memory;
    watcher->recursive = making->recursive;
    watcher->events = json_array();
    watcher->waits = request;
    making->watcher = watcher;
    TAILQ_INSERT_TAIL(&memory->watchers, watcher, entry);
    memory->n_watchers++;
    return watcher;
}

static void on_place(struct request *request, const struct e2b_found *found)
{
    static const struct ask_events events = {.output = on_kept, .done = on_kept_over};
    struct making *making = ((struct e2b_call *)request->of_handler)->state;
    struct watcher *watcher = is_folder(request, found, making->path) ? watcher_new(request) : NULL;
    if (!watcher)
        return;
    watcher->ask = begin(request, found->path, &events, watcher);
    if (!watcher->ask) {
        making->watcher = NULL;
        watcher_free(watcher);
    }
}

void e2b_handle_watcher_new(struct request *request)
{
    struct making *making = e2b_state(request, sizeof *making, free_making);
    if (making && (making->path = read_message(request, &making->recursive)))
        e2b_find(request, making->path, on_place);
}

/* ---- asked ---- */

/* NULL: it was answered that there is none. */
static struct watcher *named(struct request *request)
{
    const struct e2b_call *call = request->of_handler;
    const char *id = e2b_text(call->body, "watcherId");
    struct e2b *memory = memory_of(request->gate);
    struct watcher *watcher;
    TAILQ_FOREACH(watcher, &memory->watchers, entry)
    {
        if (id && !strcmp(watcher->id, id) && !strcmp(watcher->session, call->session))
            return watcher;
    }
    connect_refuse(request, "not_found", "watcher with id %.64s not found", id ? id : "");
    return NULL;
}

static void on_events(struct request *request, const struct e2b_said *said)
{
    struct watcher *watcher = e2b_fine(request, said) ? named(request) : NULL;
    if (!watcher)
        return;
    answer_json(request, MHD_HTTP_OK, json_pack("{s:O}", "events", watcher->events));
    json_decref(watcher->events);
    watcher->events = json_array();
}

static void on_remove(struct request *request, const struct e2b_said *said)
{
    struct watcher *watcher = e2b_fine(request, said) ? named(request) : NULL;
    if (!watcher)
        return;
    watcher_free(watcher);
    answer_json(request, MHD_HTTP_OK, json_object());
}

/* The keeper first: it knows whether the token is right. */
static void ask_first(struct request *request, e2b_next *next)
{
    static const char *const names[] = {"watcherId", NULL};
    struct e2b_call *call;
    if (!e2b_enter(request) || !e2b_user(request, NULL) || !e2b_read_body(request))
        return;
    call = request->of_handler;
    if (e2b_only(request, call->body, names) && memory_of(request->gate))
        e2b_ask(request, json_pack("{s:s}", "request", "process.list"), false, next);
}

void e2b_handle_watcher_events(struct request *request)
{
    ask_first(request, on_events);
}

void e2b_handle_watcher_remove(struct request *request)
{
    ask_first(request, on_remove);
}
