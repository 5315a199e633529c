/* A living cell whose agent is the test: it speaks on the other end of the stream, and a sleeping child
 * stands for process 1. What the caller of sc_live is told is recorded. */
#ifndef TEST_CELL_LIVE_STAGE_H
#define TEST_CELL_LIVE_STAGE_H

#include "fixture.h"

#include "base/frame.h"
#include "cell/live_parts.h"
#include "cell/run.h"

/* What was told of one operation. */
struct told {
    struct stage *stage;
    unsigned started, unread, exited, gone, failed, done, rooms[4];
    unsigned ends; /* gone, failed and done together */
    pid_t pid;
    size_t bytes[4]; /* by stream */
    char text[256];  /* the first bytes of all streams, as they came */
    size_t text_len;
    struct sc_command_end end;
    struct sc_msg_failed why;
    struct sc_msg_file_done result;
    void (*on_output)(struct told *told); /* when set, after it was recorded */
    void (*on_gone)(struct told *told);
};

struct stage {
    struct sc_works works;
    struct sc_plan plan;
    struct sc_spec spec;
    struct sc_host host;
    struct sc_err err;
    struct sc_live *live;
    int agent; /* its end of the stream */
    pid_t process_1;
    unsigned ended, open_at_end; /* operations without an end when `ended` came */
    unsigned memory;             /* out_of_memory */
    enum sc_status why;
    char message[256];
    struct told *watched[8]; /* for open_at_end */
    size_t n_watched;
};

extern const struct sc_live_op_events RECORD;

void open_stage(struct stage *stage);
void close_stage(struct stage *stage);
/* Steps while there is something to do. */
void pump(struct stage *stage);
/* Steps until `ended`, for at most 3 s. */
void pump_to_the_end(struct stage *stage);
void expect_end(struct stage *stage, enum sc_status why, const char *part);
void expect_broken(struct stage *stage);

/* The agent speaks. */
void say(struct stage *stage, uint16_t type, uint16_t channel, const void *payload, size_t len);
void say_raw_ready(struct stage *stage, uint32_t mask, const int *fds, size_t n);
void say_good_ready(struct stage *stage);
void say_started(struct stage *stage, uint16_t channel);
void say_exit(struct stage *stage, uint16_t channel, int status);
void say_credit(struct stage *stage, uint16_t channel, uint32_t stream, uint32_t bytes);
void say_done(struct stage *stage, uint16_t channel, int code);
/* The agent hears: one whole frame; `payload` has room for SC_FRAME_MAX bytes. */
struct sc_frame hear(struct stage *stage, void *payload);
/* It hears this, of this channel, and it is `len` long. */
void hear_only(struct stage *stage, uint16_t type, uint16_t channel, size_t len);

/* `true` as a command with these flags and this window; its id. COMMAND is left unheard. */
uint16_t give_command(struct stage *stage, struct told *told, uint32_t flags, uint32_t window);
/* Heard and started, too. */
uint16_t start_command(struct stage *stage, struct told *told, uint32_t flags, uint32_t window);
uint16_t give_file(struct stage *stage, struct told *told, enum sc_file_kind kind, uint32_t window);

#endif
