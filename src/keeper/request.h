/* A client's request as it was read: values only. Reading touches nothing but memory. */
#ifndef SC_KEEPER_REQUEST_H
#define SC_KEEPER_REQUEST_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/proto.h"
#include "base/err.h"
#include "spec/spec.h"

struct sc_judge_task;

enum sc_keeper_verb {
    SC_KEEPER_SESSION_START,
    SC_KEEPER_SESSION_LIST,
    SC_KEEPER_SESSION_INFO,
    SC_KEEPER_SESSION_END,
    SC_KEEPER_SESSION_NETWORK,
    SC_KEEPER_SESSION_PAUSE,
    SC_KEEPER_SESSION_RESUME,
    SC_KEEPER_SESSION_FORK,
    SC_KEEPER_SESSION_SNAPSHOT,
    SC_KEEPER_SESSION_ROLLBACK,
    SC_KEEPER_SESSION_ACCESS,
    SC_KEEPER_SESSION_TIME,
    SC_KEEPER_RUN,
    SC_KEEPER_CHECK,
    SC_KEEPER_ONCE,
    SC_KEEPER_JUDGE,
    SC_KEEPER_RUN_INTERRUPT,
    SC_KEEPER_EXEC,
    SC_KEEPER_COMMAND,
    SC_KEEPER_PROCESS_LIST,
    SC_KEEPER_PROCESS_SIGNAL,
    SC_KEEPER_CONTEXT_LIST,
    SC_KEEPER_CONTEXT_RESTART,
    SC_KEEPER_FILE,
    SC_KEEPER_TEMPLATES,
    SC_KEEPER_HOST,
    SC_KEEPER_IDENTIFY,
    SC_KEEPER_METRICS,
    SC_KEEPER_WATCH_EVENTS,
};

/* What is true of a request before its own fields are looked at; bits. */
enum sc_keeper_needs {
    SC_KEEPER_NEEDS_SESSION = 1 << 0, /* names a session of the asking user's that is alive */
    SC_KEEPER_TAKES_INPUT = 1 << 1,   /* DATA may follow */
    SC_KEEPER_NEEDS_PATH = 1 << 2,
    SC_KEEPER_NEEDS_TO = 1 << 3,
    SC_KEEPER_NEEDS_COMMAND = 1 << 4,
    SC_KEEPER_NEEDS_CONTEXT = 1 << 5,
    SC_KEEPER_NEEDS_PROCESS = 1 << 6,
    SC_KEEPER_WITHOUT_AS = 1 << 8,    /* of a gate: asks for nobody in particular */
    SC_KEEPER_NAMES_PAUSED = 1 << 9,  /* names a session that is paused */
    SC_KEEPER_OF_SNAPSHOTS = 1 << 10, /* also allowed of snapshots */
    SC_KEEPER_NEEDS_SNAPSHOT = 1 << 11,
    SC_KEEPER_ONLY_SNAPSHOTS = 1 << 12, /* its session, which it names by "snapshot", must be one */
    SC_KEEPER_BY_ACCESS = 1 << 13, /* of a gate: may come with the session's secret in the place of a token */
    SC_KEEPER_WHILE_ENDING = 1 << 7, /* also allowed when the session's end was asked for already */
};

struct sc_keeper_request {
    enum sc_keeper_verb verb;
    unsigned needs;         /* enum sc_keeper_needs */
    unsigned kinds;         /* enum sc_keeper_kind: connections that it may come from */
    enum sc_file_kind file; /* of FILE */
    const char *word;       /* its name, of static storage */

    char *as;             /* of a gate: the token of whom it speaks for; never given by a client */
    char *access;         /* of a gate, in its place: the session's own secret */
    char *key, *peer;     /* of IDENTIFY: exactly one */
    uint32_t priority;    /* 0 to 9 */
    uint64_t deadline_ns; /* how long it may wait for its turn; 0: not given */
    bool of_gate;         /* a field was given that only a gate may give */

    char *session, *name, *context;
    char *snapshot;       /* of ROLLBACK */
    uint32_t copies;      /* of FORK; 0: not given */
    bool inherit_secrets; /* of FORK, SNAPSHOT, ROLLBACK */
    bool forkable;        /* of FORK: so that they can be forked in turn */
    json_t *metadata;     /* an object of texts, or NULL */
    char *path, *to;
    uint64_t idle_ns, total_ns; /* 0: not given */
    uint64_t left_ns;           /* of TIME */
    uint64_t offset, length;
    uint32_t mode; /* permission bits; 0: not given */
    uint32_t process;
    uint16_t rows, cols;
    int signal; /* 0: not given */
    enum sc_signal_whom whom;
    bool parents, recursive;
    bool background, pty, no_stdin;
    bool memory; /* of PAUSE */
    bool whole;  /* the output stands in the reply and is not streamed */
    /* START, ONCE: the whole spec. RUN, EXEC, COMMAND: code, command, environment, stdin, folder; limits that
     * were not given are SC_UNSET. */
    struct sc_spec spec;
    struct sc_judge_task *judge; /* of JUDGE, else NULL */
};

/* `request` needs no initialisation and is fit for _fini in any case. Errors are of kind USAGE and name the
 * field by its path, or of kind SANDBOX when memory ran out. */
int sc_keeper_request_read(struct sc_keeper_request *request, const char *text, size_t len,
                           struct sc_err *err);
const char *sc_keeper_request_name(const struct sc_keeper_request *request);
/* The field in which it names what it is about. */
const char *sc_keeper_request_subject(const struct sc_keeper_request *request);
void sc_keeper_request_fini(struct sc_keeper_request *request);

#define SC_KEEPER_PRIORITY_STANDARD 5
#define SC_KEEPER_PRIORITY_MOST 9
#define SC_KEEPER_DEADLINE_MS_MAX 3600000.0

/* A name that a client gives: of a session, of a context. */
#define SC_KEEPER_NAME_MAX 64
bool sc_keeper_name_ok(const char *name);

#endif
