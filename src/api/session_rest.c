/* Sessions: pausing to disk, and resuming. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/parts.h"
#include "base/fd.h"
#include "base/json.h"
#include "snap/pause.h"
#include "snap/session_wait.h"

static void take_end(void *userdata, int r, const struct sc_err *err)
{
    struct snapcell_progress *progress = userdata;
    progress->done = true;
    progress->r = r;
    if (err)
        progress->err = *err;
}

/* Until it was told, or the session is over, as a -EPIPE says too. */
static int wait_for(struct snapcell_session *session, struct snapcell_progress *progress, struct sc_err *err)
{
    int r = 0;
    while (r == 0 && !session->is_over && (!progress->done || progress->r == -EPIPE)) {
        sc_session_touch(session->session);
        r = sc_session_wait(session->session, NULL, 0, UINT64_MAX, err);
    }
    if (r < 0)
        return r;
    if (!progress->done || progress->r == -EPIPE)
        return sc_api_session_look(session, err);
    if (progress->r < 0 && err)
        *err = progress->err;
    return progress->r;
}

/* ---- pausing ---- */

static int pack(struct snapcell_session *session, struct sc_err *err)
{
    struct snapcell_progress *progress = &session->progress;
    *progress = (struct snapcell_progress){0};
    int r = sc_pause_start(session->session, &session->writer, take_end, progress, &session->pause, err);
    if (r == 0)
        r = wait_for(session, progress, err);
    if (progress->done) {
        sc_pause_free(session->pause);
        session->pause = NULL;
    }
    return r;
}

static int commit(struct snapcell_session *session, struct sc_vault_writer *writer, struct sc_err *err)
{
    json_t *facts = sc_pause_facts(session->session, &session->spec, geteuid());
    int r = facts ? sc_vault_commit(writer, facts, err) : sc_api_no_memory(err);
    if (r < 0)
        sc_pause_undo(session->session);
    return r;
}

int snapcell_session_pause(struct snapcell_session *session, const char *name, struct snapcell_error *error)
{
    struct sc_err *err = sc_api_error(error);
    struct sc_vault_writer *writer = &session->writer;
    int r = session->pause
                ? sc_err_set(err, SC_ERR_SANDBOX, -EIO, "session: its last pause did not come to an end")
                : sc_api_session_look(session, err);
    int lock = r < 0 || session->vault_lock < 0 ? -1 : fcntl(session->vault_lock, F_DUPFD_CLOEXEC, 3);
    if (r == 0)
        r = sc_vault_begin(NULL, name, lock, writer, err);
    if (r < 0)
        return r;
    r = pack(session, err);
    if (r == 0)
        r = commit(session, writer, err);
    if (r < 0) {
        sc_vault_abandon(writer);
        return r;
    }
    sc_vault_close(writer);
    sc_session_end_paused(session->session);
    while (r == 0 && !session->is_over)
        r = sc_session_wait(session->session, NULL, 0, UINT64_MAX, err);
    sc_close(&session->vault_lock);
    return r;
}

/* ---- resuming ---- */

static int unpack(struct snapcell_session *session, struct sc_vault_reader *reader, struct sc_err *err)
{
    struct snapcell_progress progress = {0};
    struct sc_unpause *unpause = NULL;
    int r = sc_unpause_start(session->session, reader, take_end, &progress, &unpause, err);
    if (r == 0)
        r = wait_for(session, &progress, err);
    if (r < 0) { /* before what it tells is freed */
        sc_session_close(session->session);
        session->session = NULL;
    }
    sc_unpause_free(unpause);
    return r;
}

static int open_again(struct snapcell_session *session, struct sc_vault_reader *reader,
                      const struct snapcell_host *host, const struct snapcell_session_options *options,
                      struct sc_err *err)
{
    struct sc_session_options times = {0};
    struct sc_spec spec;
    const struct sc_spec *secrets = options && options->secrets ? &options->secrets->spec : NULL;
    int r = sc_unpause_spec(reader->manifest, secrets, &spec, &times, err);
    if (r < 0)
        return r;
    const struct snapcell_session_options resolved = {
        .idle_ms = options && options->idle_ms ? options->idle_ms : times.idle_ns / SC_NS_PER_MS,
        .total_ms = options && options->total_ms ? options->total_ms : times.total_ns / SC_NS_PER_MS,
    };
    r = sc_api_session_open(session, &spec, host, &resolved, err);
    sc_spec_fini(&spec);
    return r;
}

int snapcell_session_resume(const char *name, const struct snapcell_host *host,
                            const struct snapcell_session_options *options,
                            struct snapcell_session **ret_session, struct snapcell_error *error)
{
    struct sc_err *err = sc_api_error(error);
    struct sc_vault_reader reader;
    struct snapcell_session *session = calloc(1, sizeof *session);
    if (!session)
        return sc_api_no_memory(err);
    session->interrupt_fd = session->vault_lock = -1;
    int r = sc_vault_open(NULL, name, &reader, err);
    if (r == -ENOENT)
        sc_err_set(err, SC_ERR_USAGE, r, "session: %s: none of this name is paused", name);
    if (r < 0) {
        snapcell_session_free(session);
        return r;
    }
    session->vault_lock = sc_steal_fd(&reader.lock);
    r = open_again(session, &reader, host, options, err);
    if (r == 0)
        r = unpack(session, &reader, err);
    sc_vault_reader_close(&reader);
    if (r < 0) {
        snapcell_session_free(session);
        return r;
    }
    *ret_session = session;
    return 0;
}

/* ---- what lies on disk ---- */

int snapcell_paused_json(char **ret_json, struct snapcell_error *error)
{
    struct sc_err *err = sc_api_error(error);
    json_t *list = sc_vault_list(NULL, err);
    char *text = sc_json_dump(list, JSON_INDENT(2));
    json_decref(list);
    if (!text)
        return err && err->kind != SC_ERR_NONE ? err->code : sc_api_no_memory(err);
    *ret_json = text;
    return 0;
}

int snapcell_paused_remove(const char *name, struct snapcell_error *error)
{
    struct sc_err *err = sc_api_error(error);
    int r = sc_vault_remove(NULL, name, -1, err);
    if (r == 0)
        return sc_err_set(err, SC_ERR_USAGE, -ENOENT, "session: %s: none of this name is paused", name);
    return r < 0 ? r : 0;
}
