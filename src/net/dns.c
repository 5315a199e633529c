#include "net/dns.h"

#include <errno.h>
#include <string.h>

#define HEADER 12
#define LABEL_MAX 63
#define WIRE_NAME_MAX 255
#define FLAG_ANSWER 0x8000
#define FLAG_RECURSION_DESIRED 0x0100
#define FLAG_RECURSION_AVAILABLE 0x0080
#define OPCODE 0x7800

static uint16_t get16(const uint8_t *at)
{
    return (uint16_t)(at[0] << 8 | at[1]);
}

static void put16(uint8_t *at, unsigned value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

/* Labels to text. Returns the bytes they took, or 0. */
static size_t read_name(const uint8_t *at, size_t len, struct sc_dns_query *query)
{
    size_t used = 0, out = 0;
    while (used < len && at[used]) {
        size_t label = at[used];
        if (label > LABEL_MAX || used + 1 + label >= len || used + label + 2 > WIRE_NAME_MAX)
            return 0; /* pointers have no place in a question */
        if (out)
            query->name[out++] = '.';
        if (memchr(at + used + 1, '.', label) || memchr(at + used + 1, 0, label))
            query->strange = true;
        memcpy(query->name + out, at + used + 1, label);
        out += label;
        used += 1 + label;
    }
    query->name[out] = '\0';
    return used < len ? used + 1 : 0;
}

int sc_dns_parse(const uint8_t *message, size_t len, struct sc_dns_query *ret_query)
{
    struct sc_dns_query query = {0};
    if (len < HEADER || len > SC_DNS_MESSAGE_MAX)
        return -EINVAL;
    query.id = get16(message);
    query.flags = get16(message + 2);
    if (query.flags & FLAG_ANSWER)
        return -EINVAL;
    *ret_query = query;
    if (query.flags & OPCODE)
        return SC_DNS_NOTIMP;
    if (get16(message + 4) != 1)
        return SC_DNS_FORMERR;
    size_t name = read_name(message + HEADER, len - HEADER, &query);
    if (!name || HEADER + name + 4 > len)
        return SC_DNS_FORMERR;
    query.type = get16(message + HEADER + name);
    query.class = get16(message + HEADER + name + 2);
    query.question_len = name + 4;
    *ret_query = query;
    return 0;
}

static size_t put_record(const struct sc_addr *addr, uint32_t ttl, uint8_t *at)
{
    size_t len = addr->v6 ? 16 : 4;
    put16(at, 0xc000 | HEADER); /* the question's name */
    put16(at + 2, addr->v6 ? SC_DNS_AAAA : SC_DNS_A);
    put16(at + 4, 1);
    put16(at + 6, ttl >> 16);
    put16(at + 8, ttl & 0xffff);
    put16(at + 10, (unsigned)len);
    memcpy(at + 12, addr->bytes, len);
    return 12 + len;
}

size_t sc_dns_answer(const struct sc_dns_query *query, const uint8_t *message, enum sc_dns_code code,
                     const struct sc_addr *addr, uint32_t ttl, uint8_t *ret_answer)
{
    size_t len = HEADER;
    memset(ret_answer, 0, HEADER);
    put16(ret_answer, query->id);
    put16(ret_answer + 2, FLAG_ANSWER | FLAG_RECURSION_AVAILABLE |
                              (query->flags & (FLAG_RECURSION_DESIRED | OPCODE)) | (unsigned)code);
    if (query->question_len) {
        put16(ret_answer + 4, 1);
        memcpy(ret_answer + len, message + HEADER, query->question_len);
        len += query->question_len;
    }
    if (addr) {
        put16(ret_answer + 6, 1);
        len += put_record(addr, ttl, ret_answer + len);
    }
    return len;
}
