#include "keeper/reply.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/text.h"

static int put_encoded(json_t *object, const char *name, const char *suffix,
                       int (*encode)(struct sc_buf *, const void *, size_t), const void *data, size_t len)
{
    char key[64];
    struct sc_buf text;
    snprintf(key, sizeof key, "%s%s", name, suffix);
    sc_buf_init(&text, 8 * len + 16);
    int r = encode(&text, data, len);
    if (r == 0)
        r = json_object_set_new(object, key, json_stringn(text.data ? (char *)text.data : "", text.len));
    sc_buf_fini(&text);
    return r < 0 ? -ENOMEM : 0;
}

int sc_keeper_put_bytes(json_t *object, const char *name, const void *data, size_t len)
{
    int r = put_encoded(object, name, "", sc_utf8_replace, data, len);
    if (r == 0 && !sc_utf8_valid(data, len))
        r = put_encoded(object, name, "_b64", sc_b64_encode, data, len);
    return r;
}

char *sc_keeper_reply_ok(const char *text)
{
    struct sc_buf reply;
    if (!text)
        return NULL;
    sc_buf_init(&reply, strlen(text) + 16);
    int r = sc_buf_add_str(&reply, "{\"ok\":");
    if (r == 0)
        r = sc_buf_add_str(&reply, text);
    if (r == 0)
        r = sc_buf_add_str(&reply, "}");
    char *whole = r == 0 ? sc_buf_steal(&reply, NULL) : NULL;
    sc_buf_fini(&reply);
    return whole;
}

char *sc_keeper_reply_value(json_t *value)
{
    char *text = sc_json_dump(value, JSON_COMPACT);
    char *reply = sc_keeper_reply_ok(text);
    json_decref(value);
    free(text);
    return reply;
}

/* Takes the reference of `error`. */
static char *wrap_error(json_t *error)
{
    json_t *reply = json_pack("{s:o}", "error", error);
    char *text = sc_json_dump(reply, JSON_COMPACT);
    json_decref(reply);
    return text;
}

char *sc_keeper_reply_error(const char *kind, const char *field, const char *message)
{
    char shown[2 * SC_ERR_MESSAGE_MAX];
    sc_text_show(shown, sizeof shown, message, strlen(message));
    return wrap_error(json_pack("{s:s, s:s, s:s}", "kind", kind, "field", field, "message", shown));
}

char *sc_keeper_reply_later(const char *kind, const char *message, uint64_t retry_ms)
{
    return wrap_error(json_pack("{s:s, s:s, s:s, s:I}", "kind", kind, "field", "", "message", message,
                                "retry_after_ms", (json_int_t)retry_ms));
}

char *sc_keeper_reply_err(const struct sc_err *err)
{
    static const char *const kinds[] = {
        [SC_ERR_NONE] = "sandbox",
        [SC_ERR_USAGE] = "usage",
        [SC_ERR_HOST] = "host",
        [SC_ERR_SANDBOX] = "sandbox",
    };
    return sc_keeper_reply_error(kinds[err->kind], err->field, err->message);
}

char *sc_keeper_reply_refusal(const struct sc_err *err)
{
    static const struct {
        int code;
        const char *kind;
    } rows[] = {{-EBUSY, "busy"}, {-EOPNOTSUPP, "not_forkable"}, {-ENOENT, "not_found"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows && err->kind == SC_ERR_USAGE; i++)
        if (err->code == rows[i].code)
            return sc_keeper_reply_error(rows[i].kind, err->field, err->message);
    return sc_keeper_reply_err(err);
}

char *sc_keeper_reply_file_error(int code, const char *object)
{
    char shown[400], message[600];
    if (code >= 0 || code < -4095)
        code = -EIO; /* no errno is said, so none is passed on */
    const char *name = strerrorname_np(-code);
    sc_text_show(shown, sizeof shown, object, strlen(object));
    snprintf(message, sizeof message, "%s%s%s", shown, *shown ? ": " : "", strerror(-code));
    return wrap_error(json_pack("{s:s, s:s, s:s, s:s}", "kind", "file", "code", name ? name : "EIO", "field",
                                "path", "message", message));
}
