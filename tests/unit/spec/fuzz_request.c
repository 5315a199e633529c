/* libFuzzer target: any bytes as a request. Built with clang on demand (`ninja
 * tests/unit/spec/fuzz_request`), not part of the tests. What is taken must print, read back as the same
 * spec, and pass or fail the check without touching anything. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "spec/spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sc_spec spec, back;
    struct sc_err err = {0};
    sc_spec_init(&spec);
    int r = sc_spec_from_json(&spec, (const char *)data, size, &err);
    if (r < 0) {
        if (err.kind == SC_ERR_NONE || !*err.message || strchr(err.message, '\n'))
            abort();
        sc_spec_fini(&spec);
        return 0;
    }
    char *text = sc_spec_to_json(&spec);
    sc_spec_init(&back);
    if (!text || sc_spec_from_json(&back, text, strlen(text), &err) < 0)
        abort();
    char *again = sc_spec_to_json(&back);
    if (!again || strcmp(text, again) != 0)
        abort();
    if (sc_spec_check(&spec, 8ull << 30, &err) == 0 && sc_spec_check(&spec, 8ull << 30, &err) < 0)
        abort();
    free(text);
    free(again);
    sc_spec_fini(&spec);
    sc_spec_fini(&back);
    return 0;
}
