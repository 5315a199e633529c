/* Frames on a stream socket: an eight-byte header and a bounded payload. Both ends treat the other as
 * hostile. */
#ifndef SC_BASE_FRAME_H
#define SC_BASE_FRAME_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SC_FRAME_MAX (64u * 1024) /* payload */

struct sc_frame {
    uint32_t len; /* of the payload */
    uint16_t type;
    uint16_t channel; /* command the frame is about; 0: the cell itself */
};

/* Blocking: header and payload whole. Negative errno. */
int sc_frame_send(int sock, uint16_t type, uint16_t channel, const void *payload, size_t len);
/* Reads frames as bytes come; keeps at most one frame plus what came with it. */
struct sc_frame_reader {
    uint8_t data[2 * (SC_FRAME_MAX + 8)];
    size_t used, start;
};
/* Fills from `sock` with one read, taking descriptors (marked close-on-exec) when `fds` is given. Byte count;
 * 0: the stream ended; negative errno (-EAGAIN on a nonblocking socket). */
ssize_t sc_frame_fill(struct sc_frame_reader *reader, int sock, int *fds, size_t *n_fds);
/* 1: a whole frame stands in *ret_frame with its payload at *ret_payload (valid until the next fill); 0: more
 * bytes are needed; -EPROTO: a payload larger than the maximum. */
int sc_frame_next(struct sc_frame_reader *reader, struct sc_frame *ret_frame, const uint8_t **ret_payload);

#endif
