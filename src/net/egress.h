/* The egress process: what its files share. One process serves one cell.
 *
 * Theory of operation. The process was handed listeners from inside the cell's network namespace and stands
 * itself outside, where names can be resolved and connections made. It may do nothing else: no file but
 * /etc/hosts, no process, no listening of its own (seal.c). One thread waits on one epoll.
 *
 *   name_server.c  a name's question → a stand-in address, or a refusal
 *   relay.c        a connection accepted from the namespace → whom it was for → judged → dial.c → bytes
 *   dial.c         a name's real addresses, each judged, then connect
 *   packets.c      what the namespace's table refused
 *   records.c      every decision, counted, told to the owner
 *
 * Bytes from the cell and from upstreams are a stranger's. The owner is trusted, but may be gone: then this
 * process ends at once.
 */
#ifndef SC_NET_EGRESS_H
#define SC_NET_EGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "net/budget.h"
#include "net/note.h"
#include "net/rules.h"

struct ares_channeldata;
struct sc_egress;

/* What epoll points at. Freed only between two waits. */
struct sc_source {
    int fd;
    void (*ready)(struct sc_egress *egress, struct sc_source *source, uint32_t events);
};

#define SC_NET_FDS_A_CONNECTION 6 /* two sockets, two pipes */
#define SC_NET_FDS_BESIDE 200     /* listeners, questions over TCP, the resolver's */
#define SC_NAMES_MAX 8192         /* stand-ins of one cell */
#define SC_NAME_ADDRESSES_MAX 8   /* of one name */
#define SC_RECORDS_MAX 512

struct sc_known_name {
    char *text;
    struct sc_addr addrs[SC_NAME_ADDRESSES_MAX];
    size_t n_addrs;
    uint64_t until_ns; /* the addresses are asked for again then */
};

struct sc_names {
    struct sc_known_name *list; /* index + 1 is the stand-in's host part */
    size_t n;
    uint32_t *buckets; /* index + 1, by the text's hash; 0: free */
};

struct sc_connection;

struct sc_egress {
    int epoll;
    struct sc_source control, packets;
    struct sc_source udp[2], dns_listeners[2], listeners[2];
    struct sc_net net;
    struct sc_names names;
    struct sc_net_note *records;
    uint64_t untold[SC_RECORDS_MAX]; /* refusals that the owner does not know of yet */
    size_t n_records;
    uint64_t told_ns, tells_left; /* so many may be told now */
    uint64_t lost_denials;        /* of kinds for which there was no room */
    struct ares_channeldata *resolver;
    struct sc_connection *connections; /* a list */
    size_t n_connections, n_dns;
    size_t connections_most;    /* more than these and there were no descriptors */
    struct sc_connection *dead; /* to be freed before the next wait */
    struct sc_budgets budgets;
};

int sc_egress_watch(struct sc_egress *egress, struct sc_source *source, uint32_t events);

/* names.c */
int sc_names_init(struct sc_names *names);
/* Its index, a new one if needed; -ENOSPC, -ENOMEM. */
int sc_names_add(struct sc_names *names, const char *name);
struct sc_addr sc_names_standin(size_t index, bool v6);
/* Whose stand-in this is; NULL: no stand-in. */
struct sc_known_name *sc_names_find(struct sc_names *names, const struct sc_addr *addr);
bool sc_names_is_standin(const struct sc_addr *addr);

/* records.c. What differs in nothing but counts is one record; the return value is its index, or -1 when
 * there are too many kinds. */
struct sc_decision {
    enum sc_net_what what;
    uint8_t protocol;
    const char *name;           /* NULL: none */
    const struct sc_addr *addr; /* NULL: none */
    uint16_t port;
    struct sc_net_verdict verdict;
};
int sc_records_add(struct sc_egress *egress, const struct sc_decision *decision);
void sc_records_report(struct sc_egress *egress);

/* name_server.c */
int sc_name_server_start(struct sc_egress *egress);
/* The answer to a question of len bytes; 0: there is none. For tests, too. */
size_t sc_name_server_answer(struct sc_egress *egress, const uint8_t *question, size_t len,
                             uint8_t *ret_answer);

/* packets.c */
int sc_packets_start(struct sc_egress *egress);

/* relay.c */
int sc_relay_start(struct sc_egress *egress);
/* Other rules, taken where it succeeds; ends what they do not allow. 0 or -ENOMEM. */
int sc_relay_change(struct sc_egress *egress, struct sc_net *net);
/* Frees what died in this round, moves what may move again. Milliseconds until it has to be called again, or
 * -1. */
int sc_relay_round(struct sc_egress *egress);

/* dial.c: finds and judges addresses and connects. `done` is called exactly once unless cancelled: with a
 * connected socket, or a negative errno (-EACCES: refused, which is in the records). */
struct sc_dial;
typedef void sc_dial_done(void *userdata, int sock, const struct sc_addr *addr);
int sc_dial_init(struct sc_egress *egress);
int sc_dial_start(struct sc_egress *egress, struct sc_known_name *name, const struct sc_addr *addr,
                  uint16_t port, sc_dial_done *done, void *userdata, struct sc_dial **ret_dial);
void sc_dial_cancel(struct sc_dial *dial);
/* Called when time may have passed. Milliseconds until the next call, or -1. */
int sc_dial_round(struct sc_egress *egress);

/* seal.c: takes away everything that is not needed from here on. 0 or negative errno with *ret_step. */
int sc_egress_seal(bool landlock, const char **ret_step);

#endif
