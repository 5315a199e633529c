/* Paths, and questions about them. */
#ifndef SC_GATE_E2B_FILESYSTEM_H
#define SC_GATE_E2B_FILESYSTEM_H

#include "gate/e2b/e2b.h"

/* Heap texts; NULL when memory ran out. */
char *path_join(const char *folder, const char *name);
char *path_parent(const char *path);
void path_tidy(char *path);
/* A request of the keeper's about a path. */
void file_ask(struct request *request, const char *name, const char *path, e2b_next *next);
json_t *file_message(const char *name, const char *path);
bool file_is_missing(const json_t *error);
/* The path of a message's field, whole; NULL: answered. */
char *file_path(struct request *request, const char *field);

#endif
