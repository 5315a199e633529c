/* libFuzzer target: what a client sends to the keeper, as far as it is read before anything is done. The
 * first byte picks the reader: frames' table and texts in pieces, then the request; or listings and changes
 * from inside a cell. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "keeper/entries.h"
#include "keeper/request.h"
#include "keeper/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_request(const char *text, size_t len)
{
    struct sc_keeper_request request;
    struct sc_err err = {0};
    int r = sc_keeper_request_read(&request, text, len, &err);
    if (r < 0 && (err.kind == SC_ERR_NONE || !*err.message || strchr(err.message, '\n') ||
                  !sc_utf8_valid(err.field, strlen(err.field))))
        abort();
    if (r == 0 && (request.needs & SC_KEEPER_NEEDS_SESSION) && !sc_keeper_name_ok(request.session))
        abort();
    sc_keeper_request_fini(&request);
}

/* A row of: type, length (2 bytes), payload; all on channel 1. */
static void read_frames(const uint8_t *data, size_t size)
{
    struct sc_keeper_text text = {0};
    enum sc_keeper_state state = SC_KEEPER_READY;
    while (size >= 3) {
        size_t len = data[1] | (size_t)data[2] << 8;
        len = len < size - 3 ? len : size - 3;
        const struct sc_frame frame = {.len = (uint32_t)len, .type = data[0], .channel = 1};
        uint8_t *copy = malloc(len ? len : 1); /* of its own, so that a byte too far is seen */
        memcpy(copy, data + 3, len);
        data += 3 + len;
        size -= 3 + len;
        int r = sc_keeper_message_ok(&frame, state, SC_KEEPER_CLIENT);
        if (r == 0 && frame.type == SC_KEEPER_REQUEST)
            r = sc_keeper_text_first(&text, 1, copy, len, 100000);
        else if (r == 0 && frame.type == SC_KEEPER_MORE)
            r = sc_keeper_text_more(&text, 1, copy, len);
        else
            r = r < 0 ? r : 2;
        free(copy);
        if (r < 0)
            break;
        if (r == 0)
            state = SC_KEEPER_TEXT;
        if (r == 1) {
            if (text.buf.len != text.total)
                abort();
            read_request((char *)text.buf.data, text.buf.len);
            sc_keeper_text_fini(&text);
            state = SC_KEEPER_READY;
        }
    }
    sc_keeper_text_fini(&text);
}

/* Given in pieces, whose length the first byte says. Every line must be a line, and UTF-8. */
static void read_entries(enum sc_file_kind kind, const uint8_t *data, size_t size)
{
    static struct sc_keeper_entries entries;
    struct sc_buf out;
    entries.kind = kind;
    entries.used = 0;
    if (size == 0)
        return;
    size_t step = (size_t)data[0] + 1;
    sc_buf_init(&out, 1 << 20);
    for (size_t at = 1; at < size; at += step) {
        size_t len = size - at < step ? size - at : step;
        if (sc_keeper_entries_add(&entries, data + at, len, &out) < 0)
            break;
    }
    if (out.len && (!sc_utf8_valid(out.data, out.len) || out.data[0] != '{'))
        abort();
    sc_buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    switch (data[0] % 4) {
    case 0:
        read_request((const char *)data + 1, size - 1);
        break;
    case 1:
        read_frames(data + 1, size - 1);
        break;
    case 2:
        read_entries(SC_FILE_LIST, data + 1, size - 1);
        break;
    default:
        read_entries(SC_FILE_WATCH, data + 1, size - 1);
    }
    return 0;
}
