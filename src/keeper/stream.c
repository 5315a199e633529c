/* Flow between a cell and a client, both ways. Output: the cell may send more once it is passed on and the
 * client has room (a client that is gone always has). Input: the client may send more once the cell has taken
 * it. */
#include <errno.h>
#include <event2/buffer.h>

#include "keeper/parts.h"

void stream_output(struct call *call, enum sc_stream_number stream, size_t raw)
{
    size_t *untaken = &call->untaken[stream == SC_STREAM_ERR];
    *untaken += raw;
    if (*untaken == 0 || (call->peer && !peer_has_room(call->peer)))
        return;
    size_t taken = *untaken;
    *untaken = 0;
    (void)sc_live_took(sc_session_live(call->session->session), call->id, stream, taken);
}

/* What nobody in the cell reads any more. */
static size_t drop_input(struct call *call)
{
    size_t len = evbuffer_get_length(call->input);
    evbuffer_drain(call->input, len);
    return len;
}

void stream_input(struct call *call)
{
    struct sc_live *live = sc_session_live(call->session->session);
    size_t taken = 0;
    if (!call->live || !call->input)
        return;
    for (;;) {
        size_t len = evbuffer_get_contiguous_space(call->input);
        if (len == 0)
            break;
        ssize_t n =
            sc_live_write(live, call->id, SC_STREAM_IN, evbuffer_pullup(call->input, (ssize_t)len), len);
        if (n == 0)
            break; /* `room` will tell */
        if (n < 0) {
            taken += drop_input(call);
            break;
        }
        evbuffer_drain(call->input, (size_t)n);
        taken += (size_t)n;
    }
    if (taken && call->peer && !call->input_ended) {
        call->input_credit += taken;
        peer_credit(call->peer, call->channel, taken);
    }
    if (call->input_ended && !call->input_closed && evbuffer_get_length(call->input) == 0) {
        call->input_closed = true;
        (void)sc_live_close_input(live, call->id);
    }
}
