/* libFuzzer target: what a client of a service reads, and what a batch's line is. The first byte picks: an
 * answer by HTTP, given whole and in pieces, which must come to the same; or a line. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "cli/http_parts.h"
#include "spec/job_line.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BODY_MAX (1 << 20)

static int keep(void *userdata, const void *data, size_t len)
{
    return sc_buf_add(userdata, data, len);
}

/* In pieces of `step` bytes. What came of it. */
static int read_answer(const uint8_t *data, size_t size, size_t step, struct sc_buf *body,
                       unsigned *ret_status)
{
    struct http_answer answer;
    int r = 0;
    http_answer_init(&answer, keep, body);
    for (size_t at = 0; at < size && r == 0 && !answer.ended; at += step) {
        size_t len = size - at < step ? size - at : step;
        char *copy = malloc(len); /* of its own, so that a byte too far is seen */
        memcpy(copy, data + at, len);
        r = http_answer_add(&answer, copy, len);
        free(copy);
    }
    if (r == 0 && answer.ended)
        r = 1;
    *ret_status = r < 0 ? 0 : answer.status;
    if (answer.status > 999)
        abort();
    http_answer_fini(&answer);
    return r;
}

static void compare_answers(const uint8_t *data, size_t size, size_t step)
{
    struct sc_buf whole, pieces;
    unsigned status[2];
    sc_buf_init(&whole, BODY_MAX);
    sc_buf_init(&pieces, BODY_MAX);
    int r = read_answer(data, size, size ? size : 1, &whole, &status[0]);
    if (r != read_answer(data, size, step, &pieces, &status[1]) || status[0] != status[1])
        abort();
    if (r >= 0 && (whole.len != pieces.len || (whole.len && memcmp(whole.data, pieces.data, whole.len) != 0)))
        abort();
    sc_buf_fini(&whole);
    sc_buf_fini(&pieces);
}

static void read_line(const char *text, size_t len)
{
    struct sc_job_line line;
    struct sc_err err = {0};
    json_t *object = NULL;
    json_error_t where;
    if (sc_json_load(text, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &object, &where) < 0)
        return;
    int r = sc_job_line_read(object, &line, &err);
    if (r < 0 && (err.kind == SC_ERR_NONE || !*err.message || strchr(err.message, '\n') ||
                  !sc_utf8_valid(err.field, strlen(err.field))))
        abort();
    if (r == 0 && (!line.spec == !line.judge || strlen(line.hash) + 1 != sizeof line.hash))
        abort();
    json_decref(object);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    if (data[0] & 1)
        read_line((const char *)data + 1, size - 1);
    else
        compare_answers(data + 2, size - 2, (size_t)data[1] + 1);
    return 0;
}
