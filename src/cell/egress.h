/* The egress process of one cell, from its owner's side (src/net/egress.h tells what it does). What it says
 * is taken as a stranger's: it parses what strangers send. */
#ifndef SC_CELL_EGRESS_H
#define SC_CELL_EGRESS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "cell/trust.h"
#include "net/note.h"
#include "plan/plan.h"
#include "result/result.h"

/* What all cells of a plan with a network share. */
struct sc_egress_kit {
    int image, config;     /* the program's and the rules' sealed memory; -1: the plan has no network */
    struct sc_buf table;   /* for the maker of namespaces */
    struct sc_trust trust; /* where the plan's cells have authorities of their own */
    char **secrets;        /* the rules' credentials, as net/note.h orders them */
    size_t n_secrets;
};
#define SC_EGRESS_KIT_NONE ((struct sc_egress_kit){.image = -1, .config = -1, .trust = SC_TRUST_NONE})
int sc_egress_kit_open(const struct sc_plan *plan, struct sc_egress_kit *ret_kit, struct sc_err *err);
/* Other rules for all cells made from now on; nothing is changed when it fails. */
int sc_egress_kit_set(struct sc_egress_kit *kit, const struct sc_net *net, struct sc_err *err);
void sc_egress_kit_close(struct sc_egress_kit *kit);

struct sc_egress {
    pid_t pid; /* our child without an exit signal; 0: none */
    int pidfd;
    int control; /* -1: none, or it is gone */
    int id_lock; /* holds its host id as root */
    bool ready;
    char *authority;  /* the certificate of the cell's own authority, in PEM; NULL: it did not come, or there
                         is none */
    char failed[160]; /* why it could not start, as it told on its own */
};
#define SC_EGRESS_NONE ((struct sc_egress){.pidfd = -1, .control = -1, .id_lock = -1})

/* Starts it with descriptors from inside a cell's network namespace, which are closed here. It seals itself
 * while the caller goes on. */
int sc_egress_start(const struct sc_plan *plan, const struct sc_egress_kit *kit, int net_fds[SC_NET_FD_COUNT],
                    struct sc_egress *ret_egress, struct sc_err *err);
/* Waits for the cell's authority, where the plan says that it has one. */
int sc_egress_await_authority(struct sc_egress *egress, struct sc_err *err);
/* Waits until it is sealed and serves: before that no program may start. Fine where there is none. */
int sc_egress_await(struct sc_egress *egress, struct sc_err *err);
/* Kills, reaps, closes. */
void sc_egress_end(struct sc_egress *egress);

/* A refusal, as a denial of a result. */
typedef void sc_egress_denied(void *userdata, const char *action, const char *resource, const char *rule,
                              const char *hint, uint64_t count);
/* Takes what it has said on its own, without waiting; false: it is gone. */
bool sc_egress_listen(struct sc_egress *egress, sc_egress_denied *denied, void *userdata);
/* Asks for all records and puts them into `result` in place of those it has; what it said on its own before
 * goes to `denied` first. One that does not answer in a second is ended. */
void sc_egress_report(struct sc_egress *egress, struct sc_result *result, sc_egress_denied *denied,
                      void *userdata);
/* The kit's rules for a living cell whose namespaces these are (owner_ns -1: the caller's own), and which has
 * an egress process: 0 when they are in force, and what they do not allow is cut. When it fails the cell has
 * no network any more. */
int sc_egress_change(struct sc_egress *egress, const struct sc_egress_kit *kit, int net_ns, int owner_ns,
                     sc_egress_denied *denied, void *userdata, struct sc_err *err);

#endif
