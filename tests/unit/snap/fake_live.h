/* A living cell that is none: what the session asks of it is noted, and the test says what happens. */
#ifndef TEST_SNAP_FAKE_LIVE_H
#define TEST_SNAP_FAKE_LIVE_H

#include "cell/live.h"

#define FAKE_OPS_MAX 32
#define FAKE_SIGNALS_MAX 64

struct fake_op {
    char argv[512]; /* separated by spaces */
    uint32_t flags;
    const struct sc_live_op_events *events; /* NULL: over */
    void *userdata;
    char input[4096];
    size_t input_len;
    bool input_closed;
    int signals[8]; /* what was sent, in order, and to whom */
    enum sc_signal_whom whom[8];
    unsigned n_signals;
    size_t untaken; /* output that was not given back */
};

extern struct fake_cell {
    struct sc_live_events events;
    struct fake_op ops[FAKE_OPS_MAX];
    unsigned n_ops;
    size_t credit; /* one write takes no more; 0: all */
    bool is_dead, is_killed, is_closed;
    uint64_t cpu_ns;
    struct sc_live_view view;
    bool has_unread_kill; /* for memory: counted and told when somebody looks */
} fake;

void fake_reset(void);
/* As the agent would tell it. */
void fake_started(unsigned op);
void fake_says(unsigned op, enum sc_stream_number stream, const char *text);
void fake_exits(unsigned op, int wait_status);
void fake_gone(unsigned op);
void fake_fails(unsigned op, int code, const char *stage, const char *object);
/* The cell dies: its commands are told first. */
void fake_dies(enum sc_status why, const char *message);

#endif
