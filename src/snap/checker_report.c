/* What the checker program says → a report. It read what a stranger wrote: nothing of it is taken as it
 * comes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "result/result.h"
#include "snap/checker_parts.h"

#define FINDINGS_MAX 201 /* 200, and one that says that there are more */
#define TEXT_MAX 1200

static int broken(struct sc_check_job *job)
{
    return sc_err_set(&job->err, SC_ERR_SANDBOX, -EPROTO, "checker: it said what it must not say");
}

/* A text of the finding, shortened and without control bytes; NULL: it has none. */
static json_t *text_of(const json_t *finding, const char *key)
{
    char shown[TEXT_MAX];
    const json_t *text = json_object_get(finding, key);
    if (!json_is_string(text))
        return NULL;
    return json_string(sc_text_show(shown, sizeof shown, json_string_value(text), json_string_length(text)));
}

static json_t *number_of(const json_t *finding, const char *key)
{
    json_int_t value = json_integer_value(json_object_get(finding, key));
    return json_integer(value < 1 ? 1 : value);
}

/* Only the fields that it may have. NULL: out of memory. */
static json_t *clean(const json_t *finding)
{
    static const char *const texts[] = {"rule", "severity", "name", "snippet", "message", "advice"};
    json_t *out = json_object();
    int r = 0;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        json_t *text = text_of(finding, texts[i]);
        if (text)
            r |= json_object_set_new(out, texts[i], text);
    }
    r |= json_object_set_new(out, "line", number_of(finding, "line"));
    r |= json_object_set_new(out, "column", number_of(finding, "column"));
    if (r == 0)
        return out;
    json_decref(out);
    return NULL;
}

static int take_findings(struct sc_check_job *job, const json_t *findings)
{
    size_t i;
    json_t *finding;
    if (!json_is_array(findings) || json_array_size(findings) > FINDINGS_MAX)
        return broken(job);
    job->report.findings = json_array();
    json_array_foreach(findings, i, finding)
    {
        if (!json_is_object(finding))
            return broken(job);
        if (json_array_append_new(job->report.findings, clean(finding)) < 0)
            return sc_err_sys(&job->err, -ENOMEM, "checker");
    }
    return job->report.findings ? 0 : sc_err_sys(&job->err, -ENOMEM, "checker");
}

void sc_check_take_reply(struct sc_check_job *job)
{
    json_t *reply = NULL;
    json_error_t error;
    char shown[600];
    job->answered = true;
    if (sc_json_load((const char *)job->reply.data + sizeof(uint32_t), job->reply.len - sizeof(uint32_t), 0,
                     &reply, &error) < 0) {
        broken(job);
        return;
    }
    const json_t *refusal = json_object_get(reply, "error");
    if (json_is_object(refusal)) {
        const json_t *message = json_object_get(refusal, "message");
        const char *text = json_is_string(message) ? json_string_value(message) : "";
        sc_err_usage(&job->err, "rules", "%s", sc_text_show(shown, sizeof shown, text, strlen(text)));
    } else {
        (void)take_findings(job, json_object_get(reply, "findings"));
    }
    json_decref(reply);
}

void sc_check_unreadable(struct sc_check_job *job, const char *why)
{
    json_decref(job->report.findings);
    job->answered = job->asked = true;
    job->report.findings = json_pack("[{s:s, s:s, s:i, s:i, s:s, s:s, s:s}]", "rule", "unreadable",
                                     "severity", "error", "line", 1, "column", 1, "snippet", "", "message",
                                     why, "advice", "Move data into files, and nest less.");
    if (!job->report.findings)
        sc_err_sys(&job->err, -ENOMEM, "checker");
}

/* The first finding that is more than a note names what it is about. */
static void say_blocked(struct sc_check_report *report)
{
    size_t i;
    json_t *finding;
    json_array_foreach(report->findings, i, finding)
    {
        const char *severity = json_string_value(json_object_get(finding, "severity"));
        const char *name = json_string_value(json_object_get(finding, "name"));
        const char *rule = json_string_value(json_object_get(finding, "rule"));
        if (severity && !strcmp(severity, "note"))
            continue;
        snprintf(report->message, sizeof report->message, "Blocked: %.200s (line %lld)",
                 name && *name ? name
                 : rule        ? rule
                               : "",
                 (long long)json_integer_value(json_object_get(finding, "line")));
        return;
    }
}

/* What was not understood has been told better. */
static void drop_partly_read(json_t *findings)
{
    for (size_t i = json_array_size(findings); i-- > 0;) {
        const char *rule = json_string_value(json_object_get(json_array_get(findings, i), "rule"));
        if (rule && !strcmp(rule, "partly-read"))
            json_array_remove(findings, i);
    }
}

void sc_check_conclude(struct sc_check_job *job)
{
    struct sc_check_report *report = &job->report;
    if (report->syntax_error[0])
        drop_partly_read(report->findings);
    report->allowed = sc_findings_allow(report->findings) && !report->syntax_error[0];
    if (!sc_findings_allow(report->findings))
        say_blocked(report);
}

void sc_check_report_fini(struct sc_check_report *report)
{
    json_decref(report->findings);
    *report = (struct sc_check_report){0};
}
