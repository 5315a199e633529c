/* Errors in the forms that E2B's clients read: of the control plane and of files, of runs, of RPC. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "gate/e2b/e2b.h"

static const struct {
    const char *kind;
    unsigned status;
} ROWS[] = {
    {"usage", 400},      {"json", 400},       {"framing", 400},     {"unauthorized", 401},
    {"forbidden", 403},  {"origin", 403},     {"not_found", 404},   {"ended", 404},
    {"method", 405},     {"conflict", 409},   {"busy", 409},        {"not_forkable", 409},
    {"too_large", 413},  {"media_type", 415}, {"host_header", 421}, {"cancelled", 499},
    {"too_many", 429},   {"sandbox", 500},    {"unsupported", 501}, {"host", 503},
    {"overloaded", 503}, {"draining", 503},   {"keeper_away", 503}, {"keeper_lost", 503},
    {NULL, 500},
};

static unsigned status_of(const char *kind, const json_t *more)
{
    const char *code = e2b_text(more, "code");
    size_t i = 0;
    if (!strcmp(kind, "file"))
        return !code                     ? 500
               : !strcmp(code, "ENOENT") ? 404
               : !strcmp(code, "ENOSPC") ? 507
               : !strcmp(code, "EDQUOT") ? 507
               : !strcmp(code, "EFBIG")  ? 507
               : !strcmp(code, "EACCES") ? 403
               : !strcmp(code, "EPERM")  ? 403
               : !strcmp(code, "EROFS")  ? 403
                                         : 400;
    while (ROWS[i].kind && strcmp(ROWS[i].kind, kind) != 0)
        i++;
    return ROWS[i].status;
}

static void answer(struct request *request, unsigned status, json_t *value, const json_t *more)
{
    char wait[24];
    json_int_t ms = json_integer_value(json_object_get(more, "retry_after_ms"));
    answer_json(request, status, value);
    snprintf(wait, sizeof wait, "%lld", ms > 0 && ms < 3600000 ? (long long)(ms + 999) / 1000 : 1);
    if (status == 429 || status == 503)
        answer_header(request, "Retry-After", wait);
}

void e2b_refuse_control(struct request *request, const char *kind, const char *field, const char *message,
                        const json_t *more)
{
    char shown[2 * SC_ERR_MESSAGE_MAX];
    unsigned status = status_of(kind, more);
    (void)field;
    sc_text_show(shown, sizeof shown, message, strlen(message));
    answer(request, status, json_pack("{s:i, s:s}", "code", (int)status, "message", shown), more);
}

/* What a gateway says of a sandbox that is not there. */
static bool refuse_gone(struct request *request, const char *kind, const char *field)
{
    const struct e2b_call *call = request->of_handler;
    bool is_gone = !strcmp(field, "session") && (!strcmp(kind, "not_found") || !strcmp(kind, "ended"));
    if (is_gone && !request->answered)
        answer_json(request, MHD_HTTP_BAD_GATEWAY,
                    json_pack("{s:s, s:s, s:i}", "sandboxId", call ? call->session : "", "message",
                              "The sandbox was not found", "code", MHD_HTTP_BAD_GATEWAY));
    return is_gone;
}

void e2b_refuse_envd(struct request *request, const char *kind, const char *field, const char *message,
                     const json_t *more)
{
    if (!refuse_gone(request, kind, field))
        e2b_refuse_control(request, kind, field, message, more);
}

void e2b_refuse_text(struct request *request, const char *kind, const char *field, const char *message,
                     const json_t *more)
{
    char shown[2 * SC_ERR_MESSAGE_MAX];
    if (refuse_gone(request, kind, field))
        return;
    sc_text_show(shown, sizeof shown, message, strlen(message));
    answer_text(request, status_of(kind, more), "text/plain", strdup(shown), strlen(shown));
}

void e2b_refuse_rpc(struct request *request, const char *kind, const char *field, const char *message,
                    const json_t *more)
{
    char shown[2 * SC_ERR_MESSAGE_MAX];
    if (!request->answered && refuse_gone(request, kind, field))
        return;
    sc_text_show(shown, sizeof shown, message, strlen(message));
    connect_refuse(request, connect_code(kind, field, more), "%s", shown);
}
