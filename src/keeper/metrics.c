/* `metrics`: what the keeper counts, in Prometheus' text form. A tenant is told its own figures only. */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "keeper/parts.h"
#include "keeper/reply.h"

#define TEXT_MAX ((size_t)16 * 1024 * 1024)

static int head(struct sc_buf *text, const char *name, const char *type, const char *help)
{
    return sc_buf_printf(text, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static int one(struct sc_buf *text, const char *name, const char *type, const char *help, double value)
{
    int r = head(text, name, type, help);
    return r < 0 ? r : sc_buf_printf(text, "%s %.15g\n", name, value);
}

/* Kernel and policy words only stand in labels; what is odd in them is replaced all the same. */
static const char *label(char *room, size_t size, const char *value)
{
    snprintf(room, size, "%s", value);
    for (char *at = room; *at; at++)
        if (*at == '"' || *at == '\\' || (unsigned char)*at < ' ')
            *at = '_';
    return room;
}

static int put_results(struct sc_buf *text, const struct counts *counts)
{
    int r = head(text, "snapcell_results_total", "counter", "Runs and commands that ended, by verdict.");
    for (size_t i = 0; i < NOTES_STATUSES && r == 0; i++)
        r = sc_buf_printf(text, "snapcell_results_total{status=\"%s\"} %" PRIu64 "\n", SC_STATUS_NAMES[i],
                          counts->results[i]);
    return r;
}

static int put_refusals(struct sc_buf *text, const struct counts *counts)
{
    const struct {
        const char *kind;
        uint64_t count;
    } rows[] = {{"too_many", counts->too_many},
                {"overloaded", counts->overloaded},
                {"deadline", counts->late},
                {"unauthorized", counts->unauthorized},
                {"forbidden", counts->forbidden}};
    int r = head(text, "snapcell_refused_total", "counter", "Requests that were refused.");
    for (size_t i = 0; i < sizeof rows / sizeof *rows && r == 0; i++)
        r = sc_buf_printf(text, "snapcell_refused_total{kind=\"%s\"} %" PRIu64 "\n", rows[i].kind,
                          rows[i].count);
    return r;
}

static int put_denials(struct sc_buf *text, const struct counts *counts)
{
    char layer[32], action[64], rule[80];
    int r = head(text, "snapcell_denials_total", "counter", "What cells were refused, by rule.");
    for (size_t i = 0; i < counts->n_denials && r == 0; i++) {
        const struct denial_count *denial = &counts->denials[i];
        r = sc_buf_printf(
            text, "snapcell_denials_total{layer=\"%s\",action=\"%s\",rule=\"%s\"} %" PRIu64 "\n",
            label(layer, sizeof layer, denial->layer), label(action, sizeof action, denial->action),
            label(rule, sizeof rule, denial->rule), denial->count);
    }
    if (r == 0 && counts->denials_more)
        r = sc_buf_printf(text, "snapcell_denials_total{layer=\"other\",action=\"\",rule=\"\"} %" PRIu64 "\n",
                          counts->denials_more);
    return r;
}

/* `labels` ends with a comma, or is "". */
static int put_histogram(struct sc_buf *text, const char *name, const char *labels,
                         const struct histogram *histogram)
{
    uint64_t sum = 0;
    int r = 0, n = (int)strlen(labels) - 1;
    for (size_t i = 0; i < NOTES_BUCKETS - 1 && r == 0; i++) {
        sum += histogram->counts[i];
        r = sc_buf_printf(text, "%s_bucket{%sle=\"%.15g\"} %" PRIu64 "\n", name, labels,
                          NOTES_BOUNDS_MS[i] / 1000, sum);
    }
    sum += histogram->counts[NOTES_BUCKETS - 1];
    if (r == 0)
        r = sc_buf_printf(text, "%s_bucket{%sle=\"+Inf\"} %" PRIu64 "\n", name, labels, sum);
    if (r == 0)
        r = n > 0 ? sc_buf_printf(text, "%s_sum{%.*s} %.15g\n%s_count{%.*s} %" PRIu64 "\n", name, n, labels,
                                  histogram->sum_ms / 1000, name, n, labels, sum)
                  : sc_buf_printf(text, "%s_sum %.15g\n%s_count %" PRIu64 "\n", name,
                                  histogram->sum_ms / 1000, name, sum);
    return r;
}

static int put_starts(struct sc_buf *text, const struct counts *counts)
{
    char start[32];
    int r = head(text, "snapcell_starts_total", "counter",
                 "Single runs by how they were started: in a cell that waited, by a fork, or cold.");
    for (size_t i = 0; i < NOTES_STARTS && r == 0; i++)
        r = sc_buf_printf(text, "snapcell_starts_total{start=\"%s\"} %" PRIu64 "\n", SC_START_NAMES[i],
                          counts->starts[i]);
    if (r == 0)
        r = head(text, "snapcell_start_seconds", "histogram", "From a single run's turn to its hand-over.");
    for (size_t i = 0; i < NOTES_STARTS && r == 0; i++) {
        snprintf(start, sizeof start, "start=\"%s\",", SC_START_NAMES[i]);
        r = put_histogram(text, "snapcell_start_seconds", start, &counts->start[i]);
    }
    if (r == 0)
        r = head(text, "snapcell_queue_seconds", "histogram", "Single runs' waiting for their turn.");
    return r < 0 ? r : put_histogram(text, "snapcell_queue_seconds", "", &counts->queue);
}

/* What belongs to the cells of sessions and runs alone, as their groups tell. */
static int put_memory(struct sc_buf *text, const struct keeper *keeper)
{
    const struct keeper_session *session;
    uint64_t sum = 0, largest = 0, n = 0;
    TAILQ_FOREACH(session, &keeper->sessions, entry)
    {
        uint64_t bytes = 0;
        if (!session->session || sc_live_memory(sc_session_live(session->session), &bytes) < 0)
            continue;
        sum += bytes;
        largest = bytes > largest ? bytes : largest;
        n++;
    }
    int r = one(text, "snapcell_cells_memory_bytes", "gauge",
                "Memory charged to living cells, of those that have a group.", (double)sum);
    if (r == 0)
        r = one(text, "snapcell_cell_memory_bytes_mean", "gauge", "The same, of one cell.",
                n ? (double)sum / (double)n : 0);
    return r < 0 ? r
                 : one(text, "snapcell_cell_memory_bytes_largest", "gauge", "The same, of the largest.",
                       (double)largest);
}

static unsigned count_descriptors(void)
{
    unsigned n = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (folder && readdir(folder))
        n++;
    if (folder)
        closedir(folder);
    return n > 3 ? n - 3 : 0; /* the two dots, and the folder itself */
}

static int put_state(struct sc_buf *text, struct keeper *keeper)
{
    const struct {
        const char *name, *help;
        double value;
    } rows[] = {
        {"snapcell_uptime_seconds", "Since the keeper began.",
         (double)(sc_now_ns() - keeper->since_ns) / (double)SC_NS_PER_S},
        {"snapcell_sessions", "Living sessions, and single runs.", keeper->n_sessions},
        {"snapcell_running", "Single runs of tenants.", keeper->admission.n_running},
        {"snapcell_queued", "Requests that wait for their turn.", keeper->admission.n_queued},
        {"snapcell_parked_cells", "Cells that wait for a single run.", warm_parked(keeper)},
        {"snapcell_blank_cells", "Cells that forks can be made into at once.", warm_blanks(keeper)},
        {"snapcell_shapes", "Kinds of cells that are kept ready.", keeper->n_shapes},
        {"snapcell_connections", "Connections of clients and gates.", keeper->n_peers + keeper->n_gates},
        {"snapcell_pressed", "1 while the machine is pressed.", admission_is_pressed(keeper)},
        {"snapcell_descriptors", "Open descriptors of the keeper.", count_descriptors()},
        {"snapcell_state_broken", "1 while a file of the state folder can not be read.",
         keeper->identities && identities_trouble(keeper->identities)},
    };
    int r = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows && r == 0; i++)
        r = one(text, rows[i].name, "gauge", rows[i].help, rows[i].value);
    if (r == 0)
        r = one(text, "snapcell_sessions_started_total", "counter", "Sessions that were made.",
                (double)keeper->counts.sessions_started);
    if (r == 0 && keeper->audit)
        r = one(text, "snapcell_audit_lost_total", "counter", "Records that could not be written.",
                (double)sc_audit_lost(keeper->audit));
    return r;
}

static int put_tenant(struct sc_buf *text, const struct tenant *tenant)
{
    return sc_buf_printf(text,
                         "snapcell_tenant_cells{tenant=\"%s\"} %" PRIu64
                         "\nsnapcell_tenant_queued{tenant=\"%s\"} %u\n"
                         "snapcell_tenant_results_total{tenant=\"%s\"} %" PRIu64
                         "\nsnapcell_tenant_too_many_total{tenant=\"%s\"} %" PRIu64 "\n",
                         tenant->name, tenant->used.cells, tenant->name, tenant->n_queued, tenant->name,
                         tenant->results, tenant->name, tenant->too_many);
}

/* `only` NULL: all. */
static int put_tenants(struct sc_buf *text, const struct keeper *keeper, const struct tenant *only)
{
    const struct tenant *tenant = keeper->identities ? identities_first(keeper->identities) : NULL;
    int r = head(text, "snapcell_tenant_cells", "gauge", "Living cells.");
    if (r == 0)
        r = head(text, "snapcell_tenant_queued", "gauge", "Requests that wait for their turn.");
    if (r == 0)
        r = head(text, "snapcell_tenant_results_total", "counter", "Runs and commands that ended.");
    if (r == 0)
        r = head(text, "snapcell_tenant_too_many_total", "counter", "Requests beyond quota or rate.");
    for (; tenant && r == 0; tenant = TAILQ_NEXT(tenant, entry))
        if (!only || tenant == only)
            r = put_tenant(text, tenant);
    return r;
}

static int put_all(struct sc_buf *text, struct keeper *keeper)
{
    int r = put_state(text, keeper);
    if (r == 0)
        r = put_results(text, &keeper->counts);
    if (r == 0)
        r = put_refusals(text, &keeper->counts);
    if (r == 0)
        r = put_starts(text, &keeper->counts);
    if (r == 0)
        r = put_memory(text, keeper);
    return r < 0 ? r : put_denials(text, &keeper->counts);
}

char *metrics_tell(const struct caller *caller)
{
    struct sc_buf text;
    bool all = !caller->tenant || caller->tenant->quota->is_operator;
    sc_buf_init(&text, TEXT_MAX);
    int r = all ? put_all(&text, caller->keeper) : 0;
    if (r == 0)
        r = put_tenants(&text, caller->keeper, all ? NULL : caller->tenant);
    char *reply =
        r == 0 ? sc_keeper_reply_value(json_pack("{s:s}", "text", text.data ? (const char *)text.data : ""))
               : NULL;
    sc_buf_fini(&text);
    return reply;
}
