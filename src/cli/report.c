#include "cli/report.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include <jansson.h>

#include "base/clock.h"

/* The report only informs: where memory runs out, the rest of it is left out (sc_buf refuses), and the exit
 * status still tells. */

static void add_bytes(struct sc_buf *out, uint64_t bytes)
{
    static const char units[] = "BKMGT";
    double value = (double)bytes;
    size_t unit = 0;
    while (value >= 1024 && units[unit + 1]) {
        value /= 1024;
        unit++;
    }
    sc_buf_printf(out, unit && value < 10 ? "%.1f%c" : "%.0f%c", value, units[unit]);
}

static void add_time(struct sc_buf *out, uint64_t ns)
{
    double seconds = (double)ns / (double)SC_NS_PER_S;
    if (seconds >= 1)
        sc_buf_printf(out, "%.2f s", seconds);
    else
        sc_buf_printf(out, seconds >= 0.01 ? "%.0f ms" : "%.1f ms", seconds * 1000);
}

/* A file's name as the program chose it: a new line in it must not begin a line of ours. */
static void add_path(struct sc_buf *out, const char *path)
{
    for (; *path; path++)
        if ((unsigned char)*path < 0x20)
            sc_buf_printf(out, "^%c", *path ^ 0x40);
        else
            sc_buf_add(out, path, 1);
}

static void add_names(struct sc_buf *out, uint32_t bits, const char *const *names)
{
    const char *before = "";
    for (unsigned i = 0; names[i]; i++)
        if (bits & (1u << i)) {
            sc_buf_printf(out, "%s%s", before, names[i]);
            before = ", ";
        }
}

static void add_denial(struct sc_buf *out, const struct sc_denial *denial)
{
    sc_buf_printf(out, "%s: %s", denial->layer, denial->action);
    if (denial->resource[0])
        sc_buf_printf(out, " %s", denial->resource);
    if (denial->count > 1)
        sc_buf_printf(out, " (%" PRIu64 " times)", denial->count);
    if (denial->hint[0])
        sc_buf_printf(out, "; %s", denial->hint);
}

static void add_verdict(struct sc_buf *out, const struct sc_result *result)
{
    const char *name = SC_STATUS_NAMES[result->status];
    sc_buf_printf(out, "snapcell: %s\n", result->message[0] ? result->message : name);
}

static void add_cut(struct sc_buf *out, const char *name, const struct sc_stream *stream)
{
    if (!stream->truncated)
        return;
    sc_buf_printf(out, "snapcell: %s was cut: ", name);
    add_bytes(out, stream->kept.len);
    sc_buf_add_str(out, " kept of ");
    add_bytes(out, stream->total);
    sc_buf_add_str(out, "\n");
}

static void add_skipped(struct sc_buf *out, const struct sc_result *result)
{
    if (!result->n_skipped)
        return;
    sc_buf_add_str(out, "snapcell: not saved: ");
    add_path(out, result->skipped[0].path);
    sc_buf_printf(out, " (%s)", result->skipped[0].why);
    if (result->n_skipped > 1)
        sc_buf_printf(out, " and %zu more", result->n_skipped - 1);
    sc_buf_add_str(out, "\n");
}

static void add_first_denial(struct sc_buf *out, const struct sc_result *result)
{
    if (!result->n_denials || result->status == SC_STATUS_OK || result->status == SC_STATUS_CANCELLED)
        return;
    sc_buf_add_str(out, "snapcell: refused: ");
    add_denial(out, &result->denials[0]);
    if (result->n_denials > 1)
        sc_buf_printf(out, " and %zu more (--verbose)", result->n_denials - 1);
    sc_buf_add_str(out, "\n");
}

/* Text from inside, on lines of its own. */
static void add_lines(struct sc_cli_sink *sink, const struct sc_stream *before, const char *text, size_t len)
{
    const size_t max = SC_CLI_INSIDE_MAX - 2; /* two new lines */
    const struct sc_buf *kept = &before->kept;
    len = len < max ? len : max;
    if (kept->len && kept->data[kept->len - 1] != '\n')
        sc_cli_sink_add(sink, "\n", 1);
    sc_cli_sink_add(sink, text, len);
    if (len && text[len - 1] != '\n')
        sc_cli_sink_add(sink, "\n", 1);
}

static bool has_traceback(const struct sc_result *result)
{
    return json_string_length(json_object_get(result->inside.error, "traceback")) > 0;
}

void sc_cli_report_inside(const struct sc_result *result, struct sc_cli_sink *out, struct sc_cli_sink *err)
{
    const json_t *value = json_object_get(result->inside.value, "text/plain");
    if (json_is_string(value))
        add_lines(out, &result->out, json_string_value(value), json_string_length(value));
    const json_t *traceback = json_object_get(result->inside.error, "traceback");
    if (has_traceback(result))
        add_lines(err, &result->err, json_string_value(traceback), json_string_length(traceback));
}

static const char *finding_text(const json_t *finding, const char *key)
{
    const char *text = json_string_value(json_object_get(finding, key));
    return text ? text : "";
}

/* What reading the code found: its snippets are the program's, and so perhaps the words about them. */
static void add_findings(struct sc_buf *out, const struct sc_result *result)
{
    for (size_t i = 0; i < json_array_size(result->findings); i++) {
        const json_t *finding = json_array_get(result->findings, i);
        sc_buf_add_str(out, "snapcell: found: ");
        add_path(out, finding_text(finding, "rule"));
        sc_buf_printf(out, " (line %lld): ", (long long)json_integer_value(json_object_get(finding, "line")));
        add_path(out, finding_text(finding, "message"));
        sc_buf_add_str(out, "\n");
    }
}

/* Did the program's end speak for itself? A command that could not be started has said nothing, and its exit
 * code is one of the two that shells use for this. */
static bool speaks_for_itself(const struct sc_result *result)
{
    bool silent = result->out.total == 0 && result->err.total == 0;
    if (result->status == SC_STATUS_SYNTAX_ERROR)
        return has_traceback(result);
    if (result->status == SC_STATUS_ERROR && has_traceback(result))
        return true;
    if (result->status == SC_STATUS_ERROR)
        return !(silent && (result->exit_code == 126 || result->exit_code == 127));
    return result->status == SC_STATUS_OK;
}

void sc_cli_report_short(const struct sc_result *result, struct sc_buf *out)
{
    if (!speaks_for_itself(result))
        add_verdict(out, result);
    add_cut(out, "stdout", &result->out);
    add_cut(out, "stderr", &result->err);
    add_skipped(out, result);
    add_findings(out, result);
    add_first_denial(out, result);
}

static void add_times(struct sc_buf *out, const struct sc_result *result, const struct sc_limits *limits)
{
    const struct sc_usage *usage = &result->usage;
    sc_buf_add_str(out, "  time       wall ");
    add_time(out, usage->wall_ns);
    sc_buf_add_str(out, " of ");
    add_time(out, limits->wall);
    sc_buf_add_str(out, ", cpu ");
    add_time(out, usage->cpu_user_ns + usage->cpu_system_ns);
    sc_buf_add_str(out, " (user ");
    add_time(out, usage->cpu_user_ns);
    sc_buf_add_str(out, ", system ");
    add_time(out, usage->cpu_system_ns);
    sc_buf_add_str(out, "), start ");
    add_time(out, usage->start_ns);
    if (result->start != SC_START_COLD)
        sc_buf_printf(out, " (%s)", SC_START_NAMES[result->start]);
    sc_buf_add_str(out, "\n");
}

static void add_memory(struct sc_buf *out, const struct sc_usage *usage, const struct sc_limits *limits)
{
    sc_buf_add_str(out, "  memory     ");
    if (usage->memory_peak_bytes) {
        sc_buf_add_str(out, "peak ");
        add_bytes(out, usage->memory_peak_bytes);
        sc_buf_add_str(out, " of ");
        add_bytes(out, limits->memory);
        sc_buf_add_str(out, ", ");
    }
    sc_buf_add_str(out, "largest process ");
    add_bytes(out, usage->rss_peak_bytes);
    if (usage->tasks_peak)
        sc_buf_printf(out, ", tasks %" PRIu64 " of %" PRIu64, usage->tasks_peak, limits->tasks);
    sc_buf_add_str(out, "\n");
}

static void add_output(struct sc_buf *out, const struct sc_usage *usage)
{
    sc_buf_add_str(out, "  output     stdout ");
    add_bytes(out, usage->stdout_bytes);
    sc_buf_add_str(out, ", stderr ");
    add_bytes(out, usage->stderr_bytes);
    sc_buf_add_str(out, ", work folder ");
    add_bytes(out, usage->disk_bytes);
    sc_buf_printf(out, " in %" PRIu64 " files\n", usage->disk_inodes);
}

static void add_remarks(struct sc_buf *out, const struct sc_result *result)
{
    if (result->limits_hit) {
        sc_buf_add_str(out, "  touched    ");
        add_names(out, result->limits_hit, SC_HIT_NAMES);
        sc_buf_add_str(out, "\n");
    }
    if (result->degraded) {
        sc_buf_add_str(out, "  degraded   ");
        add_names(out, result->degraded, SC_DEGRADE_NAMES);
        sc_buf_add_str(out, "\n");
    }
    if (result->agent_shares_uid)
        sc_buf_add_str(out, "  degraded   process 1 shares the program's uid (no subordinate id)\n");
}

static void add_lists(struct sc_buf *out, const struct sc_result *result)
{
    for (size_t i = 0; i < result->n_artifacts; i++) {
        const struct sc_artifact *artifact = &result->artifacts[i];
        sc_buf_add_str(out, "  saved      ");
        add_path(out, artifact->saved ? artifact->saved : artifact->path);
        sc_buf_add_str(out, " (");
        add_bytes(out, artifact->size);
        sc_buf_add_str(out, ")\n");
    }
    for (size_t i = 0; i < result->n_skipped; i++) {
        sc_buf_add_str(out, "  not saved  ");
        add_path(out, result->skipped[i].path);
        sc_buf_printf(out, " (%s)\n", result->skipped[i].why);
    }
    for (size_t i = 0; i < result->n_denials; i++) {
        sc_buf_add_str(out, "  refused    ");
        add_denial(out, &result->denials[i]);
        sc_buf_add_str(out, "\n");
    }
}

static void add_status(struct sc_buf *out, const struct sc_result *result)
{
    sc_buf_printf(out, "snapcell: %s", SC_STATUS_NAMES[result->status]);
    if (result->exit_code >= 0)
        sc_buf_printf(out, ", exit %d", result->exit_code);
    if (result->signal)
        sc_buf_printf(out, ", signal %d", result->signal);
    if (result->message[0] && result->status != SC_STATUS_OK)
        sc_buf_printf(out, ": %s", result->message);
    sc_buf_add_str(out, "\n");
}

void sc_cli_report_long(const struct sc_result *result, const struct sc_limits *limits, struct sc_buf *out)
{
    add_status(out, result);
    add_times(out, result, limits);
    add_memory(out, &result->usage, limits);
    add_output(out, &result->usage);
    add_remarks(out, result);
    add_cut(out, "stdout", &result->out);
    add_cut(out, "stderr", &result->err);
    add_findings(out, result);
    add_lists(out, result);
}
