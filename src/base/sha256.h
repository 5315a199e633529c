/* SHA-256 (FIPS 180-4): names what was built after what it was built from. */
#ifndef SC_BASE_SHA256_H
#define SC_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define SC_SHA256_TEXT 65 /* hexadecimal, with its NUL */

struct sc_sha256 {
    uint32_t state[8];
    uint64_t bytes;
    uint8_t block[64];
};

void sc_sha256_init(struct sc_sha256 *sum);
void sc_sha256_add(struct sc_sha256 *sum, const void *data, size_t len);
/* Ends it; then only sc_sha256_init may follow. */
void sc_sha256_text(struct sc_sha256 *sum, char ret_text[SC_SHA256_TEXT]);

#endif
