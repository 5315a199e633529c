/* The supervisor's half of the runners' protocol (docs/runner-protocol.md): lines from inside a cell,
 * bounded, parsed and checked before anything else sees them. All of it is taken as hostile; what is not
 * exactly the protocol ends the conversation. Knows nothing of cells or time. */
#ifndef SC_SNAP_RUNNER_H
#define SC_SNAP_RUNNER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

#define SC_RUNNER_PROTOCOL 1
#define SC_RUNNER_ID_LEN 16
#define SC_RUNNER_LINE_MAX (16u << 20)
#define SC_RUNNER_RUN_MAX (24u << 20) /* of one run's lines together */
/* JSON values in one run's lines: three bytes of text can become a hundred of memory. */
#define SC_RUNNER_VALUES_MAX 200000
#define SC_RUNNER_DISPLAYS_MAX 2000

enum sc_runner_status {
    SC_RUNNER_OK,
    SC_RUNNER_ERROR,
    SC_RUNNER_SYNTAX_ERROR,
    SC_RUNNER_INTERRUPTED,
    SC_RUNNER_EXIT,
};

/* What a runner says of a run. References are borrowed for the call; value and error may be NULL. */
struct sc_runner_result {
    enum sc_runner_status status;
    int exit_code;  /* 0 to 255 */
    json_t *value;  /* object of forms */
    json_t *locals; /* object of texts */
    json_t *error;  /* {name, message, traceback, line}, texts cut to their bounds */
};

struct sc_runner_events {
    void (*ready)(void *userdata);
    void (*display)(void *userdata, json_t *forms); /* borrowed for the call */
    void (*result)(void *userdata, const struct sc_runner_result *result);
    /* A piece of the prelude is loaded; `error` as above, NULL when it is well. */
    void (*loaded)(void *userdata, json_t *error);
    /* A zygote answers orders from now on; with a reason it never will. */
    void (*forkable)(void *userdata, const char *reason);
};

struct sc_runner_reader {
    struct sc_buf line; /* the unfinished one */
    char id[SC_RUNNER_ID_LEN + 1];
    bool is_ready, in_run, in_prelude, is_broken;
    bool may_refuse; /* a fork, which may say that it cannot be one instead of being ready */
    size_t run_bytes, run_values, run_displays;
    char trouble[160]; /* after -EPROTO: what was wrong, in words of ours */
};

void sc_runner_init(struct sc_runner_reader *reader);
void sc_runner_fini(struct sc_runner_reader *reader);
/* What comes from now on is about the run `id`, until its result. */
void sc_runner_begin(struct sc_runner_reader *reader, const char id[SC_RUNNER_ID_LEN + 1]);
/* A piece of the prelude, or its end, was sent: what comes from now on is about it, until its answer. */
void sc_runner_begin_prelude(struct sc_runner_reader *reader);
/* Bytes in any pieces. 0; -EPROTO: nothing more is taken, reader->trouble says why; -ENOMEM, likewise. */
int sc_runner_read(struct sc_runner_reader *reader, const void *data, size_t len,
                   const struct sc_runner_events *events, void *userdata);

#endif
