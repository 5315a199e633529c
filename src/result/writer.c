#include "result/writer.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/num.h"
#include "base/text.h"

struct sc_writer sc_writer_begin(void)
{
    return (struct sc_writer){.object = json_object()};
}

void sc_writer_put(struct sc_writer *w, const char *key, json_t *value)
{
    if (json_object_set_new_nocheck(w->object, key, value) < 0)
        w->failed = true;
}

void sc_writer_put_part(struct sc_writer *w, const char *key, struct sc_writer *part)
{
    w->failed = w->failed || part->failed;
    sc_writer_put(w, key, part->object);
}

void sc_writer_append_part(struct sc_writer *w, json_t *array, struct sc_writer *part)
{
    w->failed = w->failed || part->failed;
    if (json_array_append_new(array, part->object) < 0)
        w->failed = true;
}

/* Bytes as JSON text; NULL when memory ran out. */
static json_t *text_value(const void *data, size_t len, bool *ret_exact)
{
    *ret_exact = sc_utf8_valid(data, len);
    if (*ret_exact)
        return json_stringn_nocheck(len ? data : "", len);
    struct sc_buf buf;
    sc_buf_init(&buf, SIZE_MAX / 2);
    json_t *value =
        sc_utf8_replace(&buf, data, len) < 0 ? NULL : json_stringn_nocheck((const char *)buf.data, buf.len);
    sc_buf_fini(&buf);
    return value;
}

static void put_b64(struct sc_writer *w, const char *key, const void *data, size_t len)
{
    struct sc_buf buf;
    sc_buf_init(&buf, SIZE_MAX / 2);
    if (sc_b64_encode(&buf, data, len) < 0)
        w->failed = true;
    else
        sc_writer_put(w, key, json_stringn_nocheck((const char *)buf.data, buf.len));
    sc_buf_fini(&buf);
}

void sc_writer_put_bytes(struct sc_writer *w, const char *key, const char *key_b64, const void *data,
                         size_t len)
{
    bool exact;
    sc_writer_put(w, key, text_value(data, len, &exact));
    if (!exact && key_b64)
        put_b64(w, key_b64, data, len);
}

void sc_writer_put_text(struct sc_writer *w, const char *key, const char *text)
{
    if (text)
        sc_writer_put_bytes(w, key, NULL, text, strlen(text));
    else
        sc_writer_put(w, key, json_null());
}

void sc_writer_put_bool(struct sc_writer *w, const char *key, bool value)
{
    sc_writer_put(w, key, json_boolean(value));
}

void sc_writer_put_count(struct sc_writer *w, const char *key, uint64_t value)
{
    sc_writer_put(w, key, json_integer((json_int_t)sc_min_u64(value, INT64_MAX)));
}

void sc_writer_put_known(struct sc_writer *w, const char *key, uint64_t value)
{
    if (value)
        sc_writer_put_count(w, key, value);
    else
        sc_writer_put(w, key, json_null());
}

void sc_writer_put_ms(struct sc_writer *w, const char *key, uint64_t ns)
{
    sc_writer_put(w, key, json_real((double)ns / (double)SC_NS_PER_MS));
}

void sc_writer_put_signal(struct sc_writer *w, int number)
{
    char name[32];
    if (number <= 0) {
        sc_writer_put(w, "signal", json_null());
        sc_writer_put(w, "signal_name", json_null());
        return;
    }
    const char *abbreviation = sigabbrev_np(number);
    if (abbreviation)
        snprintf(name, sizeof name, "SIG%s", abbreviation);
    else if (number == SIGRTMIN)
        snprintf(name, sizeof name, "SIGRTMIN");
    else if (number > SIGRTMIN && number <= SIGRTMAX)
        snprintf(name, sizeof name, "SIGRTMIN+%d", number - SIGRTMIN);
    else
        snprintf(name, sizeof name, "SIG%d", number);
    sc_writer_put(w, "signal", json_integer(number));
    sc_writer_put(w, "signal_name", json_string(name));
}
