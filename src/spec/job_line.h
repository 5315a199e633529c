/* A line of a batch, as `snapcell batch` and POST /v1/batch have it: {"id", "key", "spec" or "judge"}. */
#ifndef SC_SPEC_JOB_LINE_H
#define SC_SPEC_JOB_LINE_H

#include <jansson.h>

#include "base/err.h"
#include "base/sha256.h"

#define SC_JOB_ID_MAX 200 /* bytes of an id or key */

/* What a line's object says; all of it is borrowed from there. */
struct sc_job_line {
    const char *id, *key;       /* or NULL */
    const json_t *spec, *judge; /* one of them is there; what is in it was not looked at */
    char hash[SC_SHA256_TEXT];  /* of all but id and key */
};

/* On failure what was read by then stands in `ret_line`: whose line it is may be told. */
int sc_job_line_read(const json_t *object, struct sc_job_line *ret_line, struct sc_err *err);

#endif
