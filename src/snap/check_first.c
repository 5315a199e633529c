#include "snap/check_first.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"

static int read_source(const struct sc_spec *spec, struct sc_buf *room, const char **ret_source,
                       size_t *ret_len, struct sc_err *err)
{
    if (spec->code) {
        *ret_source = spec->code;
        *ret_len = spec->code_len;
        return 0;
    }
    int r = sc_buf_read_file(room, AT_FDCWD, spec->program);
    if (r < 0)
        return sc_err_usage(err, "program", "program: %s: cannot be read: %s", spec->program,
                            r == -EMSGSIZE ? "it is larger than 16 MiB" : strerror(-r));
    *ret_source = room->len ? (const char *)room->data : "";
    *ret_len = room->len;
    return 0;
}

/* TypeScript is no syntax of Node's --check, and a module's may be one of nothing else. */
static bool can_tell_syntax(const struct sc_plan *plan, const char *name)
{
    static const char *const not_these[] = {".ts", ".tsx", ".mts", ".cts", ".jsx", ".mjs", NULL};
    const char *dot = name ? strrchr(name, '.') : NULL;
    if (plan->lang != SC_LANG_NODE)
        return true;
    for (int i = 0; dot && not_these[i]; i++)
        if (!strcmp(dot, not_these[i]))
            return false;
    return plan->spec->mode == SC_MODE_PLAIN;
}

bool sc_check_apply(const struct sc_validate *validate, const struct sc_check_report *report,
                    struct sc_result *result)
{
    bool blocks = validate->on_finding == SC_FINDING_BLOCK && report->message[0];
    result->findings = json_incref(report->findings);
    if (!blocks && !report->syntax_error[0])
        return false;
    result->status = blocks ? SC_STATUS_BLOCKED : SC_STATUS_SYNTAX_ERROR;
    result->exit_code = -1;
    snprintf(result->message, sizeof result->message, "%s", blocks ? report->message : report->syntax_error);
    return true;
}

int sc_check_plan(const struct sc_plan *plan, struct sc_check_report *ret_report, struct sc_err *err)
{
    const struct sc_spec *spec = plan->spec;
    struct sc_checker *checker = NULL;
    struct sc_buf room;
    const char *slash = spec->program ? strrchr(spec->program, '/') : NULL;
    const char *name = slash ? slash + 1 : spec->program;
    struct sc_check_request request = {
        .lang = plan->lang,
        .name = name,
        .validate = &spec->validate,
        .syntax = can_tell_syntax(plan, name),
        .notebook = spec->mode == SC_MODE_RICH,
    };
    sc_buf_init(&room, SC_SPEC_CODE_MAX);
    int r = read_source(spec, &room, &request.source, &request.len, err);
    if (r == 0)
        r = sc_checker_open(plan->host, spec, &checker, err);
    if (r == 0)
        r = sc_checker_check_now(checker, &request, ret_report, err);
    sc_checker_close(checker);
    sc_buf_fini(&room);
    return r;
}

int sc_check_first(const struct sc_plan *plan, struct sc_result *result, struct sc_err *err)
{
    struct sc_check_report report = {0};
    if (!plan->spec->validate.on)
        return 0;
    int r = sc_check_plan(plan, &report, err);
    if (r == 0)
        r = sc_check_apply(&plan->spec->validate, &report, result);
    if (r == 1)
        result->mode = plan->spec->mode;
    sc_check_report_fini(&report);
    return r;
}
