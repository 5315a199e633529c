/* read_file, write_file, list_files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "gate/mcp/parts.h"

#define READ_STANDARD (256 << 10)
#define ENTRIES_TOLD 1000

static json_t *argument(const struct mcp_work *work, const char *name)
{
    return json_object_get(work->arguments, name);
}

/* ---- writing ---- */

/* The file that is being put, while its folder is made. One at a time in a work. */
static const json_t *file_of(const struct mcp_work *work)
{
    const json_t *files = argument(work, "files");
    return files ? json_array_get(files, work->at) : work->arguments;
}

static void write_it(struct mcp_work *work, const json_t *ok, const json_t *error)
{
    const json_t *file = file_of(work);
    bool append = json_is_true(json_object_get(file, "append"));
    const json_t *text = json_object_get(file, "content");
    const char *base64 = mcp_text(file, "content_b64");
    struct sc_buf bytes;
    (void)ok;
    if (error) {
        work->put(work, NULL, error);
        return;
    }
    json_t *request = json_pack("{s:s, s:O}", "request", append ? "file.append" : "file.write", "path",
                                json_object_get(file, "path"));
    if (json_is_true(json_object_get(file, "executable")))
        json_object_set_new(request, "mode", json_string("0755"));
    sc_buf_init(&bytes, SC_MCP_MESSAGE_MAX);
    if (text || sc_b64_decode(&bytes, base64, strlen(base64)) == 0) {
        const void *data = text ? json_string_value(text) : bytes.data ? (char *)bytes.data : "";
        mcp_work_ask(work, request, data, text ? json_string_length(text) : bytes.len, work->put);
    } else {
        json_decref(request);
        mcp_tool_failed(work, "content_b64: is no base64",
                        "Allowed is RFC 4648 with padding, without line breaks.");
    }
    sc_buf_fini(&bytes);
}

void mcp_put_file(struct mcp_work *work, const json_t *file, mcp_next *next)
{
    const char *path = mcp_text(file, "path"), *slash = strrchr(path, '/');
    work->put = next;
    if (!json_object_get(file, "content") == !json_object_get(file, "content_b64")) {
        mcp_tool_failed(work, "content: exactly one of content and content_b64 must be given", "");
        return;
    }
    if (!slash || slash == path) {
        write_it(work, NULL, NULL);
        return;
    }
    mcp_work_ask(work,
                 json_pack("{s:s, s:s%, s:b}", "request", "file.mkdir", "path", path, (size_t)(slash - path),
                           "parents", 1),
                 NULL, 0, write_it);
}

static void tell_written(struct mcp_work *work)
{
    mcp_tool_done(work, false);
}

static void wrote(struct mcp_work *work, const json_t *ok, const json_t *error)
{
    char line[400], shown[300];
    const char *path = mcp_text(work->arguments, "path");
    if (!ok) {
        mcp_tool_refused(work, error);
        return;
    }
    snprintf(line, sizeof line, "%s was written.", sc_text_show(shown, sizeof shown, path, strlen(path)));
    mcp_add_text(work, line, strlen(line));
    json_object_set_new(work->structured, "path", json_string(path));
    json_object_set(work->structured, "bytes", json_object_get(ok, "bytes"));
    mcp_notify(work->mcp, "notifications/resources/list_changed", NULL, work->id);
    work->then = tell_written;
    mcp_look_at_watched(work);
}

void mcp_tool_write_file(struct mcp_work *work)
{
    mcp_put_file(work, work->arguments, wrote);
}

/* ---- reading ---- */

static json_int_t length_wanted(const struct mcp_work *work)
{
    json_t *length = argument(work, "length");
    return length ? (json_int_t)json_number_value(length) : READ_STANDARD;
}

static bool is_picture(const char *mime)
{
    return !strcmp(mime, "image/png") || !strcmp(mime, "image/jpeg") || !strcmp(mime, "image/gif") ||
           !strcmp(mime, "image/webp");
}

static void tell_bytes(struct mcp_work *work, const char *path, const char *data, size_t len, bool more)
{
    bool is_text = sc_utf8_valid(data, len) && !memchr(data, 0, len);
    const char *mime = mcp_mime_of(path, is_text);
    json_t *resource = mcp_resource(path, data, len);
    const char *blob = mcp_text(resource, "blob");
    bool is_whole = !more && !argument(work, "offset");
    char note[200];
    if (is_text)
        mcp_add_text(work, data, len);
    else if (is_picture(mime) && is_whole)
        mcp_add_image(work, mime, blob);
    else if (!strncmp(mime, "audio/", 6) && is_whole && work->mcp->revision >= MCP_2025_03)
        json_array_append_new(work->content,
                              json_pack("{s:s, s:s, s:s}", "type", "audio", "mimeType", mime, "data", blob));
    else
        json_array_append_new(work->content,
                              json_pack("{s:s, s:O}", "type", "resource", "resource", resource));
    if (more) {
        snprintf(note, sizeof note, "[there is more: go on with offset %lld]",
                 (long long)json_number_value(argument(work, "offset")) + (long long)len);
        mcp_add_text(work, note, strlen(note));
    }
    json_object_set_new(work->structured, "path", json_string(path));
    json_object_set_new(work->structured, "mime_type", json_string(mime));
    json_object_set_new(work->structured, is_text ? "text" : "base64",
                        is_text ? mcp_bytes(data, len) : json_string(blob));
    json_object_set_new(work->structured, "more", json_boolean(more));
    json_decref(resource);
}

/* A cut in the middle of a character would make the whole look like no text. */
static size_t whole_characters(const char *data, size_t len)
{
    for (size_t cut = 0; cut < 4 && cut < len; cut++)
        if (sc_utf8_valid(data, len - cut))
            return len - cut;
    return len;
}

static void read_it(struct mcp_work *work, const json_t *ok, const json_t *error)
{
    size_t wanted = (size_t)length_wanted(work), len = work->out.len;
    bool more = len > wanted;
    if (!ok) {
        mcp_tool_refused(work, error);
        return;
    }
    const char *data = work->out.data ? (char *)work->out.data : "";
    if (more)
        len = whole_characters(data, wanted);
    tell_bytes(work, mcp_text(work->arguments, "path"), data, len, more);
    mcp_tool_done(work, false);
}

void mcp_tool_read_file(struct mcp_work *work)
{
    json_t *request = json_pack("{s:s, s:O, s:I}", "request", "file.read", "path", argument(work, "path"),
                                "length", length_wanted(work) + 1);
    json_t *offset = argument(work, "offset");
    if (offset)
        json_object_set_new(request, "offset", json_integer((json_int_t)json_number_value(offset)));
    mcp_work_ask(work, request, NULL, 0, read_it);
}

/* ---- listing ---- */

static void listed(struct mcp_work *work, const json_t *ok, const json_t *error)
{
    struct sc_buf text;
    json_t *entry, *entries;
    size_t i, n = json_array_size(work->entries);
    if (!ok) {
        mcp_tool_refused(work, error);
        return;
    }
    sc_buf_init(&text, 1 << 20);
    entries = json_array();
    json_array_foreach(work->entries, i, entry)
    {
        if (i == ENTRIES_TOLD)
            break;
        bool is_folder = !strcmp(mcp_text(entry, "type"), "folder");
        sc_buf_printf(&text, "%s%s  %lld\n", mcp_text(entry, "name"), is_folder ? "/" : "",
                      (long long)json_integer_value(json_object_get(entry, "size")));
        json_array_append_new(entries, json_pack("{s:O*, s:O*, s:O*}", "name", json_object_get(entry, "name"),
                                                 "type", json_object_get(entry, "type"), "size",
                                                 json_object_get(entry, "size")));
    }
    if (n > ENTRIES_TOLD)
        sc_buf_printf(&text, "[and %zu more]\n", n - ENTRIES_TOLD);
    if (n == 0)
        sc_buf_add_str(&text, "(empty)");
    mcp_add_text(work, (char *)text.data, text.len);
    sc_buf_fini(&text);
    json_object_set_new(work->structured, "entries", entries);
    json_object_set_new(work->structured, "left_out",
                        json_integer((json_int_t)(n > ENTRIES_TOLD ? n - ENTRIES_TOLD : 0)));
    mcp_tool_done(work, false);
}

void mcp_tool_list_files(struct mcp_work *work)
{
    const char *path = mcp_text(work->arguments, "path");
    mcp_work_ask(work, json_pack("{s:s, s:s}", "request", "file.list", "path", *path ? path : "."), NULL, 0,
                 listed);
}
