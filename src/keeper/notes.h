/* What is noted of everything that happens: records of the audit stream, counters of `metrics`, lines of
 * `events`. */
#ifndef SC_KEEPER_NOTES_H
#define SC_KEEPER_NOTES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "keeper/audit.h"
#include "keeper/identity.h"
#include "keeper/request.h"
#include "result/result.h"

struct keeper;
struct keeper_session;
struct call;
struct caller;

#define NOTES_BUCKETS 14
#define NOTES_DENIALS 64
#define NOTES_STATUSES (SC_STATUS_SANDBOX_ERROR + 1)
#define NOTES_STARTS (SC_START_FORK + 1)

struct histogram {
    uint64_t counts[NOTES_BUCKETS]; /* below each of NOTES_BOUNDS_MS, and all others */
    double sum_ms;
};
extern const double NOTES_BOUNDS_MS[NOTES_BUCKETS - 1];

/* Since the keeper began. */
struct counts {
    uint64_t too_many, overloaded, late, unauthorized, forbidden;
    uint64_t results[NOTES_STATUSES];
    /* Of single runs, by enum sc_start; their time from request to hand-over, without waiting for a turn. */
    uint64_t starts[NOTES_STARTS];
    struct histogram start[NOTES_STARTS];
    struct histogram queue; /* waiting for a turn */
    uint64_t sessions_started;
    struct denial_count {
        char layer[24], action[48], rule[64];
        uint64_t count;
    } denials[NOTES_DENIALS];
    size_t n_denials;
    uint64_t denials_more; /* of kinds beyond the table */
};

/* Files of an operator's, once a keeper serves a gate. */
void note_begin(struct keeper *keeper);
void note_end(struct keeper *keeper);
/* May work go on? NULL, or why not: the stream can not be written, and that is asked to stop it. */
const char *note_trouble(struct keeper *keeper);
/* Who asked was refused: kind "unauthorized", or "forbidden" with the field. */
void note_nobody(struct keeper *keeper);
void note_forbidden(const struct caller *caller, const struct sc_keeper_request *request, const char *reply);
/* What a spec is, without what is secret in it: hashes, template, limits. NULL: memory ran out. */
json_t *note_subject(const struct sc_spec *spec);
void note_session_start(const struct keeper_session *session);
/* One of the keeper before this one, which was killed. */
void note_lost(struct keeper *keeper, const char *tenant, const char *id);
void note_session_end(const struct keeper_session *session);
/* A run or command has a result, */
void note_result(struct call *call, const struct sc_result *result);
/* A task of the judge has ended. `subject`: what it is; `reply`: what was answered. */
struct noted_task {
    bool ended;       /* with a report: */
    uint32_t verdict; /* enum sc_verdict */
    uint64_t tests, accepted;
};
void note_task(const struct caller *caller, json_t *subject, const struct noted_task *task,
               const char *reply);
/* or a call ends, with or without one. */
void note_call_end(struct call *call, const char *reply);

#endif
