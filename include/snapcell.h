/* libsnapcell: runs code that nobody vouches for in a sealed cell.
 *
 *     probe the host → fill a spec → make a plan → run it any number of times → read the result
 *
 * No function logs, exits or keeps global state, and none but snapcell_judge starts a thread. Objects are
 * used by one thread at a time; different objects may be used by different threads. Functions return 0 or a
 * count, or a negative errno; the story is then in the `struct snapcell_error` passed last (NULL is allowed).
 * Outputs named `ret_…` are untouched on failure. Strings are UTF-8 and NUL-terminated unless a length stands
 * beside them.
 *
 * Each cell's first process is a child of the calling process. The library waits for it by its id and is not
 * disturbed by a SIGCHLD that is ignored or handled; a caller that waits for any child may get the id of a
 * cell it does not know, and loses that cell's processor time from the usage where no control group counts
 * it. The end of a cell, also of one made ahead, sends the caller a SIGCHLD. A plan belongs to the process
 * that made it: after fork() the child must neither use nor free it.
 */
#ifndef SNAPCELL_H
#define SNAPCELL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SNAPCELL_VERSION "0.1.0"

struct snapcell_error;
struct snapcell_host;
struct snapcell_spec;
struct snapcell_plan;
struct snapcell_result;

/* ---- errors ---- */

enum snapcell_error_kind {
    SNAPCELL_ERROR_NONE = 0,
    SNAPCELL_ERROR_USAGE,   /* the request is wrong; the message names field, value and what is allowed */
    SNAPCELL_ERROR_HOST,    /* this host lacks something; the message names it and how to accept less */
    SNAPCELL_ERROR_SANDBOX, /* Snapcell itself failed */
};

struct snapcell_error *snapcell_error_new(void); /* NULL when memory ran out */
void snapcell_error_free(struct snapcell_error *error);
enum snapcell_error_kind snapcell_error_kind(const struct snapcell_error *error);
/* Never NULL; valid until the error is used again or freed. */
const char *snapcell_error_message(const struct snapcell_error *error);
/* Option or JSON field at fault, or "". */
const char *snapcell_error_field(const struct snapcell_error *error);

/* Frees strings that this library returned. */
void snapcell_string_free(char *text);

/* ---- host ---- */

/* Looks at what this host can do, by trying. May move the calling process into a leaf group below its own
 * delegated cgroup, because groups with processes in them cannot have limited children. `cgroup_parent`: the
 * group below which cells make theirs ("/snapcell"), or NULL for the caller's own. */
int snapcell_host_probe(const char *cgroup_parent, struct snapcell_host **ret_host,
                        struct snapcell_error *error);
void snapcell_host_free(struct snapcell_host *host);
/* Findings with a fix for each blocker; heap text, to be given to snapcell_string_free. */
char *snapcell_host_json(const struct snapcell_host *host);

/* ---- spec ---- */

int snapcell_spec_new(struct snapcell_spec **ret_spec, struct snapcell_error *error);
/* docs/spec.md describes the JSON form. */
int snapcell_spec_from_json(const char *json, size_t len, struct snapcell_spec **ret_spec,
                            struct snapcell_error *error);
void snapcell_spec_free(struct snapcell_spec *spec);
/* One option by its command-line name, from text: ("wall", "2.5s"), ("memory", "256M"), ("language",
 * "python"). */
int snapcell_spec_set(struct snapcell_spec *spec, const char *option, const char *value,
                      struct snapcell_error *error);
/* One more of a repeatable option: "file", "dir", "out", "env", "allow-degraded", "rules", "deny-module",
 * "deny-call". */
int snapcell_spec_add(struct snapcell_spec *spec, const char *option, const char *value,
                      struct snapcell_error *error);
/* What runs: inline source, a host file, or a command inside the cell. The last call counts. */
int snapcell_spec_set_code(struct snapcell_spec *spec, const char *code, size_t len,
                           struct snapcell_error *error);
int snapcell_spec_set_program(struct snapcell_spec *spec, const char *host_path,
                              struct snapcell_error *error);
int snapcell_spec_set_command(struct snapcell_spec *spec, const char *const *argv,
                              struct snapcell_error *error);
/* NULL-terminated arguments after the program. */
int snapcell_spec_set_args(struct snapcell_spec *spec, const char *const *args, struct snapcell_error *error);
int snapcell_spec_set_stdin(struct snapcell_spec *spec, const void *data, size_t len,
                            struct snapcell_error *error);

/* ---- plan ---- */

/* Checks the spec, which is copied, and works out everything that will be done. The host must outlive the
 * plan.
 */
int snapcell_plan_new(struct snapcell_spec *spec, const struct snapcell_host *host,
                      struct snapcell_plan **ret_plan, struct snapcell_error *error);
void snapcell_plan_free(struct snapcell_plan *plan);
char *snapcell_plan_text(const struct snapcell_plan *plan);
char *snapcell_plan_json(const struct snapcell_plan *plan);
/* 1: both would do the same; 0: not; negative errno. */
int snapcell_plan_equal(const struct snapcell_plan *a, const struct snapcell_plan *b);
/* Makes ahead what does not depend on the single run (the template, and `cells` sealed cells, each used
 * once), and removes the empty control groups that ended runs left (at most eight; snapcell_plan_free does so
 * too). A cell made ahead holds some 25 descriptors of the caller's, and goes on sealing itself for a
 * millisecond or two after this returns. */
int snapcell_plan_ready(struct snapcell_plan *plan, unsigned cells, struct snapcell_error *error);

/* ---- run ---- */

struct snapcell_callbacks {
    void *userdata;
    /* Output as it comes, within the limits: stream 1 (stdout) or 2 (stderr). */
    void (*output)(void *userdata, int stream, const void *data, size_t len);
    /* A non-zero answer cancels the run; asked about ten times a second. */
    int (*cancelled)(void *userdata);
    /* Each artifact as a read descriptor; NULL: artifacts are saved below the folders the spec names. */
    int (*artifact)(void *userdata, const char *path, int fd, uint64_t size);
};

/* One run in one fresh cell; every process, mount and file of it is gone before this returns. 0: the result
 * tells everything, also a `sandbox_error`. `callbacks` may be NULL. */
int snapcell_run(struct snapcell_plan *plan, const struct snapcell_callbacks *callbacks,
                 struct snapcell_result **ret_result, struct snapcell_error *error);
void snapcell_result_free(struct snapcell_result *result);

/* "ok", "error", "signaled", "timeout", "cpu_timeout", "out_of_memory", "output_limit", "disk_limit",
 * "process_limit", "blocked", "syntax_error", "cancelled", "sandbox_error". */
const char *snapcell_result_status(const struct snapcell_result *result);
int snapcell_result_exit_code(const struct snapcell_result *result); /* -1 when it did not exit by itself */
int snapcell_result_signal(const struct snapcell_result *result);    /* 0 when none */
const char *snapcell_result_message(const struct snapcell_result *result);
/* Exact bytes; `ret_len` may be NULL. Valid until the result is freed. */
const char *snapcell_result_stdout(const struct snapcell_result *result, size_t *ret_len);
const char *snapcell_result_stderr(const struct snapcell_result *result, size_t *ret_len);
uint64_t snapcell_result_wall_ns(const struct snapcell_result *result);
uint64_t snapcell_result_start_ns(const struct snapcell_result *result);
uint64_t snapcell_result_cpu_ns(const struct snapcell_result *result);
uint64_t snapcell_result_memory_peak_bytes(const struct snapcell_result *result);
/* The whole result as docs/result.md describes it; heap text. */
char *snapcell_result_json(const struct snapcell_result *result);

/* ---- sessions ---- */

/* A cell that lives across calls and keeps its files, its processes and the variables of its interpreters
 * (docs/sessions.md). Each call waits for its own answer. Between calls nobody looks after the session: what
 * runs in it goes on, and its time-outs are noticed by the next call, which then fails with -ESHUTDOWN, as
 * every call after the session's end does. */
struct snapcell_session;

struct snapcell_session_options {
    uint64_t idle_ms;  /* without a call; 0: five minutes. From 1 s to a day */
    uint64_t total_ms; /* 0: one hour. From 1 s to a week */
    /* Of snapcell_session_resume: where its secrets are taken from, as none is stored; or NULL. Borrowed for
     * the call. Of snapcell_session_new, which has a spec: NULL. */
    const struct snapcell_spec *secrets;
};

/* The spec says where: limits, root, files, environment; nothing to run. Its time, processor and output
 * limits are of each run, the others of the whole session. It is copied. `options` may be NULL. The host must
 * outlive the session. Making it takes some milliseconds; interpreters start with their first run. */
int snapcell_session_new(struct snapcell_spec *spec, const struct snapcell_host *host,
                         const struct snapcell_session_options *options,
                         struct snapcell_session **ret_session, struct snapcell_error *error);
/* Ends it and waits until nothing of it is left; one that has ended is fine. */
int snapcell_session_end(struct snapcell_session *session, struct snapcell_error *error);
void snapcell_session_free(struct snapcell_session *session); /* ends it first */
/* Contexts, tasks, age, time left, usage (docs/sessions.md); heap text, NULL when memory ran out. */
char *snapcell_session_json(const struct snapcell_session *session);

struct snapcell_code {
    const char *language; /* "python", "node", "bash" */
    const char *mode;     /* "rich" or "restricted"; NULL: rich */
    const char *context;  /* the name under which variables are kept; NULL: the language's own */
    const char *code;
    size_t code_len;
    const void *stdin_data; /* NULL: at its end */
    size_t stdin_len;
    uint64_t wall_ms, cpu_ms; /* 0: the spec's */
};
/* Runs code in a context, whose interpreter is started at its first run. A run that is over its time is
 * interrupted, and keeps its variables if it heeds that within half a second. 0: the result tells everything,
 * also what the code said of itself. `callbacks` may be NULL; `artifact` is not called. */
int snapcell_session_run(struct snapcell_session *session, const struct snapcell_code *code,
                         const struct snapcell_callbacks *callbacks, struct snapcell_result **ret_result,
                         struct snapcell_error *error);
/* Forgets a context's variables: its interpreter is killed. -ENOENT: there is no such context. */
int snapcell_session_restart(struct snapcell_session *session, const char *context,
                             struct snapcell_error *error);

struct snapcell_command {
    const char *const *argv; /* NULL-terminated */
    const char *const *env;  /* NULL-terminated NAME=VALUE on top of the session's, or NULL */
    const char *cwd;         /* NULL: the spec's */
    const void *stdin_data;  /* NULL: at its end */
    size_t stdin_len;
    uint64_t wall_ms, cpu_ms; /* 0: the spec's */
    int background;           /* not 0: what it started and left running is not killed at its end */
};
/* Runs a program beside the contexts and waits for its end. Result and callbacks as of snapcell_session_run.
 */
int snapcell_session_exec(struct snapcell_session *session, const struct snapcell_command *command,
                          const struct snapcell_callbacks *callbacks, struct snapcell_result **ret_result,
                          struct snapcell_error *error);
/* Cancels the run or command that another thread waits for in this session, if there is one. The only
 * function that may be called while another thread uses the object, and from a signal handler. Negative
 * errno only when it could not be asked. */
int snapcell_session_interrupt(struct snapcell_session *session);

/* Files are handled inside, with the program's rights; paths are relative to the work folder, or absolute
 * inside the cell, at most 4,095 bytes long. Failures are told apart by their errno: -ENOENT, -EACCES,
 * -EISDIR, -ENOSPC, … */

/* In one step: whoever reads sees the old or the new. `mode` 0: 0644. */
int snapcell_session_write_file(struct snapcell_session *session, const char *path, const void *data,
                                size_t len, unsigned mode, struct snapcell_error *error);
/* Heap bytes, for snapcell_string_free. -EFBIG: more than `max`. */
int snapcell_session_read_file(struct snapcell_session *session, const char *path, size_t max,
                               char **ret_data, size_t *ret_len, struct snapcell_error *error);
/* JSON array, by name: {"name", "type": "file" | "folder" | "link" | "other", "size", "mode", "modified_ms"},
 * of a link also "target"; heap text. */
int snapcell_session_list(struct snapcell_session *session, const char *path, char **ret_json,
                          struct snapcell_error *error);
/* With the folders above it; one that is there is fine. */
int snapcell_session_mkdir(struct snapcell_session *session, const char *path, struct snapcell_error *error);
/* In place of a file that is there, as rename(2). */
int snapcell_session_rename(struct snapcell_session *session, const char *path, const char *to,
                            struct snapcell_error *error);
/* A folder with something in it only with `recursive` not 0; else -ENOTEMPTY. */
int snapcell_session_remove(struct snapcell_session *session, const char *path, int recursive,
                            struct snapcell_error *error);

/* Pausing: the files in the work folder and in /tmp go to disk, below the user's data folder, under `name`
 * (docs/sessions.md), and then the session ends. Variables, processes and /dev/shm are not kept. Nothing may
 * be under way. On failure the session goes on. -EBUSY: one of this name is alive elsewhere. */
int snapcell_session_pause(struct snapcell_session *session, const char *name, struct snapcell_error *error);
/* A new session with those files, the same spec, and the same times unless `options` says others (members
 * that are 0 stay as they were). What lies on disk stays. -ENOENT: there is none of this name; -EBUSY;
 * -EBADMSG: it is damaged. */
int snapcell_session_resume(const char *name, const struct snapcell_host *host,
                            const struct snapcell_session_options *options,
                            struct snapcell_session **ret_session, struct snapcell_error *error);
/* What is paused: a JSON array of {"session", "paused_ms", "uid", "bytes", "contexts"}; of one that is
 * damaged
 * {"session", "damaged"}. Heap text. */
int snapcell_paused_json(char **ret_json, struct snapcell_error *error);
/* Removes what lies on disk. -ENOENT; -EBUSY: it was resumed, and that session is alive. */
int snapcell_paused_remove(const char *name, struct snapcell_error *error);

/* ---- judge ---- */

struct snapcell_judgement;

struct snapcell_judge_callbacks {
    void *userdata;
    /* A test has come to its verdict. Tests end in threads of the library's; one of these functions is called
     * at a time. */
    void (*tested)(void *userdata, size_t test, const char *verdict);
    /* A non-zero answer ends what runs and skips the rest. */
    int (*cancelled)(void *userdata);
};

/* Build once, run many: the task in JSON (docs/judge.md) is built in one cell and run for each of its tests
 * in fresh ones. 0: the judgement tells everything, also that nothing could be built. `callbacks` may be
 * NULL. Starts one thread less than the task's `jobs`; they are gone when it returns. */
int snapcell_judge(const char *json, size_t len, const struct snapcell_host *host,
                   const struct snapcell_judge_callbacks *callbacks,
                   struct snapcell_judgement **ret_judgement, struct snapcell_error *error);
void snapcell_judgement_free(struct snapcell_judgement *judgement);
/* "accepted", or that of the first test that was not, or "build_error". */
const char *snapcell_judgement_verdict(const struct snapcell_judgement *judgement);
size_t snapcell_judgement_tests(const struct snapcell_judgement *judgement);
/* Of one test, counted from 0; NULL and 0 beyond the last. */
const char *snapcell_judgement_test_verdict(const struct snapcell_judgement *judgement, size_t test);
uint64_t snapcell_judgement_test_cpu_ns(const struct snapcell_judgement *judgement, size_t test);
/* The whole judgement as docs/judge.md describes it; heap text. */
char *snapcell_judgement_json(const struct snapcell_judgement *judgement);

#ifdef __cplusplus
}
#endif
#endif
