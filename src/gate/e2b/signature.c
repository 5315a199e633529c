#include "gate/e2b/signature.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/sha256.h"
#include "base/text.h"

static void add(struct sc_sha256 *sum, const char *text)
{
    sc_sha256_add(sum, text, strlen(text));
}

void signature_make(const char *path, const char *operation, const char *user, const char *token,
                    const char *expiration, char ret_text[SIGNATURE_MAX])
{
    const char *const parts[] = {path, operation, user, token, expiration};
    char hex[SC_SHA256_TEXT];
    uint8_t bytes[32];
    struct sc_sha256 sum;
    struct sc_buf text;
    sc_sha256_init(&sum);
    for (size_t i = 0; i < 5 && parts[i]; i++) {
        if (i > 0)
            add(&sum, ":");
        add(&sum, parts[i]);
    }
    sc_sha256_text(&sum, hex);
    for (size_t i = 0; i < sizeof bytes; i++) {
        const char digits[3] = {hex[2 * i], hex[2 * i + 1], '\0'};
        bytes[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
    sc_buf_init(&text, 64);
    *ret_text = '\0';
    if (sc_b64_encode(&text, bytes, sizeof bytes) == 0)
        snprintf(ret_text, SIGNATURE_MAX, "v1_%.*s", (int)strcspn((char *)text.data, "="), (char *)text.data);
    sc_buf_fini(&text);
}
