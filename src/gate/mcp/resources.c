/* Resources: the guide, and files of the session. */
#include <stdlib.h>
#include <string.h>

#include "gate/mcp/parts.h"

#define RESOURCE_MAX (5 << 20) /* of one reading: base64 of it still fits a client's 10 MiB line */
#define LISTED_MAX 500

static json_t *guide_row(void)
{
    return json_pack("{s:s, s:s, s:s, s:s}", "uri", MCP_URI_GUIDE, "name", "guide", "description",
                     "How to work in this sandbox: its limits, and what refusals mean.", "mimeType",
                     "text/markdown");
}

static void listed(struct mcp_work *work, const json_t *ok, const json_t *error)
{
    json_t *list = json_array(), *entry;
    size_t i;
    (void)ok;
    (void)error; /* a folder that cannot be listed has nothing to list */
    json_array_append_new(list, guide_row());
    json_array_foreach(work->entries, i, entry)
    {
        const char *name = mcp_text(entry, "name");
        char *uri = strcmp(mcp_text(entry, "type"), "file") == 0 && *name != '.' ? mcp_uri_of(name) : NULL;
        if (uri && json_array_size(list) < LISTED_MAX)
            json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:O*}", "uri", uri, "name", name,
                                                  "mimeType", mcp_mime_of(name, false), "size",
                                                  json_object_get(entry, "size")));
        free(uri);
    }
    mcp_work_answer(work, json_pack("{s:o}", "resources", list));
}

static void list_session(struct mcp_work *work)
{
    mcp_work_ask(work, json_pack("{s:s, s:s}", "request", "file.list", "path", "."), NULL, 0, listed);
}

/* Looking makes no session. */
void mcp_resources_list(struct sc_mcp *mcp, const json_t *id, const json_t *params)
{
    if (*mcp->session)
        mcp_work_start(mcp, id, params, NULL, false, list_session);
    else
        mcp_answer(mcp, id, json_pack("{s:[o]}", "resources", guide_row()));
}

void mcp_resource_templates(struct sc_mcp *mcp, const json_t *id, const json_t *params)
{
    (void)params;
    mcp_answer(mcp, id,
               json_pack("{s:[{s:s, s:s, s:s}]}", "resourceTemplates", "uriTemplate", "snapcell://{+path}",
                         "name", "file", "description",
                         "A file of the session by its absolute path, such as /home/user/data.csv."));
}

static void read_it(struct mcp_work *work, const json_t *ok, const json_t *error)
{
    const char *path = mcp_text(work->arguments, "path");
    if (!ok && !strcmp(mcp_text(error, "kind"), "file"))
        mcp_work_fail(work, MCP_NO_RESOURCE, mcp_text(error, "message"));
    else if (!ok)
        mcp_work_fail(work, MCP_INTERNAL, mcp_text(error, "message"));
    else if (work->out.len > RESOURCE_MAX)
        mcp_work_fail(work, MCP_INTERNAL, "the file has more than 5 MiB: read_file reads parts of it");
    else
        mcp_work_answer(
            work, json_pack("{s:[o]}", "contents",
                            mcp_resource(path, work->out.data ? (char *)work->out.data : "", work->out.len)));
}

static void read_file(struct mcp_work *work)
{
    mcp_work_ask(work,
                 json_pack("{s:s, s:O, s:i}", "request", "file.read", "path",
                           json_object_get(work->arguments, "path"), "length", RESOURCE_MAX + 1),
                 NULL, 0, read_it);
}

void mcp_resources_read(struct sc_mcp *mcp, const json_t *id, const json_t *params)
{
    const char *uri = mcp_text(params, "uri");
    char *path = mcp_path_of(uri), *guide = NULL;
    json_t *arguments = path ? json_pack("{s:s}", "path", path) : NULL;
    if (!strcmp(uri, MCP_URI_GUIDE)) {
        guide = mcp_guide(mcp, NULL);
        mcp_answer(mcp, id,
                   json_pack("{s:[{s:s, s:s, s:s}]}", "contents", "uri", uri, "mimeType", "text/markdown",
                             "text", guide));
    } else if (!arguments || !*mcp->session) {
        mcp_fail(mcp, id, MCP_NO_RESOURCE, "%.200s: there is no such resource", uri);
    } else {
        mcp_work_start(mcp, id, params, arguments, false, read_file);
    }
    json_decref(arguments);
    free(guide);
    free(path);
}
