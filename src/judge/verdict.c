#include "judge/parts.h"

const char *const SC_VERDICT_NAMES[] = {
    [SC_VERDICT_ACCEPTED] = "accepted",
    [SC_VERDICT_WRONG_ANSWER] = "wrong_answer",
    [SC_VERDICT_PRESENTATION_ERROR] = "presentation_error",
    [SC_VERDICT_RUNTIME_ERROR] = "runtime_error",
    [SC_VERDICT_TIME_LIMIT] = "time_limit",
    [SC_VERDICT_MEMORY_LIMIT] = "memory_limit",
    [SC_VERDICT_OUTPUT_LIMIT] = "output_limit",
    [SC_VERDICT_DISK_LIMIT] = "disk_limit",
    [SC_VERDICT_PROCESS_LIMIT] = "process_limit",
    [SC_VERDICT_BUILD_ERROR] = "build_error",
    [SC_VERDICT_CHECKER_ERROR] = "checker_error",
    [SC_VERDICT_SKIPPED] = "skipped",
    [SC_VERDICT_SANDBOX_ERROR] = "sandbox_error",
    [SC_VERDICTS] = NULL,
};

enum sc_verdict sc_judge_status(const struct sc_result *result)
{
    switch (result->status) {
    case SC_STATUS_OK:
        /* What was cut off cannot be compared. */
        return result->out.truncated ? SC_VERDICT_OUTPUT_LIMIT : SC_VERDICT_ACCEPTED;
    case SC_STATUS_TIMEOUT:
    case SC_STATUS_CPU_TIMEOUT:
        return SC_VERDICT_TIME_LIMIT;
    case SC_STATUS_OUT_OF_MEMORY:
        return SC_VERDICT_MEMORY_LIMIT;
    case SC_STATUS_OUTPUT_LIMIT:
        return SC_VERDICT_OUTPUT_LIMIT;
    case SC_STATUS_DISK_LIMIT:
        return SC_VERDICT_DISK_LIMIT;
    case SC_STATUS_PROCESS_LIMIT:
        return SC_VERDICT_PROCESS_LIMIT;
    case SC_STATUS_CANCELLED:
        return SC_VERDICT_SKIPPED;
    case SC_STATUS_SANDBOX_ERROR:
        return SC_VERDICT_SANDBOX_ERROR;
    default:
        return SC_VERDICT_RUNTIME_ERROR;
    }
}

enum sc_verdict sc_judge_checker_status(const struct sc_result *result)
{
    static const enum sc_verdict said[] = {SC_VERDICT_ACCEPTED, SC_VERDICT_WRONG_ANSWER,
                                           SC_VERDICT_PRESENTATION_ERROR};
    bool ended = result->status == SC_STATUS_OK || result->status == SC_STATUS_ERROR;
    if (ended && result->exit_code >= 0 && (size_t)result->exit_code < sizeof said / sizeof *said)
        return said[result->exit_code];
    if (result->status == SC_STATUS_CANCELLED)
        return SC_VERDICT_SKIPPED;
    return result->status == SC_STATUS_SANDBOX_ERROR ? SC_VERDICT_SANDBOX_ERROR : SC_VERDICT_CHECKER_ERROR;
}
