#include "spec/spec.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "spec/spec_internal.h"

const char *const SC_DEGRADE_NAMES[] = {
    "memory", "cpu", "cpus", "io", "disk", "landlock", "open_files", "apparmor", NULL,
};

const struct sc_spec_word SC_SPEC_PROFILES[] = {
    {"default", SC_PROFILE_DEFAULT}, {"compute", SC_PROFILE_COMPUTE}, {NULL, 0}};
const struct sc_spec_word SC_SPEC_OVERFLOWS[] = {
    {"cut", SC_OVERFLOW_CUT}, {"end", SC_OVERFLOW_END}, {NULL, 0}};
const struct sc_spec_word SC_SPEC_BACKINGS[] = {
    {"auto", SC_DISK_AUTO}, {"memory", SC_DISK_MEMORY}, {"image", SC_DISK_IMAGE}, {NULL, 0}};

const struct sc_spec_word SC_SPEC_MODES[] = {
    {"plain", SC_MODE_PLAIN}, {"rich", SC_MODE_RICH}, {"restricted", SC_MODE_RESTRICTED}, {NULL, 0}};
const struct sc_spec_word SC_SPEC_ON_FINDINGS[] = {
    {"block", SC_FINDING_BLOCK}, {"report", SC_FINDING_REPORT}, {NULL, 0}};

static const char *word_name(const struct sc_spec_word *words, int value)
{
    for (; words->name; words++)
        if (words->value == value)
            return words->name;
    return "";
}

const char *sc_mode_name(enum sc_mode mode)
{
    return word_name(SC_SPEC_MODES, (int)mode);
}

const char *sc_on_finding_name(enum sc_on_finding on_finding)
{
    return word_name(SC_SPEC_ON_FINDINGS, (int)on_finding);
}

const char *sc_profile_name(enum sc_profile profile)
{
    return word_name(SC_SPEC_PROFILES, (int)profile);
}

const char *sc_overflow_name(enum sc_overflow overflow)
{
    return word_name(SC_SPEC_OVERFLOWS, (int)overflow);
}

const char *sc_disk_backing_name(enum sc_disk_backing backing)
{
    return word_name(SC_SPEC_BACKINGS, (int)backing);
}

void sc_spec_set_bad(struct sc_err *err, const char *field, const char *value, const char *format, ...)
{
    char shown[200], what[512];
    va_list ap;
    va_start(ap, format);
    vsnprintf(what, sizeof what, format, ap);
    va_end(ap);
    sc_text_show(shown, sizeof shown, value, strlen(value));
    sc_err_usage(err, field, "%s: %s: %s", field, *shown ? shown : "\"\"", what);
}

void sc_spec_init(struct sc_spec *spec)
{
    *spec = (struct sc_spec){.stdin_fd = -1};
    sc_limits_init(&spec->limits);
}

void sc_spec_clear_program(struct sc_spec *spec)
{
    free(spec->program);
    free(spec->code);
    spec->program = spec->code = NULL;
    spec->code_len = 0;
    spec->command = false;
    sc_strv_fini(&spec->args);
}

void sc_spec_clear_files(struct sc_spec *spec)
{
    for (size_t i = 0; i < spec->n_files; i++) {
        free(spec->files[i].host);
        free(spec->files[i].data);
        free(spec->files[i].path);
    }
    free(spec->files);
    spec->files = NULL;
    spec->n_files = 0;
}

void sc_spec_fini(struct sc_spec *spec)
{
    if (!spec)
        return;
    sc_spec_clear_program(spec);
    sc_spec_wipe_secrets(spec);
    sc_strv_fini(&spec->env);
    sc_net_fini(&spec->net);
    sc_strv_fini(&spec->imports);
    sc_strv_fini(&spec->validate.rules);
    sc_strv_fini(&spec->validate.deny_modules);
    sc_strv_fini(&spec->validate.deny_calls);
    free(spec->cwd);
    free(spec->stdin_data);
    sc_spec_clear_files(spec);
    for (size_t i = 0; i < spec->n_dirs; i++) {
        free(spec->dirs[i].host);
        free(spec->dirs[i].path);
    }
    for (size_t i = 0; i < spec->n_outs; i++) {
        free(spec->outs[i].glob);
        free(spec->outs[i].dir);
    }
    free(spec->dirs);
    free(spec->outs);
    free(spec->root);
    free(spec->venv);
    free(spec->interpreter);
    free(spec->pin);
    free(spec->cgroup_parent);
    free(spec->template);
    sc_spec_init(spec);
}

int sc_spec_put_text(char **at, const char *text, struct sc_err *err)
{
    char *copy = strdup(text);
    if (!copy)
        return sc_spec_no_memory(err);
    free(*at);
    *at = copy;
    return 0;
}

int sc_spec_put_data(char **at, size_t *at_len, const void *data, size_t len, struct sc_err *err)
{
    char *copy = malloc(len + 1);
    if (!copy)
        return sc_spec_no_memory(err);
    if (len)
        memcpy(copy, data, len);
    copy[len] = '\0';
    free(*at);
    *at = copy;
    *at_len = len;
    return 0;
}

/* Room for one more entry at the end of *array, zeroed. */
static int grow(void **array, size_t *n, size_t size, size_t max, const char *field, struct sc_err *err)
{
    if (*n >= max)
        return sc_err_usage(err, field, "%s: more than the %zu entries allowed", field, max);
    char *grown = reallocarray(*array, *n + 1, size);
    if (!grown)
        return sc_spec_no_memory(err);
    memset(grown + *n * size, 0, size);
    *array = grown;
    ++*n;
    return 0;
}

int sc_spec_new_file(struct sc_spec *spec, const char *field, struct sc_spec_file **ret_file,
                     struct sc_err *err)
{
    void *array = spec->files;
    int r = grow(&array, &spec->n_files, sizeof *spec->files, SC_SPEC_FILES_MAX, field, err);
    spec->files = array;
    if (r == 0)
        *ret_file = &spec->files[spec->n_files - 1];
    return r;
}

int sc_spec_new_dir(struct sc_spec *spec, const char *field, struct sc_spec_dir **ret_dir, struct sc_err *err)
{
    void *array = spec->dirs;
    int r = grow(&array, &spec->n_dirs, sizeof *spec->dirs, SC_SPEC_DIRS_MAX, field, err);
    spec->dirs = array;
    if (r == 0)
        *ret_dir = &spec->dirs[spec->n_dirs - 1];
    return r;
}

int sc_spec_new_out(struct sc_spec *spec, const char *field, struct sc_spec_out **ret_out, struct sc_err *err)
{
    void *array = spec->outs;
    int r = grow(&array, &spec->n_outs, sizeof *spec->outs, SC_SPEC_OUTS_MAX, field, err);
    spec->outs = array;
    if (r == 0)
        *ret_out = &spec->outs[spec->n_outs - 1];
    return r;
}
