/* Sessions: files, through the agent, with the cell's own rights. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "api/parts.h"
#include "base/json.h"
#include "base/text.h"
#include "snap/session_wait.h"

/* Of a listing: about half a million names. */
#define LISTING_MAX (64u << 20)

struct operation {
    struct snapcell_session *session;
    uint16_t id;
    const char *input; /* what is left to write */
    size_t input_len;
    struct sc_buf output;
    bool is_full; /* more came than was asked for */
    bool done;
    int code;
};

/* Memory is bounded by what the caller takes: what is more is dropped, and told. */
static void on_output(void *userdata, enum sc_stream_number stream, const void *data, size_t len)
{
    struct operation *op = userdata;
    if (!op->is_full && sc_buf_add(&op->output, data, len) < 0)
        op->is_full = true;
    sc_live_took(sc_session_live(op->session->session), op->id, stream, len);
    sc_session_touch(op->session->session);
}

static void push(struct operation *op)
{
    struct sc_live *live = sc_session_live(op->session->session);
    while (op->input_len > 0) {
        ssize_t n = sc_live_write(live, op->id, SC_STREAM_IN, op->input, op->input_len);
        if (n <= 0)
            return;
        op->input += n;
        op->input_len -= (size_t)n;
    }
    sc_live_close_input(live, op->id);
}

static void on_room(void *userdata, enum sc_stream_number stream)
{
    struct operation *op = userdata;
    (void)stream;
    sc_session_touch(op->session->session);
    push(op);
}

static void on_done(void *userdata, const struct sc_msg_file_done *done)
{
    struct operation *op = userdata;
    op->code = done->code;
    op->done = true;
}

static void on_failed(void *userdata, const struct sc_msg_failed *failed)
{
    struct operation *op = userdata;
    op->code = failed->code;
    op->done = true;
}

static int refused(const char *path, int code, struct sc_err *err)
{
    sc_err_usage(err, "path", "%.400s: %s", path, strerror(-code));
    if (err)
        err->code = code;
    return code;
}

/* The whole operation; op->output is the caller's, also when it fails. */
static int perform(struct operation *op, const struct sc_file_op *file, struct sc_err *err)
{
    static const struct sc_live_op_events events = {
        .output = on_output, .room = on_room, .done = on_done, .failed = on_failed};
    struct snapcell_session *session = op->session;
    struct sc_live *live = sc_session_live(session->session);
    bool writes = file->kind == SC_FILE_WRITE;
    int r = sc_api_session_look(session, err);
    if (r == 0)
        r = sc_live_file(live, file, &events, op, &op->id, err);
    if (r < 0)
        return r;
    sc_session_touch(session->session);
    if (writes)
        push(op);
    r = sc_api_session_wait(session, NULL, 0, &op->done, err);
    if (r == 0)
        sc_session_touch(session->session);
    return r < 0 ? r : op->code < 0 ? refused(file->path, op->code, err) : 0;
}

/* One without bytes in or out. */
static int simple(struct snapcell_session *session, const struct sc_file_op *file,
                  struct snapcell_error *error)
{
    struct operation op = {.session = session};
    return perform(&op, file, sc_api_error(error));
}

int snapcell_session_mkdir(struct snapcell_session *session, const char *path, struct snapcell_error *error)
{
    const struct sc_file_op file = {.kind = SC_FILE_MKDIR, .path = path, .flags = SC_FILE_PARENTS};
    return simple(session, &file, error);
}

int snapcell_session_rename(struct snapcell_session *session, const char *path, const char *to,
                            struct snapcell_error *error)
{
    const struct sc_file_op file = {.kind = SC_FILE_RENAME, .path = path, .to = to};
    return simple(session, &file, error);
}

int snapcell_session_remove(struct snapcell_session *session, const char *path, int recursive,
                            struct snapcell_error *error)
{
    const struct sc_file_op file = {
        .kind = SC_FILE_REMOVE, .path = path, .flags = recursive ? SC_FILE_RECURSIVE : 0};
    return simple(session, &file, error);
}

int snapcell_session_write_file(struct snapcell_session *session, const char *path, const void *data,
                                size_t len, unsigned mode, struct snapcell_error *error)
{
    const struct sc_file_op file = {.kind = SC_FILE_WRITE, .path = path, .mode = mode};
    struct operation op = {.session = session, .input = data, .input_len = len};
    return perform(&op, &file, sc_api_error(error));
}

int snapcell_session_read_file(struct snapcell_session *session, const char *path, size_t max,
                               char **ret_data, size_t *ret_len, struct snapcell_error *error)
{
    struct sc_err *err = sc_api_error(error);
    const struct sc_file_op file = {.kind = SC_FILE_READ, .path = path};
    struct operation op = {.session = session};
    sc_buf_init(&op.output, max);
    int r = perform(&op, &file, err);
    if (r == 0 && op.is_full)
        r = sc_err_set(err, SC_ERR_USAGE, -EFBIG, "%.400s: has more than the %zu bytes asked for", path, max);
    char *data = r == 0 ? sc_buf_steal(&op.output, ret_len) : NULL;
    sc_buf_fini(&op.output);
    if (r == 0 && !data)
        return sc_api_no_memory(err);
    if (r == 0)
        *ret_data = data;
    return r;
}

/* ---- listing ---- */

static const char *type_of(uint32_t mode)
{
    return S_ISREG(mode) ? "file" : S_ISDIR(mode) ? "folder" : S_ISLNK(mode) ? "link" : "other";
}

static int set_bytes(json_t *object, const char *key, const char *key_b64, const uint8_t *data, size_t len)
{
    struct sc_buf text;
    int r = 0;
    sc_buf_init(&text, SIZE_MAX / 2);
    if (!sc_utf8_valid(data, len)) {
        r = sc_b64_encode(&text, data, len);
        if (r == 0)
            r = json_object_set_new(object, key_b64, json_stringn((char *)text.data, text.len));
        text.len = 0;
    }
    if (r == 0)
        r = sc_utf8_replace(&text, data, len);
    if (r == 0)
        r = json_object_set_new(object, key, json_stringn(text.data ? (char *)text.data : "", text.len));
    sc_buf_fini(&text);
    return r;
}

/* One entry at *at, which goes on to the next. 0, -EPROTO: it is not whole, -ENOMEM. */
static int take_entry(json_t *list, const uint8_t **at, const uint8_t *end)
{
    struct sc_entry entry;
    if ((size_t)(end - *at) < sizeof entry)
        return -EPROTO;
    memcpy(&entry, *at, sizeof entry);
    *at += sizeof entry;
    if ((size_t)(end - *at) < (size_t)entry.name_len + entry.target_len)
        return -EPROTO;
    json_t *object =
        json_pack("{s:s, s:I, s:i, s:I}", "type", type_of(entry.mode), "size", (json_int_t)entry.size, "mode",
                  (int)(entry.mode & 07777), "modified_ms", (json_int_t)(entry.mtime_ns / 1000000));
    int r = object ? set_bytes(object, "name", "name_b64", *at, entry.name_len) : -ENOMEM;
    *at += entry.name_len;
    if (r == 0 && entry.target_len)
        r = set_bytes(object, "target", "target_b64", *at, entry.target_len);
    *at += entry.target_len;
    if (r == 0)
        return json_array_append_new(list, object) < 0 ? -ENOMEM : 0;
    json_decref(object);
    return -ENOMEM;
}

static int listing(const struct sc_buf *bytes, char **ret_json)
{
    const uint8_t *at = bytes->data, *end = at + bytes->len;
    json_t *list = json_array();
    int r = list ? 0 : -ENOMEM;
    while (r == 0 && at < end)
        r = take_entry(list, &at, end);
    char *text = r == 0 ? sc_json_dump(list, JSON_INDENT(2)) : NULL;
    json_decref(list);
    if (r == 0 && !text)
        return -ENOMEM;
    if (r == 0)
        *ret_json = text;
    return r;
}

int snapcell_session_list(struct snapcell_session *session, const char *path, char **ret_json,
                          struct snapcell_error *error)
{
    struct sc_err *err = sc_api_error(error);
    const struct sc_file_op file = {.kind = SC_FILE_LIST, .path = path};
    struct operation op = {.session = session};
    sc_buf_init(&op.output, LISTING_MAX);
    int r = perform(&op, &file, err);
    if (r == 0 && op.is_full)
        r = sc_err_set(err, SC_ERR_USAGE, -EFBIG, "%.400s: has too many entries to list", path);
    else if (r == 0) {
        r = listing(&op.output, ret_json);
        if (r < 0)
            sc_err_sys(err, r, "the listing of %.400s", path);
    }
    sc_buf_fini(&op.output);
    return r;
}
