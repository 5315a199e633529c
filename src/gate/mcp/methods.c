/* What is answered at once, and the life of the engine. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "gate/mcp/parts.h"
#include "gate/mcp/tools_image.h"

static const char *const REVISIONS[MCP_REVISIONS] = {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"};

const struct mcp_tool MCP_TOOLS[] = {
    {"run_code", mcp_tool_run_code},     {"run_command", mcp_tool_run_command},
    {"read_file", mcp_tool_read_file},   {"write_file", mcp_tool_write_file},
    {"list_files", mcp_tool_list_files}, {"check_code", mcp_tool_check_code},
    {"reset", mcp_tool_reset},           {NULL, NULL},
};

/* ---- life ---- */

static int read_tools(struct sc_mcp *mcp, struct sc_err *err)
{
    json_error_t where;
    int r = sc_json_load((const char *)SC_MCP_TOOLS, SC_MCP_TOOLS_len, JSON_REJECT_DUPLICATES, &mcp->tools,
                         &where);
    return r < 0 ? sc_err_sys(err, r, "mcp: tools, line %d", where.line) : 0;
}

/* The limits as the model is told them: those of the spec, derived. A spec that does not fit is refused by
 * the keeper, in its words; only its limits are looked at here. */
static int read_limits(struct sc_mcp *mcp, struct sc_err *err)
{
    char *text = sc_json_dump(mcp->spec, JSON_COMPACT);
    int r = text ? sc_spec_from_json(&mcp->shown, text, strlen(text), err) : sc_err_sys(err, -ENOMEM, "mcp");
    if (r == 0)
        r = sc_limits_derive(&mcp->shown.limits, &mcp->shown.disk_backing, err);
    free(text);
    return r;
}

int sc_mcp_new(const struct sc_mcp_around *around, const struct sc_mcp_options *options,
               struct sc_mcp **ret_mcp, struct sc_err *err)
{
    struct sc_mcp *mcp = calloc(1, sizeof *mcp);
    if (!mcp)
        return sc_err_sys(err, -ENOMEM, "mcp");
    mcp->around = *around;
    mcp->spec = json_incref(options->spec);
    mcp->idle_ms = options->idle_ms;
    mcp->total_ms = options->total_ms;
    mcp->deadline_ms = options->deadline_ms;
    mcp->log_level = MCP_LOG_INFO;
    mcp->known = json_object();
    mcp->watched = json_object();
    TAILQ_INIT(&mcp->works);
    sc_spec_init(&mcp->shown);
    int r = read_tools(mcp, err);
    if (r == 0)
        r = read_limits(mcp, err);
    if (r < 0)
        sc_mcp_free(mcp);
    else
        *ret_mcp = mcp;
    return r;
}

void sc_mcp_end(struct sc_mcp *mcp)
{
    struct mcp_work *work, *following;
    mcp->ended = true;
    for (work = TAILQ_FIRST(&mcp->works); work; work = following) {
        following = TAILQ_NEXT(work, entry);
        mcp_work_cancel(work);
    }
    mcp_end_session(mcp);
}

bool sc_mcp_is_idle(const struct sc_mcp *mcp)
{
    return TAILQ_EMPTY(&mcp->works);
}

void sc_mcp_free(struct sc_mcp *mcp)
{
    struct mcp_work *work;
    if (!mcp)
        return;
    while ((work = TAILQ_FIRST(&mcp->works)))
        mcp_work_free(work);
    json_decref(mcp->spec);
    json_decref(mcp->tools);
    json_decref(mcp->known);
    json_decref(mcp->watched);
    sc_spec_fini(&mcp->shown);
    free(mcp);
}

const char *sc_mcp_revision(const struct sc_mcp *mcp)
{
    return mcp->initialized ? REVISIONS[mcp->revision] : NULL;
}

bool sc_mcp_knows_revision(const char *revision)
{
    for (int i = 0; i < MCP_REVISIONS; i++)
        if (!strcmp(revision, REVISIONS[i]))
            return true;
    return false;
}

bool sc_mcp_takes_batches(const struct sc_mcp *mcp)
{
    return mcp->initialized && mcp->revision == MCP_2025_03;
}

/* ---- methods ---- */

static void initialize(struct sc_mcp *mcp, const json_t *id, const json_t *params)
{
    const char *asked = mcp_text(params, "protocolVersion");
    if (!*asked) {
        mcp_fail(mcp, id, MCP_INVALID_PARAMS, "protocolVersion: is missing");
        return;
    }
    if (mcp->initialized) {
        mcp_fail(mcp, id, MCP_INVALID_REQUEST, "initialize: was asked for already");
        return;
    }
    mcp->revision = MCP_2025_11;
    for (int i = 0; i < MCP_REVISIONS; i++)
        if (!strcmp(asked, REVISIONS[i]))
            mcp->revision = (enum mcp_revision)i;
    json_t *info = json_pack("{s:s, s:s}", "name", "snapcell", "version", "0.1.0");
    if (mcp->revision >= MCP_2025_06)
        json_object_set_new(info, "title", json_string("Snapcell: code in a sealed cell"));
    json_t *capabilities = json_pack("{s:{}, s:{s:b, s:b}, s:{}, s:{}}", "tools", "resources", "subscribe", 1,
                                     "listChanged", 1, "prompts", "logging");
    if (mcp->revision >= MCP_2025_03)
        json_object_set_new(capabilities, "completions", json_object());
    json_t *result =
        json_pack("{s:s, s:o, s:o, s:s}", "protocolVersion", REVISIONS[mcp->revision], "capabilities",
                  capabilities, "serverInfo", info, "instructions", MCP_INSTRUCTIONS);
    mcp->initialized = result != NULL;
    mcp_answer(mcp, id, result);
}

static void ping(struct sc_mcp *mcp, const json_t *id, const json_t *params)
{
    (void)params;
    mcp_answer(mcp, id, json_object());
}

static void set_level(struct sc_mcp *mcp, const json_t *id, const json_t *params)
{
    /* Beyond "error" nothing is ever logged. */
    static const char *const names[] = {"debug",    "info",  "notice",    "warning", "error",
                                        "critical", "alert", "emergency", NULL};
    const char *level = mcp_text(params, "level");
    for (int i = 0; names[i]; i++) {
        if (!strcmp(names[i], level)) {
            mcp->log_level = i;
            mcp_answer(mcp, id, json_object());
            return;
        }
    }
    mcp_fail(mcp, id, MCP_INVALID_PARAMS,
             "level: %.100s: allowed are debug, info, notice, warning, error, critical, alert, emergency",
             level);
}

/* Everything fits one page: a cursor is none of ours. False: refused. */
static bool has_no_cursor(struct sc_mcp *mcp, const json_t *id, const json_t *params)
{
    if (!json_object_get(params, "cursor"))
        return true;
    mcp_fail(mcp, id, MCP_INVALID_PARAMS, "cursor: is none that this server gave");
    return false;
}

static void list_tools(struct sc_mcp *mcp, const json_t *id, const json_t *params)
{
    size_t i;
    json_t *tool, *tools = json_deep_copy(mcp->tools);
    if (!has_no_cursor(mcp, id, params)) {
        json_decref(tools);
        return;
    }
    json_array_foreach(tools, i, tool)
    {
        if (mcp->revision < MCP_2025_06) {
            json_object_del(tool, "title");
            json_object_del(tool, "outputSchema");
        }
        if (mcp->revision < MCP_2025_03)
            json_object_del(tool, "annotations");
    }
    mcp_answer(mcp, id, json_pack("{s:o}", "tools", tools));
}

static json_t *tool_by_name(const struct sc_mcp *mcp, const char *name)
{
    size_t i;
    json_t *tool;
    json_array_foreach(mcp->tools, i, tool) if (!strcmp(mcp_text(tool, "name"), name)) return tool;
    return NULL;
}

/* What is wrong with the arguments is a result, so that a model can read it. */
static void refuse_arguments(struct sc_mcp *mcp, const json_t *id, const struct sc_err *err)
{
    json_t *text = mcp_bytes(err->message, strlen(err->message));
    mcp_answer(mcp, id,
               json_pack("{s:[{s:s, s:o}], s:b}", "content", "type", "text", "text", text, "isError", 1));
}

static void call_tool(struct sc_mcp *mcp, const json_t *id, const json_t *params)
{
    const char *name = mcp_text(params, "name");
    const json_t *tool = tool_by_name(mcp, name);
    const struct mcp_tool *row = MCP_TOOLS;
    json_t *arguments = json_object_get(params, "arguments");
    struct sc_err err = {0};
    while (row->name && strcmp(row->name, name) != 0)
        row++;
    if (!tool || !row->name) {
        mcp_fail(mcp, id, MCP_INVALID_PARAMS, "name: %.100s: there is no such tool; tools/list tells them",
                 name);
        return;
    }
    arguments = arguments ? json_incref(arguments) : json_object();
    if (mcp_check_arguments(arguments, json_object_get(tool, "inputSchema"), &err) < 0)
        refuse_arguments(mcp, id, &err);
    else
        mcp_work_start(mcp, id, params, arguments, true, row->begin);
    json_decref(arguments);
}

static void list_resources(struct sc_mcp *mcp, const json_t *id, const json_t *params)
{
    if (has_no_cursor(mcp, id, params))
        mcp_resources_list(mcp, id, params);
}

static void list_prompts(struct sc_mcp *mcp, const json_t *id, const json_t *params)
{
    if (has_no_cursor(mcp, id, params))
        mcp_prompts_list(mcp, id, params);
}

static void list_templates(struct sc_mcp *mcp, const json_t *id, const json_t *params)
{
    if (has_no_cursor(mcp, id, params))
        mcp_resource_templates(mcp, id, params);
}

static const struct method {
    const char *name;
    void (*handle)(struct sc_mcp *mcp, const json_t *id, const json_t *params);
} METHODS[] = {
    {"initialize", initialize},
    {"ping", ping},
    {"logging/setLevel", set_level},
    {"tools/list", list_tools},
    {"tools/call", call_tool},
    {"resources/list", list_resources},
    {"resources/templates/list", list_templates},
    {"resources/read", mcp_resources_read},
    {"resources/subscribe", mcp_subscribe},
    {"resources/unsubscribe", mcp_unsubscribe},
    {"prompts/list", list_prompts},
    {"prompts/get", mcp_prompts_get},
    {"completion/complete", mcp_complete},
};

bool mcp_method(struct sc_mcp *mcp, const json_t *id, const char *method, const json_t *params)
{
    for (size_t i = 0; i < sizeof METHODS / sizeof *METHODS; i++) {
        if (!strcmp(METHODS[i].name, method)) {
            METHODS[i].handle(mcp, id, params);
            return true;
        }
    }
    return false;
}

void mcp_notification(struct sc_mcp *mcp, const char *method, const json_t *params)
{
    struct mcp_work *work;
    if (strcmp(method, "notifications/cancelled") != 0)
        return; /* others need no deed */
    work = mcp_work_by_id(mcp, json_object_get(params, "requestId"));
    if (!work)
        return;
    if (mcp->around.dropped)
        mcp->around.dropped(mcp->around.userdata, work->id);
    mcp_work_cancel(work);
}
