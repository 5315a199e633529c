#include "fixture.h"

struct snapcell_error *error;
struct snapcell_host *host;

int probe(void **state)
{
    (void)state;
    error = snapcell_error_new();
    if (snapcell_host_probe(getenv("SNAPCELL_CGROUP_PARENT"), &host, error) == 0)
        return 0;
    print_message("%s\n", snapcell_error_message(error));
    return -1;
}

int leave(void **state)
{
    (void)state;
    snapcell_host_free(host);
    snapcell_error_free(error);
    return 0;
}

void need(int r, int (*clean)(void **state))
{
    if (r >= 0)
        return;
    if (snapcell_error_kind(error) != SNAPCELL_ERROR_HOST)
        fail_msg("%s", snapcell_error_message(error));
    print_message("skipped: %s\n", snapcell_error_message(error));
    if (clean)
        (void)clean(NULL);
    skip();
}
