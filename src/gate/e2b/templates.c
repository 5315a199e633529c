/* Templates that E2B's clients name by themselves, as ours. */
#include <string.h>

#include "gate/e2b/e2b.h"

static const struct {
    const char *theirs, *ours; /* NULL: a cell of the host's, without a template */
} TEMPLATES[] = {
    {"base", NULL},
    {"code-interpreter-v1", "python-data"},
    {"code-interpreter-stateful", "python-data"},
    {"code-interpreter", "python-data"},
};

const char *e2b_template(const char *template_id)
{
    for (size_t i = 0; i < sizeof TEMPLATES / sizeof *TEMPLATES; i++)
        if (!strcmp(TEMPLATES[i].theirs, template_id))
            return TEMPLATES[i].ours;
    return template_id;
}
