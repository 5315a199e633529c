/* What people see of a batch: a bar while it runs, a sum at its end. */
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "cli/batch.h"
#include "cli/cli.h"
#include "cli/say.h"

#define BAR_NS (200 * SC_NS_PER_MS)
#define BAR_WIDTH 30

void batch_show_bar(struct batch *batch, bool last)
{
    uint64_t now = sc_now_ns();
    char bar[BAR_WIDTH + 1];
    if (batch->json || !isatty(STDERR_FILENO) || (!last && now - batch->bar_ns < BAR_NS))
        return;
    batch->bar_ns = now;
    size_t full = batch->n_jobs ? batch->done * BAR_WIDTH / batch->n_jobs : BAR_WIDTH;
    double seconds = (double)(now - batch->since_ns) / (double)SC_NS_PER_S;
    for (size_t i = 0; i < BAR_WIDTH; i++)
        bar[i] = i < full ? '#' : '.';
    bar[BAR_WIDTH] = '\0';
    (void)fprintf(stderr, "\r[%s] %zu/%zu  %zu failed  %.1f/s ", bar, batch->done, batch->n_jobs,
                  batch->outcomes[BATCH_FAILED] + batch->outcomes[BATCH_ERROR],
                  seconds > 0 ? (double)(batch->done - batch->resumed) / seconds : 0);
    if (last)
        (void)fputc('\n', stderr);
    (void)fflush(stderr);
}

static int tell_json(const struct batch *batch, uint64_t wall_ms)
{
    json_t *sum =
        json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "jobs", (json_int_t)batch->n_jobs, "ok",
                  (json_int_t)batch->outcomes[BATCH_OK], "failed", (json_int_t)batch->outcomes[BATCH_FAILED],
                  "errors", (json_int_t)batch->outcomes[BATCH_ERROR], "duplicates",
                  (json_int_t)batch->duplicates, "resumed", (json_int_t)batch->resumed, "left",
                  (json_int_t)(batch->n_jobs - batch->done), "wall_ms", (json_int_t)wall_ms);
    int status = sc_cli_print_json(sc_json_dump(sum, JSON_INDENT(2)));
    json_decref(sum);
    return status;
}

int batch_tell(const struct batch *batch)
{
    uint64_t wall_ms = (sc_now_ns() - batch->since_ns) / SC_NS_PER_MS;
    if (batch->json)
        return tell_json(batch, wall_ms);
    sc_cli_say("batch: %zu jobs: %zu ok, %zu failed, %zu errors, %zu left; %zu were done before, %zu "
               "answered from others; "
               "%.1f s",
               batch->n_jobs, batch->outcomes[BATCH_OK], batch->outcomes[BATCH_FAILED],
               batch->outcomes[BATCH_ERROR], batch->n_jobs - batch->done, batch->resumed, batch->duplicates,
               (double)wall_ms / 1000);
    return SC_CLI_EXIT_OK;
}
