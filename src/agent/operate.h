/* File operations: each runs in a process of its own, which has gone through the program's stages and so has
 * exactly the program's rights. Input comes on descriptor 0, output goes to descriptor 1. */
#ifndef SC_AGENT_OPERATE_H
#define SC_AGENT_OPERATE_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "agent/shepherd.h"

#define SC_NAME_ROOM 4096 /* a path with its NUL */

struct sc_operation {
    const struct sc_msg_file_op *order;
    const char *path, *to;
    int report;
    struct sc_msg_file_done done;
};

/* Each: 0, or negative errno; what is at fault is in done.object when it is not the path itself. */
int sc_operate_read(struct sc_operation *op);
int sc_operate_write(struct sc_operation *op);
int sc_operate_append(struct sc_operation *op);
int sc_operate_list(struct sc_operation *op);
int sc_operate_stat(struct sc_operation *op);
int sc_operate_mkdir(struct sc_operation *op);
int sc_operate_rename(struct sc_operation *op);
int sc_operate_remove(struct sc_operation *op);
int sc_operate_chmod(struct sc_operation *op);
int sc_operate_watch(struct sc_operation *op);
int sc_operate_tar_in(struct sc_operation *op);
int sc_operate_tar_out(struct sc_operation *op);
int sc_operate_port(struct sc_operation *op);

/* ---- for those ---- */

/* Tells that the file is open, or the folder watched. */
void sc_operation_started(struct sc_operation *op);
/* Names what is at fault; returns `code`. */
int sc_operation_fault(struct sc_operation *op, const char *object, int code);
/* To descriptor 1, counted. */
int sc_operation_put(struct sc_operation *op, const void *data, size_t len);
/* From descriptor 0 to `fd` until its end; counted. */
int sc_operation_copy_in(struct sc_operation *op, int fd);
/* Where the last component of a path begins; "" when it ends with a slash. */
const char *sc_last_component(const char *path);
/* Makes the folders above the last component that are missing. */
int sc_make_parents(const char *path);
/* Opens the folder that holds the last component, for *at calls. */
int sc_open_parent(const char *path, const char **ret_last);
/* A name that nobody has guessed. */
void sc_temporary_name(char ret_name[32]);
/* One struct sc_entry with name and link target. */
int sc_put_entry(struct sc_operation *op, int dir, const char *name, const struct stat *st);

#endif
