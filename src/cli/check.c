/* `snapcell check`: read source, run nothing. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/text.h"
#include "cli/job.h"
#include "cli/say.h"
#include "snap/check_first.h"

/* TypeScript is read, too, though not every Node runs it. */
static void settle_language(struct sc_spec *spec)
{
    static const char *const suffixes[] = {".ts", ".mts", ".cts", ".tsx", ".jsx"};
    const char *dot = spec->program ? strrchr(spec->program, '.') : NULL;
    for (size_t i = 0; dot && spec->lang == SC_LANG_AUTO && i < sizeof suffixes / sizeof suffixes[0]; i++)
        if (!strcmp(dot, suffixes[i]))
            spec->lang = SC_LANG_NODE;
}

static int check_operands(const struct sc_cli_args *args, struct sc_err *err)
{
    bool has_code = args->texts[SC_TEXT_CODE] != NULL;
    if (args->dashes)
        return sc_err_usage(err, "", "check: a command has no source; allowed is FILE, -, or -c CODE");
    if (args->n_operands > !has_code)
        return sc_err_usage(err, "", "check %s: must be one FILE, -, or -c CODE",
                            args->operands[args->n_operands - 1]);
    return 0;
}

static const char *text_in(const json_t *finding, const char *key)
{
    const char *text = json_string_value(json_object_get(finding, key));
    return text ? text : "";
}

static void add_finding(struct sc_buf *out, const char *file, const json_t *finding)
{
    sc_buf_printf(out, "%s:%lld:%lld: %s: %s [%s]\n", file,
                  (long long)json_integer_value(json_object_get(finding, "line")),
                  (long long)json_integer_value(json_object_get(finding, "column")),
                  text_in(finding, "severity"), text_in(finding, "message"), text_in(finding, "rule"));
    if (*text_in(finding, "snippet"))
        sc_buf_printf(out, "    %s\n", text_in(finding, "snippet"));
    if (*text_in(finding, "advice"))
        sc_buf_printf(out, "    → %s\n", text_in(finding, "advice"));
}

static int tell_text(const struct sc_spec *spec, const struct sc_check_report *report)
{
    struct sc_buf out;
    size_t i, len;
    json_t *finding;
    char shown[300];
    const char *name = spec->program ? spec->program : "-";
    const char *file = sc_text_show(shown, sizeof shown, name, strlen(name));
    sc_buf_init(&out, 1024 * 1024);
    if (report->syntax_error[0])
        sc_buf_printf(&out, "%s: %s\n", file, report->syntax_error);
    json_array_foreach(report->findings, i, finding) add_finding(&out, file, finding);
    bool is_empty = out.len == 0;
    char *text = sc_buf_steal(&out, &len);
    if (!is_empty)
        return sc_cli_print(text);
    free(text); /* nothing found, nothing said */
    return SC_CLI_EXIT_OK;
}

static int tell_json(const struct sc_check_report *report)
{
    json_t *object = json_pack("{s:b, s:O}", "allowed", report->allowed, "findings", report->findings);
    if (object && report->syntax_error[0])
        json_object_set_new(object, "syntax_error", json_string(report->syntax_error));
    char *text = sc_json_dump(object, JSON_INDENT(2));
    json_decref(object);
    return sc_cli_print_json(text);
}

static int check_source(const struct sc_cli_job *job, bool json, struct sc_err *err)
{
    struct sc_check_report report = {0};
    if (sc_check_plan(job->plan, &report, err) < 0)
        return sc_cli_fail(err);
    int status = json ? tell_json(&report) : tell_text(&job->spec, &report);
    if (status == SC_CLI_EXIT_OK && !report.allowed)
        status = SC_CLI_EXIT_FOUND;
    sc_check_report_fini(&report);
    return status;
}

int sc_cli_check(const struct sc_cli_args *args)
{
    struct sc_cli_job job;
    struct sc_err err = {0};
    if (check_operands(args, &err) < 0 || sc_cli_job_init(&job, args, &err) < 0)
        return sc_cli_fail(&err);
    settle_language(&job.spec);
    job.spec.validate.on = true;
    job.spec.validate.on_finding = SC_FINDING_BLOCK;
    int status = sc_cli_job_plan(&job, &err) < 0 ? sc_cli_fail(&err)
                                                 : check_source(&job, args->flags & SC_FLAG_JSON, &err);
    sc_cli_job_fini(&job);
    return status;
}
