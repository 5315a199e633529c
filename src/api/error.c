#include "api/parts.h"

#include <errno.h>
#include <stdlib.h>

_Static_assert((int)SNAPCELL_ERROR_USAGE == (int)SC_ERR_USAGE &&
                   (int)SNAPCELL_ERROR_HOST == (int)SC_ERR_HOST &&
                   (int)SNAPCELL_ERROR_SANDBOX == (int)SC_ERR_SANDBOX,
               "the public kinds are the internal ones");

struct sc_err *sc_api_error(struct snapcell_error *error)
{
    if (!error)
        return NULL;
    sc_err_clear(&error->err);
    return &error->err;
}

int sc_api_no_memory(struct sc_err *err)
{
    return sc_err_set(err, SC_ERR_SANDBOX, -ENOMEM, "out of memory");
}

struct snapcell_error *snapcell_error_new(void)
{
    return calloc(1, sizeof(struct snapcell_error));
}

void snapcell_error_free(struct snapcell_error *error)
{
    free(error);
}

enum snapcell_error_kind snapcell_error_kind(const struct snapcell_error *error)
{
    return error ? (enum snapcell_error_kind)error->err.kind : SNAPCELL_ERROR_NONE;
}

const char *snapcell_error_message(const struct snapcell_error *error)
{
    return error ? error->err.message : "";
}

const char *snapcell_error_field(const struct snapcell_error *error)
{
    return error ? error->err.field : "";
}

void snapcell_string_free(char *text)
{
    free(text);
}
