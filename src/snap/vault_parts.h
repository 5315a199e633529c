/* What vault.c and vault_read.c share. */
#ifndef SC_SNAP_VAULT_PARTS_H
#define SC_SNAP_VAULT_PARTS_H

#include <limits.h>

#include "snap/vault.h"

#define SC_VAULT_CURRENT "current"
#define SC_VAULT_MANIFEST "manifest.json"
#define SC_VAULT_LOCK ".lock"

/* FOLDER/paused, or a tenant's folder below it, and its path, made where it is missing and `make` is set;
 * else -ENOENT. */
int sc_vault_top(const char *tenant, bool make, char ret_path[PATH_MAX], struct sc_err *err);
/* The folder of a session there, made where it is missing and `make` is set. A descriptor, or negative errno.
 */
int sc_vault_folder(const char *tenant, const char *name, bool make, struct sc_err *err);
/* Takes the lock of a session's folder. A descriptor; -EBUSY. */
int sc_vault_take_lock(int folder, const char *name, struct sc_err *err);
/* The hash that `current` names. */
int sc_vault_current(int folder, char ret_hash[SC_SHA256_TEXT]);
/* Opens the generation `hash`, its manifest read and compared. `name` is for errors. */
int sc_vault_open_generation(int folder, const char *hash, const char *name,
                             struct sc_vault_reader *ret_reader, struct sc_err *err);
/* Reads all pieces and compares. */
int sc_vault_prove(struct sc_vault_reader *reader, struct sc_err *err);
int sc_vault_damaged(const char *name, const char *what, struct sc_err *err);

#endif
