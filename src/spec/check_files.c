/* The check's part about what is put into the work folder and taken out of it. */
#include "spec/spec.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/num.h"
#include "spec/lang.h"
#include "spec/spec_internal.h"

/* Blocks a copy takes in the work folder. */
static uint64_t rounded(uint64_t size)
{
    return (size + 4095) / 4096 * 4096;
}

static int check_file(const struct sc_spec_file *file, uint64_t *bytes, struct sc_err *err)
{
    int r = file->path ? sc_spec_inner_path_ok("file", file->path, err)
                       : sc_err_usage(err, "file", "file: no path in the work folder given");
    if (r < 0)
        return r;
    if (file->mode > 0777)
        return sc_err_usage(err, "file", "file: mode %o: allowed 0 to 0777", file->mode);
    if (!file->host == !file->data)
        return sc_spec_bad(err, "file", file->path, "exactly one of a host file and a content is allowed");
    if (!file->host) {
        *bytes += rounded(file->len);
        return 0;
    }
    struct stat st;
    r = sc_spec_host_file_ok("file", file->host, &st, err);
    if (r == 0)
        *bytes += rounded((uint64_t)st.st_size);
    return r;
}

static int check_dir(const struct sc_spec_dir *dir, struct sc_err *err)
{
    if (!dir->host || !dir->path)
        return sc_err_usage(err, "dir", "dir: a folder of the host and a path in the cell are needed");
    int r = sc_spec_host_dir_ok("dir", dir->host, err);
    if (r < 0)
        return r;
    return dir->read_only_mount ? sc_spec_mount_path_ok("dir", dir->path, err)
                                : sc_spec_inner_path_ok("dir", dir->path, err);
}

static int check_out(const struct sc_spec_out *out, struct sc_err *err)
{
    if (!out->glob || !out->dir)
        return sc_err_usage(err, "out", "out: a pattern and a folder of the host are needed");
    int r = sc_spec_inner_path_ok("out", out->glob, err);
    if (r == 0)
        r = sc_spec_host_path_ok("out", out->dir, err);
    struct stat st;
    if (r == 0 && stat(out->dir, &st) == 0 && !S_ISDIR(st.st_mode))
        r = sc_spec_bad(err, "out", out->dir, "not a folder");
    return r;
}

/* "/" sorts before every other byte, so that what lies below a path stands right behind it. */
static int compare_paths(const void *a, const void *b)
{
    const unsigned char *s = *(const unsigned char *const *)a, *t = *(const unsigned char *const *)b;
    while (*s && *s == *t) {
        s++;
        t++;
    }
    int left = *s == '/' ? 1 : *s ? *s + 1 : 0, right = *t == '/' ? 1 : *t ? *t + 1 : 0;
    return left - right;
}

/* What the program, or the file that code becomes, is called in the work folder. */
static const char *own_name(const struct sc_spec *spec)
{
    if (spec->code)
        return sc_lang_row(spec->lang)->source_name;
    const char *slash = strrchr(spec->program, '/');
    return slash ? slash + 1 : spec->program;
}

/* Two files may not have one path, nor may a file be a folder of another's path. */
static int check_collisions(const struct sc_spec *spec, struct sc_err *err)
{
    const char **paths = calloc(spec->n_files + 1, sizeof *paths);
    if (!paths)
        return sc_spec_no_memory(err);
    size_t n = 0;
    for (size_t i = 0; i < spec->n_files; i++)
        paths[n++] = spec->files[i].path;
    /* A runner is handed its code. */
    if (spec->program || (spec->code && spec->mode == SC_MODE_PLAIN))
        paths[n++] = own_name(spec);
    if (n)
        qsort(paths, n, sizeof *paths, compare_paths);
    int r = 0;
    for (size_t i = 1; i < n && r == 0; i++) {
        size_t len = strlen(paths[i - 1]);
        if (strncmp(paths[i - 1], paths[i], len) != 0)
            continue;
        if (!paths[i][len])
            r = sc_spec_bad(err, "file", paths[i],
                            "given twice: each path in the work folder is allowed once");
        else if (paths[i][len] == '/')
            r = sc_spec_bad(err, "file", paths[i], "lies below another file's path");
    }
    free(paths);
    return r;
}

static int check_room(const struct sc_spec *spec, uint64_t bytes, struct sc_err *err)
{
    char have[32], need[32];
    if (bytes > spec->limits.disk) {
        sc_format_bytes(bytes, need, sizeof need);
        sc_format_bytes(spec->limits.disk, have, sizeof have);
        return sc_err_usage(err, "disk", "disk: %s: the files put in take %s: allowed are files that fit",
                            have, need);
    }
    if (spec->n_files >= spec->limits.disk_inodes)
        return sc_err_usage(err, "disk-inodes",
                            "disk-inodes: %llu: %zu files are put in: allowed are files that fit",
                            (unsigned long long)spec->limits.disk_inodes, spec->n_files);
    return 0;
}

int sc_spec_check_files(const struct sc_spec *spec, struct sc_err *err)
{
    uint64_t bytes = 0;
    int r = 0;
    if (spec->n_files > SC_SPEC_FILES_MAX || spec->n_dirs > SC_SPEC_DIRS_MAX ||
        spec->n_outs > SC_SPEC_OUTS_MAX)
        return sc_err_usage(err, "file", "file: too many entries: allowed are %d files, %d dirs, %d outs",
                            SC_SPEC_FILES_MAX, SC_SPEC_DIRS_MAX, SC_SPEC_OUTS_MAX);
    struct stat st;
    if (spec->program && stat(spec->program, &st) == 0)
        bytes += rounded((uint64_t)st.st_size);
    for (size_t i = 0; i < spec->n_files && r == 0; i++)
        r = check_file(&spec->files[i], &bytes, err);
    for (size_t i = 0; i < spec->n_dirs && r == 0; i++)
        r = check_dir(&spec->dirs[i], err);
    for (size_t i = 0; i < spec->n_outs && r == 0; i++)
        r = check_out(&spec->outs[i], err);
    if (r == 0)
        r = check_collisions(spec, err);
    return r < 0 ? r : check_room(spec, bytes, err);
}
