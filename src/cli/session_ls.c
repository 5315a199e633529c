/* `snapcell session ls` and `watch`. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/num.h"
#include "base/text.h"
#include "cli/say.h"
#include "cli/session.h"

#define TEXT_MAX (64u * 1024 * 1024)

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

static double seconds_of(const json_t *object, const char *name)
{
    return json_number_value(json_object_get(object, name)) / 1000;
}

/* A name of the cell's: it may hold newlines, and shall not make up lines of its own. 4 bytes for each, as
 * \xNN, and never cut. */
static int add_name(struct sc_buf *text, const char *name)
{
    size_t len = strlen(name), room = 4 * len + 16;
    char *shown = malloc(room);
    int r = shown ? sc_buf_add_str(text, sc_text_show(shown, room, name, len)) : -ENOMEM;
    free(shown);
    return r;
}

/* ---- sessions ---- */

/* One that nothing runs in. */
static int add_resting(const json_t *session, struct sc_buf *text)
{
    char when[32] = "", size[32];
    time_t seconds = (time_t)(json_integer_value(json_object_get(session, "paused_ms")) / 1000);
    struct tm parts;
    if (!strcmp(text_of(session, "state"), "snapshot"))
        return sc_buf_printf(text, "%-32s  snapshot of %s, ends in %.0fs, idle in %.0fs ",
                             text_of(session, "session"), text_of(session, "parent"),
                             seconds_of(session, "left_ms"), seconds_of(session, "idle_left_ms"));
    if (!strcmp(text_of(session, "state"), "damaged"))
        return sc_buf_printf(text, "%-32s  damaged ", text_of(session, "session"));
    if (localtime_r(&seconds, &parts))
        strftime(when, sizeof when, "%Y-%m-%d %H:%M", &parts);
    sc_format_bytes((uint64_t)json_integer_value(json_object_get(session, "bytes")) >> 10 << 10, size,
                    sizeof size);
    return sc_buf_printf(text, "%-32s  paused %s, %s ", text_of(session, "session"), when, size);
}

static int add_session(const json_t *session, struct sc_buf *text)
{
    const json_t *context;
    size_t i;
    int r = *text_of(session, "state")
                ? add_resting(session, text)
                : sc_buf_printf(text, "%-32s  age %.0fs  ends in %.0fs, idle in %.0fs ",
                                text_of(session, "session"), seconds_of(session, "age_ms"),
                                seconds_of(session, "left_ms"), seconds_of(session, "idle_left_ms"));
    json_array_foreach(json_object_get(session, "contexts"), i, context)
    {
        if (r == 0)
            r = sc_buf_printf(text, " %s", text_of(context, "name"));
    }
    return r < 0 ? r : sc_buf_add(text, "\n", 1);
}

static int list_sessions(struct sc_cli_session *session)
{
    json_t *reply = NULL, *one;
    struct sc_err err = {0};
    struct sc_buf text;
    size_t i;
    int r = 0;
    if (sc_keeper_ask(session->client, json_pack("{s:s}", "request", "session.list"), NULL, &reply, &err) < 0)
        return sc_cli_session_fail(&err);
    if (session->args.flags & SC_FLAG_JSON) {
        int status = sc_cli_print_json(sc_json_dump(reply, JSON_INDENT(2)));
        json_decref(reply);
        return status;
    }
    sc_buf_init(&text, TEXT_MAX);
    json_array_foreach(json_object_get(reply, "sessions"), i, one)
    {
        if (r == 0)
            r = add_session(one, &text);
    }
    json_decref(reply);
    if (text.len == 0)
        return SC_CLI_EXIT_OK;
    int status = sc_cli_print(r < 0 ? NULL : sc_buf_steal(&text, NULL));
    sc_buf_fini(&text);
    return status;
}

/* ---- files ---- */

struct listing {
    struct sc_cli_lines lines;
    struct sc_buf text;
    json_t *entries; /* with --json */
};

static void add_entry(void *userdata, const json_t *entry)
{
    struct listing *listing = userdata;
    const char *type = text_of(entry, "type"), *target = text_of(entry, "target");
    char when[32] = "", kind = *type == 'f' && type[1] == 'i' ? '-'
                               : *type == 'f'                 ? 'd'
                               : *type == 'l'                 ? 'l'
                                                              : '?';
    time_t seconds =
        (time_t)(json_integer_value(json_object_get(entry, "mtime_ns")) / (json_int_t)SC_NS_PER_S);
    struct tm parts;
    if (listing->entries) {
        json_array_append(listing->entries, (json_t *)entry);
        return;
    }
    if (localtime_r(&seconds, &parts))
        strftime(when, sizeof when, "%Y-%m-%d %H:%M", &parts);
    sc_buf_printf(&listing->text, "%c%s %12lld %s ", kind, text_of(entry, "mode"),
                  json_integer_value(json_object_get(entry, "size")), when);
    add_name(&listing->text, text_of(entry, "name"));
    if (*target)
        sc_buf_add_str(&listing->text, " -> ");
    add_name(&listing->text, target);
    sc_buf_add(&listing->text, "\n", 1);
}

static int take_events(void *userdata, enum sc_keeper_stream stream, const void *data, size_t len)
{
    struct listing *listing = userdata;
    return stream == SC_KEEPER_EVENTS ? sc_cli_lines_add(&listing->lines, data, len) : 0;
}

static int print_listing(struct listing *listing)
{
    if (listing->entries)
        return sc_cli_print_json(sc_json_dump(listing->entries, JSON_INDENT(2)));
    return listing->text.len ? sc_cli_print(sc_buf_steal(&listing->text, NULL)) : SC_CLI_EXIT_OK;
}

static int list_files(struct sc_cli_session *session)
{
    const char *path = session->args.n_operands ? session->args.operands[0] : ".";
    struct listing listing = {.entries = session->args.flags & SC_FLAG_JSON ? json_array() : NULL};
    const struct sc_keeper_exchange exchange = {
        .output = take_events, .output_data = &listing, .stop_fd = session->signal_fd};
    struct sc_err err = {0};
    sc_buf_init(&listing.text, TEXT_MAX);
    sc_cli_lines_init(&listing.lines, add_entry, &listing);
    int r = sc_keeper_ask(session->client, sc_cli_session_request_with(session, "file.list", "path", path),
                          &exchange, NULL, &err);
    /* Of a file: the one line. */
    if (r == -ENOTDIR)
        r = sc_keeper_ask(session->client, sc_cli_session_request_with(session, "file.stat", "path", path),
                          &exchange, NULL, &err);
    int status = r < 0 ? sc_cli_session_fail(&err) : print_listing(&listing);
    json_decref(listing.entries);
    sc_buf_fini(&listing.text);
    sc_cli_lines_fini(&listing.lines);
    return status;
}

int sc_cli_session_ls(struct sc_cli_session *session)
{
    if (!session->id)
        return list_sessions(session);
    if (session->args.n_operands > 1)
        return sc_cli_session_usage(session, "takes one PATH at most");
    return list_files(session);
}

/* ---- changes ---- */

/* A line each, at once, as it is read by people and by pipes. */
static void tell_change(void *userdata, const json_t *event)
{
    struct sc_cli_session *session = userdata;
    if (!json_object_get(event, "change"))
        return;
    if (session->args.flags & SC_FLAG_JSON) {
        (void)sc_cli_print_json(sc_json_dump(event, JSON_COMPACT));
        return;
    }
    struct sc_buf line;
    sc_buf_init(&line, TEXT_MAX);
    int r = sc_buf_printf(&line, "%s ", text_of(event, "change"));
    if (r == 0)
        r = add_name(&line, text_of(event, "path"));
    if (r == 0 && json_is_true(json_object_get(event, "folder")))
        r = sc_buf_add(&line, "/", 1);
    (void)sc_cli_print(r < 0 ? NULL : sc_buf_steal(&line, NULL));
    sc_buf_fini(&line);
}

static int take_changes(void *userdata, enum sc_keeper_stream stream, const void *data, size_t len)
{
    return stream == SC_KEEPER_EVENTS ? sc_cli_lines_add(userdata, data, len) : 0;
}

int sc_cli_session_watch(struct sc_cli_session *session)
{
    const char *path = session->args.n_operands ? session->args.operands[0] : ".";
    struct sc_cli_stop stop = {.signal_fd = session->signal_fd};
    struct sc_cli_lines lines;
    struct sc_err err = {0};
    if (session->args.n_operands > 1)
        return sc_cli_session_usage(session, "takes one PATH at most");
    sc_cli_lines_init(&lines, tell_change, session);
    const struct sc_keeper_exchange exchange = {.output = take_changes,
                                                .output_data = &lines,
                                                .userdata = &stop,
                                                .stop_fd = session->signal_fd,
                                                .stop = sc_cli_session_stop};
    int r = sc_keeper_ask(session->client, sc_cli_session_request_with(session, "file.watch", "path", path),
                          &exchange, NULL, &err);
    sc_cli_lines_fini(&lines);
    return r < 0 ? sc_cli_session_fail(&err) : SC_CLI_EXIT_OK;
}
