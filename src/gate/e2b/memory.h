/* What the gate remembers of sandboxes: folders of contexts, processes that are followed, watchers. A gate
 * that was started anew remembers none. */
#ifndef SC_GATE_E2B_MEMORY_H
#define SC_GATE_E2B_MEMORY_H

#include "gate/e2b/e2b.h"

#define FOLDERS_MAX 4096
#define KNOWN_MAX 4096
#define PROCESSES_MAX 4096

struct folder;
/* A sandbox whose token was right: signed addresses are compared with these. */
struct known {
    TAILQ_ENTRY(known) entry;
    char session[65], secret[E2B_SECRET + 1];
};
struct process;
struct watcher;

struct e2b {
    TAILQ_HEAD(folders, folder) folders; /* the last used first */
    TAILQ_HEAD(processes, process) processes;
    TAILQ_HEAD(watchers, watcher) watchers;
    TAILQ_HEAD(knowns, known) known;                                           /* the last used first */
    char debug_as[TOKEN_MAX], debug_session[65], debug_secret[E2B_SECRET + 1]; /* "": none yet */
    bool debug_is_making;
    unsigned n_known, n_folders, n_processes, n_watchers;
};

/* Made at its first use; NULL when memory ran out. */
struct e2b *memory_of(struct gate *gate);

/* Folder of a context. */
void memory_keep(struct gate *gate, const char *session, const char *id, const char *folder);
const char *memory_folder(struct gate *gate, const char *session, const char *id);
void memory_forget(struct gate *gate, const char *session, const char *id);

/* The token is right. */
void memory_know(struct gate *gate, const char *session, const char *secret);

/* process.c, watch.c: the gate ends. */
void processes_close(struct e2b *memory);
void watchers_close(struct e2b *memory);

#endif
