/* What a run came to. Everything here is told from outside the cell; `artifacts` are files of the program's
 * making. */
#ifndef SC_RESULT_RESULT_H
#define SC_RESULT_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "spec/spec.h"

struct json_t; /* jansson's; references are owned by who holds the struct */

/* What ended the run. A closed set: docs/result.md. */
enum sc_status {
    SC_STATUS_OK = 0,
    SC_STATUS_ERROR, /* the program failed: exit code not 0 */
    SC_STATUS_SIGNALED,
    SC_STATUS_TIMEOUT,
    SC_STATUS_CPU_TIMEOUT,
    SC_STATUS_OUT_OF_MEMORY,
    SC_STATUS_OUTPUT_LIMIT,
    SC_STATUS_DISK_LIMIT,
    SC_STATUS_PROCESS_LIMIT,
    SC_STATUS_BLOCKED,
    SC_STATUS_SYNTAX_ERROR,
    SC_STATUS_CANCELLED,
    SC_STATUS_SANDBOX_ERROR,
};
extern const char *const SC_STATUS_NAMES[];

/* Limits that were touched; bits. */
enum sc_limit_hit {
    SC_HIT_WALL = 1 << 0,
    SC_HIT_CPU = 1 << 1,
    SC_HIT_MEMORY = 1 << 2,
    SC_HIT_TASKS = 1 << 3,
    SC_HIT_DISK = 1 << 4,
    SC_HIT_DISK_INODES = 1 << 5,
    SC_HIT_TMP = 1 << 6,
    SC_HIT_TMP_INODES = 1 << 7,
    SC_HIT_SHM = 1 << 8,
    SC_HIT_STDOUT = 1 << 9,
    SC_HIT_STDERR = 1 << 10,
    SC_HIT_ARTIFACTS = 1 << 11,
    SC_HIT_FILE_SIZE = 1 << 12,
};
extern const char
    *const SC_HIT_NAMES[]; /* index = bit number, ended by NULL; same words as the limits' JSON stems */

struct sc_usage {
    uint64_t wall_ns;  /* hand-over to end */
    uint64_t start_ns; /* making the cell, before hand-over */
    uint64_t queue_ns; /* waiting for a place, before that */
    uint64_t cpu_user_ns, cpu_system_ns;
    uint64_t memory_peak_bytes; /* the group's peak: holds page cache and tmpfs; 0 where no group counts */
    uint64_t rss_peak_bytes;    /* largest resident size of one process */
    uint64_t tasks_peak;        /* 0 where the kernel does not tell */
    uint64_t stdout_bytes, stderr_bytes; /* all that was written, kept or not */
    uint64_t disk_bytes;                 /* used in the work folder at the end */
    uint64_t disk_inodes;
};

struct sc_denial {
    char layer[24];    /* "seccomp", "limit", "agent" */
    char action[48];   /* "unshare", "socket", "tasks" */
    char resource[96]; /* what it was about, e.g. "family 17" */
    char rule[64];
    char hint[160];
    uint64_t count;
};
#define SC_DENIALS_MAX 64

/* What the egress process decided (docs/egress.md): equal decisions are one record. Its texts come from a
 * process that strangers talk to. */
struct sc_network_record {
    const char *what; /* "name", "connection", "packet" */
    bool allowed;
    uint8_t protocol; /* IPPROTO_* */
    uint16_t port;    /* 0: none */
    uint64_t count, bytes_out, bytes_in;
    char name[256];   /* "": an address only */
    char address[46]; /* connected to, or refused; "": none */
    char rule[82];
    char reason[96]; /* of a refusal, or why an allowed connection could not be made */
};
#define SC_NETWORK_RECORDS_MAX 512

struct sc_artifact {
    char *path;  /* below the work folder; any bytes but NUL */
    char *saved; /* where it lies on the host, or NULL when the caller took the bytes */
    uint64_t size;
};
struct sc_artifact_skip {
    char *path;
    const char *why; /* "symlink", "not a regular file", "too large", … */
};

/* What the run said about itself, through a runner. It comes from inside and may be anything: bounded and
 * well formed, but not true. docs/result.md. */
struct sc_inside {
    bool present;
    struct json_t *value;    /* object of forms by media type, or NULL */
    struct json_t *locals;   /* object: name → text */
    struct json_t *displays; /* array of objects of forms */
    struct json_t *error;    /* {name, message, traceback, line}, or NULL */
};

struct sc_stream {
    struct sc_buf kept;
    uint64_t total; /* bytes the program wrote */
    bool truncated;
};

/* WARM: in a cell whose interpreter had been started before the request came. FORK: in a cell made for it,
 * by an interpreter that was forked from one with everything loaded. */
enum sc_start { SC_START_COLD = 0, SC_START_WARM, SC_START_FORK };
extern const char *const SC_START_NAMES[];

struct sc_result {
    enum sc_status status;
    int exit_code;      /* of the program when it exited, else -1 */
    int signal;         /* that ended it, or 0 */
    char message[512];  /* one line for people: why it ended so; for sandbox_error what failed */
    uint64_t passed_ns; /* of a time-out: the limit that passed */
    struct sc_stream out, err;
    struct sc_usage usage;
    uint32_t limits_hit;
    uint32_t degraded;     /* enum sc_degrade bits that were used */
    bool agent_shares_uid; /* rootless without a subordinate id */
    struct sc_denial denials[SC_DENIALS_MAX];
    size_t n_denials;
    bool has_network; /* the cell had an egress process */
    struct sc_network_record *network;
    size_t n_network;
    struct sc_artifact *artifacts;
    size_t n_artifacts;
    struct sc_artifact_skip *skipped;
    size_t n_skipped;
    enum sc_mode mode;
    struct sc_inside inside;
    struct json_t *findings; /* of reading the code first: array, or NULL when it was not asked for */
    bool context_lost;       /* of a session's run: its interpreter's state is gone */
    enum sc_start start;
    uint64_t parked_ns;     /* of a warm start: how long the cell had waited */
    uint64_t zygote_age_ns; /* of what it was forked from; 0: it was not forked */
    char *template;         /* that the request named, or NULL */
    char *trouble; /* why no cell of its kind waits with its prelude loaded, or by a fork; or NULL. May be
                      said from inside */
};

void sc_result_init(struct sc_result *result, uint64_t stdout_max, uint64_t stderr_max);
void sc_result_fini(struct sc_result *result);
/* Takes everything; `from` is left as sc_result_fini leaves it. */
void sc_result_move(struct sc_result *ret_to, struct sc_result *from);
/* Counts a denial: the same layer, action, resource and rule only raise `count`. Texts are copied and cut to
 * their fields; `hint` may be NULL. Beyond 63 kinds, one last entry {"result", "more"} counts the rest.
 * Returns the entry. */
const struct sc_denial *sc_result_deny(struct sc_result *result, const char *layer, const char *action,
                                       const char *resource, const char *rule, const char *hint);
/* As above, and adds `count` instead of one. */
const struct sc_denial *sc_result_deny_many(struct sc_result *result, const char *layer, const char *action,
                                            const char *resource, const char *rule, const char *hint,
                                            uint64_t count);
/* Copies the record. 0, -ENOMEM, or -E2BIG: there are as many as may be. */
int sc_result_add_network(struct sc_result *result, const struct sc_network_record *record);
/* Copy their texts, but `why` is borrowed for the result's life. 0 or -ENOMEM. */
int sc_result_add_artifact(struct sc_result *result, const char *path, const char *saved, uint64_t size);
int sc_result_add_skip(struct sc_result *result, const char *path, const char *why);

/* Do they leave a source allowed? Notes do; so does NULL. */
bool sc_findings_allow(const struct json_t *findings);

/* The one writer of results: one JSON object, heap text, NULL when memory ran out. `indent` 0: one line. */
char *sc_result_to_json(const struct sc_result *result, int indent);
/* Exit status of the command line: the program's; 124, 137, 128+n, 126, 130, 125 (docs/result.md). */
int sc_result_exit_status(const struct sc_result *result);

#endif
