/* One command in a cell of its own whose output goes on as it comes, however long it is: where templates are
 * built. */
#ifndef SC_SNAP_WORKSHOP_H
#define SC_SNAP_WORKSHOP_H

#include "base/buf.h"
#include "base/err.h"
#include "host/host.h"
#include "spec/spec.h"

struct sc_workshop {
    struct sc_spec *spec;    /* its files and mounts are there; checked here. Its wall limit holds */
    const char *const *argv; /* NULL-ended; looked up inside the cell */
    void *userdata;
    /* stdout, from inside the cell. Negative errno ends the cell. */
    int (*output)(void *userdata, const void *data, size_t len);
    int cancel_fd; /* becoming readable ends the cell; -1: none */
};

/* 0: the command exited with 0. Else the story, with the last words of its stderr, which say what came from
 * inside. -ECANCELED: cancelled, or `output` had enough. */
int sc_workshop_run(const struct sc_workshop *workshop, struct sc_err *err);

#endif
