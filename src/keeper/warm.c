/* Shapes: what cells of single runs are made from, kept for the next requests of the same kind, each with its
 * pool of parked cells. One user's requests never share a shape with another's.
 *
 * All pools together hold no more cells than the keeper may park: for one more of a shape that is asked for,
 * the shape that was not asked for longest gives one up. Cells are made one at a time, when no single run is
 * on its way and none has come for a moment. After them blank cells are made, below zygotes: of these all
 * pools together hold as many at most as may be parked, and two at least.
 *
 * Tenants share shapes and parked cells evenly: one that asks for more than its share takes it from those
 * that have more than theirs, or from itself, never from who has not. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cell/cell.h"
#include "keeper/parts.h"
#include "snap/recipe.h"
#include "snap/shape.h"
#include "snap/shelf.h"

/* Of all pools, however small they are. */
#define BLANKS_LEAST 2
#define QUIET_NS (2 * SC_NS_PER_MS)
#define PRESSED_NS (1 * SC_NS_PER_S) /* between two looks at a machine that is pressed */
/* A template shows the files of the host's that were copied into it: not for ever. */
#define SHAPE_AGE_NS (3600 * SC_NS_PER_S)

static void shape_free(struct shape *shape)
{
    if (shape->readable)
        event_free(shape->readable);
    if (shape->timer)
        event_free(shape->timer);
    sc_pool_free(shape->pool);
    sc_works_free(shape->fork_works);
    sc_plan_free(shape->fork_plan);
    sc_spec_fini(&shape->fork_spec);
    sc_works_free(shape->works);
    sc_plan_free(shape->plan);
    sc_spec_fini(&shape->spec);
    sc_prelude_fini(&shape->prelude);
    free(shape->key);
    free(shape);
}

/* One of the list. */
static void drop(struct shape *shape)
{
    TAILQ_REMOVE(&shape->keeper->shapes, shape, entry);
    shape->keeper->n_shapes--;
    shape_free(shape);
}

/* ---- pools on the event loop ---- */

static void arm(struct event *timer, uint64_t due)
{
    uint64_t now = sc_now_ns();
    if (due == UINT64_MAX) {
        evtimer_del(timer);
        return;
    }
    uint64_t wait_us = due > now ? (due - now + 999) / 1000 : 0;
    const struct timeval wait = {.tv_sec = (time_t)(wait_us / 1000000),
                                 .tv_usec = (suseconds_t)(wait_us % 1000000)};
    evtimer_add(timer, &wait);
}

static void arm_pool(struct shape *shape)
{
    arm(shape->timer, sc_pool_next_ns(shape->pool));
}

static void wait_for_quiet(struct keeper *keeper)
{
    if (keeper->options->pool && keeper->refill)
        arm(keeper->refill, sc_now_ns() + QUIET_NS);
}

/* So that `template ls` tells it, too. The store may be out of reach: then results alone do. */
static void tell_store(struct shape *shape)
{
    const char *trouble = sc_pool_trouble(shape->pool);
    struct sc_err err = {0};
    if (!shape->spec.template || !shape->is_own_prelude || shape->is_noted == !!trouble)
        return;
    shape->is_noted = trouble;
    (void)sc_shelf_note(shape->spec.template, trouble, &err);
}

static bool has_one_loading(const struct keeper *keeper, const struct tenant *tenant)
{
    const struct shape *shape;
    TAILQ_FOREACH(shape, &keeper->shapes, entry)
    {
        if (shape->tenant == tenant && sc_pool_is_loading(shape->pool))
            return true;
    }
    return false;
}

/* Zygotes that are missed, whether or not anything else is under way: for each tenant one at a time. */
static void hatch(evutil_socket_t fd, short what, void *userdata)
{
    struct keeper *keeper = userdata;
    struct shape *shape;
    (void)fd;
    (void)what;
    if (admission_is_pressed(keeper))
        return;
    TAILQ_FOREACH(shape, &keeper->shapes, entry)
    {
        struct sc_err err = {0};
        if (!sc_pool_lacks_zygote(shape->pool) || has_one_loading(keeper, shape->tenant))
            continue;
        (void)sc_pool_make_zygote(shape->pool, &err); /* results tell why not */
        arm_pool(shape);
    }
}

static void step_pool(evutil_socket_t fd, short what, void *userdata)
{
    struct shape *shape = userdata;
    (void)fd;
    (void)what;
    bool was_loading = sc_pool_is_loading(shape->pool);
    sc_pool_step(shape->pool);
    if (was_loading && !sc_pool_is_loading(shape->pool))
        arm(shape->keeper->hatch, sc_now_ns()); /* the next of this tenant's */
    tell_store(shape);
    arm_pool(shape);
    if (sc_pool_is_short(shape->pool) || sc_pool_lacks_blank(shape->pool) ||
        admission_is_pressed(shape->keeper))
        wait_for_quiet(shape->keeper);
}

static bool is_busy(const struct keeper *keeper)
{
    const struct keeper_session *session;
    TAILQ_FOREACH(session, &keeper->sessions, entry)
    {
        if (session->shape && !TAILQ_EMPTY(&session->calls))
            return true;
    }
    return false;
}

/* Cells that pools hold: those that wait, and blank ones. Each kind is shared by itself. */
struct kind {
    unsigned (*count)(const struct sc_pool *pool);
    void (*give_up)(struct sc_pool *pool);
};
static const struct kind PARKED = {sc_pool_size, sc_pool_give_up};
static const struct kind BLANK = {sc_pool_blanks, sc_pool_give_up_blank};

static unsigned count_all(const struct keeper *keeper, const struct kind *kind)
{
    const struct shape *shape;
    unsigned n = 0;
    TAILQ_FOREACH(shape, &keeper->shapes, entry)
    {
        n += kind->count(shape->pool);
    }
    return n;
}

unsigned warm_parked(const struct keeper *keeper)
{
    return count_all(keeper, &PARKED);
}

unsigned warm_blanks(const struct keeper *keeper)
{
    return count_all(keeper, &BLANK);
}

static unsigned most_of(const struct keeper *keeper, const struct kind *kind)
{
    unsigned pool = keeper->options->pool;
    return kind == &BLANK && pool < BLANKS_LEAST ? BLANKS_LEAST : pool;
}

/* ---- shares ---- */

/* What a tenant has: shapes, and cells of a kind. Those at the keeper's own socket count as one. */
struct holding {
    unsigned shapes, cells;
};

static struct holding holding_of(const struct keeper *keeper, const struct tenant *tenant,
                                 const struct kind *kind)
{
    const struct shape *shape;
    struct holding holding = {0};
    TAILQ_FOREACH(shape, &keeper->shapes, entry)
    {
        if (shape->tenant != tenant)
            continue;
        holding.shapes++;
        holding.cells += kind->count(shape->pool);
    }
    return holding;
}

static bool is_first_of_tenant(const struct keeper *keeper, const struct shape *shape)
{
    const struct shape *other = TAILQ_FIRST(&keeper->shapes);
    while (other != shape && other->tenant != shape->tenant)
        other = TAILQ_NEXT(other, entry);
    return other == shape;
}

/* Tenants with shapes, `one` among them. */
static unsigned count_tenants(const struct keeper *keeper, const struct tenant *one)
{
    const struct shape *shape;
    unsigned n = holding_of(keeper, one, &PARKED).shapes ? 0 : 1;
    TAILQ_FOREACH(shape, &keeper->shapes, entry)
    {
        n += is_first_of_tenant(keeper, shape);
    }
    return n;
}

/* The one that was not asked for longest, of those that have a cell to give up. */
static struct shape *find_giver(const struct keeper *keeper, const struct shape *taker,
                                const struct kind *kind)
{
    struct shape *shape, *giver = NULL;
    unsigned share = most_of(keeper, kind) / count_tenants(keeper, taker->tenant);
    bool has_share = holding_of(keeper, taker->tenant, kind).cells >= share;
    TAILQ_FOREACH(shape, &keeper->shapes, entry)
    {
        bool own = shape->tenant == taker->tenant;
        if (kind->count(shape->pool) == 0 || shape == taker)
            continue;
        if (!own && (has_share || holding_of(keeper, shape->tenant, kind).cells <= share))
            continue;
        if (own && shape->used_ns >= taker->used_ns)
            continue;
        if (!giver || shape->used_ns < giver->used_ns)
            giver = shape;
    }
    return giver;
}

/* False: there is none. */
static bool make_room(struct keeper *keeper, const struct shape *taker, const struct kind *kind)
{
    if (count_all(keeper, kind) < most_of(keeper, kind))
        return true;
    struct shape *giver = find_giver(keeper, taker, kind);
    if (!giver)
        return false;
    kind->give_up(giver->pool);
    arm_pool(giver);
    return true;
}

/* A machine that is pressed has its memory back: blank cells, then those that wait, one by one; of these,
 * those asked for longest ago go first. */
static void give_back(struct keeper *keeper)
{
    struct shape *shape, *giver = NULL;
    TAILQ_FOREACH(shape, &keeper->shapes, entry)
    {
        while (sc_pool_blanks(shape->pool) > 0)
            sc_pool_give_up_blank(shape->pool);
        if (sc_pool_size(shape->pool) > 0 && (!giver || shape->used_ns < giver->used_ns))
            giver = shape;
    }
    if (!giver) {
        TAILQ_FOREACH(shape, &keeper->shapes, entry)
        {
            sc_pool_retire(shape->pool);
        }
        return;
    }
    sc_pool_give_up(giver->pool);
    arm_pool(giver);
    arm(keeper->refill, sc_now_ns() + PRESSED_NS);
}

/* True: something was there to be removed. */
static bool clear(struct sc_works *works)
{
    struct sc_err err = {0};
    if (!works || sc_works_ended(works) == 0)
        return false;
    (void)sc_works_ready(works, 0, &err);
    return true;
}

/* What ended cells left behind goes when there is nothing else to do, one shape's in a turn: a keeper at
 * rest holds nothing of those that it had. False: nothing is left. */
static bool clear_away(struct keeper *keeper)
{
    struct shape *shape;
    TAILQ_FOREACH(shape, &keeper->shapes, entry)
    {
        if (clear(shape->works) || clear(shape->fork_works)) {
            wait_for_quiet(keeper);
            return true;
        }
    }
    return false;
}

/* False: none is missing, or there is no room for more. */
static bool make_blank(struct keeper *keeper)
{
    struct shape *shape;
    TAILQ_FOREACH(shape, &keeper->shapes, entry)
    {
        struct sc_err err = {0};
        if (!sc_pool_lacks_blank(shape->pool) || !make_room(keeper, shape, &BLANK))
            continue;
        (void)sc_pool_make_blank(shape->pool, &err); /* tried again later */
        arm_pool(shape);
        return true;
    }
    return false;
}

static void refill(evutil_socket_t fd, short what, void *userdata)
{
    struct keeper *keeper = userdata;
    struct shape *shape;
    (void)fd;
    (void)what;
    if (is_busy(keeper))
        return; /* its answer calls again */
    if (admission_is_pressed(keeper)) {
        if (!clear_away(keeper))
            give_back(keeper);
        return;
    }
    TAILQ_FOREACH(shape, &keeper->shapes, entry)
    {
        struct sc_err err = {0};
        if (!sc_pool_is_short(shape->pool) || !make_room(keeper, shape, &PARKED))
            continue;
        /* One that cannot be made is tried again later; requests are served by cells made for them, which
         * tell what is wrong. */
        (void)sc_pool_make(shape->pool, &err);
        arm_pool(shape);
        /* The groups of ended cells go now, not when a request waits. */
        (void)sc_works_ready(shape->works, 0, &err);
        wait_for_quiet(keeper); /* for what is left to clear away */
        return;
    }
    if (make_blank(keeper))
        wait_for_quiet(keeper);
    else
        clear_away(keeper);
}

int warm_open(struct keeper *keeper)
{
    keeper->refill = evtimer_new(keeper->base, refill, keeper);
    keeper->hatch = evtimer_new(keeper->base, hatch, keeper);
    return keeper->refill && keeper->hatch ? 0 : -ENOMEM;
}

void warm_close(struct keeper *keeper)
{
    struct shape *shape;
    while ((shape = TAILQ_FIRST(&keeper->shapes)))
        drop(shape); /* NOLINT(clang-analyzer-unix.Malloc): drop() takes it out of the list first */
    if (keeper->refill)
        event_free(keeper->refill);
    if (keeper->hatch)
        event_free(keeper->hatch);
    keeper->refill = keeper->hatch = NULL;
}

/* ---- shapes ---- */

void shape_let_go(struct shape *shape)
{
    if (!shape)
        return;
    wait_for_quiet(shape->keeper);
    shape->users--;
    if (shape->users == 0 && !shape->key)
        shape_free(shape);
}

static int make_plan(struct shape *shape, struct sc_err *err)
{
    struct sc_spec *spec = &shape->spec;
    const struct sc_host_options options = {.cgroup_parent = spec->cgroup_parent, .want_scope = true};
    int r = sc_host_probe(&shape->host, &options, err);
    if (r == 0)
        r = sc_spec_check(spec, shape->host.memory_bytes, err);
    if (r == 0)
        r = sc_plan_make(spec, &shape->host, &shape->plan, err);
    return r == 0 ? sc_works_new(shape->plan, &shape->works, err) : r;
}

/* What its template does not say is the keeper's own choice. */
static struct sc_pool_options pool_options(const struct shape *shape, const struct sc_recipe_pool *wanted)
{
    unsigned most = shape->keeper->options->pool;
    struct sc_pool_options options = {
        .works = shape->works,
        .fork_works = shape->fork_works,
        .zygote_age_ns = wanted->recycle_ns,
        .zygote_forks = wanted->recycle_runs,
        .lang = shape->plan->lang,
        .mode = shape->spec.mode,
        .prelude = sc_prelude_is_empty(&shape->prelude) ? NULL : &shape->prelude,
        .least = wanted->idle,
        .most = wanted->maximum && wanted->maximum < most ? wanted->maximum : most,
        .age_ns = wanted->recycle_ns && wanted->recycle_ns < SC_POOL_AGE_NS ? wanted->recycle_ns : 0,
    };
    return options;
}

static int make_pool(struct shape *shape, const struct sc_recipe_pool *wanted, struct sc_err *err)
{
    struct event_base *base = shape->keeper->base;
    const struct sc_pool_options options = pool_options(shape, wanted);
    int r = sc_pool_new(&options, &shape->pool, err);
    if (r < 0)
        return r;
    shape->timer = evtimer_new(base, step_pool, shape);
    shape->readable = event_new(base, sc_pool_fd(shape->pool), EV_READ | EV_PERSIST, step_pool, shape);
    if (!shape->timer || !shape->readable || event_add(shape->readable, NULL) < 0)
        return sc_err_sys(err, -ENOMEM, "pool");
    return 0;
}

/* What a shape is made for: a request, with the recipe of the template it names. */
struct wish {
    const struct caller *caller;
    const struct sc_recipe *recipe; /* without a name: it names none */
    const struct sc_strv *imports;
};

/* Where a zygote cannot be had, the pool does without, and results tell why. The spec has been checked. */
static void make_fork_works(struct shape *shape)
{
    struct sc_err *err = &shape->fork_err;
    int r = sc_spec_copy(&shape->spec, &shape->fork_spec);
    if (r < 0) {
        (void)sc_err_sys(err, r, "zygote");
        return;
    }
    shape->fork_spec.forkable = shape->fork_spec.zygote = true;
    r = sc_plan_make(&shape->fork_spec, &shape->host, &shape->fork_plan, err);
    if (r == 0)
        r = sc_works_new(shape->fork_plan, &shape->fork_works, err);
    if (r < 0)
        (void)sc_err_wrap(err, r, "zygote");
}

static int make_prelude(struct shape *shape, const struct wish *wish, struct sc_err *err)
{
    int r = sc_prelude_of(wish->recipe, wish->imports, shape->spec.lang, &shape->prelude);
    shape->is_own_prelude = shape->prelude.imports.n == wish->recipe->imports.n;
    return r < 0 ? sc_err_sys(err, r, "shape") : 0;
}

/* Takes `spec` and `key`; a key makes it one that stays. */
static int make_shape(const struct wish *wish, struct sc_spec *spec, char *key, struct shape **ret_shape,
                      struct sc_err *err)
{
    struct keeper *keeper = wish->caller->keeper;
    struct shape *shape = calloc(1, sizeof *shape);
    if (!shape) {
        free(key);
        return sc_err_sys(err, -ENOMEM, "shape");
    }
    *shape = (struct shape){.keeper = keeper,
                            .key = key,
                            .owner = wish->caller->uid,
                            .tenant = wish->caller->tenant,
                            .made_ns = sc_now_ns()};
    shape->spec = *spec;
    sc_spec_init(spec);
    int r = make_plan(shape, err);
    if (r == 0 && key)
        r = make_prelude(shape, wish, err);
    if (r == 0 && key && keeper->options->zygotes)
        make_fork_works(shape);
    if (r == 0 && key)
        r = make_pool(shape, &wish->recipe->pool, err);
    if (r < 0) {
        shape_free(shape);
        return r;
    }
    if (key) {
        TAILQ_INSERT_TAIL(&keeper->shapes, shape, entry);
        keeper->n_shapes++;
        wait_for_quiet(keeper);
    }
    *ret_shape = shape;
    return 0;
}

/* One that has all imports, and maybe more. */
static struct shape *find(const struct wish *wish, const char *key)
{
    const struct caller *caller = wish->caller;
    struct shape *shape;
    TAILQ_FOREACH(shape, &caller->keeper->shapes, entry)
    {
        bool theirs = shape->tenant == caller->tenant && (shape->tenant || shape->owner == caller->uid);
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): drop() takes out of the list what it frees */
        if (theirs && !strcmp(shape->key, key) && sc_prelude_has(&shape->prelude, wish->imports))
            return shape;
    }
    return NULL;
}

/* May a new shape of this tenant's take this one's place? */
static bool gives_way(const struct keeper *keeper, const struct shape *shape, const struct tenant *tenant)
{
    unsigned share = SC_KEEPER_SHAPES_MOST / count_tenants(keeper, tenant);
    if (shape->tenant == tenant)
        return true;
    return holding_of(keeper, tenant, &PARKED).shapes < share &&
           holding_of(keeper, shape->tenant, &PARKED).shapes > share;
}

/* Those that nobody uses and that are old. */
static void forget_old(struct keeper *keeper)
{
    struct shape *shape, *next;
    uint64_t now = sc_now_ns();
    for (shape = TAILQ_FIRST(&keeper->shapes); shape; shape = next) {
        next = TAILQ_NEXT(shape, entry);
        if (shape->users == 0 && now >= shape->made_ns + SHAPE_AGE_NS)
            drop(shape);
    }
}

/* When there is no room for one more of the tenant's: the one that was not asked for longest. */
static void make_place(struct keeper *keeper, const struct tenant *tenant)
{
    struct shape *shape, *oldest = NULL;
    if (keeper->n_shapes < SC_KEEPER_SHAPES_MOST)
        return;
    TAILQ_FOREACH(shape, &keeper->shapes, entry)
    {
        if (shape->users == 0 && gives_way(keeper, shape, tenant) &&
            (!oldest || shape->used_ns < oldest->used_ns))
            oldest = shape;
    }
    if (oldest)
        drop(oldest);
}

/* One that stays, for all requests of this kind; 0 and NULL: it is not to be had. */
static int get_pooled(const struct wish *wish, const struct sc_spec *spec, struct shape **ret_shape,
                      struct sc_err *err)
{
    struct keeper *keeper = wish->caller->keeper;
    struct sc_spec of_shape;
    int r = sc_shape_of(spec, wish->recipe, &of_shape);
    if (r < 0)
        return sc_err_sys(err, r, "shape");
    char *key = sc_shape_key(&of_shape, wish->recipe);
    forget_old(keeper);
    *ret_shape = key ? find(wish, key) : NULL;
    if (!*ret_shape)
        make_place(keeper, wish->caller->tenant);
    if (!key)
        r = sc_err_sys(err, -ENOMEM, "shape");
    else if (*ret_shape || keeper->n_shapes >= SC_KEEPER_SHAPES_MOST)
        free(key);
    else
        r = make_shape(wish, &of_shape, key, ret_shape, err);
    sc_spec_fini(&of_shape);
    return r;
}

static int get(const struct caller *caller, struct sc_spec *spec, const struct sc_recipe *recipe,
               struct shape **ret_shape, struct sc_err *err)
{
    const struct wish wish = {caller, recipe, &spec->imports};
    int r = sc_spec_check(spec, 0, err);
    if (r == 0 && caller->keeper->options->pool && !sc_shape_misfit(spec))
        r = get_pooled(&wish, spec, ret_shape, err);
    if (r == 0 && !*ret_shape)
        r = make_shape(&wish, spec, NULL, ret_shape, err);
    return r;
}

int shape_get(const struct caller *caller, struct sc_spec *spec, struct shape **ret_shape, struct sc_err *err)
{
    struct sc_recipe recipe;
    struct shape *shape = NULL;
    int r = sc_recipe_apply_loading(spec, &recipe, err);
    if (r == 0)
        r = policy_network(caller, spec, err);
    if (r == 0)
        r = get(caller, spec, &recipe, &shape, err);
    sc_recipe_fini(&recipe);
    if (!shape)
        return r;
    shape->users++;
    shape->used_ns = sc_now_ns();
    *ret_shape = shape;
    return 0;
}

struct sc_session *shape_take(struct shape *shape, const struct sc_session_options *options,
                              const struct sc_session_events *events, struct sc_pool_origin *ret_origin)
{
    if (!shape->pool)
        return NULL;
    struct sc_session *session = sc_pool_take(shape->pool, options, events, ret_origin);
    tell_store(shape);
    if (!session && sc_pool_lacks_zygote(shape->pool))
        arm(shape->keeper->hatch, sc_now_ns());
    arm_pool(shape);
    return session;
}

const char *shape_trouble(const struct shape *shape, const struct keeper_session *session)
{
    if (!shape->pool || session->zygote_age_ns)
        return NULL;
    const char *trouble = session->start == SC_START_COLD ? sc_pool_trouble(shape->pool) : NULL;
    if (!trouble && *shape->fork_err.message)
        trouble = shape->fork_err.message;
    return trouble ? trouble : sc_pool_fork_trouble(shape->pool);
}
