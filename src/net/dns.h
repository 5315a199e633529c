/* DNS queries and answers as bytes. What comes in is a stranger's. */
#ifndef SC_NET_DNS_H
#define SC_NET_DNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spec/network.h"

#define SC_DNS_MESSAGE_MAX 512
enum { SC_DNS_A = 1, SC_DNS_AAAA = 28 };
enum sc_dns_code {
    SC_DNS_OK = 0,
    SC_DNS_FORMERR = 1,
    SC_DNS_SERVFAIL = 2,
    SC_DNS_NXDOMAIN = 3,
    SC_DNS_NOTIMP = 4,
    SC_DNS_REFUSED = 5
};

struct sc_dns_query {
    uint16_t id, flags, type, class;
    size_t question_len;            /* bytes of the question as they came, behind the header */
    char name[SC_NET_NAME_MAX + 1]; /* as asked: dots between labels, no dot at the end */
    bool strange;                   /* a label holds a dot or a NUL: the name cannot be written as text */
};

/* 0; -EINVAL: nothing that could be answered (too short, an answer itself); a positive code of DNS to answer
 * with otherwise: FORMERR, NOTIMP. */
int sc_dns_parse(const uint8_t *message, size_t len, struct sc_dns_query *ret_query);
/* The answer to `query`, whose bytes are `message`, into ret_answer (SC_DNS_MESSAGE_MAX bytes). `addr`: one
 * record, or NULL. Length. */
size_t sc_dns_answer(const struct sc_dns_query *query, const uint8_t *message, enum sc_dns_code code,
                     const struct sc_addr *addr, uint32_t ttl, uint8_t *ret_answer);

#endif
