/* What a run or command came to, told to a model: its output first, then what it needs to know to go on. */
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "gate/mcp/parts.h"

#define REPORT_MAX (4u << 20)

static void set_text(json_t *object, const char *name, const struct sc_buf *bytes)
{
    json_object_set_new(object, name, mcp_bytes(bytes->data, bytes->len));
}

static void copy(json_t *to, const char *name, const json_t *from)
{
    json_t *value = json_object_get(from, name);
    json_object_set(to, name, value ? value : json_null());
}

/* What a model may do about how it ended, or "". */
static const char *hint_of(const struct sc_mcp *mcp, const char *status, char *room, size_t size)
{
    char memory[32];
    sc_format_bytes(mcp->shown.limits.memory, memory, sizeof memory);
    if (!strcmp(status, "timeout"))
        return "It used up its time. Raise timeout_s, or do less at once.";
    if (!strcmp(status, "cpu_timeout"))
        return "It used up its processor time. Raise timeout_s, or do less at once.";
    if (!strcmp(status, "process_limit"))
        return "The session is at its limit of processes and threads: start fewer at once.";
    if (!strcmp(status, "disk_limit"))
        return "A file system of the session is full: remove files that are not needed.";
    if (!strcmp(status, "output_limit"))
        return "It printed more than allowed: print less, or write to a file.";
    if (!strcmp(status, "blocked"))
        return "The code was not run: mend what the findings say.";
    if (!strcmp(status, "sandbox_error"))
        return "The sandbox failed, not the code. Try again; reset makes a new session.";
    if (strcmp(status, "out_of_memory") != 0)
        return "";
    snprintf(room, size,
             "The session has %s of memory for everything, files in /home/user and /tmp included. Work in "
             "smaller parts.",
             memory);
    return room;
}

static void tell_denials(struct sc_buf *text, const json_t *denials)
{
    size_t i;
    json_t *denial;
    json_array_foreach(denials, i, denial) sc_buf_printf(
        text, "[refused: %s %s%s%s]\n", mcp_text(denial, "action"), mcp_text(denial, "resource"),
        *mcp_text(denial, "hint") ? ": " : "", mcp_text(denial, "hint"));
}

static void tell_findings(struct sc_buf *text, const json_t *findings)
{
    size_t i;
    json_t *finding;
    json_array_foreach(findings, i, finding) sc_buf_printf(
        text, "[line %d: %s: %s %s]\n", (int)json_integer_value(json_object_get(finding, "line")),
        mcp_text(finding, "severity"), mcp_text(finding, "message"), mcp_text(finding, "advice"));
}

/* A part of its own behind what is there. */
static void add_part(struct sc_buf *text, const char *title, const void *data, size_t len)
{
    if (len == 0)
        return;
    if (text->len && text->data[text->len - 1] != '\n')
        sc_buf_add_str(text, "\n");
    if (*title)
        sc_buf_printf(text, "[%s]\n", title);
    (void)sc_buf_add(text, data, len);
}

static void add_string(struct sc_buf *text, const char *title, const char *string)
{
    add_part(text, title, string, strlen(string));
}

static void tell_end(struct mcp_work *work, struct sc_buf *text, const json_t *result, const char *hint)
{
    const char *status = mcp_text(result, "status"), *message = mcp_text(result, "message");
    const json_t *error = json_object_get(result, "error");
    char line[700];
    if (json_is_true(json_object_get(result, "stdout_truncated")) ||
        json_is_true(json_object_get(result, "stderr_truncated")))
        add_string(text, "", "[output was cut: more was printed than max_output_bytes]\n");
    if (strcmp(status, "ok") != 0 && !(json_is_object(error) && !strcmp(status, "error"))) {
        snprintf(line, sizeof line, "[%s%s%.500s]\n", status, *message ? ": " : "", message);
        add_string(text, "", line);
    }
    if (*hint) {
        snprintf(line, sizeof line, "[%s]\n", hint);
        add_string(text, "", line);
    }
    if (json_is_true(json_object_get(result, "context_lost")))
        add_string(text, "",
                   "[the interpreter was ended: its variables and imports are gone, files are kept]\n");
    if (work->fresh_session)
        add_string(text, "",
                   "[the session before was over: this is a new one, without its files and variables]\n");
}

static void tell_files(struct mcp_work *work, struct sc_buf *text)
{
    size_t i;
    json_t *file;
    json_array_foreach(work->changed, i, file) sc_buf_printf(
        text, "%s[file: %s, %lld bytes]\n", i || !text->len || text->data[text->len - 1] == '\n' ? "" : "\n",
        mcp_text(file, "path"), (long long)json_integer_value(json_object_get(file, "size")));
}

static void add_forms(struct mcp_work *work, struct sc_buf *text, const json_t *forms, const char *title)
{
    static const char *const images[] = {"image/png", "image/jpeg"};
    for (size_t i = 0; i < sizeof images / sizeof *images; i++) {
        if (*mcp_text(forms, images[i])) {
            mcp_add_image(work, images[i], mcp_text(forms, images[i]));
            return;
        }
    }
    add_string(text, title, mcp_text(forms, "text/plain"));
}

static void fill_structured(struct mcp_work *work, const json_t *result, const char *hint, bool is_command)
{
    static const char *const taken[] = {"status",           "exit_code",  "stdout_truncated",
                                        "stderr_truncated", "limits_hit", "denials"};
    json_t *to = work->structured;
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        copy(to, taken[i], result);
    set_text(to, "stdout", &work->out);
    set_text(to, "stderr", &work->err);
    json_object_set_new(
        to, "duration_ms",
        json_real(json_number_value(json_object_get(json_object_get(result, "usage"), "wall_ms"))));
    json_object_set(to, "files", work->changed);
    json_object_set_new(to, "new_session", json_boolean(work->fresh_session));
    if (*hint)
        json_object_set_new(to, "hint", json_string(hint));
    if (is_command)
        return;
    const json_t *value = json_object_get(json_object_get(result, "value"), "text/plain");
    json_object_set(to, "value", value ? (json_t *)value : json_null());
    copy(to, "error", result);
    json_object_set_new(to, "context_lost",
                        json_boolean(json_is_true(json_object_get(result, "context_lost"))));
    if (json_object_get(result, "findings"))
        copy(to, "findings", result);
}

bool mcp_report_run(struct mcp_work *work, const json_t *result, bool is_command)
{
    const char *status = mcp_text(result, "status");
    const json_t *error = json_object_get(result, "error");
    struct sc_buf text;
    size_t i;
    json_t *item;
    char room[256];
    const char *hint = hint_of(work->mcp, status, room, sizeof room);
    json_t *content = work->content;
    work->content = json_array();
    sc_buf_init(&text, REPORT_MAX);
    add_part(&text, "", work->out.data, work->out.len);
    add_part(&text, "stderr", work->err.data, work->err.len);
    json_array_foreach(work->displays, i, item) add_forms(work, &text, item, "displayed");
    if (json_is_object(json_object_get(result, "value")))
        add_forms(work, &text, json_object_get(result, "value"), "value");
    if (json_is_object(error))
        add_string(&text, "error", mcp_text(error, "traceback"));
    tell_end(work, &text, result, hint);
    tell_denials(&text, json_object_get(result, "denials"));
    tell_findings(&text, json_object_get(result, "findings"));
    tell_files(work, &text);
    if (text.len == 0 && json_array_size(work->content) == 0)
        sc_buf_add_str(&text, "(no output)");
    /* Text first, then pictures, then what was there: files that were asked for. */
    if (text.len)
        json_array_insert_new(
            work->content, 0,
            json_pack("{s:s, s:o}", "type", "text", "text", mcp_bytes(text.data, text.len)));
    json_array_foreach(work->changed, i, item)
        mcp_add_link(work, mcp_text(item, "path"), json_integer_value(json_object_get(item, "size")));
    json_array_extend(work->content, content);
    json_decref(content);
    sc_buf_fini(&text);
    fill_structured(work, result, hint, is_command);
    /* A command that tells by its exit code is an ordinary answer (grep, diff, test runners). */
    return strcmp(status, "ok") != 0 && !(is_command && !strcmp(status, "error"));
}
