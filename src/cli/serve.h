/* The service's parts: what `snapcell serve` was asked for, and its two children. */
#ifndef SC_CLI_SERVE_H
#define SC_CLI_SERVE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "gate/gate.h"
#include "keeper/keys.h"

#define SC_SERVE_SETUP_MAX 65536u
#define SC_SERVE_PASSED_MAX 32

struct sc_cli_args;

/* What was asked for. */
struct sc_serve_wants {
    bool dev;
    char socket[PATH_MAX];      /* the keeper's */
    char http_socket[PATH_MAX]; /* "": none */
    char listen[300];           /* "ADDRESS:PORT", or "" */
    const char
        *passed[SC_SERVE_PASSED_MAX]; /* options of the keeper's and their values, as they were given */
    size_t n_passed;
    char hosts[SC_GATE_HOSTS_MAX][256];
    size_t n_hosts;
    unsigned clients;
    uint64_t drain_ns;
    bool e2b_debug;
    uint32_t e2b_degraded; /* enum sc_degrade bits */
    uid_t gate_uid;        /* 0: stays who we are */
    char state[PATH_MAX];  /* the keeper's state folder, or "" */
    char key[SC_KEY_TEXT]; /* of --dev */
};

struct sc_serve_listeners {
    struct sc_gate_listener each[SC_GATE_LISTENERS_MAX];
    char names[SC_GATE_LISTENERS_MAX][PATH_MAX + 16]; /* for people: "unix:/…", "http://127.0.0.1:8480" */
    char remove[PATH_MAX];                            /* a socket's path that is ours to remove; "" */
    size_t n;
};

/* serve.c: values only; nothing is made. */
int sc_serve_read(const struct sc_cli_args *args, struct sc_serve_wants *wants, struct sc_err *err);
/* serve_config.c: the file that args name, if they do, below args. Exit status; every wrong line was told. */
int sc_serve_config(const struct sc_cli_args *args, struct sc_cli_args *ret_args);

/* serve_listen.c: an address is one. */
int sc_serve_listen_check(const char *text, struct sc_err *err);
/* Those that a service manager gave, else those that are asked for. */
int sc_serve_listen(const struct sc_serve_wants *wants, struct sc_serve_listeners *listeners,
                    struct sc_err *err);
void sc_serve_unlisten(struct sc_serve_listeners *listeners);

/* serve_dev.c: a state folder of its own for --dev, with one key. */
int sc_serve_dev(struct sc_serve_wants *wants, struct sc_err *err);

/* serve_watch.c: keeps keeper and gate alive until told to end. Exit status. */
/* `reread` is called at SIGHUP; negative: all stays as it is. */
typedef int sc_serve_reread(const struct sc_cli_args *args, struct sc_serve_wants *wants);
int sc_serve_watch(struct sc_serve_wants *wants, const struct sc_serve_listeners *listeners,
                   sc_serve_reread *reread, const struct sc_cli_args *args);

#endif
