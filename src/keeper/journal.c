/* Which sessions live, on disk: so that the keeper after one that was killed can say what became of them, and
 * take away what is left.
 *
 * A line for each session that began ("+ TENANT ID") and that ended ("- TENANT ID"); the tenant of the
 * keeper's own users is ".". What began and did not end is lost: it is told so to whom it belonged, for as
 * long as this keeper lives. Their cells died with their keeper, as each agent watches it; groups that are
 * left, with whatever is still in them, are known by their maker's pid and start time and killed and removed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "cell/cell.h"
#include "cell/group.h"
#include "keeper/parts.h"
#include "keeper/state.h"

#define JOURNAL "sessions.journal"
#define JOURNAL_MAX ((size_t)64 * 1024 * 1024)
#define ROTATE_AT (4 * 1024 * 1024) /* lines of sessions that are gone are dropped then */
#define LOST_MAX 10000
#define NOBODY "."

struct lost {
    char tenant[SC_TENANT_NAME], id[SC_KEEPER_NAME_MAX + 1];
};

struct journal {
    int fd;
    size_t size;
    struct lost *lost;
    size_t n_lost;
};

/* ---- reading what the last keeper left ---- */

static struct lost *find(struct journal *journal, const char *tenant, const char *id)
{
    for (size_t i = 0; i < journal->n_lost; i++)
        if (!strcmp(journal->lost[i].tenant, tenant) && !strcmp(journal->lost[i].id, id))
            return &journal->lost[i];
    return NULL;
}

static void take_line(struct journal *journal, char *line)
{
    char *save = NULL;
    const char *sign = strtok_r(line, " ", &save), *tenant = strtok_r(NULL, " ", &save),
               *id = strtok_r(NULL, " ", &save);
    if (!id || strlen(tenant) >= SC_TENANT_NAME || strlen(id) > SC_KEEPER_NAME_MAX)
        return; /* half a line */
    struct lost *known = find(journal, tenant, id);
    if (*sign == '-' && known) {
        *known = journal->lost[--journal->n_lost];
    } else if (*sign == '+' && !known && journal->n_lost < LOST_MAX) {
        struct lost *lost = &journal->lost[journal->n_lost++];
        snprintf(lost->tenant, sizeof lost->tenant, "%s", tenant);
        snprintf(lost->id, sizeof lost->id, "%s", id);
    }
}

static int read_journal(struct keeper *keeper, struct sc_err *err)
{
    struct journal *journal = keeper->journal;
    struct sc_buf text;
    int r = sc_state_read(keeper->state, JOURNAL, JOURNAL_MAX, &text, err);
    if (r == -ENOENT)
        r = 0;
    char *save = NULL, *line = r == 0 && text.data ? strtok_r((char *)text.data, "\n", &save) : NULL;
    for (; line; line = strtok_r(NULL, "\n", &save))
        take_line(journal, line);
    sc_buf_fini(&text);
    return r;
}

/* ---- what is left ---- */

static int sweep(struct sc_err *err)
{
    static struct sc_host host; /* some kilobytes */
    const struct sc_host_options options = {.cgroup_parent = getenv("SNAPCELL_CGROUP_PARENT"),
                                            .want_scope = true};
    int r = sc_host_probe(&host, &options, err);
    if (r == 0)
        (void)sc_group_sweep(&host); /* how many: what can not go now, the next cell's maker tries again */
    return r;
}

/* ---- writing ---- */

static const char *name_of(const struct tenant *tenant)
{
    return tenant ? tenant->name : NOBODY;
}

static int begin(struct keeper *keeper)
{
    struct journal *journal = keeper->journal;
    sc_close(&journal->fd);
    journal->fd = openat(keeper->state, JOURNAL,
                         O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
    journal->size = 0;
    return journal->fd < 0 ? -errno : 0;
}

static void write_line(struct journal *journal, char sign, const char *tenant, const char *id)
{
    char line[SC_TENANT_NAME + SC_KEEPER_NAME_MAX + 8];
    int n = snprintf(line, sizeof line, "%c %s %s\n", sign, tenant, id);
    /* What can not be written costs the words about a session's end, nothing else. */
    if (sc_write_all(journal->fd, line, (size_t)n) == 0)
        journal->size += (size_t)n;
}

/* All that lives, anew. */
static void rotate(struct keeper *keeper)
{
    const struct keeper_session *session;
    if (begin(keeper) < 0)
        return;
    TAILQ_FOREACH(session, &keeper->sessions, entry)
    {
        if (*session->id)
            write_line(keeper->journal, '+', name_of(session->tenant), session->id);
    }
}

int journal_open(struct keeper *keeper, struct sc_err *err)
{
    struct journal *journal = calloc(1, sizeof *journal);
    if (!journal)
        return sc_err_sys(err, -ENOMEM, "journal");
    keeper->journal = journal;
    journal->fd = -1;
    journal->lost = calloc(LOST_MAX, sizeof *journal->lost);
    if (!journal->lost)
        return sc_err_sys(err, -ENOMEM, "journal");
    int r = read_journal(keeper, err);
    if (r == 0)
        r = sweep(err);
    if (r == 0 && (r = begin(keeper)) < 0)
        sc_err_sys(err, r, "state: " JOURNAL);
    for (size_t i = 0; i < journal->n_lost && r == 0; i++)
        note_lost(keeper, journal->lost[i].tenant, journal->lost[i].id);
    return r;
}

void journal_close(struct keeper *keeper)
{
    struct journal *journal = keeper->journal;
    if (!journal)
        return;
    sc_close(&journal->fd);
    free(journal->lost);
    free(journal);
    keeper->journal = NULL;
}

void journal_began(const struct keeper_session *session)
{
    struct journal *journal = session->keeper->journal;
    if (!journal)
        return;
    /* A name may be used again. */
    struct lost *lost = find(journal, name_of(session->tenant), session->id);
    if (lost)
        *lost = journal->lost[--journal->n_lost];
    write_line(journal, '+', name_of(session->tenant), session->id);
}

void journal_ended(const struct keeper_session *session)
{
    struct journal *journal = session->keeper->journal;
    if (!journal || !*session->id)
        return;
    write_line(journal, '-', name_of(session->tenant), session->id);
    if (journal->size > ROTATE_AT)
        rotate(session->keeper);
}

bool journal_lost(const struct caller *caller, const char *id)
{
    return caller->keeper->journal && find(caller->keeper->journal, name_of(caller->tenant), id);
}
