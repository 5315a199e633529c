#include "snap/blanks.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/num.h"

void sc_blanks_init(struct sc_blanks *blanks, uint64_t age_ns, uint64_t period_ns, int epoll)
{
    *blanks = (struct sc_blanks){.epoll = epoll, .age_ns = age_ns, .period_ns = period_ns};
}

static struct sc_session *pull(struct sc_blanks *blanks, unsigned at)
{
    struct sc_session *session = blanks->cells[at].session;
    (void)epoll_ctl(blanks->epoll, EPOLL_CTL_DEL, sc_session_fd(session), NULL);
    blanks->n--;
    memmove(&blanks->cells[at], &blanks->cells[at + 1], (blanks->n - at) * sizeof blanks->cells[0]);
    blanks->spare = sc_min_u64(blanks->spare, blanks->n);
    return session;
}

static void drop(struct sc_blanks *blanks, unsigned at)
{
    sc_session_close(pull(blanks, at));
}

void sc_blanks_drop(struct sc_blanks *blanks)
{
    while (blanks->n > 0)
        drop(blanks, blanks->n - 1);
}

void sc_blanks_begin(struct sc_blanks *blanks, uint64_t now)
{
    blanks->wanted = sc_max_u64(blanks->wanted, SC_BLANKS_LEAST);
    blanks->spare = 0;
    blanks->period_end_ns = now + blanks->period_ns;
}

/* ---- clocks ---- */

uint64_t sc_blanks_next_ns(const struct sc_blanks *blanks, uint64_t now)
{
    uint64_t next = blanks->wanted > SC_BLANKS_LEAST ? blanks->period_end_ns : UINT64_MAX;
    for (unsigned i = 0; i < blanks->n; i++) {
        const struct sc_blank *cell = &blanks->cells[i];
        next = sc_min_u64(next, sc_session_next_ns(cell->session));
        next = sc_min_u64(next, cell->since_ns + blanks->age_ns);
    }
    if (blanks->n < blanks->wanted && now < blanks->pause_end_ns)
        next = sc_min_u64(next, blanks->pause_end_ns);
    return next;
}

static void end_period(struct sc_blanks *blanks, uint64_t now)
{
    if (blanks->spare > 0 && blanks->wanted > SC_BLANKS_LEAST)
        blanks->wanted--;
    blanks->spare = blanks->n;
    blanks->period_end_ns = now + blanks->period_ns;
}

/* Takes what the cell has told. False: it is gone. */
static bool is_well(struct sc_blank *cell)
{
    struct sc_err err = {0};
    int sealed = sc_session_step(cell->session, &err);
    if (sealed == 0)
        sealed = sc_session_is_sealed(cell->session);
    cell->is_sealed = sealed == 1;
    return sealed >= 0;
}

void sc_blanks_step(struct sc_blanks *blanks, uint64_t now)
{
    for (unsigned i = blanks->n; i-- > 0;) {
        if (!is_well(&blanks->cells[i])) {
            sc_blanks_failed(blanks, now);
            drop(blanks, i);
        } else if (now >= blanks->cells[i].since_ns + blanks->age_ns) {
            drop(blanks, i);
        }
    }
    if (now >= blanks->period_end_ns)
        end_period(blanks, now);
    while (blanks->n > blanks->wanted)
        drop(blanks, 0);
}

/* ---- they come and go ---- */

bool sc_blanks_is_short(const struct sc_blanks *blanks, uint64_t now)
{
    for (unsigned i = 0; i < blanks->n; i++)
        if (!blanks->cells[i].is_sealed)
            return false;
    return blanks->n < blanks->wanted && now >= blanks->pause_end_ns;
}

int sc_blanks_add(struct sc_blanks *blanks, struct sc_session *session, struct sc_err *err)
{
    struct epoll_event event = {.events = EPOLLIN};
    int r = blanks->n < SC_BLANKS_MOST ? 0 : -ENOBUFS;
    if (r == 0 && epoll_ctl(blanks->epoll, EPOLL_CTL_ADD, sc_session_fd(session), &event) < 0)
        r = -errno;
    if (r < 0) {
        sc_session_close(session);
        return sc_err_sys(err, r, "blank cell");
    }
    blanks->cells[blanks->n++] = (struct sc_blank){.session = session, .since_ns = sc_now_ns()};
    return 0;
}

/* The next one may fare no better. */
void sc_blanks_failed(struct sc_blanks *blanks, uint64_t now)
{
    uint64_t longer = sc_max_u64(2 * blanks->pause_ns, SC_BLANKS_PAUSE_MIN_NS);
    blanks->pause_ns = sc_min_u64(longer, SC_BLANKS_PAUSE_MAX_NS);
    blanks->pause_end_ns = now + blanks->pause_ns;
}

struct sc_session *sc_blanks_take(struct sc_blanks *blanks)
{
    uint64_t now = sc_now_ns();
    for (unsigned i = 0; i < blanks->n;) {
        struct sc_blank *cell = &blanks->cells[i];
        bool is_there = is_well(cell) && now < cell->since_ns + blanks->age_ns;
        if (is_there && !cell->is_sealed) {
            i++;
        } else if (is_there && sc_session_is_blank(cell->session)) {
            blanks->pause_ns = 0;
            return pull(blanks, i);
        } else {
            drop(blanks, i);
        }
    }
    return NULL;
}

void sc_blanks_miss(struct sc_blanks *blanks)
{
    blanks->spare = 0;
    if (blanks->wanted < SC_BLANKS_MOST)
        blanks->wanted++;
}

void sc_blanks_give_up(struct sc_blanks *blanks)
{
    if (blanks->n > 0)
        drop(blanks, 0);
    if (blanks->wanted > 0)
        blanks->wanted--;
}
