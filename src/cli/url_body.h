/* What goes to a service, which knows no path of this host: programs and files as what is in them. */
#ifndef SC_CLI_URL_BODY_H
#define SC_CLI_URL_BODY_H

#include <jansson.h>

#include "base/err.h"
#include "spec/spec.h"

/* The spec as the body of POST /v1/run, its mode said; a reference of the caller's. What else it names of
 * this host stays in it, and the service refuses it by name. Files are bounded: 16M of a program, 32M of
 * others. `spec` is changed. */
int sc_cli_url_body(struct sc_spec *spec, json_t **ret_body, struct sc_err *err);

/* A task of the judge as the body of POST /v1/judge: files of its requests, and those that tests name, by
 * what is in them. */
int sc_cli_url_task(const json_t *task, json_t **ret_body, struct sc_err *err);

#endif
