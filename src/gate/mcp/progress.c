/* Progress: output as it comes, and a sign of life where none comes. At most ten notifications a second, so
 * that a program that prints byte by byte costs no more than another. */
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "gate/mcp/parts.h"

#define PAUSE_NS (100 * SC_NS_PER_MS)
#define SIGN_OF_LIFE_NS (5 * SC_NS_PER_S)
#define MESSAGE_MAX (8u << 10) /* of one notification; of more, the end is told */

/* How many bytes at the end are a character that is not whole yet. */
static size_t unfinished(const uint8_t *data, size_t len)
{
    for (size_t back = 1; back <= 3 && back <= len; back++) {
        uint8_t byte = data[len - back];
        size_t needs = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
        if (needs > 1)
            return needs > back ? back : 0;
        if (byte < 0x80)
            return 0;
    }
    return 0;
}

/* `whole`: also what could be the beginning of a character. */
static void tell(struct mcp_work *work, bool whole)
{
    size_t len = work->untold.len, kept = whole ? 0 : unfinished(work->untold.data, len);
    size_t told = len - kept, skipped = told > MESSAGE_MAX ? told - MESSAGE_MAX : 0;
    uint64_t now = sc_now_ns();
    double elapsed_ms = (double)((now - work->since_ns) / SC_NS_PER_MS);
    work->told_ns = now;
    /* It has to rise each time. */
    work->progress = elapsed_ms > work->progress ? elapsed_ms : work->progress + 1;
    json_t *params = json_pack("{s:O, s:f}", "progressToken", work->token, "progress", work->progress);
    if (told && work->mcp->revision >= MCP_2025_03)
        json_object_set_new(params, "message", mcp_bytes(work->untold.data + skipped, told - skipped));
    mcp_notify(work->mcp, "notifications/progress", params, work->id);
    if (kept)
        memmove(work->untold.data, work->untold.data + told, kept);
    work->untold.len = kept;
}

void mcp_progress_output(struct mcp_work *work, const void *data, size_t len)
{
    if (!work->token || !work->tells_output)
        return;
    (void)sc_buf_add(&work->untold, data, len); /* a live picture of it; the result has all */
    if (sc_now_ns() - work->told_ns >= PAUSE_NS)
        tell(work, false);
}

void mcp_progress_flush(struct mcp_work *work)
{
    if (work->token && work->untold.len && !work->cancelled)
        tell(work, true);
}

uint64_t mcp_progress_next_ns(const struct mcp_work *work)
{
    if (!work->token || work->cancelled)
        return UINT64_MAX;
    return work->told_ns + (work->untold.len ? PAUSE_NS : SIGN_OF_LIFE_NS);
}

void mcp_progress_tick(struct mcp_work *work)
{
    if (mcp_progress_next_ns(work) <= sc_now_ns())
        tell(work, false);
}
