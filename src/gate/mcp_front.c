/* All clients of /mcp: whose they are, when they have something to tell, and their end. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gate/mcp_peer.h"

struct mcp_front *mcp_front_of(struct gate *gate)
{
    if (gate->mcp)
        return gate->mcp;
    gate->mcp = calloc(1, sizeof *gate->mcp);
    if (gate->mcp) {
        TAILQ_INIT(&gate->mcp->peers);
        TAILQ_INIT(&gate->mcp->tenants);
        gate->mcp->due_ns = UINT64_MAX;
    }
    return gate->mcp;
}

/* ---- tenants ---- */

static struct mcp_tenant *tenant_of(struct mcp_front *front, const char *name)
{
    struct mcp_tenant *tenant;
    TAILQ_FOREACH(tenant, &front->tenants, entry)
    {
        if (!strcmp(tenant->name, name))
            return tenant;
    }
    tenant = calloc(1, sizeof *tenant);
    if (!tenant)
        return NULL;
    snprintf(tenant->name, sizeof tenant->name, "%s", name);
    TAILQ_INSERT_TAIL(&front->tenants, tenant, entry);
    return tenant;
}

void mcp_tenant_leave(struct mcp_front *front, struct mcp_tenant *tenant)
{
    if (--tenant->n > 0)
        return;
    TAILQ_REMOVE(&front->tenants, tenant, entry);
    free(tenant);
}

int mcp_tenant_join(struct mcp_front *front, const char *name, struct mcp_tenant **ret_tenant,
                    struct sc_err *err)
{
    struct mcp_tenant *tenant = tenant_of(front, name);
    if (!tenant)
        return sc_err_sys(err, -ENOMEM, "session");
    tenant->n++;
    if (tenant->n <= MCP_PEERS_OF_TENANT_MAX && front->n < MCP_PEERS_MAX) {
        *ret_tenant = tenant;
        return 0;
    }
    mcp_tenant_leave(front, tenant);
    return sc_err_set(err, SC_ERR_HOST, -EAGAIN,
                      "a tenant may have %d clients of MCP at once and the service %d: DELETE ends one",
                      MCP_PEERS_OF_TENANT_MAX, MCP_PEERS_MAX);
}

/* ---- times ---- */

void mcp_note_due(struct mcp_peer *peer)
{
    struct mcp_front *front = peer->gate->mcp;
    uint64_t due = sc_mcp_next_ns(peer->engine);
    front->due_ns = due < front->due_ns ? due : front->due_ns;
}

static bool is_read(const struct mcp_peer *peer)
{
    const struct mcp_stream *stream;
    TAILQ_FOREACH(stream, &peer->log.streams, entry)
    {
        if (stream->reader)
            return true;
    }
    return false;
}

uint64_t mcp_due_ns(const struct gate *gate)
{
    return gate->mcp ? gate->mcp->due_ns : UINT64_MAX;
}

void mcp_tick(struct gate *gate)
{
    struct mcp_peer *peer;
    if (!gate->mcp || sc_now_ns() < gate->mcp->due_ns)
        return;
    gate->mcp->due_ns = UINT64_MAX;
    TAILQ_FOREACH(peer, &gate->mcp->peers, entry)
    {
        sc_mcp_tick(peer->engine);
        mcp_note_due(peer);
    }
}

void mcp_sweep(struct gate *gate)
{
    struct mcp_peer *peer, *following;
    uint64_t now = sc_now_ns();
    for (peer = gate->mcp ? TAILQ_FIRST(&gate->mcp->peers) : NULL; peer; peer = following) {
        following = TAILQ_NEXT(peer, entry);
        if (!sc_mcp_is_idle(peer->engine))
            continue;
        /* A gate that ends waits for what is under way, not for clients that only listen. */
        if (gate->draining || (!is_read(peer) && now - peer->since_ns > MCP_PEER_IDLE_NS))
            mcp_peer_end(peer);
    }
}

bool mcp_is_over(const struct gate *gate)
{
    return !gate->mcp || TAILQ_EMPTY(&gate->mcp->peers);
}

void mcp_end_all(struct gate *gate)
{
    struct mcp_peer *peer, *following;
    for (peer = gate->mcp ? TAILQ_FIRST(&gate->mcp->peers) : NULL; peer; peer = following) {
        following = TAILQ_NEXT(peer, entry);
        mcp_peer_end(peer);
    }
}

void mcp_close(struct gate *gate)
{
    struct mcp_peer *peer;
    while (gate->mcp && (peer = TAILQ_FIRST(&gate->mcp->peers)))
        mcp_peer_free(peer);
    free(gate->mcp);
    gate->mcp = NULL;
}
