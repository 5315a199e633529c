#include "gate/e2b/memory.h"

#include <stdlib.h>
#include <string.h>

struct folder {
    TAILQ_ENTRY(folder) entry;
    char session[65], id[65];
    char *path;
};

struct e2b *memory_of(struct gate *gate)
{
    if (gate->e2b)
        return gate->e2b;
    gate->e2b = calloc(1, sizeof *gate->e2b);
    if (gate->e2b) {
        TAILQ_INIT(&gate->e2b->folders);
        TAILQ_INIT(&gate->e2b->known);
        TAILQ_INIT(&gate->e2b->processes);
        TAILQ_INIT(&gate->e2b->watchers);
    }
    return gate->e2b;
}

static void folder_free(struct e2b *memory, struct folder *folder)
{
    TAILQ_REMOVE(&memory->folders, folder, entry);
    memory->n_folders--;
    free(folder->path);
    free(folder);
}

static struct folder *find(struct e2b *memory, const char *session, const char *id)
{
    struct folder *folder;
    TAILQ_FOREACH(folder, &memory->folders, entry)
    {
        if (!strcmp(folder->session, session) && !strcmp(folder->id, id))
            return folder;
    }
    return NULL;
}

void memory_keep(struct gate *gate, const char *session, const char *id, const char *path)
{
    struct e2b *memory = memory_of(gate);
    if (!memory)
        return;
    memory_forget(gate, session, id);
    struct folder *folder = calloc(1, sizeof *folder);
    if (!folder || !(folder->path = strdup(path))) {
        free(folder);
        return; /* it is told as the home folder then */
    }
    snprintf(folder->session, sizeof folder->session, "%s", session);
    snprintf(folder->id, sizeof folder->id, "%s", id);
    TAILQ_INSERT_HEAD(&memory->folders, folder, entry);
    if (++memory->n_folders > FOLDERS_MAX)
        folder_free(memory, TAILQ_LAST(&memory->folders, folders));
}

const char *memory_folder(struct gate *gate, const char *session, const char *id)
{
    struct e2b *memory = memory_of(gate);
    const struct folder *folder = memory ? find(memory, session, id) : NULL;
    return folder ? folder->path : NULL;
}

void memory_forget(struct gate *gate, const char *session, const char *id)
{
    struct e2b *memory = memory_of(gate);
    struct folder *folder = memory ? find(memory, session, id) : NULL;
    if (folder)
        folder_free(memory, folder);
}

static void known_free(struct e2b *memory, struct known *known)
{
    TAILQ_REMOVE(&memory->known, known, entry);
    memory->n_known--;
    explicit_bzero(known->secret, sizeof known->secret);
    free(known);
}

void memory_know(struct gate *gate, const char *session, const char *secret)
{
    struct e2b *memory = memory_of(gate);
    struct known *known = memory ? TAILQ_FIRST(&memory->known) : NULL;
    while (known && strcmp(known->session, session) != 0)
        known = TAILQ_NEXT(known, entry);
    if (known) {
        TAILQ_REMOVE(&memory->known, known, entry);
        TAILQ_INSERT_HEAD(&memory->known, known, entry);
        return;
    }
    if (!memory || !(known = calloc(1, sizeof *known)))
        return; /* its signed addresses are refused then */
    snprintf(known->session, sizeof known->session, "%s", session);
    snprintf(known->secret, sizeof known->secret, "%s", secret);
    TAILQ_INSERT_HEAD(&memory->known, known, entry);
    if (++memory->n_known > KNOWN_MAX)
        known_free(memory, TAILQ_LAST(&memory->known, knowns));
}

void e2b_close(struct gate *gate)
{
    struct e2b *memory = gate->e2b;
    if (!memory)
        return;
    processes_close(memory);
    watchers_close(memory);
    while (!TAILQ_EMPTY(&memory->folders))
        folder_free(memory, TAILQ_FIRST(&memory->folders));
    while (!TAILQ_EMPTY(&memory->known))
        known_free(memory, TAILQ_FIRST(&memory->known));
    free(memory);
    gate->e2b = NULL;
}
