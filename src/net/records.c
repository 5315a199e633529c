/* Every decision of one kind is one record with counts. */
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/num.h"
#include "net/egress.h"

#define TELLS_AT_ONCE 100
#define TELL_EVERY_NS (20 * SC_NS_PER_MS)

static void fill(struct sc_net_note *note, const struct sc_decision *decision)
{
    *note = (struct sc_net_note){.what = (uint8_t)decision->what,
                                 .allow = decision->verdict.allow,
                                 .protocol = decision->protocol,
                                 .port = decision->port,
                                 .count = 1};
    if (decision->name)
        snprintf(note->name, sizeof note->name, "%s", decision->name);
    if (decision->addr)
        sc_addr_format(decision->addr, note->address, sizeof note->address);
    if (decision->verdict.rule)
        snprintf(note->rule, sizeof note->rule, "%s", decision->verdict.rule);
    if (decision->verdict.reason)
        snprintf(note->reason, sizeof note->reason, "%s", decision->verdict.reason);
}

static bool same(const struct sc_net_note *a, const struct sc_net_note *b)
{
    return a->what == b->what && a->allow == b->allow && a->protocol == b->protocol && a->port == b->port &&
           !strcmp(a->name, b->name) && !strcmp(a->address, b->address) && !strcmp(a->rule, b->rule) &&
           !strcmp(a->reason, b->reason);
}

static bool tell(struct sc_egress *egress, const struct sc_net_note *record, enum sc_net_note_kind kind,
                 int flags)
{
    struct sc_net_note note = *record;
    note.kind = (uint8_t)kind;
    return send(egress->control.fd, &note, sizeof note, MSG_NOSIGNAL | flags) == sizeof note;
}

static void tell_denied(struct sc_egress *egress, size_t index, int flags)
{
    struct sc_net_note note = egress->records[index];
    note.count = egress->untold[index];
    if (note.count && tell(egress, &note, SC_NET_NOTE_DENIED, flags))
        egress->untold[index] = 0;
}

/* A refusal is told at once, unless there are too many or the owner does not listen: a later one's count, or
 * the report, has it then. */
static void note_denied(struct sc_egress *egress, size_t index)
{
    uint64_t now = sc_now_ns(), passed = now - egress->told_ns;
    egress->untold[index]++;
    if (passed >= TELL_EVERY_NS) {
        egress->tells_left = sc_min_u64(TELLS_AT_ONCE, egress->tells_left + passed / TELL_EVERY_NS);
        egress->told_ns = now;
    }
    if (!egress->tells_left)
        return;
    egress->tells_left--;
    tell_denied(egress, index, MSG_DONTWAIT);
}

int sc_records_add(struct sc_egress *egress, const struct sc_decision *decision)
{
    struct sc_net_note note;
    fill(&note, decision);
    for (size_t i = 0; i < egress->n_records; i++) {
        if (!same(&egress->records[i], &note))
            continue;
        egress->records[i].count++;
        if (!note.allow)
            note_denied(egress, i);
        return (int)i;
    }
    if (egress->n_records == SC_RECORDS_MAX) {
        egress->lost_denials += !note.allow;
        return -1;
    }
    egress->records[egress->n_records++] = note;
    if (!note.allow)
        note_denied(egress, egress->n_records - 1);
    return (int)egress->n_records - 1;
}

void sc_records_report(struct sc_egress *egress)
{
    const struct sc_net_note done = {.count = egress->lost_denials};
    for (size_t i = 0; i < egress->n_records; i++) {
        tell_denied(egress, i, 0);
        tell(egress, &egress->records[i], SC_NET_NOTE_RECORD, 0);
    }
    tell(egress, &done, SC_NET_NOTE_DONE, 0);
    egress->lost_denials = 0;
}
