#include "snap/fill.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "cell/feed.h"
#include "snap/taken.h"

#define PIECE 65536

struct sc_fill {
    struct sc_live *live;
    const struct sc_spec_file *files;
    size_t n_files, at; /* the file that is under way */
    sc_fill_done *done;
    void *userdata;
    uint16_t op;
    bool is_folder;   /* the operation makes the folder of the file */
    int fd;           /* of a host file; -1: its bytes are in the spec */
    const char *data; /* what was not sent yet */
    size_t len;
    bool at_end; /* nothing comes behind it */
    bool is_told;
    char piece[PIECE];
};

static void begin_file(struct sc_fill *fill);

static void tell(struct sc_fill *fill, int r, const struct sc_err *err)
{
    sc_close(&fill->fd);
    if (fill->is_told)
        return;
    fill->is_told = true;
    fill->done(fill->userdata, r, err);
}

static int open_source(struct sc_fill *fill, uint32_t *ret_mode, struct sc_err *err)
{
    const struct sc_spec_file *file = &fill->files[fill->at];
    struct stat st;
    *ret_mode = file->mode ? file->mode : 0644;
    fill->data = file->data;
    fill->len = file->len;
    fill->at_end = true;
    if (!file->host)
        return 0;
    fill->len = 0;
    fill->at_end = false;
    /* O_NONBLOCK: a name that has become a fifo since the check must not hold us. */
    fill->fd = open(file->host, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fill->fd < 0 || fstat(fill->fd, &st) < 0)
        return sc_err_usage(err, "file", "%s: cannot be read: %s", file->host, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return sc_err_usage(err, "file", "%s: is not a regular file", file->host);
    if (!file->mode)
        *ret_mode = st.st_mode & 0777;
    return 0;
}

/* 0, also when there is nothing more to come. */
static int next_piece(struct sc_fill *fill, struct sc_err *err)
{
    ssize_t n;
    do
        n = read(fill->fd, fill->piece, sizeof fill->piece);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return sc_err_usage(err, "file", "%s: cannot be read: %s", fill->files[fill->at].host,
                            strerror(errno));
    fill->at_end = n == 0;
    fill->data = fill->piece;
    fill->len = (size_t)n;
    return 0;
}

/* As much as is taken now. */
static int push(struct sc_fill *fill, struct sc_err *err)
{
    for (;;) {
        while (fill->len > 0) {
            ssize_t n = sc_live_write(fill->live, fill->op, SC_STREAM_IN, fill->data, fill->len);
            if (n <= 0)
                return 0; /* `room` comes, or the operation's end does */
            fill->data += n;
            fill->len -= (size_t)n;
        }
        if (fill->at_end) {
            (void)sc_live_close_input(fill->live, fill->op);
            return 0;
        }
        int r = next_piece(fill, err);
        if (r < 0)
            return r;
    }
}

/* ---- what the agent answers ---- */

static void on_room(void *userdata, enum sc_stream_number stream)
{
    struct sc_fill *fill = userdata;
    struct sc_err err = {0};
    (void)stream;
    /* What was begun cannot be finished: it is given up with its cell. */
    if (!fill->is_folder && !fill->is_told && push(fill, &err) < 0)
        tell(fill, -EINVAL, &err);
}

static void refuse(struct sc_fill *fill, int code)
{
    struct sc_msg_failed failed = {.code = code, .stage = "file"};
    struct sc_err err = {0};
    const char *path = fill->files[fill->at].path;
    memcpy(failed.object, path, strnlen(path, sizeof failed.object - 1));
    tell(fill, sc_feed_refused(&failed, &err), &err);
}

static void on_done(void *userdata, const struct sc_msg_file_done *done)
{
    struct sc_fill *fill = userdata;
    if (fill->is_told)
        return;
    if (done->code == -EIO && !done->object[0]) {
        tell(fill, -EPIPE, NULL); /* who wrote it was killed */
        return;
    }
    if (done->code != 0) {
        refuse(fill, done->code);
        return;
    }
    sc_close(&fill->fd);
    if (fill->is_folder) {
        fill->is_folder = false;
    } else if (++fill->at == fill->n_files) {
        tell(fill, 0, NULL);
        return;
    } else {
        fill->is_folder = strchr(fill->files[fill->at].path, '/');
    }
    begin_file(fill);
}

static void on_failed(void *userdata, const struct sc_msg_failed *failed)
{
    struct sc_fill *fill = userdata;
    if (sc_live_is_alive(fill->live))
        refuse(fill, failed->code);
    else
        tell(fill, -EPIPE, NULL);
}

static void on_gone(void *userdata)
{
    tell(userdata, -EPIPE, NULL);
}

static int ask(struct sc_fill *fill, struct sc_err *err)
{
    static const struct sc_live_op_events events = {
        .room = on_room, .gone = on_gone, .failed = on_failed, .done = on_done};
    const char *path = fill->files[fill->at].path;
    char folder[PATH_MAX];
    struct sc_file_op op = {.kind = SC_FILE_WRITE, .path = path};
    if (fill->is_folder) {
        size_t len = (size_t)(strrchr(path, '/') - path);
        if (len >= sizeof folder)
            return sc_err_usage(err, "file", "%.80s…: path is longer than %d bytes", path, PATH_MAX - 1);
        memcpy(folder, path, len);
        folder[len] = '\0';
        op = (struct sc_file_op){
            .kind = SC_FILE_MKDIR, .path = folder, .flags = SC_FILE_PARENTS, .mode = 0755};
        return sc_live_file(fill->live, &op, &events, fill, &fill->op, err);
    }
    int r = open_source(fill, &op.mode, err);
    if (r == 0)
        r = sc_live_file(fill->live, &op, &events, fill, &fill->op, err);
    return r < 0 ? r : push(fill, err);
}

static void begin_file(struct sc_fill *fill)
{
    struct sc_err err = {0};
    int r = ask(fill, &err);
    if (r < 0)
        tell(fill, r, &err);
}

int sc_fill_start(struct sc_live *live, const struct sc_spec_file *files, size_t n_files, sc_fill_done *done,
                  void *userdata, struct sc_fill **ret_fill, struct sc_err *err)
{
    if (sc_taken_without("files")) {
        done(userdata, 0, NULL);
        return 0;
    }
    struct sc_fill *fill = calloc(1, sizeof *fill);
    if (!fill)
        return sc_err_sys(err, -ENOMEM, "files");
    *fill = (struct sc_fill){
        .live = live, .files = files, .n_files = n_files, .done = done, .userdata = userdata, .fd = -1};
    fill->is_folder = strchr(files[0].path, '/');
    int r = ask(fill, err);
    if (r < 0) {
        sc_fill_free(fill);
        return r;
    }
    *ret_fill = fill;
    return 0;
}

void sc_fill_free(struct sc_fill *fill)
{
    if (!fill)
        return;
    sc_close(&fill->fd);
    free(fill);
}
