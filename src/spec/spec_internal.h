/* What the files of this folder share. */
#ifndef SC_SPEC_SPEC_INTERNAL_H
#define SC_SPEC_SPEC_INTERNAL_H

#include <errno.h>
#include <sys/stat.h>

#include "spec/spec.h"

/* One word of a closed set, as text forms name it. Lists end with a NULL name. */
struct sc_spec_word {
    const char *name;
    int value;
};
extern const struct sc_spec_word SC_SPEC_PROFILES[];
extern const struct sc_spec_word SC_SPEC_OVERFLOWS[];
extern const struct sc_spec_word SC_SPEC_BACKINGS[];
extern const struct sc_spec_word SC_SPEC_MODES[];
extern const struct sc_spec_word SC_SPEC_ON_FINDINGS[];

/* Here, so that who reads one file (a person, an analyzer) sees that it fails. */
static inline int sc_spec_no_memory(struct sc_err *err)
{
    sc_err_set(err, SC_ERR_SANDBOX, -ENOMEM, "spec: out of memory");
    return -ENOMEM;
}
/* "field: value: what": a usage error whose value is shown safely. A macro for the same reason. */
void sc_spec_set_bad(struct sc_err *err, const char *field, const char *value, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
#define sc_spec_bad(...) (sc_spec_set_bad(__VA_ARGS__), -EINVAL)

/* Sets *ret_value to the word's value, or names all that are allowed. */
int sc_spec_word(const struct sc_spec_word *words, const char *field, const char *text, int *ret_value,
                 struct sc_err *err);
int sc_spec_lang(const char *field, const char *text, enum sc_lang *ret_lang, struct sc_err *err);
int sc_spec_degrade(const char *field, const char *text, size_t len, uint32_t *bits, struct sc_err *err);

/* Frees *at and puts a copy in its place. */
int sc_spec_put_text(char **at, const char *text, struct sc_err *err);
int sc_spec_put_data(char **at, size_t *at_len, const void *data, size_t len, struct sc_err *err);

/* One more entry of files, dirs, outs: zeroed, owned by the spec from now on. */
int sc_spec_new_file(struct sc_spec *spec, const char *field, struct sc_spec_file **ret_file,
                     struct sc_err *err);
int sc_spec_new_dir(struct sc_spec *spec, const char *field, struct sc_spec_dir **ret_dir,
                    struct sc_err *err);
int sc_spec_new_out(struct sc_spec *spec, const char *field, struct sc_spec_out **ret_out,
                    struct sc_err *err);
int sc_spec_add_secret_file(struct sc_spec *spec, const char *text, struct sc_err *err); /* NAME=FILE */
void sc_spec_wipe_secrets(struct sc_spec *spec); /* before `env` is freed */
int sc_spec_add_env(struct sc_spec *spec, const char *field, const char *name, const char *value,
                    struct sc_err *err);

/* `what` is "option" (limits are offered too) or "repeatable option". */
int sc_spec_unknown_option(const char *option, const char *const *others, const char *what,
                           struct sc_err *err);

/* Limits: "field: value: allowed MIN to MAX", as options write it, or as JSON does. */
int sc_spec_limit_range(const struct sc_limit_row *row, uint64_t value, const char *field, const char *shown,
                        bool json, struct sc_err *err);

/* Text rules. `field` names the option or JSON field in the error. */
int sc_spec_text_ok(const char *field, const char *text, size_t max, struct sc_err *err);
int sc_spec_host_path_ok(const char *field, const char *path, struct sc_err *err);
/* Below the work folder: relative, no empty component, no "." or "..". */
int sc_spec_inner_path_ok(const char *field, const char *path, struct sc_err *err);
/* Inside the cell, absolute; the same rules for what follows the first slash. "/" alone is fine. */
int sc_spec_absolute_path_ok(const char *field, const char *path, struct sc_err *err);
/* The path is not what every cell has of its own (/proc, /tmp, …), nor below or above it. */
int sc_spec_mount_path_ok(const char *field, const char *path, struct sc_err *err);
int sc_spec_env_name_ok(const char *field, const char *name, size_t len, struct sc_err *err);
/* Of code rules: a built-in set's name, or a host path (".scm" at its end, or a slash in it). */
int sc_spec_rules_ok(const char *field, const char *text, struct sc_err *err);
/* What `validate` denies: a module or a call. */
int sc_spec_denied_ok(const char *field, const char *text, struct sc_err *err);
/* A module's name or, for the shell, a command's: no option, no code. */
int sc_spec_import_ok(const char *field, const char *text, struct sc_err *err);
int sc_spec_add_import(struct sc_strv *imports, const char *field, const char *text, struct sc_err *err);
int sc_spec_pin_ok(const char *field, const char *text, struct sc_err *err);

/* A regular, readable file of the host. */
int sc_spec_host_file_ok(const char *field, const char *path, struct stat *ret_st, struct sc_err *err);
int sc_spec_host_dir_ok(const char *field, const char *path, struct sc_err *err);

/* One more entry of a list of `validate`, which is on from then on. `ok` is one of the two rules above. */
int sc_spec_add_validate(struct sc_validate *validate, struct sc_strv *list, const char *field,
                         const char *text, int (*ok)(const char *, const char *, struct sc_err *),
                         struct sc_err *err);
struct json_t;
int sc_spec_read_validate(struct sc_validate *validate, const struct json_t *value, const char *path,
                          struct sc_err *err);
/* The word of the option: off, block or report. */
int sc_spec_set_validate(struct sc_validate *validate, const char *field, const char *text,
                         struct sc_err *err);

/* `deterministic` of a spec. Its text: on, off, or a seed. A time: seconds since 1970, or a UTC date with or
 * without a time of day. */
int sc_spec_set_deterministic(struct sc_deterministic *deterministic, const char *field, const char *text,
                              struct sc_err *err);
int sc_spec_set_clock(struct sc_deterministic *deterministic, const char *field, const char *text,
                      struct sc_err *err);
int sc_spec_read_deterministic(struct sc_deterministic *deterministic, const struct json_t *value,
                               const char *path, struct sc_err *err);
int sc_spec_check_deterministic(const struct sc_spec *spec, struct sc_err *err);

/* The parts of the check. */
int sc_spec_check_places(struct sc_spec *spec, struct sc_err *err);
int sc_spec_check_program(struct sc_spec *spec, struct sc_err *err);
int sc_spec_check_mode(const struct sc_spec *spec, struct sc_err *err);
int sc_spec_check_files(const struct sc_spec *spec, struct sc_err *err);

#endif
