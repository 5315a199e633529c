/* `snapcell version` */
#include <string.h>

#include "cli/options.h"
#include "cli/say.h"
#include "snapcell.h"

int sc_cli_version(const struct sc_cli_args *args)
{
    struct sc_err err = {0};
    if (args->n_operands) {
        sc_err_usage(&err, "", "version %s: takes no operands", args->operands[0]);
        return sc_cli_fail(&err);
    }
    return sc_cli_print(strdup("snapcell " SNAPCELL_VERSION));
}
