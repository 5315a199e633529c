/* Where templates and what was built for them lie. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "snap/recipe.h"
#include "snap/shelf.h"

static const char *given(const char *variable)
{
    const char *value = getenv(variable);
    return value && *value ? value : NULL;
}

/* $ours, else `of_root` as root, else $xdg/snapcell… or ~/in_home/snapcell…. */
static int place(const char *ours, const char *of_root, const char *xdg, const char *in_home,
                 const char *below, char ret_path[PATH_MAX], struct sc_err *err)
{
    const char *named = given(ours), *base = given(xdg), *home = given("HOME");
    int n;
    if (named)
        n = snprintf(ret_path, PATH_MAX, "%s", named);
    else if (geteuid() == 0)
        n = snprintf(ret_path, PATH_MAX, "%s", of_root);
    else if (base && *base == '/')
        n = snprintf(ret_path, PATH_MAX, "%s/snapcell%s", base, below);
    else if (home && *home == '/')
        n = snprintf(ret_path, PATH_MAX, "%s/%s/snapcell%s", home, in_home, below);
    else
        return sc_err_usage(err, "template", "template: neither $%s nor $HOME is set: one must name a folder",
                            ours);
    if (n < 0 || n >= PATH_MAX || *ret_path != '/')
        return sc_err_usage(err, "template", "template: $%s: must be an absolute path of at most %d bytes",
                            ours, PATH_MAX - 1);
    return 0;
}

int sc_recipe_folder(char ret_path[PATH_MAX], struct sc_err *err)
{
    return place("SNAPCELL_TEMPLATES", "/etc/snapcell/templates", "XDG_CONFIG_HOME", ".config", "/templates",
                 ret_path, err);
}

int sc_shelf_folder(char ret_path[PATH_MAX], struct sc_err *err)
{
    return place("SNAPCELL_STORE", "/var/lib/snapcell", "XDG_DATA_HOME", ".local/share", "", ret_path, err);
}
