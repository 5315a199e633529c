/* What is asked for: values only, nothing about how. Every front fills one of these; sc_spec_check is the
 * one place that says "not allowed". */
#ifndef SC_SPEC_SPEC_H
#define SC_SPEC_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/strv.h"
#include "spec/network.h"

#define SC_MIB (1024ull * 1024)
/* Maxima of what a request may hold. */
#define SC_SPEC_JSON_MAX (64 * SC_MIB)
#define SC_SPEC_CODE_MAX (16 * SC_MIB)
#define SC_SPEC_STDIN_MAX (64 * SC_MIB)
#define SC_SPEC_ARGS_MAX 4096 /* entries of args, and of env */
#define SC_SPEC_SECRETS_MAX 64
#define SC_SPEC_SECRET_BYTES_MAX 16384
#define SC_SPEC_ARGS_BYTES_MAX SC_MIB /* args and env together, with their NULs */
#define SC_SPEC_ARG_BYTES_MAX 131072  /* one entry with its NUL: the kernel's MAX_ARG_STRLEN */
#define SC_SPEC_PATH_MAX 4095
#define SC_SPEC_IMPORTS_MAX 256
#define SC_SPEC_NAME_MAX 255 /* one component of a path */
#define SC_SPEC_TEMPLATE_NAME_MAX 64
#define SC_SPEC_FILES_MAX 4096
#define SC_SPEC_DIRS_MAX 256
#define SC_SPEC_OUTS_MAX 256
#define SC_SPEC_RULES_MAX 64    /* rule sets and files */
#define SC_SPEC_DENIED_MAX 1024 /* entries of deny_modules, and of deny_calls */
#define SC_SPEC_DENIED_BYTES_MAX 255

/* A limit's value before the check. After it every limit is a number, or SC_UNSET where its row says so. */
#define SC_UNSET UINT64_MAX         /* do not apply */
#define SC_DERIVED (UINT64_MAX - 1) /* follows from other limits */

/* Where the work folder lies: in the cell's memory (tmpfs), or on an image of its own. AUTO is resolved by
 * the check. */
enum sc_disk_backing { SC_DISK_AUTO = 0, SC_DISK_MEMORY, SC_DISK_IMAGE };

struct sc_limits {
#define LIMIT(name, kind, min, max, standard, json, description) uint64_t name;
#include "spec/limits.def"
#undef LIMIT
};

enum sc_limit_kind { SC_LIMIT_DURATION, SC_LIMIT_BYTES, SC_LIMIT_COUNT, SC_LIMIT_MILLI };

struct sc_limit_row {
    const char *option; /* "open-files" */
    const char *json;   /* "open_files" */
    enum sc_limit_kind kind;
    uint64_t min, max, standard;
    size_t offset; /* in struct sc_limits */
    const char *description;
};

/* The table, ended by a row whose option is NULL. */
extern const struct sc_limit_row SC_LIMIT_ROWS[];
const struct sc_limit_row *sc_limit_row_by_option(const char *option, size_t len);
size_t sc_limit_index(const struct sc_limit_row *row);
uint64_t *sc_limit_value(struct sc_limits *limits, const struct sc_limit_row *row);
void sc_limits_init(struct sc_limits *limits);
/* Text form of a value as options take it: "1.5s", "512M", "128", "0.5"; "derived" or "unset" for the two
 * values that are no numbers. `size` 32 is enough. */
void sc_limit_format(const struct sc_limit_row *row, uint64_t value, char *ret_text, size_t size);
/* The other way, for this row's kind: -EINVAL, -ERANGE. The row's range is not looked at. */
int sc_limit_parse(const struct sc_limit_row *row, const char *text, uint64_t *ret_value);
/* Resolves every SC_DERIVED limit and SC_DISK_AUTO, and refuses sizes that do not fit (src/spec/derive.c has
 * the rules). All given limits must be within their rows. Outputs are untouched on failure. */
int sc_limits_derive(struct sc_limits *limits, enum sc_disk_backing *backing, struct sc_err *err);

enum sc_lang { SC_LANG_AUTO = 0, SC_LANG_PYTHON, SC_LANG_NODE, SC_LANG_BASH, SC_LANG_JAVA, SC_LANG_NATIVE };
enum sc_profile { SC_PROFILE_DEFAULT = 0, SC_PROFILE_COMPUTE };
/* PLAIN: the program as it is. The others run source through a runner, which tells from inside what came of
 * it: RICH the value of the last expression, variables, displays, error; RESTRICTED the same for a limited
 * Python (docs/restricted-python.md). */
enum sc_mode { SC_MODE_PLAIN = 0, SC_MODE_RICH, SC_MODE_RESTRICTED };
/* What happens when a stream passes its limit. */
enum sc_overflow { SC_OVERFLOW_CUT = 0, SC_OVERFLOW_END };

/* What a caller may accept to go without; each is an error of its own otherwise. Bits. */
enum sc_degrade {
    SC_DEGRADE_MEMORY = 1 << 0,     /* whole-tree memory limit → per process (RLIMIT_DATA) */
    SC_DEGRADE_CPU = 1 << 1,        /* whole-tree cpu time → per process (RLIMIT_CPU) */
    SC_DEGRADE_CPUS = 1 << 2,       /* cpu rate */
    SC_DEGRADE_IO = 1 << 3,         /* io bandwidth */
    SC_DEGRADE_DISK = 1 << 4,       /* disk-backed work folder → tmpfs within the memory limit */
    SC_DEGRADE_LANDLOCK = 1 << 5,   /* kernel without Landlock, or older than asked */
    SC_DEGRADE_OPEN_FILES = 1 << 6, /* the host's hard limit is lower than open_files */
    SC_DEGRADE_APPARMOR = 1 << 7,   /* AppArmor is on, our profile is not loaded */
};
extern const char *const SC_DEGRADE_NAMES[]; /* index = bit number, ended by NULL */

/* Reading the code before it runs (docs/code-rules.md). */
enum sc_on_finding { SC_FINDING_BLOCK = 0, SC_FINDING_REPORT };
struct sc_validate {
    bool on;
    enum sc_on_finding on_finding;
    struct sc_strv rules; /* names of built-in sets, or host paths of rule files; none: "default", unless a
                             list below is given */
    struct sc_strv deny_modules, deny_calls; /* names; also below them: "os" is also os.path */
};

/* Runs that give the same each time, as far as an interpreter can be told (docs/deterministic.md). */
#define SC_CLOCK_STANDARD_MS 1577836800000ull /* 2020-01-01 00:00:00 UTC */
struct sc_deterministic {
    bool on;
    uint32_t seed;
    bool clock_given;
    uint64_t clock_ms; /* where the wall clock begins, since 1970; without clock_given the standard */
};

/* A host file put into the work folder. */
struct sc_spec_file {
    char *host; /* host path; NULL: `data` is the content */
    char *data;
    size_t len;
    char *path;    /* relative to the work folder, no "..", not absolute */
    uint32_t mode; /* 0: the host file's own permission bits; 0644 for `data` */
};

/* A host folder: copied into the work folder, or mounted read-only at an absolute path. */
struct sc_spec_dir {
    char *host;
    char *path;
    bool read_only_mount;
};

/* Artifacts: what matches `glob` (relative to the work folder; a folder means all below it) goes to `dir`. */
struct sc_spec_out {
    char *glob;
    char *dir;
};

struct sc_spec {
    struct sc_limits limits;
    uint32_t limits_given; /* bit i: the request itself names the limit of row i */
    enum sc_lang lang;
    enum sc_profile profile;
    enum sc_overflow overflow;
    enum sc_disk_backing disk_backing;
    uint32_t allow_degraded; /* enum sc_degrade bits */

    /* Exactly one of these three says what runs. */
    char *program; /* host path of a program file; it is copied into the work folder under its own name */
    char *code;    /* inline source (NUL-terminated, code_len bytes), for lang */
    size_t code_len;
    bool command; /* args is a whole command, looked up inside the cell */

    struct sc_strv args;    /* argv after the program; with `command`, argv itself */
    struct sc_strv env;     /* NAME=VALUE, added to the cell's own environment */
    struct sc_strv secrets; /* names of those in `env` whose values no printed form shows; of sessions only */
    char *cwd; /* absolute inside the cell or relative to the work folder; NULL: the work folder */

    char *stdin_data; /* bytes for stdin, or NULL */
    size_t stdin_len;
    int stdin_fd; /* borrowed descriptor to copy stdin from, or -1; neither: stdin is at its end */

    struct sc_spec_file *files;
    size_t n_files;
    struct sc_spec_dir *dirs;
    size_t n_dirs;
    struct sc_spec_out *outs;
    size_t n_outs;

    char *root;          /* host directory used as root file system, or NULL: made from the host's /usr */
    char *venv;          /* host directory of a Python environment, mounted read-only at the same path */
    char *interpreter;   /* host path of an interpreter, its prefix mounted read-only at the same path */
    char *pin;           /* processors to pin to, "0" or "0,2-3", or NULL */
    char *cgroup_parent; /* group below which cells make theirs, or NULL: SNAPCELL_CGROUP_PARENT, then the
                            caller's own */
    char *template; /* name of a template, or NULL: fills in what the request does not say. Who makes plans
                       has it applied before the check (snap/recipe.h) */
    bool template_applied;
    /* Then: so many of `env` and `files` are the request's own, and the rest of them is the template's. */
    size_t n_own_env, n_own_files;
    bool pty; /* the program gets a terminal of the cell's own */
    enum sc_mode mode;
    struct sc_validate validate;
    struct sc_deterministic deterministic;
    struct sc_net net;      /* what of the network may be reached; default: nothing */
    struct sc_strv imports; /* modules that an interpreter made ahead has loaded already, if there is one;
                               they change how fast a run begins, never what it means */
    bool forkable;          /* a session whose interpreters can be forked into cells of their own */
    bool zygote;            /* with `forkable`: it runs what its template says and nobody's code. No option */
    bool session; /* nothing runs by itself: the cell waits for commands. Set by those who open sessions, no
                     option */
};

void sc_spec_init(struct sc_spec *spec);
void sc_spec_fini(struct sc_spec *spec);
/* A copy that owns everything but stdin_fd, which stays borrowed. `ret_copy` needs no sc_spec_init. */
int sc_spec_copy(const struct sc_spec *spec, struct sc_spec *ret_copy);

/* One limit or scalar option by its option name ("wall", "cwd", "profile", …) from text, as the command line
 * and the library's setters use it. Unknown name or bad value: a usage error naming option, value, allowed.
 */
int sc_spec_set(struct sc_spec *spec, const char *option, const char *value, struct sc_err *err);
/* "SRC[:DST]" forms of --file, --dir (":ro" suffix mounts), --out GLOB[:DIR], --env NAME=VALUE,
 * --allow-degraded LIST, --rules SET|FILE, --deny-module NAME, --deny-call NAME, --allow RULE, --deny RULE,
 * --internal RANGE. A colon within a part is written "\:", a backslash "\\" (not in rules of the network).
 * The same NAME given again replaces its value. */
int sc_spec_add(struct sc_spec *spec, const char *option, const char *value, struct sc_err *err);
/* A host folder, mounted read-only at an absolute path. */
int sc_spec_add_mount(struct sc_spec *spec, const char *host, const char *path, struct sc_err *err);
/* Takes from `defaults` what `spec` does not say: the language of code, limits, root, variables and files of
 * the same name. Its mounts are added, and its rules of the network must allow what the spec's do. */
int sc_spec_fill(struct sc_spec *spec, const struct sc_spec *defaults, struct sc_err *err);
/* Forgets the files to be put in. */
void sc_spec_clear_files(struct sc_spec *spec);
/* What runs. Each replaces what the same call set before; the check refuses a spec with two of the three. */
int sc_spec_set_code(struct sc_spec *spec, const char *code, size_t len, struct sc_err *err);
int sc_spec_set_program(struct sc_spec *spec, const char *host_path, struct sc_err *err);
/* NULL-terminated: the whole command, and the arguments after program or code. */
int sc_spec_set_command(struct sc_spec *spec, const char *const *argv, struct sc_err *err);
int sc_spec_set_args(struct sc_spec *spec, const char *const *args, struct sc_err *err);
/* Forgets program, code or command and their arguments. */
void sc_spec_clear_program(struct sc_spec *spec);
int sc_spec_set_stdin(struct sc_spec *spec, const void *data, size_t len, struct sc_err *err);

/* JSON form: `{"language": "python", "code": "…", "limits": {…}, …}`; unknown fields are refused with their
 * path. docs/spec.md is the reference. `spec` has been through sc_spec_init; what the text names is set on
 * top of what is there. On failure the spec is half filled and fit only for sc_spec_fini. */
int sc_spec_from_json(struct sc_spec *spec, const char *text, size_t len, struct sc_err *err);
/* Heap-allocated JSON text of a spec, from which sc_spec_from_json makes the same spec; NULL when memory ran
 * out, or a string of a spec that was not checked is no UTF-8. stdin_fd has no JSON form and is left out. */
char *sc_spec_to_json(const struct sc_spec *spec);
/* The same with secrets and the credentials of its network, which the other withholds: of secrets it has the
 * names, as a list, which the reader does not take for secrets. Not for files, logs and eyes. */
char *sc_spec_to_json_whole(const struct sc_spec *spec);

/* ---- secrets ---- */

/* One more; the name must be new in `env`. No error shows the value. */
int sc_spec_add_secret(struct sc_spec *spec, const char *field, const char *name, const char *value,
                       struct sc_err *err);
/* Is "NAME=VALUE" one? */
bool sc_spec_is_secret(const struct sc_spec *spec, const char *entry);
/* The value of one; NULL: there is none of this name. */
const char *sc_spec_secret(const struct sc_spec *spec, const char *name);
/* Those of `from` that `spec` has not. */
int sc_spec_take_secrets(struct sc_spec *spec, const struct sc_spec *from, struct sc_err *err);

/* The check: ranges, names, paths, sizes that fit; resolves SC_DERIVED limits, SC_DISK_AUTO, and SC_LANG_AUTO
 * (suffix, shebang, ELF; it stays AUTO for a command); a command that is a relative path with a slash becomes
 * the program of that host path; root, venv and interpreter become absolute. Reads host files' metadata, and
 * the first bytes of a program without a telling suffix. `host_memory` caps the memory limit (0: not known).
 * Nothing else decides what is allowed. A checked spec passes again. On failure it may be partly resolved. */
int sc_spec_check(struct sc_spec *spec, uint64_t host_memory, struct sc_err *err);

const char *sc_lang_name(enum sc_lang lang);
int sc_lang_by_name(const char *name, enum sc_lang *ret_lang);
const char *sc_mode_name(enum sc_mode mode);
const char *sc_on_finding_name(enum sc_on_finding on_finding);
const char *sc_profile_name(enum sc_profile profile);
const char *sc_overflow_name(enum sc_overflow overflow);
const char *sc_disk_backing_name(enum sc_disk_backing backing);

#endif
