/* The check's part about places: folders and files of the host, and where they appear in the cell. */
#include "spec/spec.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "spec/spec_internal.h"

/* Symbolic links are followed: these are the caller's own paths, read with the caller's rights. */
static int look(const char *field, const char *path, struct stat *ret_st, struct sc_err *err)
{
    int r = sc_spec_host_path_ok(field, path, err);
    if (r < 0)
        return r;
    if (stat(path, ret_st) < 0)
        return sc_spec_bad(err, field, path, "%s", strerror(errno));
    return 0;
}

static int may(const char *field, const char *path, int mode, const char *what, struct sc_err *err)
{
    if (faccessat(AT_FDCWD, path, mode, AT_EACCESS) == 0)
        return 0;
    return sc_spec_bad(err, field, path, "not %s: %s", what, strerror(errno));
}

int sc_spec_host_file_ok(const char *field, const char *path, struct stat *ret_st, struct sc_err *err)
{
    int r = look(field, path, ret_st, err);
    if (r < 0)
        return r;
    if (!S_ISREG(ret_st->st_mode))
        return sc_spec_bad(err, field, path, "not a regular file%s",
                           S_ISDIR(ret_st->st_mode) ? " but a folder: folders go with dir" : "");
    return may(field, path, R_OK, "readable", err);
}

int sc_spec_host_dir_ok(const char *field, const char *path, struct sc_err *err)
{
    struct stat st;
    int r = look(field, path, &st, err);
    if (r < 0)
        return r;
    if (!S_ISDIR(st.st_mode))
        return sc_spec_bad(err, field, path, "not a folder");
    return may(field, path, R_OK | X_OK, "readable", err);
}

/* What is mounted at the same path needs an absolute one without detours; a good one is left as it was
 * written, for it may be a link that the files behind it name. */
static int make_absolute(const char *field, char **path, struct sc_err *err)
{
    size_t len = strlen(*path);
    while (len > 1 && (*path)[len - 1] == '/')
        (*path)[--len] = '\0';
    if (sc_spec_absolute_path_ok(field, *path, NULL) == 0)
        return 0;
    char *real = realpath(*path, NULL);
    if (!real)
        return errno == ENOMEM ? sc_spec_no_memory(err)
                               : sc_spec_bad(err, field, *path, "%s", strerror(errno));
    free(*path);
    *path = real;
    return 0;
}

static int check_root(struct sc_spec *spec, struct sc_err *err)
{
    int r = sc_spec_host_dir_ok("root", spec->root, err);
    if (r == 0)
        r = make_absolute("root", &spec->root, err);
    if (r == 0 && !spec->root[1])
        r = sc_spec_bad(err, "root", "/",
                        "the host's own root is not allowed: it would show every file of the host");
    return r;
}

static int check_venv(struct sc_spec *spec, struct sc_err *err)
{
    int r = sc_spec_host_dir_ok("venv", spec->venv, err);
    if (r == 0)
        r = make_absolute("venv", &spec->venv, err);
    if (r < 0)
        return r;
    char *python = NULL;
    if (asprintf(&python, "%s/bin/python", spec->venv) < 0)
        return sc_spec_no_memory(err);
    bool there = faccessat(AT_FDCWD, python, X_OK, AT_EACCESS) == 0;
    free(python);
    if (!there)
        return sc_spec_bad(err, "venv", spec->venv,
                           "has no executable bin/python: allowed is a Python environment");
    return sc_spec_mount_path_ok("venv", spec->venv, err);
}

static int check_interpreter(struct sc_spec *spec, struct sc_err *err)
{
    struct stat st;
    int r = look("interpreter", spec->interpreter, &st, err);
    if (r < 0)
        return r;
    if (!S_ISREG(st.st_mode))
        return sc_spec_bad(err, "interpreter", spec->interpreter, "not a regular file");
    r = may("interpreter", spec->interpreter, R_OK | X_OK, "executable", err);
    if (r == 0)
        r = make_absolute("interpreter", &spec->interpreter, err);
    return r < 0 ? r : sc_spec_mount_path_ok("interpreter", spec->interpreter, err);
}

int sc_spec_check_places(struct sc_spec *spec, struct sc_err *err)
{
    int r = 0;
    if (spec->cwd)
        r = *spec->cwd == '/' ? sc_spec_absolute_path_ok("cwd", spec->cwd, err)
                              : sc_spec_inner_path_ok("cwd", spec->cwd, err);
    if (r == 0 && spec->root)
        r = check_root(spec, err);
    if (r == 0 && spec->venv)
        r = check_venv(spec, err);
    if (r == 0 && spec->interpreter)
        r = check_interpreter(spec, err);
    if (r == 0 && spec->pin)
        r = sc_spec_pin_ok("pin", spec->pin, err);
    if (r == 0 && spec->cgroup_parent)
        r = sc_spec_absolute_path_ok("cgroup-parent", spec->cgroup_parent, err);
    return r;
}
