/* A living cell's network: what its egress process says, and other rules for it. */
#include "cell/live_parts.h"
#include "cell/run.h"

static void note_network(void *userdata, const char *action, const char *resource, const char *rule,
                         const char *hint, uint64_t count)
{
    struct sc_live *live = userdata;
    live->told.n_denials = 0;
    const struct sc_denial *denial =
        sc_result_deny_many(&live->told, "network", action, resource, rule, hint, count);
    if (live->events.denial)
        live->events.denial(live->events.userdata, denial);
}

/* A cell whose network could not be sealed ends. One whose egress process dies later has no network any more:
 * reports tell of that. */
void sc_live_hear_egress(struct sc_live *live)
{
    struct sc_egress *egress = &live->cell.egress;
    bool was_ready = egress->ready;
    if (sc_egress_listen(egress, note_network, live))
        return;
    live->watched[SC_LIVE_EGRESS] = SC_LIVE_UNWATCHED; /* closing it did that */
    if (!was_ready && !egress->ready)
        sc_live_end(live, SC_STATUS_SANDBOX_ERROR, "%s",
                    *egress->failed ? egress->failed : "the egress process did not start");
}

void sc_live_network(struct sc_live *live, struct sc_result *result)
{
    int fd = live->cell.egress.control;
    sc_egress_report(&live->cell.egress, result, note_network, live);
    if (fd >= 0 && live->cell.egress.control < 0)
        live->watched[SC_LIVE_EGRESS] = SC_LIVE_UNWATCHED;
}

static int change(struct sc_live *live, const struct sc_egress_kit *kit, struct sc_err *err)
{
    struct sc_egress *egress = &live->cell.egress;
    int r = sc_egress_change(egress, kit, live->cell.space.net_ns, live->works->tmpl.user_ns, note_network,
                             live, err);
    if (egress->control < 0)
        live->watched[SC_LIVE_EGRESS] = SC_LIVE_UNWATCHED;
    return r;
}

/* Programs trust an authority only from their start on. */
static int refuse_without(const struct sc_live *live, const struct sc_net *net, struct sc_err *err)
{
    const struct sc_egress *egress = &live->cell.egress;
    if (sc_net_terminates(net) && !live->plan->own_authority)
        return sc_err_usage(
            err, "network",
            "network: a rule is about requests over TLS, and this cell has no authority of its "
            "own: allowed with a cell that was started with such a rule");
    if (egress->pid != 0 && egress->control >= 0)
        return 0;
    return sc_err_usage(err, "network",
                        "network: this cell was made without one, or has lost it: allowed "
                        "with a cell that was started with a network");
}

/* Cells made later of the same works, as forks of this one, have the same rules. */
int sc_live_set_network(struct sc_live *live, const struct sc_net *net, struct sc_err *err)
{
    if (live->cell.egress.pid == 0 && net->mode == SC_NET_NONE)
        return 0; /* as it is already */
    int r = refuse_without(live, net, err);
    if (r == 0)
        r = sc_egress_kit_set(&live->works->egress, net, err);
    return r < 0 ? r : change(live, &live->works->egress, err);
}

int sc_live_take_network(struct sc_live *live, const struct sc_net *net, struct sc_err *err)
{
    struct sc_egress_kit kit = SC_EGRESS_KIT_NONE;
    int r = refuse_without(live, net, err);
    if (r == 0)
        r = sc_egress_kit_set(&kit, net, err);
    if (r == 0)
        r = sc_egress_await(&live->cell.egress, err);
    if (r == 0)
        r = change(live, &kit, err);
    sc_egress_kit_close(&kit);
    return r;
}
