/* JSON objects in the making. Bytes that may be of a program's making are written as valid UTF-8: as they
 * are, else with U+FFFD, and the exact bytes beside them where the object has a place for them. NUL bytes are
 * text: JSON writes them as \u0000. */
#ifndef SC_RESULT_WRITER_H
#define SC_RESULT_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"

/* jansson answers NULL with an error, so one flag tells of every failure. */
struct sc_writer {
    json_t *object;
    bool failed;
};

struct sc_writer sc_writer_begin(void);
/* Takes `value`; NULL is a failure. */
void sc_writer_put(struct sc_writer *w, const char *key, json_t *value);
/* Take a finished part into an object, or into an array of it. */
void sc_writer_put_part(struct sc_writer *w, const char *key, struct sc_writer *part);
void sc_writer_append_part(struct sc_writer *w, json_t *array, struct sc_writer *part);
/* `key_b64` (or NULL) is written only where the bytes were not UTF-8. */
void sc_writer_put_bytes(struct sc_writer *w, const char *key, const char *key_b64, const void *data,
                         size_t len);
void sc_writer_put_text(struct sc_writer *w, const char *key, const char *text); /* NULL: null */
void sc_writer_put_bool(struct sc_writer *w, const char *key, bool value);
void sc_writer_put_count(struct sc_writer *w, const char *key, uint64_t value);
/* For figures that are never 0 where the kernel tells them: null then. */
void sc_writer_put_known(struct sc_writer *w, const char *key, uint64_t value);
void sc_writer_put_ms(struct sc_writer *w, const char *key, uint64_t ns);
/* "signal" and "signal_name"; null both where there is none. */
void sc_writer_put_signal(struct sc_writer *w, int number);

#endif
