/* `snapcell-docker`: this program under another name takes the words of the docker command line as far as
 * agents' tools use them, and translates them to those of `snapcell session` (docs/docker-shaped.md). */
#ifndef SC_CLI_DOCKER_H
#define SC_CLI_DOCKER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/strv.h"

/* Was the program called by that name? */
bool sc_cli_is_docker(const char *argv0);
int sc_cli_docker(char **argv); /* behind the program's name; the exit status */

/* docker_options.c: what `run`, `create` and `exec` were asked for. */
struct sc_docker_run {
    struct sc_strv start;   /* options of `session start` */
    struct sc_strv exec;    /* options of `session exec`: -w, -e of an exec */
    struct sc_strv command; /* image's command line, entry point first */
    const char *name, *image;
    bool removes, interactive, tty, detached;
};
/* Reads options of `run`, `create` (is_exec false: IMAGE follows) or `exec` (a container's name follows, in
 * `name`). What would widen a cell, and what is not known, is a usage error. Texts are borrowed from `argv`.
 */
int sc_docker_read(struct sc_docker_run *run, char **argv, bool is_exec, struct sc_err *err);
void sc_docker_run_fini(struct sc_docker_run *run);
/* The template that stands for an image's name, or NULL: there is none. `room` holds it. */
const char *sc_docker_template(const char *image, char *room, size_t size);

#endif
