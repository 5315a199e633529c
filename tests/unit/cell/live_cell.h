/* Real living cells for the tests of src/cell/live*.c. */
#ifndef TEST_CELL_LIVE_CELL_H
#define TEST_CELL_LIVE_CELL_H

#include "fixture.h"

#include "base/buf.h"
#include "cell/live.h"

struct living {
    struct sc_spec spec;
    struct sc_plan *plan;
    struct sc_works *works;
    struct sc_live *live;
    struct living *above; /* of a child cell: it is stepped along */
    struct sc_err err;
    uint64_t begun_ns;
    unsigned ended, memory, denials;
    enum sc_status why;
    char message[256];
    struct sc_denial denial; /* the last */
};

/* One operation and all it says. Output is taken as it comes, unless `hold` is set. */
struct operation {
    struct living *cell;
    uint16_t id;
    struct sc_buf out; /* stdout, the terminal, or the file */
    struct sc_buf err;
    bool hold;
    bool count_only; /* large outputs: only how much came */
    uint64_t came;
    const char *input; /* written as there is room, then the input is closed */
    size_t input_len, input_done;
    bool started, exited, is_over, failed;
    struct sc_command_end end;
    struct sc_msg_failed why;
    struct sc_msg_file_done done;
    unsigned memory_before_exit; /* out_of_memory that were told before `exited` */
};

/* Options as pairs ended by NULL. */
void begin_living(struct living *cell, ...) __attribute__((sentinel));
void end_living(struct living *cell);
/* The same of a session whose programs can be forked; a cell below it, closed before it. */
void begin_forkable(struct living *cell);
void begin_forkable_with(struct living *cell, const char *option, const char *value);
void begin_below(struct living *cell, struct living *above, bool forkable);
/* The same where it may fail: a negative errno, and nothing was made. */
int try_below(struct living *cell, struct living *above, bool forkable);
void end_below(struct living *cell);
/* Waits for the next thing and does it; fails after 30 s of one test, and when the cell has ended. */
void step_once(struct living *cell);
/* Steps until *flag. */
void step_until(struct living *cell, const bool *flag);
void step_until_ended(struct living *cell);

/* Starts it; `op` need not be initialized but for `hold`, `count_only`, `input`. */
void give(struct living *cell, struct operation *op, const struct sc_command *command);
void give_file_op(struct living *cell, struct operation *op, const struct sc_file_op *order);
/* Forks the program of `program` into `cell`. */
void give_fork(struct living *cell, struct operation *op, const struct operation *program,
               const struct sc_command *like);
/* `sh -c script`, to its very end; what it wrote to stdout is op->out. */
void shell(struct living *cell, struct operation *op, const char *script);
void give_shell(struct living *cell, struct operation *op, const char *script, uint32_t flags);
/* A file operation to its end; its code. */
int file_op(struct living *cell, struct operation *op, const struct sc_file_op *order);
void forget(struct operation *op);
void assert_exit(const struct operation *op, int code);

#endif
