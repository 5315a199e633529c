/* The checker: a program of its own that reads untrusted source. It runs in a cell (snap/checker.c), speaks
 * over stdin and stdout, and may crash: nobody else is hurt.
 *
 *   request   length of the header, length of the source (two 32-bit numbers, little-endian), header, source
 *   reply     length (32 bits), JSON
 *
 * Requests are answered one after another. The header and the reply are told in check.h.
 */
#include <endian.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "check/check.h"
#include "check/pool.h"

#define KEPT_BYTES (32 * 1024 * 1024)

static bool reply(const json_t *report)
{
    char *text = sc_json_dump(report, JSON_COMPACT);
    if (!text)
        return false;
    size_t len = strlen(text);
    const uint32_t size = htole32((uint32_t)len);
    bool good =
        sc_write_all(STDOUT_FILENO, &size, sizeof size) == 0 && sc_write_all(STDOUT_FILENO, text, len) == 0;
    free(text);
    return good;
}

static bool serve_one(uint32_t header_len, uint32_t source_len)
{
    char *bytes = sc_check_realloc(NULL, (size_t)header_len + source_len + 1, 1);
    json_t *header = NULL, *report = NULL;
    json_error_t error;
    bool good = sc_read_all(STDIN_FILENO, bytes, (size_t)header_len + source_len) == 0 &&
                sc_json_load(bytes, header_len, 0, &header, &error) == 0;
    if (good) {
        report = sc_check_source(header, bytes + header_len, source_len);
        good = report && reply(report);
    }
    json_decref(report);
    json_decref(header);
    free(bytes);
    return good;
}

int main(void)
{
    uint32_t sizes[2];
    /* Keeps what one reading needed for the next one: giving pages back and faulting them in again would take
     * longer than the reading. */
    mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
    mallopt(M_MMAP_THRESHOLD, KEPT_BYTES);
    mallopt(M_TOP_PAD, 1024 * 1024);
    while (sc_read_all(STDIN_FILENO, sizes, sizeof sizes) == 0) {
        uint32_t header_len = le32toh(sizes[0]), source_len = le32toh(sizes[1]);
        if (header_len > SC_CHECK_HEADER_MAX || source_len > SC_CHECK_SOURCE_MAX ||
            !serve_one(header_len, source_len))
            return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
