/* POST /files: one body, or a form with many files, into the cell, in pieces and one file after the other.
 * What came and was not passed on yet is never more than what libmicrohttpd hands over at once. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "gate/e2b/files.h"

#define FORM_BUFFER (16u * 1024)
#define FILES_MAX 1000

enum piece_kind { PIECE_FILE, PIECE_BYTES, PIECE_END };
struct piece {
    TAILQ_ENTRY(piece) entry;
    enum piece_kind kind;
    char *bytes; /* or the path */
    size_t len, at;
};

struct writing {
    struct MHD_PostProcessor *form;
    char *path; /* of the query; NULL: each file has its own */
    TAILQ_HEAD(, piece) pieces;
    bool open;      /* a file has begun in the form */
    char *part;     /* the file name of the part that is read; NULL: none yet */
    bool has_bytes; /* that part */
    bool busy;      /* the keeper is asked for something that must be done first */
    bool failed, is_whole;
    json_t *told; /* what was written */
    char *now;    /* path of the file that is written; NULL: none */
};

static struct writing *writing_of(struct request *request)
{
    struct e2b_call *call = request->of_handler;
    return call->state;
}

static void piece_free(struct writing *writing, struct piece *piece)
{
    TAILQ_REMOVE(&writing->pieces, piece, entry);
    free(piece->bytes);
    free(piece);
}

static void free_writing(struct request *request)
{
    struct writing *writing = writing_of(request);
    while (!TAILQ_EMPTY(&writing->pieces))
        piece_free(writing, TAILQ_FIRST(&writing->pieces));
    if (writing->form)
        (void)MHD_destroy_post_processor(writing->form);
    json_decref(writing->told);
    free(writing->path);
    free(writing->now);
    free(writing->part);
    free(writing);
}

static void fail(struct request *request)
{
    writing_of(request)->failed = true;
    problem_begin(request, -ENOMEM);
}

static void add_piece(struct request *request, enum piece_kind kind, const char *bytes, size_t len)
{
    struct writing *writing = writing_of(request);
    struct piece *piece = calloc(1, sizeof *piece);
    if (piece)
        piece->bytes = strndup(len ? bytes : "", 0);
    if (piece && len) {
        free(piece->bytes);
        piece->bytes = malloc(len + 1);
    }
    if (!piece || !piece->bytes) {
        free(piece);
        fail(request);
        return;
    }
    memcpy(piece->bytes, bytes ? bytes : "", len);
    piece->bytes[len] = '\0';
    piece->kind = kind;
    piece->len = len;
    TAILQ_INSERT_TAIL(&writing->pieces, piece, entry);
}

/* ---- into the cell ---- */

static void pump(struct request *request);

static void on_written(void *userdata, const char *ok, size_t len, const json_t *error)
{
    struct request *request = userdata;
    struct writing *writing = writing_of(request);
    (void)len;
    request->ask = NULL;
    writing->busy = false;
    if (!ok) {
        writing->failed = true;
        problem_keeper(request, error);
        return;
    }
    const char *slash = strrchr(writing->now, '/');
    (void)json_array_append_new(writing->told, json_pack("{s:s, s:s, s:s}", "path", writing->now, "name",
                                                         slash ? slash + 1 : writing->now, "type", "file"));
    free(writing->now);
    writing->now = NULL;
    pump(request);
}

static void on_credit(void *userdata)
{
    pump(userdata);
}

static void on_parents(struct request *request, const struct e2b_said *said)
{
    static const struct ask_events events = {.credit = on_credit, .done = on_written};
    struct writing *writing = writing_of(request);
    int why = -ENOMEM;
    writing->busy = false;
    if (!e2b_fine(request, said)) {
        writing->failed = true;
        return;
    }
    json_t *message = file_message("file.write", writing->now);
    if (!message || e2b_address(request, message) < 0) {
        json_decref(message);
        fail(request);
        return;
    }
    request->ask = ask_begin(request->gate, message, NULL, true, &events, request, &why);
    if (!request->ask) {
        writing->failed = true;
        problem_begin(request, why);
        return;
    }
    pump(request);
}

static bool is_there(const json_t *told, const char *path)
{
    size_t i;
    json_t *entry;
    json_array_foreach((json_t *)told, i, entry)
    {
        if (!strcmp(e2b_text(entry, "path"), path))
            return true;
    }
    return false;
}

static void begin_file(struct request *request, const char *path)
{
    struct writing *writing = writing_of(request);
    writing->now = e2b_path(path);
    if (!writing->now) {
        fail(request);
        return;
    }
    path_tidy(writing->now);
    if (is_there(writing->told, writing->now) || json_array_size(writing->told) >= FILES_MAX) {
        writing->failed = true;
        problem(request, "usage", "path", "path: %s: each path may be given once, and %d of them",
                writing->now, FILES_MAX);
        return;
    }
    char *parent = path_parent(writing->now);
    json_t *message = parent ? file_message("file.mkdir", parent) : NULL;
    if (message)
        (void)json_object_set_new(message, "parents", json_true());
    free(parent);
    writing->busy = true;
    e2b_ask(request, message, false, on_parents);
}

/* True: the piece is done with. */
static bool pass(struct request *request, struct piece *piece)
{
    struct writing *writing = writing_of(request);
    struct ask *ask = request->ask;
    if (piece->kind == PIECE_END) {
        writing->busy = true;
        (void)ask_input_end(ask);
        return true;
    }
    size_t n = ask->link ? ask->credit : 0;
    n = n < piece->len - piece->at ? n : piece->len - piece->at;
    if (n == 0 || ask_input(ask, piece->bytes + piece->at, n) < 0)
        return piece->at == piece->len;
    piece->at += n;
    return piece->at == piece->len;
}

static void pump(struct request *request)
{
    struct writing *writing = writing_of(request);
    struct piece *piece;
    while (!writing->busy && !writing->failed && (piece = TAILQ_FIRST(&writing->pieces))) {
        if (piece->kind == PIECE_FILE) {
            char *path = piece->bytes;
            piece->bytes = NULL;
            piece_free(writing, piece);
            begin_file(request, path);
            free(path);
        } else if (!request->ask || !request->ask->link || !pass(request, piece)) {
            return;
        } else {
            piece_free(writing, piece);
        }
    }
    if (writing->failed || writing->busy)
        return;
    if (writing->is_whole && !writing->now)
        answer_json(request, MHD_HTTP_OK, json_incref(writing->told));
    else
        body_wake(request);
}

/* ---- from the client ---- */

/* libmicrohttpd may tell of a part's beginning twice, the first time without a byte. */
static bool is_new_part(struct writing *writing, const char *filename, uint64_t at)
{
    if (at > 0 || (writing->part && !writing->has_bytes && !strcmp(writing->part, filename)))
        return false;
    free(writing->part);
    writing->part = strdup(filename);
    writing->has_bytes = false;
    return true;
}

static enum MHD_Result on_form(void *userdata, enum MHD_ValueKind kind, const char *key, const char *filename,
                               const char *type, const char *encoding, const char *data, uint64_t at,
                               size_t size)
{
    struct request *request = userdata;
    struct writing *writing = writing_of(request);
    (void)kind;
    (void)type;
    (void)encoding;
    if (is_new_part(writing, filename ? filename : "", at)) {
        if (writing->open)
            add_piece(request, PIECE_END, NULL, 0);
        writing->open = key && !strcmp(key, "file");
        const char *path = writing->path ? writing->path : filename;
        if (writing->open && (!path || !*path || !sc_utf8_valid(path, strlen(path)))) {
            writing->failed = true;
            problem(request, "usage", "filename", "filename: must be the file's path, as UTF-8");
        } else if (writing->open) {
            add_piece(request, PIECE_FILE, path, strlen(path));
        }
    }
    writing->has_bytes = writing->has_bytes || size > 0;
    if (writing->open && !writing->failed && size)
        add_piece(request, PIECE_BYTES, data, size);
    return writing->failed ? MHD_NO : MHD_YES;
}

static size_t feed(struct request *request, const char *data, size_t len)
{
    struct writing *writing = writing_of(request);
    if (writing->failed)
        return len;
    if (!TAILQ_EMPTY(&writing->pieces))
        return 0;
    if (!writing->form)
        add_piece(request, PIECE_BYTES, data, len);
    else if (MHD_post_process(writing->form, data, len) != MHD_YES && !writing->failed) {
        writing->failed = true;
        problem(request, "usage", "body", "body: is no form of the kind that its Content-Type says");
    }
    pump(request);
    return len;
}

static void fed(struct request *request)
{
    struct writing *writing = writing_of(request);
    if (writing->form) {
        enum MHD_Result r = MHD_destroy_post_processor(writing->form);
        writing->form = NULL;
        if (r != MHD_YES && !writing->failed) {
            writing->failed = true;
            problem(request, "usage", "body", "body: the form is not whole");
        }
    }
    if (writing->failed)
        return;
    if (writing->open)
        add_piece(request, PIECE_END, NULL, 0);
    writing->is_whole = true;
    pump(request);
}

/* ---- asked ---- */

static enum MHD_Result look_for_metadata(void *userdata, enum MHD_ValueKind kind, const char *name,
                                         const char *value)
{
    bool *any = userdata;
    (void)kind;
    (void)value;
    *any = *any || !strncasecmp(name, "X-Metadata-", strlen("X-Metadata-"));
    return MHD_YES;
}

/* False: it was answered what is not served. */
static bool check_headers(struct request *request)
{
    bool metadata = false;
    const char *coding = e2b_header(request, "Content-Encoding");
    (void)MHD_get_connection_values(request->connection, MHD_HEADER_KIND, look_for_metadata, &metadata);
    if (metadata)
        problem(request, "usage", "X-Metadata", "X-Metadata: files here have no metadata");
    else if (coding && strcasecmp(coding, "identity") != 0)
        problem(request, "media_type", "Content-Encoding", "Content-Encoding: %.32s: allowed is identity",
                coding);
    return !request->answered;
}

static bool open_body(struct request *request)
{
    struct writing *writing = writing_of(request);
    const char *type = e2b_header(request, "Content-Type");
    if (type && !strncasecmp(type, "multipart/form-data", strlen("multipart/form-data"))) {
        writing->form = MHD_create_post_processor(request->connection, FORM_BUFFER, on_form, request);
        if (!writing->form)
            problem(request, "usage", "Content-Type", "Content-Type: multipart/form-data needs a boundary");
    } else if (type && !strncasecmp(type, "application/octet-stream", strlen("application/octet-stream"))) {
        if (!writing->path || !*writing->path) {
            problem(request, "usage", "path", "path: must be given with application/octet-stream");
        } else {
            writing->open = true;
            add_piece(request, PIECE_FILE, writing->path, strlen(writing->path));
        }
    } else {
        problem(request, "media_type", "Content-Type",
                "Content-Type: allowed are multipart/form-data, application/octet-stream");
    }
    return !request->answered;
}

void e2b_handle_write(struct request *request)
{
    struct writing *writing = e2b_state(request, sizeof *writing, free_writing);
    if (!writing)
        return;
    TAILQ_INIT(&writing->pieces);
    writing->told = json_array();
    writing->path = e2b_query(request, "path", 0);
    char *user = e2b_query(request, "username", 0);
    if (files_enter(request, "write") && e2b_user(request, user) && check_headers(request) &&
        open_body(request)) {
        request->feed = feed;
        request->fed = fed;
        pump(request);
    }
    free(user);
}
