/* JSON text → request. The word in "request" finds a row of REQUESTS; the row says which fields may stand
 * beside it. What a spec has too (code, command, limits, …) is read by the spec's own reader, so that a field
 * means and is refused the same everywhere. */
#include "keeper/request.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "judge/judge.h"
#include "keeper/fields.h"
#include "keeper/request_check.h"
#include "keeper/wire.h"

/* More than any request has use for: the longest lists have some ten thousand. */
#define VALUES_MAX 200000
#define OFFSET(member) offsetof(struct sc_keeper_request, member)
#define RANGE(least, most) .range = {least, most}

/* Bits, so that a row can name the fields it takes. */
enum field_bit {
    F_SESSION = 1 << 0,
    F_NAME = 1 << 1,
    F_TIMES = 1 << 2,
    F_SPEC = 1 << 3,
    F_CONTEXT = 1 << 4,
    F_OUTPUT = 1 << 5,
    F_CODE = 1 << 6, /* of the spec: language, code */
    F_COMMAND = 1 << 7,
    F_STDIN = 1 << 8,
    F_LIMITS = 1 << 9,
    F_TERMINAL = 1 << 10,
    F_BACKGROUND = 1 << 11,
    F_PROCESS = 1 << 12,
    F_SIGNAL = 1 << 13,
    F_PATH = 1 << 14,
    F_TO = 1 << 15,
    F_MODE = 1 << 16,
    F_RANGE = 1 << 17,
    F_PARENTS = 1 << 18,
    F_RECURSIVE = 1 << 19,
    F_IDENTITY = 1 << 20,
    F_GATE = 1 << 21,   /* of every request of a gate's but identify */
    F_SOURCE = 1 << 22, /* as CODE, which is only read */
    F_MEMORY = 1 << 23,
    F_NETWORK = 1 << 24,
    F_COPIES = 1 << 25,
    F_SNAPSHOT = 1 << 26,
    F_PORT = 1 << 28,
    F_ITSELF = 1 << 27, /* the snapshot that the request is about */
    F_INHERIT = 1 << 29,
    F_SECRETS = 1 << 30,
    F_LEFT = 1ull << 31,
    F_JUDGE = 1ull << 32,
};

/* Which request may come from which kind of connection, with which fields, and what must be true of it. */
struct row {
    const char *name;
    enum sc_keeper_verb verb;
    unsigned kinds;
    unsigned needs;
    uint64_t fields;
    enum sc_file_kind file;
};
#define BOTH (SC_KEEPER_CLIENT | SC_KEEPER_GATE)

#define SESSION SC_KEEPER_NEEDS_SESSION
/* What can be asked of the inside of a session with its secret alone. */
#define INSIDE (SESSION | SC_KEEPER_BY_ACCESS)
#define ON_PATH (INSIDE | SC_KEEPER_NEEDS_PATH)
#define ON_SNAPSHOT (SESSION | SC_KEEPER_OF_SNAPSHOTS | SC_KEEPER_ONLY_SNAPSHOTS)
#define PATH_FIELDS (F_SESSION | F_PATH)

static const struct row REQUESTS[] = {
    {"identify", SC_KEEPER_IDENTIFY, SC_KEEPER_GATE, SC_KEEPER_WITHOUT_AS, F_IDENTITY},
    {"metrics", SC_KEEPER_METRICS, BOTH, 0, 0},
    {"events", SC_KEEPER_WATCH_EVENTS, BOTH, 0, 0},
    {"templates", SC_KEEPER_TEMPLATES, BOTH, 0, 0},
    {"host", SC_KEEPER_HOST, BOTH, 0, 0},
    {"session.start", SC_KEEPER_SESSION_START, BOTH, 0, F_NAME | F_TIMES | F_SPEC},
    {"session.list", SC_KEEPER_SESSION_LIST, BOTH, 0, 0},
    {"session.info", SC_KEEPER_SESSION_INFO, BOTH, INSIDE | SC_KEEPER_WHILE_ENDING | SC_KEEPER_OF_SNAPSHOTS,
     F_SESSION},
    {"session.access", SC_KEEPER_SESSION_ACCESS, SC_KEEPER_GATE, SESSION, F_SESSION},
    {"session.time", SC_KEEPER_SESSION_TIME, BOTH, SESSION, F_SESSION | F_LEFT},
    {"session.network", SC_KEEPER_SESSION_NETWORK, BOTH, SESSION, F_SESSION | F_NETWORK},
    {"session.end", SC_KEEPER_SESSION_END, BOTH, SESSION | SC_KEEPER_WHILE_ENDING | SC_KEEPER_OF_SNAPSHOTS,
     F_SESSION},
    {"session.fork", SC_KEEPER_SESSION_FORK, BOTH, SESSION | SC_KEEPER_OF_SNAPSHOTS,
     F_SESSION | F_NAME | F_TIMES | F_COPIES | F_INHERIT},
    {"session.snapshot", SC_KEEPER_SESSION_SNAPSHOT, BOTH, SESSION, F_SESSION | F_NAME | F_INHERIT},
    {"session.rollback", SC_KEEPER_SESSION_ROLLBACK, BOTH, SESSION | SC_KEEPER_NEEDS_SNAPSHOT,
     F_SESSION | F_SNAPSHOT | F_INHERIT},
    {"snapshot.start", SC_KEEPER_SESSION_FORK, BOTH, ON_SNAPSHOT,
     F_ITSELF | F_NAME | F_TIMES | F_COPIES | F_INHERIT},
    {"snapshot.info", SC_KEEPER_SESSION_INFO, BOTH, ON_SNAPSHOT | SC_KEEPER_WHILE_ENDING, F_ITSELF},
    {"snapshot.end", SC_KEEPER_SESSION_END, BOTH, ON_SNAPSHOT | SC_KEEPER_WHILE_ENDING, F_ITSELF},
    {"session.pause", SC_KEEPER_SESSION_PAUSE, BOTH, SESSION, F_SESSION | F_MEMORY},
    {"session.resume", SC_KEEPER_SESSION_RESUME, BOTH, SC_KEEPER_NAMES_PAUSED,
     F_SESSION | F_TIMES | F_SECRETS},
    {"run", SC_KEEPER_RUN, BOTH, INSIDE, F_SESSION | F_CONTEXT | F_OUTPUT | F_CODE | F_STDIN | F_LIMITS},
    {"check", SC_KEEPER_CHECK, BOTH, SESSION, F_SESSION | F_SOURCE},
    {"once", SC_KEEPER_ONCE, BOTH, 0, F_SPEC | F_OUTPUT},
    {"judge", SC_KEEPER_JUDGE, BOTH, 0, F_JUDGE},
    {"run.interrupt", SC_KEEPER_RUN_INTERRUPT, BOTH, INSIDE, F_SESSION | F_CONTEXT},
    {"exec", SC_KEEPER_EXEC, BOTH, INSIDE | SC_KEEPER_NEEDS_COMMAND,
     F_SESSION | F_OUTPUT | F_COMMAND | F_STDIN | F_LIMITS},
    {"command", SC_KEEPER_COMMAND, BOTH, INSIDE | SC_KEEPER_TAKES_INPUT | SC_KEEPER_NEEDS_COMMAND,
     F_SESSION | F_COMMAND | F_LIMITS | F_TERMINAL | F_BACKGROUND},
    {"process.list", SC_KEEPER_PROCESS_LIST, BOTH, INSIDE, F_SESSION},
    {"process.signal", SC_KEEPER_PROCESS_SIGNAL, BOTH, INSIDE | SC_KEEPER_NEEDS_PROCESS,
     F_SESSION | F_PROCESS | F_SIGNAL},
    {"context.list", SC_KEEPER_CONTEXT_LIST, BOTH, INSIDE, F_SESSION},
    {"context.restart", SC_KEEPER_CONTEXT_RESTART, BOTH, INSIDE | SC_KEEPER_NEEDS_CONTEXT,
     F_SESSION | F_CONTEXT},
    {"file.read", SC_KEEPER_FILE, BOTH, ON_PATH, PATH_FIELDS | F_RANGE, SC_FILE_READ},
    {"file.write", SC_KEEPER_FILE, BOTH, ON_PATH | SC_KEEPER_TAKES_INPUT, PATH_FIELDS | F_MODE,
     SC_FILE_WRITE},
    {"file.append", SC_KEEPER_FILE, BOTH, ON_PATH | SC_KEEPER_TAKES_INPUT, PATH_FIELDS | F_MODE,
     SC_FILE_APPEND},
    {"file.list", SC_KEEPER_FILE, BOTH, ON_PATH, PATH_FIELDS, SC_FILE_LIST},
    {"file.stat", SC_KEEPER_FILE, BOTH, ON_PATH, PATH_FIELDS, SC_FILE_STAT},
    {"file.mkdir", SC_KEEPER_FILE, BOTH, ON_PATH, PATH_FIELDS | F_MODE | F_PARENTS, SC_FILE_MKDIR},
    {"file.rename", SC_KEEPER_FILE, BOTH, ON_PATH | SC_KEEPER_NEEDS_TO, PATH_FIELDS | F_TO, SC_FILE_RENAME},
    {"file.remove", SC_KEEPER_FILE, BOTH, ON_PATH, PATH_FIELDS | F_RECURSIVE, SC_FILE_REMOVE},
    {"file.chmod", SC_KEEPER_FILE, BOTH, ON_PATH, PATH_FIELDS | F_MODE, SC_FILE_CHMOD},
    {"file.watch", SC_KEEPER_FILE, BOTH, ON_PATH, PATH_FIELDS, SC_FILE_WATCH},
    {"file.tar_in", SC_KEEPER_FILE, BOTH, ON_PATH | SC_KEEPER_TAKES_INPUT, PATH_FIELDS, SC_FILE_TAR_IN},
    {"port", SC_KEEPER_FILE, BOTH, ON_PATH | SC_KEEPER_TAKES_INPUT, F_SESSION | F_PORT, SC_FILE_PORT},
    {"file.tar_out", SC_KEEPER_FILE, BOTH, ON_PATH, PATH_FIELDS, SC_FILE_TAR_OUT},
};
#define N_REQUESTS (sizeof REQUESTS / sizeof *REQUESTS)

static int read_name(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    int r = sc_field_text(into, value, path, SC_KEEPER_NAME_MAX, err);
    if (r < 0 || sc_keeper_name_ok(*(char **)into))
        return r;
    return sc_err_usage(err, path, "%s: \"%s\": must be 1 to %d letters, digits, -, _ or .", path,
                        *(char **)into, SC_KEEPER_NAME_MAX);
}

#define METADATA_MAX 32
#define METADATA_BYTES_MAX 256

/* Texts under names like a session's, a few and short: they are kept and told, never looked at. */
static int read_metadata(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    const char *name;
    json_t *text;
    if (!json_is_object(value))
        return sc_json_wrong_type(path, value, "an object", err);
    if (json_object_size(value) > METADATA_MAX)
        return sc_err_usage(err, path, "%s: at most %d entries are allowed", path, METADATA_MAX);
    json_object_foreach((json_t *)value, name, text)
    {
        char here[SC_ERR_FIELD_MAX];
        sc_json_join_path(here, path, name);
        if (!sc_keeper_name_ok(name))
            return sc_err_usage(err, here, "%s: names are 1 to %d letters, digits, -, _ or .", here,
                                SC_KEEPER_NAME_MAX);
        if (!sc_json_text(text, here, err))
            return -EINVAL;
        if (json_string_length(text) > METADATA_BYTES_MAX)
            return sc_err_usage(err, here, "%s: at most %d bytes are allowed", here, METADATA_BYTES_MAX);
    }
    *(json_t **)into = json_incref((json_t *)value);
    return 0;
}

static int read_path(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    int r = sc_field_text(into, value, path, SC_SPEC_PATH_MAX, err);
    if (r == 0 && !**(char **)into)
        return sc_err_usage(err, path, "%s: is empty; must be a path in the cell, . is the work folder",
                            path);
    return r;
}

/* Kept as the agent is told it. */
static int read_port(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    uint64_t number = 0;
    char **text = into;
    int r = sc_field_u64(&number, value, path, UINT32_MAX, err);
    if (r == 0 && (number < 1 || number > 65535))
        return sc_err_usage(err, path, "%s: %llu: allowed 1 to 65535", path, (unsigned long long)number);
    if (r == 0 && asprintf(text, "%u", (unsigned)number) < 0) {
        *text = NULL;
        return sc_err_sys(err, -ENOMEM, "request");
    }
    return r;
}

static int read_secret(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    return sc_field_text(into, value, path, 128, err);
}

static int read_priority(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    uint64_t number = 0;
    int r = sc_field_u64(&number, value, path, SC_KEEPER_PRIORITY_MOST, err);
    if (r == 0)
        *(uint32_t *)into = (uint32_t)number;
    return r;
}

static int read_deadline(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    if (!json_is_number(value))
        return sc_json_wrong_type(path, value, "a number", err);
    double ms = json_number_value(value);
    if (!(ms >= 1) || ms > SC_KEEPER_DEADLINE_MS_MAX)
        return sc_err_usage(err, path, "%s: %.15g: allowed are 1 to %.15g", path, ms,
                            SC_KEEPER_DEADLINE_MS_MAX);
    *(uint64_t *)into = (uint64_t)(ms * (double)SC_NS_PER_MS);
    return 0;
}

static int read_duration(void *into, const json_t *value, const char *path, double most_ms,
                         struct sc_err *err)
{
    if (!json_is_number(value))
        return sc_json_wrong_type(path, value, "a number", err);
    double ms = json_number_value(value);
    if (!(ms >= SC_KEEPER_TIME_MS_MIN) || ms > most_ms)
        return sc_err_usage(err, path, "%s: %.15g: allowed are %d to %.15g", path, ms, SC_KEEPER_TIME_MS_MIN,
                            most_ms);
    *(uint64_t *)into = (uint64_t)(ms * (double)SC_NS_PER_MS);
    return 0;
}

static int read_idle(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    return read_duration(into, value, path, SC_KEEPER_IDLE_MS_MAX, err);
}

static int read_total(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    return read_duration(into, value, path, SC_KEEPER_TOTAL_MS_MAX, err);
}

static int read_size(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    uint64_t number = 0;
    int r = sc_field_u64(&number, value, path, INT64_MAX, err);
    if (r == 0)
        *(uint64_t *)into = number;
    return r;
}

static int read_process(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    uint64_t number = 0;
    int r = sc_field_u64(&number, value, path, UINT32_MAX, err);
    if (r == 0)
        *(uint32_t *)into = (uint32_t)number;
    return r;
}

static int read_copies(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    uint64_t number = 0;
    int r = sc_field_u64(&number, value, path, UINT32_MAX, err);
    if (r == 0 && (number < 1 || number > SC_KEEPER_COPIES_MAX))
        return sc_err_usage(err, path, "%s: %llu: allowed 1 to %d", path, (unsigned long long)number,
                            SC_KEEPER_COPIES_MAX);
    *(uint32_t *)into = (uint32_t)number;
    return r;
}

static int read_cells(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    uint64_t number = 0;
    int r = sc_field_u64(&number, value, path, 10000, err);
    if (r == 0)
        *(uint16_t *)into = (uint16_t)number;
    return r;
}

static int read_signal(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    char *name = NULL;
    int r = sc_field_text(&name, value, path, 16, err);
    if (r < 0)
        return r;
    int number = 0;
    for (int i = 1; i < 32 && !number; i++)
        if (sigabbrev_np(i) && !strcmp(sigabbrev_np(i), name))
            number = i;
    if (number)
        *(int *)into = number;
    else
        r = sc_err_usage(err, path, "%s: \"%s\": must be a signal's name, as in TERM, INT, KILL, STOP, CONT",
                         path, name);
    free(name);
    return r;
}

/* The position of the text in the NULL-ended list. */
static int read_word(const char *const *words, const json_t *value, const char *path, int *ret_at,
                     struct sc_err *err)
{
    char *text = NULL, allowed[128] = "";
    int r = sc_field_text(&text, value, path, 32, err), found = -1;
    if (r < 0)
        return r;
    for (int i = 0; words[i]; i++) {
        size_t n = strlen(allowed);
        snprintf(allowed + n, sizeof allowed - n, "%s%s", i ? ", " : "", words[i]);
        if (!strcmp(words[i], text))
            found = i;
    }
    if (found < 0)
        r = sc_err_usage(err, path, "%s: \"%s\": allowed are %s", path, text, allowed);
    else
        *ret_at = found;
    free(text);
    return r;
}

static int read_whom(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    static const char *const words[] = {"tree", "main", "group", NULL};
    int at = 0, r = read_word(words, value, path, &at, err);
    if (r == 0)
        *(enum sc_signal_whom *)into = (enum sc_signal_whom)at;
    return r;
}

static int read_output(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    static const char *const words[] = {"stream", "reply", NULL};
    int at = 0, r = read_word(words, value, path, &at, err);
    if (r == 0)
        *(bool *)into = at == 1;
    return r;
}

static int read_judge(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    struct sc_judge_task *task = json_is_object(value) ? calloc(1, sizeof *task) : NULL;
    if (!json_is_object(value))
        return sc_json_wrong_type(path, value, "an object", err);
    if (!task)
        return sc_err_sys(err, -ENOMEM, "request");
    sc_judge_task_init(task);
    *(struct sc_judge_task **)into = task;
    int r = sc_judge_task_read(task, value, err);
    if (r < 0)
        sc_err_below(err, path);
    return r;
}

static int read_spec(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    return sc_spec_read(into, value, path, err);
}

/* The fields of the keeper's own, and those that the spec's reader takes (`read` is NULL). */
struct field_row {
    const char *name;
    uint64_t bit;
    sc_json_reader *read;
    size_t offset;
};

static const struct field_row FIELDS[] = {
    {"as", F_GATE, read_secret, OFFSET(as)},
    {"access", F_GATE, read_secret, OFFSET(access)},
    {"priority", F_GATE, read_priority, OFFSET(priority)},
    {"deadline_ms", F_GATE, read_deadline, OFFSET(deadline_ns)},
    {"key", F_IDENTITY, read_secret, OFFSET(key)},
    {"peer", F_IDENTITY, read_secret, OFFSET(peer)},
    {"session", F_SESSION, read_name, OFFSET(session)},
    {"name", F_NAME, read_name, OFFSET(name)},
    {"metadata", F_NAME, read_metadata, OFFSET(metadata)},
    {"idle_ms", F_TIMES, read_idle, OFFSET(idle_ns)},
    {"total_ms", F_TIMES, read_total, OFFSET(total_ns)},
    {"left_ms", F_LEFT, read_total, OFFSET(left_ns)},
    {"spec", F_SPEC, read_spec, OFFSET(spec)},
    {"judge", F_JUDGE, read_judge, OFFSET(judge)},
    {"context", F_CONTEXT, read_name, OFFSET(context)},
    {"output", F_OUTPUT, read_output, OFFSET(whole)},
    {"rows", F_TERMINAL, read_cells, OFFSET(rows)},
    {"cols", F_TERMINAL, read_cells, OFFSET(cols)},
    {"pty", F_TERMINAL, sc_field_bool, OFFSET(pty)},
    {"no_stdin", F_TERMINAL, sc_field_bool, OFFSET(no_stdin)},
    {"background", F_BACKGROUND, sc_field_bool, OFFSET(background)},
    {"memory", F_MEMORY, sc_field_bool, OFFSET(memory)},
    {"process", F_PROCESS, read_process, OFFSET(process)},
    {"signal", F_SIGNAL, read_signal, OFFSET(signal)},
    {"whom", F_SIGNAL, read_whom, OFFSET(whom)},
    {"path", F_PATH, read_path, OFFSET(path)},
    {"port", F_PORT, read_port, OFFSET(path)},
    {"to", F_TO, read_path, OFFSET(to)},
    {"mode", F_MODE, sc_field_mode, OFFSET(mode)},
    {"offset", F_RANGE, read_size, OFFSET(offset)},
    {"length", F_RANGE, read_size, OFFSET(length)},
    {"snapshot", F_SNAPSHOT, read_name, OFFSET(snapshot)},
    {"snapshot", F_ITSELF, read_name, OFFSET(session)},
    {"copies", F_COPIES, read_copies, OFFSET(copies)},
    {"forkable", F_COPIES, sc_field_bool, OFFSET(forkable)},
    {"inherit_secrets", F_INHERIT, sc_field_bool, OFFSET(inherit_secrets)},
    {"parents", F_PARENTS, sc_field_bool, OFFSET(parents)},
    {"recursive", F_RECURSIVE, sc_field_bool, OFFSET(recursive)},
    {"language", F_CODE | F_SOURCE, NULL, 0},
    {"code", F_CODE | F_SOURCE, NULL, 0},
    {"mode", F_CODE, NULL, 0},
    {"validate", F_CODE | F_SOURCE, NULL, 0},
    {"command", F_COMMAND, NULL, 0},
    {"env", F_COMMAND, NULL, 0},
    {"secrets", F_SECRETS, NULL, 0},
    {"cwd", F_COMMAND, NULL, 0},
    {"stdin", F_STDIN, NULL, 0},
    {"stdin_b64", F_STDIN, NULL, 0},
    {"limits", F_LIMITS, NULL, 0},
    {"network", F_NETWORK, NULL, 0},
};
#define N_FIELDS (sizeof FIELDS / sizeof *FIELDS)

bool sc_keeper_name_ok(const char *name)
{
    size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.");
    return len > 0 && len <= SC_KEEPER_NAME_MAX && !name[len];
}

static int find_request(const json_t *object, const struct row **ret_row, struct sc_err *err)
{
    const char *names[N_REQUESTS + 1] = {NULL};
    char *word = NULL, shown[SC_ERR_FIELD_MAX];
    const json_t *value = json_object_get(object, "request");
    if (!value)
        return sc_err_usage(err, "request", "request: is missing; it says what is asked for");
    int r = sc_field_text(&word, value, "request", 32, err);
    if (r < 0)
        return r;
    for (size_t i = 0; i < N_REQUESTS; i++) {
        names[i] = REQUESTS[i].name;
        if (!strcmp(names[i], word))
            *ret_row = &REQUESTS[i];
    }
    if (!*ret_row) {
        const char *nearest = sc_text_nearest(word, names);
        sc_text_show(shown, sizeof shown, word, strlen(word));
        r = sc_err_usage(err, "request", "request: %s: there is no such request; %s%s", shown,
                         nearest ? "did you mean " : "docs/keeper.md lists them", nearest ? nearest : "");
    }
    free(word);
    return r;
}

static int unknown_field(const struct row *row, const char *name, struct sc_err *err)
{
    const char *names[N_FIELDS + 1] = {NULL};
    char path[SC_ERR_FIELD_MAX];
    size_t n = 0;
    for (size_t i = 0; i < N_FIELDS; i++)
        if (FIELDS[i].bit & row->fields & ~F_GATE)
            names[n++] = FIELDS[i].name;
    sc_json_join_path(path, "", name);
    return sc_json_unknown_field(path, name, names, err);
}

/* Reads the fields of the keeper's own; the others are put aside into `of_spec`. */
static int read_fields(struct sc_keeper_request *request, const struct row *row, const json_t *object,
                       json_t *of_spec, struct sc_err *err)
{
    const uint64_t fields = row->fields | (row->needs & SC_KEEPER_WITHOUT_AS ? 0 : F_GATE);
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)object, name, value)
    {
        const struct field_row *field = FIELDS, *end = FIELDS + N_FIELDS;
        int r = 0;
        if (!strcmp(name, "request"))
            continue;
        while (field < end && (!(field->bit & fields) || strcmp(field->name, name)))
            field++;
        if (field == end)
            return unknown_field(row, name, err);
        if (!field->read)
            r = json_object_set(of_spec, name, value) < 0 ? sc_err_sys(err, -ENOMEM, "request") : 0;
        else if (!json_is_null(value))
            r = field->read((char *)request + field->offset, value, name, err);
        if (r < 0)
            return r;
        request->of_gate |= field->bit == F_GATE;
    }
    return 0;
}

static int read_object(struct sc_keeper_request *request, const json_t *object, struct sc_err *err)
{
    const struct row *row = NULL;
    if (!json_is_object(object))
        return sc_json_wrong_type("request", object, "an object", err);
    int r = find_request(object, &row, err);
    if (r < 0 || !row)
        return r;
    request->verb = row->verb;
    request->needs = row->needs;
    request->kinds = row->kinds;
    request->priority = SC_KEEPER_PRIORITY_STANDARD;
    request->file = row->file;
    request->word = row->name;
    if (row->fields & (F_CODE | F_SOURCE))
        request->spec.mode = SC_MODE_RICH;
    if (row->fields & F_LIMITS) {
        struct sc_limits *limits = &request->spec.limits;
        limits->wall = limits->cpu = limits->stdout = limits->stderr = SC_UNSET;
    }
    json_t *of_spec = json_object();
    if (!of_spec)
        return sc_err_sys(err, -ENOMEM, "request");
    r = read_fields(request, row, object, of_spec, err);
    if (r == 0 && (row->fields & F_LIMITS))
        r = sc_keeper_request_check_limits(json_object_get(of_spec, "limits"), row->verb == SC_KEEPER_COMMAND,
                                           err);
    if (r == 0)
        r = sc_spec_read(&request->spec, of_spec, "", err);
    json_decref(of_spec);
    return r < 0 ? r : sc_keeper_request_check(request, err);
}

int sc_keeper_request_read(struct sc_keeper_request *request, const char *text, size_t len,
                           struct sc_err *err)
{
    json_error_t error;
    json_t *object = NULL;
    *request = (struct sc_keeper_request){0};
    sc_spec_init(&request->spec);
    if (len > SC_KEEPER_REQUEST_MAX)
        return sc_err_usage(err, "request", "request: at most %u bytes are allowed", SC_KEEPER_REQUEST_MAX);
    if (sc_json_count(text, len) > VALUES_MAX)
        return sc_err_usage(err, "request",
                            "request: at most %d JSON values, and 4096 bytes for one number, are allowed",
                            VALUES_MAX);
    int r = sc_json_load(text, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &object, &error);
    if (r == -ENOMEM)
        return sc_err_sys(err, r, "request");
    if (r < 0)
        return sc_json_parse_error(&error, err);
    r = read_object(request, object, err);
    json_decref(object);
    return r;
}

const char *sc_keeper_request_name(const struct sc_keeper_request *request)
{
    return request->word ? request->word : "";
}

void sc_keeper_request_fini(struct sc_keeper_request *request)
{
    free(request->as);
    if (request->access)
        explicit_bzero(request->access, strlen(request->access));
    free(request->access);
    if (request->key)
        explicit_bzero(request->key, strlen(request->key));
    free(request->key);
    free(request->peer);
    free(request->session);
    free(request->name);
    free(request->snapshot);
    json_decref(request->metadata);
    request->metadata = NULL;
    free(request->context);
    free(request->path);
    free(request->to);
    sc_spec_fini(&request->spec);
    sc_judge_task_fini(request->judge);
    free(request->judge);
    request->judge = NULL;
    request->as = request->access = request->key = request->peer = NULL;
    request->session = request->name = request->snapshot = NULL;
    request->context = request->path = request->to = NULL;
}
