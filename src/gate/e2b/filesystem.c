/* filesystem.Filesystem, but for watching. */
#include "gate/e2b/filesystem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ENTRIES_MAX 100000
#define DEPTH_MOST 64

json_t *file_message(const char *name, const char *path)
{
    return json_pack("{s:s, s:s}", "request", name, "path", path);
}

void file_ask(struct request *request, const char *name, const char *path, e2b_next *next)
{
    e2b_ask(request, file_message(name, path), true, next);
}

bool file_is_missing(const json_t *error)
{
    const char *code = e2b_text(error, "code");
    return code && !strcmp(code, "ENOENT");
}

char *file_path(struct request *request, const char *field)
{
    struct e2b_call *call = request->of_handler;
    const char *given = e2b_text(call->body, field);
    char *path = e2b_path(given ? given : "");
    if (!path)
        problem_begin(request, -ENOMEM);
    else
        path_tidy(path);
    return path;
}

/* Sandbox, user, message with these fields only. */
static bool enter(struct request *request, const char *const *names)
{
    struct e2b_call *call;
    if (!e2b_enter(request) || !e2b_user(request, NULL) || !e2b_read_body(request))
        return false;
    call = request->of_handler;
    return e2b_only(request, call->body, names);
}

struct paths {
    char *path, *to;
};

static void free_paths(struct request *request)
{
    struct e2b_call *call = request->of_handler;
    struct paths *paths = call->state;
    free(paths->path);
    free(paths->to);
    free(paths);
}

static struct paths *paths_of(struct request *request)
{
    struct e2b_call *call = request->of_handler;
    return call->state;
}

/* ---- told about ---- */

static json_t *told(const char *path, const struct e2b_found *found)
{
    return e2b_entry(path, found->link ? found->link : found->entry, found->entry,
                     found->dangles ? NULL : found->path);
}

static void on_found(struct request *request, const struct e2b_found *found)
{
    const struct paths *paths = paths_of(request);
    answer_json(request, MHD_HTTP_OK, json_pack("{s:o}", "entry", told(paths->path, found)));
}

static void tell_entry(struct request *request)
{
    e2b_find(request, paths_of(request)->path, on_found);
}

void e2b_handle_stat(struct request *request)
{
    static const char *const names[] = {"path", NULL};
    struct paths *paths = e2b_state(request, sizeof *paths, free_paths);
    if (paths && enter(request, names) && (paths->path = file_path(request, "path")))
        tell_entry(request);
}

/* ---- listed ---- */

struct folder_left {
    TAILQ_ENTRY(folder_left) entry;
    char *path; /* as it is told */
    unsigned depth;
};

struct walk {
    TAILQ_HEAD(, folder_left) left;
    char *real; /* of the folder that is listed now */
    char *top;  /* the folder asked for */
    unsigned depth;
    json_t *entries, *links; /* links: places in entries whose targets are not known yet */
};

static void free_walk(struct request *request)
{
    struct e2b_call *call = request->of_handler;
    struct walk *walk = call->state;
    struct folder_left *folder;
    while ((folder = TAILQ_FIRST(&walk->left))) {
        TAILQ_REMOVE(&walk->left, folder, entry);
        free(folder->path);
        free(folder);
    }
    json_decref(walk->entries);
    json_decref(walk->links);
    free(walk->real);
    free(walk->top);
    free(walk);
}

static struct walk *walk_of(struct request *request)
{
    struct e2b_call *call = request->of_handler;
    return call->state;
}

static int leave_for_later(struct walk *walk, const char *path, unsigned depth)
{
    struct folder_left *folder = calloc(1, sizeof *folder);
    if (!folder || !(folder->path = strdup(path))) {
        free(folder);
        return -ENOMEM;
    }
    folder->depth = depth;
    TAILQ_INSERT_TAIL(&walk->left, folder, entry);
    return 0;
}

static void next_folder(struct request *request);

static void on_target(struct request *request, const struct e2b_found *found)
{
    struct walk *walk = walk_of(request);
    size_t at = (size_t)json_integer_value(json_array_get(walk->links, 0));
    const char *path = e2b_text(json_array_get(walk->entries, at), "path");
    char *kept = strdup(path ? path : "");
    if (kept)
        (void)json_array_set_new(walk->entries, at, told(kept, found));
    free(kept);
    (void)json_array_remove(walk->links, 0);
    next_folder(request);
}

static void follow_link(struct request *request)
{
    struct walk *walk = walk_of(request);
    size_t at = (size_t)json_integer_value(json_array_get(walk->links, 0));
    e2b_find(request, e2b_text(json_array_get(walk->entries, at), "path"), on_target);
}

static int add_entry(struct walk *walk, const char *folder, unsigned depth, const json_t *entry)
{
    const char *name = e2b_text(entry, "name"), *type = e2b_text(entry, "type");
    char *path = path_join(folder, name ? name : "");
    int r = path ? json_array_append_new(walk->entries, e2b_entry(path, entry, NULL, NULL)) : -ENOMEM;
    if (r == 0 && type && !strcmp(type, "link"))
        r = json_array_append_new(walk->links, json_integer((json_int_t)json_array_size(walk->entries) - 1));
    if (r == 0 && type && !strcmp(type, "folder") && depth + 1 < walk->depth)
        r = leave_for_later(walk, path, depth + 1);
    free(path);
    return r;
}

static void on_listed(struct request *request, const struct e2b_said *said)
{
    struct walk *walk = walk_of(request);
    struct folder_left *folder = TAILQ_FIRST(&walk->left);
    json_t *entry;
    size_t i;
    int r = 0;
    /* One below the first may have gone meanwhile. */
    if (said->error && folder->depth == 0) {
        problem_keeper(request, said->error);
        return;
    }
    TAILQ_REMOVE(&walk->left, folder, entry);
    json_array_foreach((json_t *)said->lines, i, entry)
    {
        if (r == 0)
            r = add_entry(walk, folder->path, folder->depth, entry);
    }
    free(folder->path);
    free(folder);
    if (r < 0)
        problem_begin(request, -ENOMEM);
    else if (json_array_size(walk->entries) > ENTRIES_MAX)
        problem(request, "too_large", "path", "path: at most %d entries can be listed at once", ENTRIES_MAX);
    else
        next_folder(request);
}

static void next_folder(struct request *request)
{
    struct walk *walk = walk_of(request);
    const struct folder_left *folder = TAILQ_FIRST(&walk->left);
    if (json_array_size(walk->links) > 0) {
        follow_link(request);
        return;
    }
    if (!folder) {
        answer_json(request, MHD_HTTP_OK, json_pack("{s:O}", "entries", walk->entries));
        return;
    }
    file_ask(request, "file.list", folder->depth == 0 ? walk->real : folder->path, on_listed);
}

static void on_top(struct request *request, const struct e2b_found *found)
{
    struct walk *walk = walk_of(request);
    const char *type = e2b_text(found->entry, "type");
    if (found->dangles) {
        connect_refuse(request, "failed_precondition", "path: '%s' is a link that leads nowhere", walk->top);
        return;
    }
    if (!type || strcmp(type, "folder") != 0) {
        connect_refuse(request, "invalid_argument", "path is not a directory: %s", walk->top);
        return;
    }
    walk->real = strdup(found->path);
    if (!walk->real || leave_for_later(walk, walk->top, 0) < 0)
        problem_begin(request, -ENOMEM);
    else
        next_folder(request);
}

void e2b_handle_list_dir(struct request *request)
{
    static const char *const names[] = {"path", "depth", NULL};
    struct walk *walk = e2b_state(request, sizeof *walk, free_walk);
    if (!walk)
        return;
    TAILQ_INIT(&walk->left);
    walk->entries = json_array();
    walk->links = json_array();
    if (!enter(request, names) || !(walk->top = file_path(request, "path")))
        return;
    struct e2b_call *call = request->of_handler;
    json_int_t depth = json_integer_value(json_object_get(call->body, "depth"));
    if (depth < 0 || depth > DEPTH_MOST) {
        connect_refuse(request, "invalid_argument", "depth: allowed are 1 to %d", DEPTH_MOST);
        return;
    }
    walk->depth = depth ? (unsigned)depth : 1;
    e2b_find(request, walk->top, on_top);
}

/* ---- made ---- */

static void on_made(struct request *request, const struct e2b_said *said)
{
    if (e2b_fine(request, said))
        tell_entry(request);
}

static void on_there(struct request *request, const struct e2b_said *said)
{
    const char *type = e2b_text(json_array_get(said->lines, 0), "type");
    const char *path = paths_of(request)->path;
    if (said->error && file_is_missing(said->error)) {
        json_t *message = file_message("file.mkdir", path);
        if (message)
            (void)json_object_set_new(message, "parents", json_true());
        e2b_ask(request, message, false, on_made);
    } else if (e2b_fine(request, said)) {
        bool folder = type && !strcmp(type, "folder");
        connect_refuse(request, folder ? "already_exists" : "invalid_argument",
                       folder ? "directory already exists: %s"
                              : "path already exists but it is not a directory: %s",
                       path);
    }
}

void e2b_handle_make_dir(struct request *request)
{
    static const char *const names[] = {"path", NULL};
    struct paths *paths = e2b_state(request, sizeof *paths, free_paths);
    if (paths && enter(request, names) && (paths->path = file_path(request, "path")))
        file_ask(request, "file.stat", paths->path, on_there);
}

/* ---- moved ---- */

static void on_moved(struct request *request, const struct e2b_said *said)
{
    struct paths *paths = paths_of(request);
    if (!e2b_fine(request, said))
        return;
    free(paths->path);
    paths->path = paths->to;
    paths->to = NULL;
    tell_entry(request);
}

static void on_parents(struct request *request, const struct e2b_said *said)
{
    const struct paths *paths = paths_of(request);
    if (!e2b_fine(request, said))
        return;
    json_t *message = file_message("file.rename", paths->path);
    if (message)
        (void)json_object_set_new(message, "to", json_string(paths->to));
    e2b_ask(request, message, false, on_moved);
}

static void on_source(struct request *request, const struct e2b_said *said)
{
    if (!e2b_fine(request, said))
        return;
    char *parent = path_parent(paths_of(request)->to);
    json_t *message = parent ? file_message("file.mkdir", parent) : NULL;
    if (message)
        (void)json_object_set_new(message, "parents", json_true());
    free(parent);
    e2b_ask(request, message, false, on_parents);
}

void e2b_handle_move(struct request *request)
{
    static const char *const names[] = {"source", "destination", NULL};
    struct paths *paths = e2b_state(request, sizeof *paths, free_paths);
    if (!paths || !enter(request, names) || !(paths->path = file_path(request, "source")) ||
        !(paths->to = file_path(request, "destination")))
        return;
    file_ask(request, "file.stat", paths->path, on_source);
}

/* ---- removed ---- */

static void on_removed(struct request *request, const struct e2b_said *said)
{
    if ((said->error && file_is_missing(said->error)) || e2b_fine(request, said))
        answer_json(request, MHD_HTTP_OK, json_object());
}

void e2b_handle_remove(struct request *request)
{
    static const char *const names[] = {"path", NULL};
    struct paths *paths = e2b_state(request, sizeof *paths, free_paths);
    if (!paths || !enter(request, names) || !(paths->path = file_path(request, "path")))
        return;
    json_t *message = file_message("file.remove", paths->path);
    if (message)
        (void)json_object_set_new(message, "recursive", json_true());
    e2b_ask(request, message, false, on_removed);
}
