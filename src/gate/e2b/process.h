/* Processes that were started through this gate. */
#ifndef SC_GATE_E2B_PROCESS_H
#define SC_GATE_E2B_PROCESS_H

#include "gate/e2b/memory.h"

#define TAG_MAX 256
#define INPUT_MAX (4u * 1024 * 1024) /* that waits for the process to read */

struct follower {
    TAILQ_ENTRY(follower) entry;
    struct request *request;
    struct process *process; /* NULL: none (any more) */
    bool begun;              /* its start event was told */
    uint64_t told_ns;
};

struct process {
    TAILQ_ENTRY(process) entry;
    struct gate *gate;
    char session[65];
    char tag[TAG_MAX + 1];
    json_t *config;
    json_int_t number, pid; /* 0: it has not started yet */
    struct ask *ask;        /* NULL: it has ended */
    bool pty, takes_input, input_ends;
    struct sc_buf input;
    json_t *end;   /* the last event; NULL: an error, or not yet */
    char code[32]; /* of that error */
    char *message;
    uint64_t ended_ns; /* 0: it lives */
    TAILQ_HEAD(, follower) followers;
};

/* One of the request's sandbox, by its selector; NULL: answered that there is none. */
struct process *process_selected(struct request *request, const json_t *selector);
/* Starts it, with the request as its first follower; takes `message`. */
void process_begin(struct request *request, json_t *message, json_t *config, const char *tag, bool pty,
                   bool takes_input);
/* Another one follows from now on. */
void process_follow(struct request *request, struct process *process);
/* False: too much waits already. */
bool process_feed(struct process *process, const void *data, size_t len);
void process_feed_end(struct process *process);
/* Those that ended a while ago are forgotten. */
void processes_trim(struct e2b *memory);
void follower_free(struct request *request);

#endif
