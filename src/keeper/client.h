/* The client's side of the keeper's socket: one connection, one request after another. Blocking. */
#ifndef SC_KEEPER_CLIENT_H
#define SC_KEEPER_CLIENT_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "keeper/wire.h"

struct sc_keeper_client;

/* Connects to the keeper at `path` (NULL: sc_keeper_path). -ENOENT, -ECONNREFUSED, -ECONNRESET: nobody serves
 * there (any more). */
int sc_keeper_client_open(const char *path, struct sc_keeper_client **ret_client, struct sc_err *err);
void sc_keeper_client_close(struct sc_keeper_client *client);
/* Gives its connection up, greeted, with nothing under way: the descriptor. The client is freed. */
int sc_keeper_client_release(struct sc_keeper_client *client);

enum sc_keeper_stop {
    SC_KEEPER_GO_ON, /* RESIZE, when a size was set */
    SC_KEEPER_STOP,  /* CANCEL; the reply is still waited for */
    SC_KEEPER_LEAVE, /* not even that */
};

/* What goes along with a request. Zeroed: no input, output dropped, nothing stops it. */
struct sc_keeper_exchange {
    /* Output as it comes; negative errno: cancel. */
    int (*output)(void *output_data, enum sc_keeper_stream stream, const void *data, size_t len);
    void *output_data;
    void *userdata; /* of the others */
    /* Input: up to `size` bytes into `room`; 0: its end; -EAGAIN: nothing now; other negative errno: cancel.
     * Asked while there is credit and input_fd (-1: always) is readable. NULL: no input. */
    ssize_t (*input)(void *userdata, void *room, size_t size);
    int input_fd;
    /* When stop_fd (0: none) becomes readable, `stop` says what is meant. Without `stop`: CANCEL. */
    int stop_fd;
    enum sc_keeper_stop (*stop)(void *userdata, struct sc_keeper_size *ret_resize);
};

/* Sends `request` (its reference is taken; NULL says that memory ran out) and waits for the reply. 0: what
 * stood under "ok" is in *ret_ok (NULL: not wanted), a reference of the caller's. Negative errno: the reply's
 * error, kind and field kept as far as sc_err has them; -ENOENT: "not_found" or a file's, -ESRCH: "ended", a
 * file's own errno; -EPIPE: the keeper went away; -ECANCELED: left. */
int sc_keeper_ask(struct sc_keeper_client *client, json_t *request, const struct sc_keeper_exchange *exchange,
                  json_t **ret_ok, struct sc_err *err);

#endif
