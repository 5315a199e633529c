#include "base/json.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* Bytes between two marks of JSON: no number and no white space is as long that was not made to hold us up.
 */
#define BARE_MAX 4096

struct source {
    const char *at, *end;
    bool failed;
};

/* One byte at a time: what jansson does with a byte is over when it asks for the next one. An allocation that
 * failed meanwhile still stands in errno then; a little later the conversion of a number would have cleared
 * it. */
static size_t next_byte(void *buffer, size_t size, void *data)
{
    struct source *source = data;
    if (errno == ENOMEM)
        source->failed = true;
    if (source->failed || source->at == source->end || size == 0)
        return 0;
    *(char *)buffer = *source->at++;
    return 1;
}

size_t sc_json_count(const char *text, size_t len)
{
    size_t n = 1, bare = 0;
    bool in_text = false;
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        if (in_text && c == '\\') {
            i++;
        } else if (c == '"') {
            in_text = !in_text;
            bare = 0;
        } else if (!in_text) {
            bool ends = c == ',' || c == '[' || c == '{' || c == ':';
            n += ends && c != ':';
            bare = ends ? 0 : bare + 1;
            if (bare > BARE_MAX)
                return SIZE_MAX;
        }
    }
    return n;
}

int sc_json_load(const char *text, size_t len, size_t flags, json_t **ret_value, json_error_t *ret_error)
{
    struct source source = {text, text + len, false};
    errno = 0;
    json_t *value = json_load_callback(next_byte, &source, flags, ret_error);
    if (errno == ENOMEM)
        source.failed = true;
    if (value && !source.failed) {
        *ret_value = value;
        return 0;
    }
    json_decref(value);
    return source.failed ? -ENOMEM : -EINVAL;
}

struct sink {
    struct sc_buf buf;
    bool failed;
};

/* jansson does not always stop when told to: the failure is kept here. */
static int add_text(const char *text, size_t len, void *data)
{
    struct sink *sink = data;
    if (!sink->failed && sc_buf_add(&sink->buf, text, len) < 0)
        sink->failed = true;
    return sink->failed ? -1 : 0;
}

char *sc_json_dump(const json_t *value, size_t flags)
{
    struct sink sink = {.failed = false};
    sc_buf_init(&sink.buf, SIZE_MAX / 2);
    char *text = NULL;
    if (value && json_dump_callback(value, add_text, &sink, flags) == 0 && !sink.failed)
        text = sc_buf_steal(&sink.buf, NULL);
    sc_buf_fini(&sink.buf);
    return text;
}
