/* What the words of `snapcell template` share. */
#ifndef SC_CLI_TEMPLATE_H
#define SC_CLI_TEMPLATE_H

#include "cli/options.h"
#include "snap/recipe.h"

/* template_build.c: builds what the recipe needs, unless that is there; 1: it was. Takes signals from now on:
 * `signal_fd` is of cli/signals.h. */
int sc_cli_template_make(const struct sc_recipe *recipe, const struct sc_cli_args *args, int signal_fd,
                         struct sc_err *err);

/* template_test.c: 0: it works; 1: *ret_why is what does not, what it said included (heap text); negative:
 * that could not be found out. */
int sc_cli_template_try(const struct sc_recipe *recipe, const struct sc_cli_args *args, int signal_fd,
                        char **ret_why, struct sc_err *err);

/* template_outside.c: programs that fetch what a template names. They run outside of any cell, with the
 * builder's network, as the caller or, for root, as nobody; they run no code of what they fetch. */
struct sc_cli_outside {
    char path[PATH_MAX]; /* a folder that the program may write to */
    int folder;
    int signal_fd;
};
int sc_cli_outside_open(struct sc_cli_outside *outside, int signal_fd, struct sc_err *err);
void sc_cli_outside_close(struct sc_cli_outside *outside); /* the folder goes, too */
/* A new file of the folder that the program can read. */
int sc_cli_outside_put(struct sc_cli_outside *outside, const char *name, const void *data, size_t len,
                       struct sc_err *err);
int sc_cli_outside_copy(struct sc_cli_outside *outside, const char *name, const char *from,
                        struct sc_err *err);
int sc_cli_outside_mkdir(struct sc_cli_outside *outside, const char *name, struct sc_err *err);
/* Runs it in the folder; stdout goes to `out`, or with stderr to what is told when it fails. */
int sc_cli_outside_run(struct sc_cli_outside *outside, const char *const *argv, int out, bool as_caller,
                       struct sc_err *err);

#endif
