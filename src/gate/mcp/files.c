/* Which files of the work folder a run has made or changed. One look at the folder itself; what lies deeper
 * is not told. */
#include <stdio.h>
#include <string.h>

#include "gate/mcp/parts.h"

#define CHANGED_MAX 50 /* told in one result */

/* The caller's function waits in the arguments of nobody: one look at a time in a work. */
static void compare(struct mcp_work *work)
{
    struct sc_mcp *mcp = work->mcp;
    json_t *entry, *seen = json_object();
    size_t i;
    char stamp[64];
    json_array_foreach(work->entries, i, entry)
    {
        const char *name = mcp_text(entry, "name");
        json_t *size = json_object_get(entry, "size");
        if (strcmp(mcp_text(entry, "type"), "file") != 0 || *name == '.')
            continue;
        snprintf(stamp, sizeof stamp, "%lld %lld", (long long)json_integer_value(size),
                 (long long)json_integer_value(json_object_get(entry, "mtime_ns")));
        if (strcmp(mcp_text(mcp->known, name), stamp) != 0 && json_array_size(work->changed) < CHANGED_MAX)
            json_array_append_new(work->changed, json_pack("{s:s, s:O*}", "path", name, "size", size));
        json_object_set_new(seen, name, json_string(stamp));
    }
    if (!json_equal(seen, mcp->known) && mcp->initialized)
        mcp_notify(mcp, "notifications/resources/list_changed", NULL, work->id);
    json_decref(mcp->known);
    mcp->known = seen;
}

static void looked(struct mcp_work *work, const json_t *ok, const json_t *error)
{
    (void)error;
    /* A folder that cannot be listed, because the program made it so, has nothing to tell. */
    if (ok)
        compare(work);
    mcp_look_at_watched(work);
}

void mcp_look_at_files(struct mcp_work *work, void (*then)(struct mcp_work *work))
{
    json_decref(work->changed);
    work->changed = json_array();
    work->then = then;
    mcp_work_ask(work, json_pack("{s:s, s:s}", "request", "file.list", "path", "."), NULL, 0, looked);
}
