/* Writes the default profile's system-call filter as raw BPF, for peers that take one (`bwrap --seccomp`): so
 * they load the very filter that cells load. Not part of the public interface: the only file here that looks
 * inside. */
#include <stdio.h>

#include "plan/filter.h"

int main(void)
{
    const struct sc_filter *filter = sc_filter_for(SC_PROFILE_DEFAULT);
    size_t n = fwrite(filter->insns, sizeof(*filter->insns), filter->n_insns, stdout);
    return n == filter->n_insns && fflush(stdout) == 0 ? 0 : 1;
}
