#include <errno.h>
#include <string.h>

#include "cli/session.h"

static json_t *json_of(const struct sc_limit_row *row, uint64_t value)
{
    if (row->kind == SC_LIMIT_DURATION)
        return json_real((double)value / (double)SC_NS_PER_MS);
    return json_integer((json_int_t)value);
}

int sc_cli_session_limits(const struct sc_cli_args *args, json_t **ret_limits, struct sc_err *err)
{
    json_t *limits = NULL;
    for (size_t i = 0; i < args->n_given; i++) {
        const struct sc_cli_given *given = &args->given[i];
        const struct sc_limit_row *row = sc_limit_row_by_option(given->name, strlen(given->name));
        struct sc_spec spec;
        if (!row)
            continue;
        /* The spec's own setter refuses what is not such a value, and says what is. */
        sc_spec_init(&spec);
        int r = sc_spec_set(&spec, given->name, given->value, err);
        uint64_t value = *sc_limit_value(&spec.limits, row);
        sc_spec_fini(&spec);
        if (r == 0 && !limits)
            limits = json_object();
        if (r == 0 && json_object_set_new(limits, row->json, json_of(row, value)) < 0)
            r = sc_err_sys(err, -ENOMEM, "limits");
        if (r < 0) {
            json_decref(limits);
            return r;
        }
    }
    *ret_limits = limits;
    return 0;
}
