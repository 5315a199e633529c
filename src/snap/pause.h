/* A session's files on their way to the vault (snap/vault.h) and back into a new one. The cell packs and
 * unpacks them itself, with its program's rights; here they are bytes. Neither waits: what is done is told
 * from sc_session_step.
 *
 * What is kept: the work folder and /tmp, names and kinds of contexts, the spec, the times. What is not: what
 * interpreters and other processes hold in memory, /dev/shm.
 */
#ifndef SC_SNAP_PAUSE_H
#define SC_SNAP_PAUSE_H

#include "snap/session.h"
#include "snap/vault.h"

/* `r` is 0, or negative with a story; -EPIPE: the cell is gone. Then nothing more comes. */
typedef void sc_pause_done(void *userdata, int r, const struct sc_err *err);

struct sc_pause;
/* Packs an idle session into the writer; its processes stand still meanwhile. After success they go on
 * standing, for the session's end; after failure they run again. `writer` is the caller's throughout. A
 * session with runs or commands under way is refused. */
int sc_pause_start(struct sc_session *session, struct sc_vault_writer *writer, sc_pause_done *done,
                   void *userdata, struct sc_pause **ret_pause, struct sc_err *err);
/* Ends it soon: `done` tells -ECANCELED. */
void sc_pause_cancel(struct sc_pause *pause);
/* What the manifest says of the session beside its files: a new reference, NULL when memory ran out. */
json_t *sc_pause_facts(const struct sc_session *session, const struct sc_spec *spec, uid_t owner);
/* All its processes go on, when it was packed but not committed. */
void sc_pause_undo(struct sc_session *session);
void sc_pause_free(struct sc_pause *pause); /* after `done`, or after the session was closed; NULL is fine */

struct sc_unpause;
/* What of the manifest makes the session: its spec, its template applied, without the files that are kept;
 * and its times. Secrets are in no manifest: those that the session had must be in `given`, whose others are
 * added as well; NULL: none is given. */
int sc_unpause_spec(const json_t *manifest, const struct sc_spec *given, struct sc_spec *ret_spec,
                    struct sc_session_options *ret_options, struct sc_err *err);
/* Unpacks into a session that nobody has used. `reader` is the caller's throughout. */
int sc_unpause_start(struct sc_session *session, struct sc_vault_reader *reader, sc_pause_done *done,
                     void *userdata, struct sc_unpause **ret_unpause, struct sc_err *err);
void sc_unpause_free(struct sc_unpause *unpause);

#endif
