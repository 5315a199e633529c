/* libFuzzer target: any bytes in any pieces as what a runner says. What gets through must be what the rest of
 * the supervisor relies on. The first byte chooses the size of the pieces; a byte 0 in the stream begins a
 * run. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "snap/runner.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ID "0123456789abcdef"

static struct sc_runner_reader reader;
static unsigned readies;

static void hold(bool is_so)
{
    if (!is_so)
        abort();
}

static void check_forms(const json_t *forms)
{
    hold(json_is_object(forms) && json_object_get(forms, "text/plain") &&
         json_is_string(json_object_get(forms, "text/plain")));
}

static void on_ready(void *userdata)
{
    (void)userdata;
    hold(++readies == 1);
}

static void on_display(void *userdata, json_t *forms)
{
    (void)userdata;
    check_forms(forms);
    hold(readies == 1);
}

static void on_result(void *userdata, const struct sc_runner_result *result)
{
    (void)userdata;
    const char *name;
    json_t *text;
    hold(readies == 1 && !reader.in_run && result->exit_code >= 0 && result->exit_code <= 255);
    hold(result->status <= SC_RUNNER_EXIT && json_is_object(result->locals));
    json_object_foreach(result->locals, name, text) hold(json_is_string(text));
    if (result->value)
        check_forms(result->value);
    if (result->error) {
        hold(json_object_size(result->error) == 4 && json_is_string(json_object_get(result->error, "name")) &&
             json_is_string(json_object_get(result->error, "message")) &&
             json_is_string(json_object_get(result->error, "traceback")));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct sc_runner_events events = {on_ready, on_display, on_result};
    if (size < 1)
        return 0;
    size_t piece = data[0] ? data[0] : SIZE_MAX;
    int r = 0;
    readies = 0;
    sc_runner_init(&reader);
    for (size_t at = 1; at < size && r == 0;) {
        const uint8_t *mark = memchr(data + at, 0, size - at);
        size_t n = mark ? (size_t)(mark - data) - at : size - at;
        if (n == 0) {
            if (reader.is_ready && !reader.in_run)
                sc_runner_begin(&reader, ID);
            at++;
            continue;
        }
        n = n < piece ? n : piece;
        r = sc_runner_read(&reader, data + at, n, &events, NULL);
        hold(r == 0 || r == -EPROTO);
        hold((r == 0) != reader.is_broken && (r == 0 || reader.trouble[0]));
        at += n;
    }
    if (r < 0) /* for good */
        hold(sc_runner_read(&reader, "\n", 1, &events, NULL) == -EPROTO);
    sc_runner_fini(&reader);
    return 0;
}
