/* What lies at a path, through the links at its end. Links above it are the kernel's to follow. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "gate/e2b/e2b.h"
#include "gate/e2b/filesystem.h"

#define HOPS_MAX 16

struct seeking {
    struct e2b_found found;
    unsigned hops;
    e2b_found_next *next;
};

void seeking_free(struct seeking *seeking)
{
    if (!seeking)
        return;
    free(seeking->found.path);
    json_decref(seeking->found.entry);
    json_decref(seeking->found.link);
    free(seeking);
}

static struct seeking **place_of(struct request *request)
{
    struct e2b_call *call = request->of_handler;
    return &call->seeking;
}

char *path_join(const char *folder, const char *name)
{
    char *whole = NULL;
    if (*name == '/')
        return strdup(name);
    const char *between = *folder && folder[strlen(folder) - 1] == '/' ? "" : "/";
    return asprintf(&whole, "%s%s%s", folder, between, name) < 0 ? NULL : whole;
}

char *path_parent(const char *path)
{
    const char *slash = strrchr(path, '/');
    return !slash || slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

/* "." and ".." are taken out by their words, doubled slashes too; in place. */
void path_tidy(char *path)
{
    char *out = path, *at = path;
    while (*at) {
        at += strspn(at, "/");
        size_t len = strcspn(at, "/");
        if (len == 2 && at[0] == '.' && at[1] == '.') {
            while (out > path && *--out != '/')
                ;
        } else if (len > 0 && !(len == 1 && *at == '.')) {
            *out++ = '/';
            memmove(out, at, len);
            out += len;
        }
        at += len;
    }
    if (out == path)
        *out++ = '/';
    *out = '\0';
}

static void on_stat(struct request *request, const struct e2b_said *said);

static void look(struct request *request)
{
    const struct seeking *seeking = *place_of(request);
    file_ask(request, "file.stat", seeking->found.path, on_stat);
}

static void tell(struct request *request)
{
    struct seeking *seeking = *place_of(request);
    seeking->next(request, &seeking->found);
}

static void on_stat(struct request *request, const struct e2b_said *said)
{
    struct seeking *seeking = *place_of(request);
    struct e2b_found *found = &seeking->found;
    if (said->error && !found->link && file_is_missing(said->error)) {
        problem(request, "not_found", "path", "path '%.2000s' does not exist", found->path);
        return;
    }
    if (said->error && !found->link) {
        problem_keeper(request, said->error);
        return;
    }
    if (said->error) {
        found->dangles = true;
        tell(request);
        return;
    }
    json_t *entry = json_array_get(said->lines, 0);
    const char *target = e2b_text(entry, "target"), *type = e2b_text(entry, "type");
    if (!type || strcmp(type, "link") != 0 || !target) {
        found->entry = json_incref(entry);
        tell(request);
        return;
    }
    if (!found->link)
        found->link = json_incref(entry);
    char *folder = path_parent(found->path), *path = folder ? path_join(folder, target) : NULL;
    free(folder);
    free(found->path);
    found->path = path;
    found->dangles = ++seeking->hops > HOPS_MAX || !path;
    if (found->dangles) {
        tell(request);
        return;
    }
    path_tidy(path);
    look(request);
}

void e2b_find(struct request *request, const char *path, e2b_found_next *next)
{
    struct seeking **place = place_of(request);
    seeking_free(*place);
    *place = calloc(1, sizeof **place);
    if (*place) {
        (*place)->next = next;
        (*place)->found.path = strdup(path);
    }
    if (!*place || !(*place)->found.path)
        problem_begin(request, -ENOMEM);
    else
        look(request);
}
