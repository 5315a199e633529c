/* What the words of `snapcell-docker` share, private to docker*.c. */
#ifndef SC_CLI_DOCKER_PARTS_H
#define SC_CLI_DOCKER_PARTS_H

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/strv.h"
#include "cli/cli.h"

/* Where in the cell the output of commands in the background lies. */
#define SC_DOCKER_LOG "/tmp/.docker-log"

/* The words: what stands behind each; the exit status. */
int sc_docker_run(char **argv);
int sc_docker_create(char **argv);
int sc_docker_start(char **argv);
int sc_docker_exec(char **argv);
int sc_docker_stop(char **argv);
int sc_docker_rm(char **argv);
int sc_docker_cp(char **argv);
int sc_docker_logs(char **argv);
int sc_docker_ps(char **argv);
int sc_docker_inspect(char **argv);
int sc_docker_images(char **argv);
int sc_docker_version(char **argv);

/* A line of our own command line, its verb first; its exit status. */
int sc_docker_line(struct sc_strv *line);
int sc_docker_words(const char *const *words);
int sc_docker_add_all(struct sc_strv *line, const char *const *words); /* NULL-ended; 0 or -ENOMEM */
/* Tells an error; docker's status for what it could not do, and for a container that is not there. */
int sc_docker_fail(const struct sc_err *err);
int sc_docker_no_container(const char *name);

/* Asks the keeper, which is started when `starts`. The reference of `request` is taken. */
int sc_docker_ask(json_t *request, bool starts, json_t **ret_ok, struct sc_err *err);
int sc_docker_ask_about(const char *request, const char *name, json_t **ret_ok, struct sc_err *err);
const char *sc_docker_text(const json_t *object, const char *name); /* "" when it is none */
const char *sc_docker_about(const json_t *info, const char *name);  /* of its metadata */
bool sc_docker_is_running(const char *name);                        /* does one of its commands? */
int sc_docker_remove(const char *name);                             /* tells, and returns the exit status */

#endif
