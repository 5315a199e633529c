/* The guide: what a model should know about where its code runs, from the limits that are in force. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"
#include "gate/mcp/parts.h"

const char MCP_INSTRUCTIONS[] =
    "Runs code and commands in a sealed cell. One session stands behind this connection: files in "
    "/home/user, and "
    "the variables of each interpreter, are kept between calls. Use run_code for Python, Node.js and Bash, "
    "run_command for programs. A refusal or a limit is told in the result with a hint: change the approach, "
    "do not "
    "repeat the same call. The prompt sandbox_guide, also the resource snapcell:guide, tells limits and "
    "refusals.";

static const char FILES[] =
    "## Files\n"
    "- /home/user is the work folder; relative paths are below it. /tmp and /dev/shm can be written too, "
    "nothing "
    "else. Nothing of the user's machine is visible.\n"
    "- Files that a run has made or changed are named in its result. return_files brings them along, "
    "read_file "
    "reads them later, and every file of the session is a resource, snapcell:///home/user/NAME.\n";

static const char STATE[] =
    "## What is kept\n"
    "- Variables and imports of a context (an interpreter): until reset, or until the interpreter is ended "
    "(context_lost), by a crash, a kill for memory, or a time-out that it did not heed.\n"
    "- Files: until reset without a context, or until the session is over. A result then says so "
    "(new_session).\n"
    "- The value of the last expression, displayed objects and plots come back with the result.\n";

static const char REFUSALS[] =
    "## What refusals mean\n"
    "- timeout, cpu_timeout: raise timeout_s, or do less at once.\n"
    "- out_of_memory: work in parts; files in /home/user and /tmp are part of the memory.\n"
    "- process_limit, disk_limit, output_limit: start fewer, remove files, print less.\n"
    "- blocked, syntax_error: nothing ran; the findings name lines.\n"
    "- A denial says which call was refused and why. Debuggers, mounts, raw sockets and new namespaces are "
    "never "
    "allowed: find another way, and do not try the same in a different guise.\n"
    "- There is no way to ask for more than the limits above from inside.\n";

static const char NETWORK[] =
    "## Network\n"
    "- There is none beyond the cell's own loopback, unless this server was started with rules for it. "
    "Packages "
    "cannot be installed from the network; use what is there, or bring files along.\n";

/* In the order of the guide; the first is made from the limits. */
static const char *const TOPICS[] = {"limits", "files", "state", "refusals", "network", NULL};

static void add_limits(struct sc_mcp *mcp, struct sc_buf *out)
{
    const struct sc_limits *limits = &mcp->shown.limits;
    char wall[32], memory[32], disk[32], tmp[32], cpus[32];
    sc_format_duration(limits->wall, wall, sizeof wall);
    sc_format_bytes(limits->memory, memory, sizeof memory);
    sc_format_bytes(limits->disk, disk, sizeof disk);
    sc_format_bytes(limits->tmp, tmp, sizeof tmp);
    sc_format_milli(limits->cpus, cpus, sizeof cpus);
    sc_buf_printf(out,
                  "## Limits\n"
                  "- Time of one run: %s, or timeout_s of the call.\n"
                  "- Memory of the whole session: %s. Processor: %s. Processes and threads: %llu.\n"
                  "- /home/user: %s. /tmp: %s.\n"
                  "- The session ends after %.0f s without a call, and after %.0f s in any case.\n",
                  wall, memory, cpus, (unsigned long long)limits->tasks, disk, tmp, mcp->idle_ms / 1000,
                  mcp->total_ms / 1000);
}

static bool wants(const char *topic, const char *part)
{
    return !topic || !strcmp(topic, part);
}

char *mcp_guide(struct sc_mcp *mcp, const char *topic)
{
    struct sc_buf out;
    sc_buf_init(&out, 64 * 1024);
    if (!topic)
        sc_buf_add_str(&out, "# Working in this sandbox\n");
    if (wants(topic, "limits"))
        add_limits(mcp, &out);
    if (wants(topic, "files"))
        sc_buf_add_str(&out, FILES);
    if (wants(topic, "state"))
        sc_buf_add_str(&out, STATE);
    if (wants(topic, "refusals"))
        sc_buf_add_str(&out, REFUSALS);
    if (wants(topic, "network"))
        sc_buf_add_str(&out, NETWORK);
    char *text = sc_buf_steal(&out, NULL);
    sc_buf_fini(&out);
    return text;
}

void mcp_prompts_list(struct sc_mcp *mcp, const json_t *id, const json_t *params)
{
    (void)params;
    mcp_answer(
        mcp, id,
        json_pack("{s:[{s:s, s:s, s:[{s:s, s:s, s:b}]}]}", "prompts", "name", "sandbox_guide", "description",
                  "What a model should know before it runs code here: limits, files, what is kept, what "
                  "refusals mean.",
                  "arguments", "name", "topic", "description",
                  "One part only: limits, files, state, refusals or network.", "required", 0));
}

static bool is_topic(const char *topic)
{
    for (size_t i = 0; TOPICS[i]; i++)
        if (!strcmp(TOPICS[i], topic))
            return true;
    return false;
}

void mcp_prompts_get(struct sc_mcp *mcp, const json_t *id, const json_t *params)
{
    const char *name = mcp_text(params, "name");
    const json_t *given = json_object_get(json_object_get(params, "arguments"), "topic");
    const char *topic = json_string_value(given);
    if (strcmp(name, "sandbox_guide") != 0) {
        mcp_fail(mcp, id, MCP_INVALID_PARAMS,
                 "name: %.100s: there is no such prompt; allowed is sandbox_guide", name);
        return;
    }
    if (given && (!topic || !is_topic(topic))) {
        mcp_fail(mcp, id, MCP_INVALID_PARAMS, "topic: allowed are limits, files, state, refusals, network");
        return;
    }
    char *text = mcp_guide(mcp, topic);
    mcp_answer(mcp, id,
               json_pack("{s:s, s:[{s:s, s:{s:s, s:s}}]}", "description", "How to work in this sandbox.",
                         "messages", "role", "user", "content", "type", "text", "text", text));
    free(text);
}

/* Values for the prompt's topic; nothing is proposed for anything else. */
void mcp_complete(struct sc_mcp *mcp, const json_t *id, const json_t *params)
{
    const json_t *argument = json_object_get(params, "argument"), *ref = json_object_get(params, "ref");
    const char *value = mcp_text(argument, "value");
    json_t *values = json_array();
    bool is_ours =
        !strcmp(mcp_text(ref, "name"), "sandbox_guide") && !strcmp(mcp_text(argument, "name"), "topic");
    if (!json_is_object(ref) || !json_is_string(json_object_get(argument, "name"))) {
        json_decref(values);
        mcp_fail(mcp, id, MCP_INVALID_PARAMS, "ref, argument: say what is to be completed");
        return;
    }
    for (size_t i = 0; is_ours && TOPICS[i]; i++)
        if (!strncmp(TOPICS[i], value, strlen(value)))
            json_array_append_new(values, json_string(TOPICS[i]));
    mcp_answer(mcp, id,
               json_pack("{s:{s:o, s:i, s:b}}", "completion", "values", values, "total",
                         (int)json_array_size(values), "hasMore", 0));
}
