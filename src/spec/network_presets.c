/* Rules by the name of a purpose: policy/net/. */
#include <string.h>

#include "spec/network.h"
#include "spec/spec_internal.h"

#include "presets.gen.h"

int sc_net_add_preset(struct sc_net *net, bool allow, const char *field, const char *name, struct sc_err *err)
{
    for (size_t i = 0; PRESETS[i].name; i++) {
        int r = 0;
        if (strcmp(PRESETS[i].name, name) != 0)
            continue;
        for (const char *const *rule = PRESETS[i].rules; *rule && r == 0; rule++)
            if ((r = sc_net_add_rule(net, allow, field, *rule, err)) == 0)
                net->rules[net->n_rules - 1].of_preset = true;
        return r;
    }
    return sc_spec_bad(err, field, name, "allowed behind preset: are " PRESET_NAMES);
}
