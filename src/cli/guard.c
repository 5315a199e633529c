#include "cli/guard.h"

#include <string.h>

/* Length of the sequence that `byte` starts, or 0 when it starts none. */
static size_t sequence_length(uint8_t byte)
{
    if (byte < 0x80)
        return 1;
    if (byte >= 0xc2 && byte <= 0xdf)
        return 2;
    if (byte >= 0xe0 && byte <= 0xef)
        return 3;
    if (byte >= 0xf0 && byte <= 0xf4)
        return 4;
    return 0;
}

/* May `byte` stand at place `n` of the sequence that `held` starts? Overlong forms, surrogates and what lies
 * beyond U+10FFFF show in the second byte. */
static bool continues(const uint8_t *held, size_t n, uint8_t byte)
{
    uint8_t low = 0x80, high = 0xbf;
    if (n == 1 && held[0] == 0xe0)
        low = 0xa0;
    if (n == 1 && held[0] == 0xed)
        high = 0x9f;
    if (n == 1 && held[0] == 0xf0)
        low = 0x90;
    if (n == 1 && held[0] == 0xf4)
        high = 0x8f;
    return byte >= low && byte <= high;
}

static uint32_t decode(const uint8_t *bytes, size_t len)
{
    uint32_t point = len == 2 ? bytes[0] & 0x1f : len == 3 ? bytes[0] & 0x0f : bytes[0] & 0x07;
    for (size_t i = 1; i < len; i++)
        point = point << 6 | (bytes[i] & 0x3f);
    return point;
}

/* C1 controls, which terminals obey as they do ESC forms, and controls of direction, which show text in an
 * order other than its own. */
static bool is_control(uint32_t point)
{
    return (point >= 0x80 && point <= 0x9f) || point == 0x61c || (point >= 0x200e && point <= 0x200f) ||
           (point >= 0x2028 && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069);
}

static int show_bytes(const uint8_t *bytes, size_t len, struct sc_buf *out)
{
    int r = 0;
    for (size_t i = 0; i < len && r == 0; i++)
        r = sc_buf_printf(out, "\\x%02x", bytes[i]);
    return r;
}

static int show_ascii(struct sc_cli_guard *guard, uint8_t byte, struct sc_buf *out)
{
    bool after_cr = guard->after_cr;
    guard->after_cr = byte == '\r';
    if (byte == '\n' && after_cr)
        return 0;
    if (byte == '\r')
        return sc_buf_add(out, "\n", 1);
    if (byte == '\n' || byte == '\t' || (byte >= 0x20 && byte != 0x7f))
        return sc_buf_add(out, &byte, 1);
    return sc_buf_printf(out, "^%c", byte ^ 0x40);
}

static int show_sequence(struct sc_cli_guard *guard, struct sc_buf *out)
{
    uint32_t point = decode(guard->held, guard->wanted);
    if (is_control(point))
        return sc_buf_printf(out, "<U+%04X>", (unsigned)point);
    return sc_buf_add(out, guard->held, guard->wanted);
}

int sc_cli_guard_end(struct sc_cli_guard *guard, struct sc_buf *out)
{
    int r = show_bytes(guard->held, guard->n_held, out);
    guard->n_held = 0;
    return r;
}

static int add_byte(struct sc_cli_guard *guard, uint8_t byte, struct sc_buf *out)
{
    if (guard->n_held && !continues(guard->held, guard->n_held, byte)) {
        int r = sc_cli_guard_end(guard, out);
        if (r < 0)
            return r;
    }
    if (!guard->n_held) {
        guard->wanted = sequence_length(byte);
        if (guard->wanted == 1)
            return show_ascii(guard, byte, out);
        guard->after_cr = false;
        if (guard->wanted == 0)
            return show_bytes(&byte, 1, out);
    }
    guard->held[guard->n_held++] = byte;
    if (guard->n_held < guard->wanted)
        return 0;
    guard->n_held = 0;
    return show_sequence(guard, out);
}

int sc_cli_guard_add(struct sc_cli_guard *guard, const void *data, size_t len, struct sc_buf *out)
{
    const uint8_t *bytes = data;
    int r = 0;
    for (size_t i = 0; i < len && r == 0; i++)
        r = add_byte(guard, bytes[i], out);
    return r;
}
