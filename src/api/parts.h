/* What stands behind the opaque types of snapcell.h. */
#ifndef SC_API_PARTS_H
#define SC_API_PARTS_H

#include "cell/cell.h"
#include "host/host.h"
#include "plan/plan.h"
#include "result/result.h"
#include "snap/pause.h"
#include "snap/session.h"
#include "snapcell.h"
#include "spec/spec.h"

struct snapcell_error {
    struct sc_err err;
};

struct snapcell_host {
    struct sc_host host;
    char *cgroup_parent; /* as it was probed with, or NULL */
};

struct snapcell_spec {
    struct sc_spec spec;
};

struct snapcell_plan {
    struct sc_spec
        spec; /* a checked copy: the plan borrows from it, and the caller's stays as it was written */
    struct sc_plan *plan;
    struct sc_works *works; /* made by the first run, or by snapcell_plan_ready */
};

/* What was told of packing or unpacking. */
struct snapcell_progress {
    bool done;
    int r;
    struct sc_err err;
};

struct snapcell_session {
    struct sc_spec spec; /* checked copy, as a plan's */
    struct sc_plan *plan;
    struct sc_works *works;
    struct sc_session *session;
    int interrupt_fd;              /* an eventfd: written by any thread, read by the one that waits */
    int vault_lock;                /* of one that was resumed; -1 */
    struct sc_vault_writer writer; /* while it is paused */
    struct snapcell_progress progress;
    struct sc_pause *pause; /* stays where the cell did not tell its end */
    bool is_over;
    char end_message[256];
};

struct snapcell_result {
    struct sc_result result;
};

/* The error to fill, empty; NULL when the caller wants none. Every function that takes an error starts with
 * it. */
struct sc_err *sc_api_error(struct snapcell_error *error);
int sc_api_no_memory(struct sc_err *err);
/* Where groups are made was settled when the host was probed: a spec that says otherwise would not be obeyed,
 * and is refused. */
int sc_api_check_parent(const struct sc_spec *spec, const struct snapcell_host *host, struct sc_err *err);
/* A checked copy of `spec`, and its plan. Both are the caller's to free, also when it fails. */
int sc_api_plan(const struct sc_spec *spec, bool session, const struct snapcell_host *host,
                struct sc_spec *ret_spec, struct sc_plan **ret_plan, struct sc_err *err);
/* Into an empty object, whose descriptors are -1; it is the caller's to free, also when it fails. */
int sc_api_session_open(struct snapcell_session *session, const struct sc_spec *spec,
                        const struct snapcell_host *host, const struct snapcell_session_options *options,
                        struct sc_err *err);
/* What has come since the last call: -ESHUTDOWN when that is the session's end. */
int sc_api_session_look(struct snapcell_session *session, struct sc_err *err);
/* Waits for what is under way in a session, until *done, or the session's end: then -ESHUTDOWN. `task` (0:
 * none) is cancelled when `callbacks` or the interrupt says so. */
int sc_api_session_wait(struct snapcell_session *session, const struct snapcell_callbacks *callbacks,
                        uint32_t task, const bool *done, struct sc_err *err);

#endif
