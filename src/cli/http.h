/* The client's side of a service's HTTP (docs/http.md): one connection, one request. */
#ifndef SC_CLI_HTTP_H
#define SC_CLI_HTTP_H

#include <jansson.h>

#include "keeper/client.h"

struct sc_cli_http;

/* `url` is unix:///PATH, or http:// with 127.0.0.1, localhost or [::1] and a port: there is no TLS, so that
 * nothing else is taken. `key_file` (or NULL) holds a key on one line, and is nobody else's to read. */
int sc_cli_http_open(const char *url, const char *key_file, struct sc_cli_http **ret_http,
                     struct sc_err *err);
void sc_cli_http_close(struct sc_cli_http *http);

/* POST /v1/run with `body` (its reference is taken; NULL says that memory ran out). With `streams` what the
 * run writes goes to exchange->output as it comes, and not into the result again. 0: the result, a reference
 * of the caller's; negative errno: what the service answered, or -EPIPE: it went away; -ECANCELED:
 * exchange->stop_fd became readable. To leave is to cancel: the service ends what a client does not wait
 * for. */
int sc_cli_http_run(struct sc_cli_http *http, json_t *body, bool streams,
                    const struct sc_keeper_exchange *exchange, json_t **ret_result, struct sc_err *err);

/* POST /v1/batch, or what else of this form: `body` is NDJSON, a job a line. */
struct sc_cli_http_batch {
    const char *target; /* path and query */
    const char *body;
    size_t len;
    int stop_fd; /* readable: no more is wanted */
    void *userdata;
    /* A line of the answer. 0; else nothing more is wanted of it, and this is returned: negative errno. */
    int (*line)(void *userdata, const json_t *line);
    void (*idle)(void *userdata); /* a few times a second at least */
};

/* 0: its answer is whole. -ECANCELED: by stop_fd, or by `line`. Else the story stands in `err`; lines that
 * had come were handed on. To leave is to cancel here, too. The connection serves nothing else afterwards. */
int sc_cli_http_batch(struct sc_cli_http *http, const struct sc_cli_http_batch *batch, struct sc_err *err);

#endif
