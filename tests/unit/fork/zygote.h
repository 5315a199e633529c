/* A process that serves fork orders, and the supervisor's side of it, for tests without cells. */
#ifndef TEST_FORK_ZYGOTE_H
#define TEST_FORK_ZYGOTE_H

#include <stdbool.h>
#include <sys/types.h>

#include "agent/fork_order.h"
#include "fork.h"

struct zygote {
    pid_t pid;
    int socket;
};

struct fork_parts {
    int report;          /* our end */
    int in, out, runner; /* our ends of the child's streams */
};

/* What runs in the zygote before it serves, and in each child after its birth. */
struct zygote_life {
    void (*warm)(void);
    const struct sc_fork_hooks *hooks;
    void (*child)(const struct sc_fork_birth *birth);
    bool take_one; /* by sc_fork_take */
};

struct zygote zygote_start(const struct zygote_life *life);
/* The order of a plain fork with streams and a runner's stream; ret_parts owns our ends. */
void zygote_order(const struct zygote *zygote, uint32_t id, uint32_t flags, struct fork_parts *ret_parts);
struct sc_fork_answer zygote_answer(const struct zygote *zygote);
/* The child's report with code 0, and "go". */
void zygote_let_go(const struct fork_parts *parts);
/* All that comes from `fd` until its end. */
void read_to_end(int fd, char *ret_text, size_t size);
void zygote_parts_close(struct fork_parts *parts);
/* Its exit status after its socket's end. */
int zygote_stop(struct zygote *zygote);

#endif
