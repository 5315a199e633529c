/* GET /files: a file's bytes as they come out of the cell. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/num.h"
#include "gate/e2b/files.h"
#include "gate/e2b/memory.h"
#include "gate/e2b/signature.h"

/* ---- signed ---- */

static bool is_same(const char *a, const char *b)
{
    unsigned char differs = 0;
    size_t len = strlen(a);
    if (strlen(b) != len)
        return false;
    for (size_t i = 0; i < len; i++)
        differs |= (unsigned char)(a[i] ^ b[i]);
    return differs == 0;
}

static bool find_signed(struct request *request, const char *given, const char *operation,
                        const char *expiration)
{
    struct e2b_call *call = request->of_handler;
    struct e2b *memory = memory_of(request->gate);
    char *path = e2b_query(request, "path", 0), *user = e2b_query(request, "username", 0);
    const struct known *known;
    bool found = false;
    TAILQ_FOREACH(known, &memory->known, entry)
    {
        char token[E2B_TOKEN + 1], right[SIGNATURE_MAX];
        snprintf(token, sizeof token, "%.*s%.*s", E2B_ID, known->session, E2B_SECRET, known->secret);
        signature_make(path ? path : "", operation, user ? user : "", token, expiration, right);
        explicit_bzero(token, sizeof token);
        if (!is_same(right, given))
            continue;
        memcpy(call->session, known->session, sizeof known->session);
        memcpy(call->access, known->secret, sizeof known->secret);
        found = true;
        break;
    }
    free(path);
    free(user);
    return found;
}

bool files_enter(struct request *request, const char *operation)
{
    char *given = e2b_query(request, "signature", 0);
    char *expiration = e2b_query(request, "signature_expiration", 0);
    uint64_t until = 0;
    bool fine = false;
    if (!given || e2b_header(request, "X-Access-Token")) {
        fine = e2b_enter(request);
    } else if (expiration && (sc_parse_u64(expiration, &until) < 0 || until < (uint64_t)time(NULL))) {
        problem(request, "unauthorized", "signature_expiration", "signature is already expired");
    } else if (e2b_call(request) && memory_of(request->gate)) {
        fine = find_signed(request, given, operation, expiration);
        if (!fine)
            problem(request, "unauthorized", "signature", "invalid signature");
    }
    free(given);
    free(expiration);
    return fine;
}

/* ---- what is asked for ---- */

struct reading {
    char *asked;
    uint64_t size, at, len;
    bool part;
};

static void free_reading(struct request *request)
{
    struct e2b_call *call = request->of_handler;
    struct reading *reading = call->state;
    free(reading->asked);
    free(reading);
}

/* ---- bytes ---- */

static const char *type_of(const char *path)
{
    static const struct {
        const char *end, *type;
    } rows[] = {{".txt", "text/plain; charset=utf-8"},
                {".html", "text/html; charset=utf-8"},
                {".json", "application/json"},
                {".csv", "text/csv; charset=utf-8"},
                {".png", "image/png"},
                {".jpg", "image/jpeg"},
                {".jpeg", "image/jpeg"},
                {".svg", "image/svg+xml"},
                {".pdf", "application/pdf"}};
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < sizeof rows / sizeof *rows; i++)
        if (!strcasecmp(dot, rows[i].end))
            return rows[i].type;
    return "application/octet-stream";
}

/* inline; filename*=UTF-8''NAME, in which all but letters, digits and a few marks is escaped. */
static void add_name(struct request *request, const char *path)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~";
    const char *name = strrchr(path, '/');
    struct sc_buf text;
    sc_buf_init(&text, 4096);
    int r = sc_buf_add_str(&text, "inline; filename*=UTF-8''");
    for (name = name ? name + 1 : path; *name && r == 0; name++)
        r = strchr(plain, *name) ? sc_buf_add(&text, name, 1)
                                 : sc_buf_printf(&text, "%%%02X", (unsigned char)*name);
    if (r == 0)
        answer_header(request, "Content-Disposition", (const char *)text.data);
    sc_buf_fini(&text);
}

static void begin_answer(struct request *request)
{
    const struct e2b_call *call = request->of_handler;
    const struct reading *reading = call->state;
    char range[96];
    if (request->answered)
        return;
    answer_stream_of(request, reading->part ? MHD_HTTP_PARTIAL_CONTENT : MHD_HTTP_OK, type_of(reading->asked),
                     reading->len);
    snprintf(range, sizeof range, "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64, reading->at,
             reading->at + (reading->len ? reading->len - 1 : 0), reading->size);
    if (reading->part)
        answer_header(request, "Content-Range", range);
    answer_header(request, "Accept-Ranges", "bytes");
    add_name(request, reading->asked);
}

static void on_bytes(void *userdata, enum sc_keeper_stream stream, const void *data, size_t len)
{
    struct request *request = userdata;
    if (stream != SC_KEEPER_STDOUT)
        return;
    begin_answer(request);
    stream_bytes(request, data, len);
}

static void on_read(void *userdata, const char *ok, size_t len, const json_t *error)
{
    struct request *request = userdata;
    (void)len;
    request->ask = NULL;
    if (!ok && !request->answered) {
        problem_keeper(request, error);
        return;
    }
    begin_answer(request);
    if (ok)
        stream_end(request);
    else
        stream_break(request);
}

static void read_bytes(struct request *request, const char *path)
{
    static const struct ask_events events = {.output = on_bytes, .done = on_read};
    const struct e2b_call *call = request->of_handler;
    const struct reading *reading = call->state;
    int why = -ENOMEM;
    json_t *message = file_message("file.read", path);
    if (!message || json_object_set_new(message, "offset", json_integer((json_int_t)reading->at)) < 0 ||
        json_object_set_new(message, "length", json_integer((json_int_t)reading->len)) < 0 ||
        e2b_address(request, message) < 0) {
        json_decref(message);
        problem_begin(request, -ENOMEM);
        return;
    }
    request->ask = ask_begin(request->gate, message, NULL, true, &events, request, &why);
    if (!request->ask)
        problem_begin(request, why);
}

static void on_found(struct request *request, const struct e2b_found *found)
{
    const struct e2b_call *call = request->of_handler;
    struct reading *reading = call->state;
    const char *type = e2b_text(found->entry, "type");
    if (found->dangles || !type) {
        problem(request, "not_found", "path", "path '%s' does not exist", reading->asked);
        return;
    }
    if (strcmp(type, "file") != 0) {
        problem(request, "usage", "path", "path '%s' is %s", reading->asked,
                !strcmp(type, "folder") ? "a directory" : "not a regular file");
        return;
    }
    reading->size = reading->len = (uint64_t)json_integer_value(json_object_get(found->entry, "size"));
    int r = files_range(e2b_header(request, "Range"), reading->size, &reading->at, &reading->len);
    reading->part = r > 0;
    if (r < 0) {
        answer_json(request, MHD_HTTP_RANGE_NOT_SATISFIABLE,
                    json_pack("{s:i, s:s}", "code", MHD_HTTP_RANGE_NOT_SATISFIABLE, "message",
                              "Range: nothing of the file is in it"));
        return;
    }
    if (reading->len == 0) {
        begin_answer(request);
        stream_end(request);
        return;
    }
    read_bytes(request, found->path);
}

/* file.stat's own "there is none" in the words that clients know. */
void e2b_handle_read(struct request *request)
{
    struct reading *reading = e2b_state(request, sizeof *reading, free_reading);
    char *user = e2b_query(request, "username", 0), *path = e2b_query(request, "path", 0);
    if (reading && files_enter(request, "read") && e2b_user(request, user)) {
        reading->asked = e2b_path(path ? path : "");
        if (reading->asked)
            e2b_find(request, reading->asked, on_found);
        else
            problem_begin(request, -ENOMEM);
    }
    free(user);
    free(path);
}
