/* Listings and changes as the agent writes them → JSON lines. They come from inside a cell and are taken as
 * hostile: any lengths, any names. */
#ifndef SC_KEEPER_ENTRIES_H
#define SC_KEEPER_ENTRIES_H

#include <stddef.h>
#include <stdint.h>

#include "agent/proto.h"
#include "base/buf.h"

struct sc_keeper_entries {
    enum sc_file_kind kind; /* LIST, STAT: struct sc_entry; WATCH: struct sc_change */
    size_t used;
    uint8_t held[sizeof(struct sc_entry) + 2 * 4096]; /* of a record that is not whole */
};

/* Adds a line to `out` for each record that `data` completes:
 *     {"name": "a", "type": "file", "size": 3, "mtime_ns": 0, "mode": "0644", "target": "…"}
 *     {"change": "written", "path": "a", "folder": false}
 * A name that is no UTF-8 has its exact bytes beside it, as "name_b64", "path_b64", "target_b64".
 * 0; -EPROTO: not such records; -ENOMEM, -EMSGSIZE. */
int sc_keeper_entries_add(struct sc_keeper_entries *entries, const void *data, size_t len,
                          struct sc_buf *out);

#endif
