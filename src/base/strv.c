#include "base/strv.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sc_strv_fini(struct sc_strv *list)
{
    for (size_t i = 0; i < list->n; i++)
        free(list->v[i]);
    free(list->v);
    *list = (struct sc_strv){0};
}

/* Takes `text`, also on failure. */
static int add_owned(struct sc_strv *list, char *text)
{
    if (!text)
        return -ENOMEM;
    char **v = reallocarray(list->v, list->n + 2, sizeof *v);
    if (!v) {
        free(text);
        return -ENOMEM;
    }
    list->v = v;
    v[list->n++] = text;
    v[list->n] = NULL;
    return 0;
}

int sc_strv_add(struct sc_strv *list, const char *text)
{
    return add_owned(list, strdup(text));
}

int sc_strv_printf(struct sc_strv *list, const char *format, ...)
{
    va_list ap;
    char *text = NULL;
    va_start(ap, format);
    int n = vasprintf(&text, format, ap);
    va_end(ap);
    return n < 0 ? -ENOMEM : add_owned(list, text);
}

int sc_strv_set_env(struct sc_strv *list, const char *name, const char *value)
{
    char *entry = NULL;
    if (asprintf(&entry, "%s=%s", name, value) < 0)
        return -ENOMEM;
    size_t len = strlen(name);
    for (size_t i = 0; i < list->n; i++)
        if (!strncmp(list->v[i], name, len) && list->v[i][len] == '=') {
            free(list->v[i]);
            list->v[i] = entry;
            return 0;
        }
    return add_owned(list, entry);
}
