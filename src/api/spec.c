/* Host and spec. */
#include "api/parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int snapcell_host_probe(const char *cgroup_parent, struct snapcell_host **ret_host,
                        struct snapcell_error *error)
{
    struct sc_err *err = sc_api_error(error);
    struct snapcell_host *host = calloc(1, sizeof *host);
    if (!host)
        return sc_api_no_memory(err);
    /* A library does not move its caller into a systemd scope behind its back. */
    const struct sc_host_options options = {.cgroup_parent = cgroup_parent, .want_scope = false};
    int r = 0;
    if (cgroup_parent && !(host->cgroup_parent = strdup(cgroup_parent)))
        r = sc_api_no_memory(err);
    if (r == 0)
        r = sc_host_probe(&host->host, &options, err);
    if (r < 0) {
        snapcell_host_free(host);
        return r;
    }
    *ret_host = host;
    return 0;
}

void snapcell_host_free(struct snapcell_host *host)
{
    if (host)
        free(host->cgroup_parent);
    free(host);
}

char *snapcell_host_json(const struct snapcell_host *host)
{
    return sc_host_report_json(&host->host);
}

int snapcell_spec_new(struct snapcell_spec **ret_spec, struct snapcell_error *error)
{
    struct sc_err *err = sc_api_error(error);
    struct snapcell_spec *spec = malloc(sizeof *spec);
    if (!spec)
        return sc_api_no_memory(err);
    sc_spec_init(&spec->spec);
    *ret_spec = spec;
    return 0;
}

int snapcell_spec_from_json(const char *json, size_t len, struct snapcell_spec **ret_spec,
                            struct snapcell_error *error)
{
    struct snapcell_spec *spec = NULL;
    int r = snapcell_spec_new(&spec, error);
    if (r < 0)
        return r;
    r = sc_spec_from_json(&spec->spec, json, len, sc_api_error(error));
    if (r < 0) {
        snapcell_spec_free(spec);
        return r;
    }
    *ret_spec = spec;
    return 0;
}

void snapcell_spec_free(struct snapcell_spec *spec)
{
    if (spec)
        sc_spec_fini(&spec->spec);
    free(spec);
}

int snapcell_spec_set(struct snapcell_spec *spec, const char *option, const char *value,
                      struct snapcell_error *error)
{
    return sc_spec_set(&spec->spec, option, value, sc_api_error(error));
}

int snapcell_spec_add(struct snapcell_spec *spec, const char *option, const char *value,
                      struct snapcell_error *error)
{
    return sc_spec_add(&spec->spec, option, value, sc_api_error(error));
}

/* The last call that says what runs counts: the two other ways of saying it are forgotten. Arguments that
 * belonged to a program or to code stay with the next one; those of a command were the command. */
static void forget_others(struct sc_spec *spec, char *const *kept)
{
    if (kept != &spec->code) {
        free(spec->code);
        spec->code = NULL;
        spec->code_len = 0;
    }
    if (kept != &spec->program) {
        free(spec->program);
        spec->program = NULL;
    }
    if (kept && spec->command) {
        spec->command = false;
        sc_strv_fini(&spec->args);
    }
}

int snapcell_spec_set_code(struct snapcell_spec *spec, const char *code, size_t len,
                           struct snapcell_error *error)
{
    int r = sc_spec_set_code(&spec->spec, code, len, sc_api_error(error));
    if (r == 0)
        forget_others(&spec->spec, &spec->spec.code);
    return r;
}

int snapcell_spec_set_program(struct snapcell_spec *spec, const char *host_path, struct snapcell_error *error)
{
    int r = sc_spec_set_program(&spec->spec, host_path, sc_api_error(error));
    if (r == 0)
        forget_others(&spec->spec, &spec->spec.program);
    return r;
}

int snapcell_spec_set_command(struct snapcell_spec *spec, const char *const *argv,
                              struct snapcell_error *error)
{
    int r = sc_spec_set_command(&spec->spec, argv, sc_api_error(error));
    if (r == 0)
        forget_others(&spec->spec, NULL);
    return r;
}

int snapcell_spec_set_args(struct snapcell_spec *spec, const char *const *args, struct snapcell_error *error)
{
    struct sc_err *err = sc_api_error(error);
    if (spec->spec.command)
        return sc_err_usage(err, "args",
                            "args: a command is given: allowed are its own arguments, in set_command");
    return sc_spec_set_args(&spec->spec, args, err);
}

int snapcell_spec_set_stdin(struct snapcell_spec *spec, const void *data, size_t len,
                            struct snapcell_error *error)
{
    return sc_spec_set_stdin(&spec->spec, data, len, sc_api_error(error));
}
