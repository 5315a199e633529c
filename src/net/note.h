/* What the egress process and its owner say to each other, whole messages on a SOCK_SEQPACKET pair. The owner
 * takes what it hears as from a stranger. */
#ifndef SC_NET_NOTE_H
#define SC_NET_NOTE_H

#include <stdint.h>

#include "net/table.h"

/* Descriptors the egress process is started with. */
#define SC_NET_SLOT_CONTROL 3
#define SC_NET_SLOT_CONFIG 4 /* the rules as JSON, in sealed memory */
#define SC_NET_SLOT_ROOTS                                                                                    \
    5 /* whom upstreams are trusted by, as PEM in sealed memory; /dev/null without TLS */
#define SC_NET_SLOT_FIRST 6 /* enum sc_net_fd from here on */
#define SC_NET_SLOT_END (SC_NET_SLOT_FIRST + SC_NET_FD_COUNT)
/* Its only argument when the host has no Landlock and that was accepted. */
#define SC_NET_NO_LANDLOCK "no-landlock"

#define SC_NET_CONFIG_MAX (512 * 1024)

/* Before READY, and after CHANGE, the credentials come, in the order in which their rules stand, outermost
 * layer first: the owner's messages of this byte and then the value. They are in no file. */
#define SC_NET_SECRET_HEAD 0x53

/* To the egress process. */
enum sc_net_order {
    SC_NET_ORDER_REPORT = 1, /* all records, then DONE */
    SC_NET_ORDER_CHANGE, /* other rules, by the descriptor that comes along, then their credentials; then DONE
                          */
};

/* From it. */
enum sc_net_note_kind {
    SC_NET_NOTE_READY = 1, /* sealed, and serves */
    SC_NET_NOTE_FAILED,    /* it ends: `reason`, errno in `count` */
    SC_NET_NOTE_DENIED,    /* a refusal of a kind that was not there before */
    SC_NET_NOTE_RECORD,    /* of a report */
    SC_NET_NOTE_AUTHORITY, /* struct sc_net_authority, before READY, where requests over TLS are looked into
                            */
    SC_NET_NOTE_DONE,      /* `count`: refusals that no record has, as there were too many kinds */
};

enum sc_net_what { SC_NET_WHAT_NAME = 1, SC_NET_WHAT_CONNECT, SC_NET_WHAT_PACKET };

/* One kind of decision: all that is equal but the counts. */
struct sc_net_note {
    uint8_t kind;
    uint8_t what;
    uint8_t allow;
    uint8_t protocol; /* IPPROTO_* of a packet */
    uint16_t port;    /* 0: none */
    uint16_t unused;
    uint64_t count, bytes_out, bytes_in;
    char name[SC_NET_NAME_MAX + 3];
    char address[46];
    char rule[82];
    char reason[96];
};

#define SC_NET_AUTHORITY_MAX 2048
/* The certificate of the cell's own authority, in PEM with an end. */
struct sc_net_authority {
    uint8_t kind;
    char pem[SC_NET_AUTHORITY_MAX];
};

#endif
