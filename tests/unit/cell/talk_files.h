/* File operations over a talk with the agent: asked on channel 1, one at a time. */
#ifndef TEST_CELL_TALK_FILES_H
#define TEST_CELL_TALK_FILES_H

#include "talk.h"

/* What came of the last one. */
struct answer {
    struct sc_msg_file_done done;
    char out[1 << 16];
    size_t len;
    uint64_t credit; /* given back */
    bool is_done;
};

extern struct answer answer;

#define OP(kind_, ...) ((struct sc_msg_file_op){.kind = kind_, ##__VA_ARGS__})

/* A path below the work folder, seen from here. Two live at a time. */
const char *here(const struct talk *t, const char *path);
void put_file(const struct talk *t, const char *path, const char *text);
void expect_file(const struct talk *t, const char *path, const char *text);
/* Names in the work folder. */
unsigned count_names(const struct talk *t);

/* Sends the order; `to` is RENAME's. */
void ask(struct talk *t, struct sc_msg_file_op order, const char *path, const char *to);
/* Takes one frame into `answer`; its type. */
int follow(struct talk *t);
/* Until it is done; its code. */
int finish(struct talk *t);
/* Asks, gives all input within the credit, finishes. */
int with_input(struct talk *t, struct sc_msg_file_op order, const char *path, const void *data, size_t len);
/* Asks without anything more, finishes. */
int plain(struct talk *t, uint32_t kind, const char *path);

#endif
