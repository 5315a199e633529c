/* `snapcell audit`: is the audit stream whole? */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/options.h"
#include "cli/say.h"
#include "keeper/audit.h"
#include "keeper/state.h"

#define EXIT_BROKEN 1

/* "NUMBER:HASH" */
static int parse_expected(const char *text, uint64_t *ret_seq, const char **ret_hash, struct sc_err *err)
{
    char *end = NULL;
    if (!text)
        return 0;
    *ret_seq = *text >= '1' && *text <= '9' ? strtoull(text, &end, 10) : 0;
    if (!*ret_seq || *end != ':' || strlen(end + 1) != SC_SHA256_TEXT - 1 ||
        strspn(end + 1, "0123456789abcdef") != SC_SHA256_TEXT - 1)
        return sc_err_usage(err, "expect",
                            "expect: must be NUMBER:HASH, as `snapcell audit verify` printed it");
    *ret_hash = end + 1;
    return 0;
}

static int tell(const struct sc_audit_report *report, bool json)
{
    char *text = NULL;
    if (json) {
        json_t *value = json_pack("{s:b, s:I, s:I, s:I, s:I, s:s, s:s?}", "whole", !*report->broken,
                                  "records", (json_int_t)report->records, "first", (json_int_t)report->first,
                                  "last", (json_int_t)report->last, "lost", (json_int_t)report->lost, "head",
                                  report->head, "broken", *report->broken ? report->broken : NULL);
        text = sc_json_dump(value, JSON_INDENT(1));
        json_decref(value);
        return sc_cli_print_json(text);
    }
    if (asprintf(&text,
                 "%" PRIu64 " records, %" PRIu64 " to %" PRIu64 "; %" PRIu64
                 " could not be written\nhead %" PRIu64 ":%s",
                 report->records, report->first, report->last, report->lost, report->last, report->head) < 0)
        text = NULL;
    return sc_cli_print(text);
}

static int verify(const struct sc_cli_args *args)
{
    const char *given = args->texts[SC_TEXT_STATE], *hash = NULL;
    struct sc_audit_report report;
    struct sc_err err = {0};
    char path[PATH_MAX];
    uint64_t seq = 0;
    int r = parse_expected(args->texts[SC_TEXT_EXPECT], &seq, &hash, &err);
    if (r == 0 && !given)
        r = sc_state_path(path, &err);
    int state = r == 0 ? sc_state_open(given ? given : path, &err) : r;
    if (state < 0)
        return sc_cli_fail(&err);
    r = sc_audit_verify(state, seq, hash, &report, &err);
    sc_close(&state);
    if (r < 0)
        return sc_cli_fail(&err);
    if (!*report.broken && seq && !report.met)
        snprintf(report.broken, sizeof report.broken,
                 "record %" PRIu64 " is missing, or is not the one that was", seq);
    int status = tell(&report, args->flags & SC_FLAG_JSON);
    if (*report.broken && status == SC_CLI_EXIT_OK) {
        sc_cli_say("audit: %s", report.broken);
        return EXIT_BROKEN;
    }
    return status;
}

int sc_cli_audit(const struct sc_cli_args *args)
{
    struct sc_err err = {0};
    if (args->n_operands == 1 && !strcmp(args->operands[0], "verify"))
        return verify(args);
    sc_err_usage(&err, "", "audit: allowed is the one word verify");
    return sc_cli_fail(&err);
}
