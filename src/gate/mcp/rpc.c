/* JSON-RPC: what a message is, who handles it, and what is answered. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "gate/mcp/parts.h"

#define VALUES_MAX 200000 /* in one message; each costs a hundred times the bytes that ask for it */
#define NO_MESSAGE "not a message of JSON-RPC 2.0"

const char *mcp_text(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

static void send_message(struct sc_mcp *mcp, json_t *message, const json_t *about)
{
    if (message && !mcp->ended)
        mcp->around.send(mcp->around.userdata, message, about);
    json_decref(message);
}

void mcp_answer(struct sc_mcp *mcp, const json_t *id, json_t *result)
{
    if (!result) {
        mcp_fail(mcp, id, MCP_INTERNAL, "out of memory");
        return;
    }
    send_message(mcp, json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", id, "result", result), id);
}

void mcp_fail(struct sc_mcp *mcp, const json_t *id, enum mcp_code code, const char *format, ...)
{
    char message[SC_ERR_MESSAGE_MAX];
    va_list list;
    va_start(list, format);
    vsnprintf(message, sizeof message, format, list);
    va_end(list);
    json_t *text = mcp_bytes(message, strlen(message));
    send_message(mcp,
                 json_pack("{s:s, s:O?, s:{s:i, s:o}}", "jsonrpc", "2.0", "id", id, "error", "code",
                           (int)code, "message", text),
                 id);
}

void mcp_notify(struct sc_mcp *mcp, const char *method, json_t *params, const json_t *about)
{
    send_message(mcp, json_pack("{s:s, s:s, s:o*}", "jsonrpc", "2.0", "method", method, "params", params),
                 about);
}

void mcp_log(struct sc_mcp *mcp, enum mcp_log_level level, const json_t *about, const char *format, ...)
{
    static const char *const names[] = {"debug", "info", "notice", "warning", "error"};
    char message[SC_ERR_MESSAGE_MAX];
    va_list list;
    if (!mcp->initialized || (int)level < mcp->log_level)
        return;
    va_start(list, format);
    vsnprintf(message, sizeof message, format, list);
    va_end(list);
    mcp_notify(mcp, "notifications/message",
               json_pack("{s:s, s:s, s:o}", "level", names[level], "logger", "snapcell", "data",
                         mcp_bytes(message, strlen(message))),
               about);
}

static bool is_id(const json_t *id)
{
    return json_is_string(id) || json_is_integer(id);
}

static void take_request(struct sc_mcp *mcp, const json_t *id, const char *method, const json_t *params)
{
    if (!mcp->initialized && strcmp(method, "initialize") != 0 && strcmp(method, "ping") != 0)
        mcp_fail(mcp, id, MCP_INVALID_REQUEST, "%.100s: initialize comes first", method);
    else if (mcp_work_by_id(mcp, id))
        mcp_fail(mcp, id, MCP_INVALID_REQUEST, "id: is that of a request that is under way");
    else if (!mcp_method(mcp, id, method, params))
        mcp_fail(mcp, id, MCP_UNKNOWN_METHOD, "%.100s: there is no such method", method);
}

enum sc_mcp_kind sc_mcp_kind(const json_t *message, const json_t **ret_id)
{
    const json_t *id = json_object_get(message, "id"), *params = json_object_get(message, "params");
    const char *method = json_string_value(json_object_get(message, "method"));
    bool is_answer = json_object_get(message, "result") || json_object_get(message, "error");
    if (strcmp(mcp_text(message, "jsonrpc"), "2.0") != 0 || (id && !is_id(id)) ||
        (params && !json_is_object(params)) || (!method && !is_answer))
        return SC_MCP_NO_MESSAGE;
    if (method && id)
        *ret_id = id;
    return !method ? SC_MCP_ANSWER : id ? SC_MCP_REQUEST : SC_MCP_NOTIFICATION;
}

static void take_object(struct sc_mcp *mcp, const json_t *message)
{
    const json_t *id = json_object_get(message, "id"), *params = json_object_get(message, "params");
    const char *method = mcp_text(message, "method");
    switch (sc_mcp_kind(message, &id)) {
    case SC_MCP_NO_MESSAGE:
        mcp_fail(mcp, is_id(id) ? id : NULL, MCP_INVALID_REQUEST, NO_MESSAGE);
        break;
    case SC_MCP_REQUEST:
        take_request(mcp, id, method, params);
        break;
    case SC_MCP_NOTIFICATION:
        mcp_notification(mcp, method, params);
        break;
    case SC_MCP_ANSWER: /* nothing is ever asked of the client: it is about nothing */
        break;
    }
}

/* A batch: only 2025-03-26 has it. Its members are answered one by one. */
static void take_batch(struct sc_mcp *mcp, const json_t *batch)
{
    size_t i;
    json_t *message;
    if (!sc_mcp_takes_batches(mcp) || json_array_size(batch) == 0) {
        mcp_fail(mcp, NULL, MCP_INVALID_REQUEST, "a batch is not allowed");
        return;
    }
    json_array_foreach(batch, i, message) take_object(mcp, message);
}

int sc_mcp_read(const char *text, size_t len, json_t **ret_message, struct sc_err *err)
{
    json_error_t where;
    if (len > SC_MCP_MESSAGE_MAX || sc_json_count(text, len) > VALUES_MAX)
        return sc_err_set(err, SC_ERR_USAGE, -EMSGSIZE, "a message may have %u bytes and %d values",
                          SC_MCP_MESSAGE_MAX, VALUES_MAX);
    int r = sc_json_load(text, len, JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, ret_message, &where);
    if (r == -ENOMEM)
        return sc_err_sys(err, r, "message");
    return r < 0 ? sc_err_set(err, SC_ERR_USAGE, -EINVAL, "not JSON: %s", where.text) : 0;
}

void sc_mcp_take_read(struct sc_mcp *mcp, const json_t *message)
{
    if (json_is_array(message))
        take_batch(mcp, message);
    else
        take_object(mcp, message);
}

void sc_mcp_take(struct sc_mcp *mcp, const char *text, size_t len)
{
    struct sc_err err = {0};
    json_t *message = NULL;
    int r = sc_mcp_read(text, len, &message, &err);
    if (r == 0)
        sc_mcp_take_read(mcp, message);
    else
        mcp_fail(mcp, NULL,
                 r == -EINVAL     ? MCP_PARSE_ERROR
                 : r == -EMSGSIZE ? MCP_INVALID_REQUEST
                                  : MCP_INTERNAL,
                 "%s", err.message);
    json_decref(message);
}

void sc_mcp_take_oversized(struct sc_mcp *mcp)
{
    mcp_fail(mcp, NULL, MCP_INVALID_REQUEST, "a message may have %u bytes and %d values", SC_MCP_MESSAGE_MAX,
             VALUES_MAX);
}

json_t *sc_mcp_refusal(int code, const char *message)
{
    return json_pack("{s:s, s:n, s:{s:i, s:o}}", "jsonrpc", "2.0", "id", "error", "code", code, "message",
                     mcp_bytes(message, strlen(message)));
}
