/* What keeper and client say to each other on the keeper's socket. docs/keeper.md tells the same in words.
 * Frames are those of base/frame.h; `channel` is the number of a request, chosen by the client, 0 for the
 * connection itself. Little-endian, as both ends run on one machine. */
#ifndef SC_KEEPER_WIRE_H
#define SC_KEEPER_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/frame.h"

#define SC_KEEPER_VERSION 1
#define SC_KEEPER_MAGIC 0x50434e53u /* "SNCP" */

/* A session's time without requests and its total time. */
#define SC_KEEPER_TIME_MS_MIN 1000
#define SC_KEEPER_COPIES_MAX 64
#define SC_KEEPER_IDLE_MS_MAX (24 * 3600 * 1000.0)
#define SC_KEEPER_TOTAL_MS_MAX (7 * 24 * 3600 * 1000.0)

enum sc_keeper_message {
    /* client → keeper */
    SC_KEEPER_HELLO = 1,  /* struct sc_keeper_hello; first, once */
    SC_KEEPER_REQUEST,    /* struct sc_keeper_text_head + first piece of a JSON object: opens the channel */
    SC_KEEPER_MORE,       /* next piece of it; no other REQUEST may come before the last */
    SC_KEEPER_DATA,       /* bytes for the request's input, within the credit */
    SC_KEEPER_DATA_END,   /* the input is at its end */
    SC_KEEPER_CANCEL,     /* ends what the request started; its REPLY still comes */
    SC_KEEPER_RESIZE,     /* struct sc_keeper_size: of the request's terminal */
    SC_KEEPER_HELLO_GATE, /* as HELLO, of a gate */
    /* keeper → client */
    SC_KEEPER_WELCOME = 64, /* struct sc_keeper_hello; answers HELLO */
    SC_KEEPER_OUTPUT,       /* struct sc_keeper_output_head + bytes */
    SC_KEEPER_CREDIT,       /* uint32_t: so many more bytes of input are taken */
    SC_KEEPER_REPLY,        /* struct sc_keeper_text_head + first piece of a JSON object */
    SC_KEEPER_REPLY_MORE,   /* next piece; with the last one the channel is free */
};

struct sc_keeper_hello {
    uint32_t magic, version;
};
struct sc_keeper_text_head {
    uint32_t total; /* bytes of the whole text */
    uint32_t pad;
};
struct sc_keeper_size {
    uint16_t rows, cols;
};

enum sc_keeper_stream {
    SC_KEEPER_STDOUT = 1, /* also of a terminal, and the bytes of a file */
    SC_KEEPER_STDERR = 2,
    SC_KEEPER_DISPLAYS = 3, /* a JSON value a line */
    SC_KEEPER_EVENTS = 4,   /* a JSON object a line: what has started, entries of a folder, changes */
};
struct sc_keeper_output_head {
    uint32_t stream; /* enum sc_keeper_stream */
    uint32_t pad;
};

/* Maxima. */
#define SC_KEEPER_REQUEST_MAX (64u * 1024 * 1024)
#define SC_KEEPER_REPLY_MAX (256u * 1024 * 1024)
#define SC_KEEPER_INPUT_WINDOW (256u * 1024) /* a request's input starts with this much credit */
#define SC_KEEPER_CALLS_MAX 64               /* requests of one client at once */
#define SC_KEEPER_GATE_CALLS_MAX 1024        /* of one connection of a gate */
/* Output of a command or a file waits inside the cell while so much waits for the client … */
#define SC_KEEPER_QUEUE_ROOM (1024u * 1024)
/* … and a client for which so much waits all the same (results) is cut off. */
#define SC_KEEPER_QUEUE_MAX (320u * 1024 * 1024)

/* ---- what may come when ---- */

enum sc_keeper_state {
    SC_KEEPER_NEW = 1 << 0,   /* connected */
    SC_KEEPER_READY = 1 << 1, /* HELLO was fine */
    SC_KEEPER_TEXT = 1 << 2,  /* a request's text has begun and is not whole */
};
/* Where a connection comes from; bits. Never told by what it says itself. */
enum sc_keeper_kind {
    SC_KEEPER_CLIENT = 1 << 0, /* through the keeper's socket */
    SC_KEEPER_GATE = 1 << 1,   /* through the door */
};
/* Of a message to the keeper. 0, or -EPROTO: not in this state, not from this kind of connection, not of this
 * size, or not on this channel. */
int sc_keeper_message_ok(const struct sc_frame *frame, enum sc_keeper_state state, enum sc_keeper_kind kind);

/* ---- the door: what a gate says beside its connections; docs/keeper.md, "Gates" ---- */

enum sc_keeper_door_what {
    SC_KEEPER_DOOR_CONNECT = 1, /* with one descriptor: from now on a connection of kind gate */
    SC_KEEPER_DOOR_PEER, /* with one descriptor: a client's socket; its peer's uid is kept under `nonce` */
};
#define SC_KEEPER_NONCE 16
struct sc_keeper_door_message {
    uint32_t what;
    uint8_t nonce[SC_KEEPER_NONCE];
};

/* ---- texts in pieces ---- */

struct sc_keeper_text {
    bool open;
    uint16_t channel;
    size_t total;
    struct sc_buf buf;
};
/* 1: whole; 0: more is to come; -EPROTO: not such a piece, -EMSGSIZE: the whole is larger than `max`,
 * -ENOMEM. */
int sc_keeper_text_first(struct sc_keeper_text *text, uint16_t channel, const void *payload, size_t len,
                         size_t max);
int sc_keeper_text_more(struct sc_keeper_text *text, uint16_t channel, const void *payload, size_t len);
void sc_keeper_text_fini(struct sc_keeper_text *text);

/* Calls `send` with the frames of a text. Its first negative answer is returned. */
typedef int sc_keeper_send(void *userdata, uint16_t type, uint16_t channel, const void *head, size_t head_len,
                           const void *piece, size_t piece_len);
int sc_keeper_text_send(sc_keeper_send *send, void *userdata, uint16_t first, uint16_t more, uint16_t channel,
                        const char *text, size_t len);

#endif
