/* Subscriptions to resources. What a client watches is looked at behind each call that may have changed it: a
 * run, a command, a file that was written. A program that changes a file by itself later is noticed then. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gate/mcp/parts.h"

#define WATCHED_MAX 64 /* of one client; each is looked at by a request of its own */

/* ---- what a file is like ---- */

/* Of the reply to file.stat; "": there is no such file. */
static json_t *stamp_of(const struct mcp_work *work, const json_t *ok)
{
    char stamp[64] = "";
    const json_t *entry = json_array_get(work->entries, 0);
    if (ok && entry)
        snprintf(stamp, sizeof stamp, "%lld %lld",
                 (long long)json_integer_value(json_object_get(entry, "size")),
                 (long long)json_integer_value(json_object_get(entry, "mtime_ns")));
    return json_string(stamp);
}

static void ask_stamp(struct mcp_work *work, const char *path, mcp_next *next)
{
    mcp_work_ask(work, json_pack("{s:s, s:s}", "request", "file.stat", "path", path), NULL, 0, next);
}

static void tell(struct sc_mcp *mcp, const char *uri)
{
    mcp_notify(mcp, "notifications/resources/updated", json_pack("{s:s}", "uri", uri), NULL);
}

/* ---- looking ---- */

static void look_at_next(struct mcp_work *work);

static void looked(struct mcp_work *work, const json_t *ok, const json_t *error)
{
    struct sc_mcp *mcp = work->mcp;
    const char *uri = json_string_value(json_array_get(work->uris, work->uri_at++));
    const json_t *before = json_object_get(mcp->watched, uri);
    json_t *now = stamp_of(work, ok);
    (void)error; /* of whatever kind: it cannot be read just now */
    if (before && now && !json_equal(before, now)) {
        json_object_set(mcp->watched, uri, now);
        tell(mcp, uri);
    }
    json_decref(now);
    look_at_next(work);
}

static void look_at_next(struct mcp_work *work)
{
    const char *uri;
    while ((uri = json_string_value(json_array_get(work->uris, work->uri_at)))) {
        char *path = mcp_path_of(uri);
        if (path) {
            ask_stamp(work, path, looked);
            free(path);
            return;
        }
        work->uri_at++; /* the guide, which stays as it is */
    }
    work->then(work);
}

void mcp_look_at_watched(struct mcp_work *work)
{
    const char *uri;
    json_t *stamp;
    json_decref(work->uris);
    work->uris = json_array();
    work->uri_at = 0;
    json_object_foreach(work->mcp->watched, uri, stamp) json_array_append_new(work->uris, json_string(uri));
    look_at_next(work);
}

void mcp_watched_are_gone(struct sc_mcp *mcp)
{
    const char *uri;
    json_t *stamp;
    json_object_foreach(mcp->watched, uri, stamp)
    {
        if (json_string_length(stamp) == 0)
            continue;
        json_string_set(stamp, "");
        tell(mcp, uri);
    }
}

/* ---- subscribing ---- */

static void took_stamp(struct mcp_work *work, const json_t *ok, const json_t *error)
{
    struct sc_mcp *mcp = work->mcp;
    const char *uri = mcp_text(work->arguments, "uri");
    (void)error;
    if (json_object_get(mcp->watched, uri)) /* still */
        json_object_set_new(mcp->watched, uri, stamp_of(work, ok));
    mcp_work_answer(work, json_object());
}

static void take_stamp(struct mcp_work *work)
{
    ask_stamp(work, mcp_text(work->arguments, "path"), took_stamp);
}

/* A file that is not there yet can be waited for. */
void mcp_subscribe(struct sc_mcp *mcp, const json_t *id, const json_t *params)
{
    const char *uri = mcp_text(params, "uri");
    char *path = mcp_path_of(uri);
    bool is_known = json_object_get(mcp->watched, uri) != NULL;
    if (!path && strcmp(uri, MCP_URI_GUIDE) != 0) {
        mcp_fail(mcp, id, MCP_NO_RESOURCE, "%.200s: there is no such resource", uri);
    } else if (!is_known && json_object_size(mcp->watched) >= WATCHED_MAX) {
        mcp_fail(mcp, id, MCP_INVALID_REQUEST, "there are %d subscriptions: that is the most", WATCHED_MAX);
    } else {
        if (!is_known)
            json_object_set_new(mcp->watched, uri, json_string(""));
        json_t *arguments = path ? json_pack("{s:s, s:s}", "uri", uri, "path", path) : NULL;
        if (arguments && *mcp->session)
            mcp_work_start(mcp, id, params, arguments, false, take_stamp);
        else
            mcp_answer(mcp, id, json_object());
        json_decref(arguments);
    }
    free(path);
}

void mcp_unsubscribe(struct sc_mcp *mcp, const json_t *id, const json_t *params)
{
    json_object_del(mcp->watched, mcp_text(params, "uri"));
    mcp_answer(mcp, id, json_object());
}
