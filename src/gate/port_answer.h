/* An HTTP/1 answer as its bytes come from a program in a cell: a stranger's. */
#ifndef SC_GATE_PORT_ANSWER_H
#define SC_GATE_PORT_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PORT_HEAD_MAX (64u * 1024)

enum port_state {
    PORT_HEAD,
    PORT_LENGTH, /* `left` bytes are the body */
    PORT_CHUNK_SIZE,
    PORT_CHUNK,
    PORT_CHUNK_END,
    PORT_TRAILER,
    PORT_TO_END, /* all that comes is the body */
    PORT_WHOLE,
};

struct port_answer {
    enum port_state state;
    bool without_body; /* whatever its head says: it answers HEAD */
    bool may_upgrade;  /* 101 is an answer: what follows is its body, to the end */
    unsigned status;   /* once its head is there */
    uint64_t left;
    size_t used; /* of `head`, or of a line's bytes so far */
    char head[PORT_HEAD_MAX];
};

struct port_events {
    /* Once: the head is there, and its fields can be asked for. */
    void (*head)(void *userdata);
    /* Bytes of the body, any number of times. */
    void (*body)(void *userdata, const uint8_t *data, size_t len);
};

void port_answer_init(struct port_answer *answer, bool without_body);
/* 1: it is whole; 0: more must come; -EPROTO: it is none, or cannot be told where it ends. */
int port_answer_take(struct port_answer *answer, const uint8_t *data, size_t len,
                     const struct port_events *events, void *userdata);
/* Nothing more comes: 0, or -EPROTO: it was cut short. */
int port_answer_end(const struct port_answer *answer);
/* One field of the head after another: *at is 0 first. False: that was the last. The texts are valid during
 * `head`. */
bool port_answer_field(const struct port_answer *answer, size_t *at, const char **ret_name,
                       const char **ret_value);

#endif
