/* A tool's result: content for models and people, and structured content beside it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "gate/mcp/parts.h"

#define IMAGES_MAX (6u << 20) /* base64 of all images of one result: clients read some 10 MiB a message */

json_t *mcp_bytes(const void *data, size_t len)
{
    struct sc_buf text;
    json_t *value = NULL;
    if (len == 0)
        return json_string("");
    if (sc_utf8_valid(data, len))
        return json_stringn(data, len);
    sc_buf_init(&text, SIZE_MAX / 2);
    if (sc_utf8_replace(&text, data, len) == 0)
        value = json_stringn((char *)text.data, text.len);
    sc_buf_fini(&text);
    return value;
}

void mcp_add_text(struct mcp_work *work, const char *text, size_t len)
{
    json_array_append_new(work->content,
                          json_pack("{s:s, s:o}", "type", "text", "text", mcp_bytes(text, len)));
}

void mcp_add_image(struct mcp_work *work, const char *mime, const char *base64)
{
    size_t i, sum = strlen(base64);
    json_t *item;
    json_array_foreach(work->content, i, item) sum += json_string_length(json_object_get(item, "data"));
    if (sum > IMAGES_MAX)
        mcp_add_text(work, "[an image was left out: it is too large for one answer]",
                     strlen("[an image was left out: it is too large for one answer]"));
    else
        json_array_append_new(
            work->content, json_pack("{s:s, s:s, s:s}", "type", "image", "mimeType", mime, "data", base64));
}

static json_t *base64_of(const void *data, size_t len)
{
    struct sc_buf text;
    json_t *value = NULL;
    sc_buf_init(&text, SIZE_MAX / 2);
    if (len == 0)
        value = json_string("");
    else if (sc_b64_encode(&text, data, len) == 0)
        value = json_stringn((char *)text.data, text.len);
    sc_buf_fini(&text);
    return value;
}

json_t *mcp_resource(const char *path, const void *data, size_t len)
{
    bool is_text = sc_utf8_valid(data, len) && (len == 0 || !memchr(data, 0, len));
    char *uri = mcp_uri_of(path);
    json_t *resource = json_pack("{s:s, s:s}", "uri", uri ? uri : "", "mimeType", mcp_mime_of(path, is_text));
    json_object_set_new(resource, is_text ? "text" : "blob",
                        is_text ? mcp_bytes(data, len) : base64_of(data, len));
    free(uri);
    return resource;
}

void mcp_add_file(struct mcp_work *work, const char *path, const void *data, size_t len)
{
    json_array_append_new(work->content, json_pack("{s:s, s:o}", "type", "resource", "resource",
                                                   mcp_resource(path, data, len)));
}

/* Older clients have no links: the text names the files for them. */
void mcp_add_link(struct mcp_work *work, const char *path, json_int_t size)
{
    char *uri = work->mcp->revision >= MCP_2025_06 ? mcp_uri_of(path) : NULL;
    if (uri)
        json_array_append_new(work->content,
                              json_pack("{s:s, s:s, s:s, s:s, s:I}", "type", "resource_link", "uri", uri,
                                        "name", path, "mimeType", mcp_mime_of(path, false), "size", size));
    free(uri);
}

void mcp_tool_done(struct mcp_work *work, bool is_error)
{
    json_t *result = json_pack("{s:O, s:b}", "content", work->content, "isError", (int)is_error);
    if (work->mcp->revision >= MCP_2025_06 && json_object_size(work->structured) > 0)
        json_object_set(result, "structuredContent", work->structured);
    mcp_work_answer(work, result);
}

void mcp_tool_failed(struct mcp_work *work, const char *message, const char *hint)
{
    struct sc_buf text;
    sc_buf_init(&text, 64 * 1024);
    sc_buf_printf(&text, "%s%s%s", message, *hint ? "\n" : "", hint);
    json_array_clear(work->content);
    mcp_add_text(work, text.data ? (char *)text.data : "", text.len);
    sc_buf_fini(&text);
    /* No structured content: it would have to be of the tool's own form. */
    json_object_clear(work->structured);
    mcp_tool_done(work, true);
}

void mcp_tool_refused(struct mcp_work *work, const json_t *error)
{
    static const struct {
        const char *code, *hint;
    } hints[] = {
        {"ENOENT",
         "There is no such file: list_files tells what there is. Relative paths are below /home/user."},
        {"EISDIR", "It is a folder: list_files tells what is in it."},
        {"ENOTDIR", "A part of the path is a file, not a folder."},
        {"EACCES", "Only /home/user, /tmp and /dev/shm can be written."},
        {"EROFS", "Only /home/user, /tmp and /dev/shm can be written."},
        {"ENOSPC", "The file system is full: remove what is not needed."},
        {"ENAMETOOLONG", "A name has at most 255 bytes."},
    };
    const char *code = mcp_text(error, "code"), *hint = "";
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
        if (!strcmp(hints[i].code, code))
            hint = hints[i].hint;
    mcp_tool_failed(work, mcp_text(error, "message"), hint);
}
