/* A line is written by one call, at the end of the file. What was written of one that did not fit is cut off
 * again, so that a file holds whole lines only; what a crash left of the last one is cut off by the next
 * writer.
 *
 * Nothing here waits for the disk: lines survive the keeper's death by any signal, and a crash of the machine
 * as far as the kernel had written them. */
#include "keeper/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/json.h"
#include "keeper/audit_parts.h"

struct sc_audit {
    int folder, file, lock;
    uint64_t rotate, size;
    uint64_t next;             /* number of the next record */
    uint64_t first;            /* of the present file; 0: it is empty */
    char last[SC_SHA256_TEXT]; /* hash of the record before */
    uint64_t lost, untold;     /* records; those of them that no record tells of yet */
    bool fails;
};

void audit_hash(const void *line, size_t len, char ret_hash[SC_SHA256_TEXT])
{
    struct sc_sha256 sum;
    sc_sha256_init(&sum);
    sc_sha256_add(&sum, line, len);
    sc_sha256_text(&sum, ret_hash);
}

int audit_open_folder(int state, bool make, struct sc_err *err)
{
    if (make && mkdirat(state, AUDIT_FOLDER, 0700) < 0 && errno != EEXIST)
        return sc_err_sys(err, -errno, "audit: folder");
    int fd = openat(state, AUDIT_FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? sc_err_sys(err, -errno, "audit: folder") : fd;
}

/* ---- going on where the last writer stopped ---- */

/* The last whole line of `text`; NULL: there is none. */
static const char *last_line(const char *text, size_t len, size_t *ret_len)
{
    const char *end = memrchr(text, '\n', len);
    if (!end)
        return NULL;
    const char *before = end == text ? NULL : memrchr(text, '\n', (size_t)(end - text));
    const char *start = before ? before + 1 : text;
    *ret_len = (size_t)(end - start);
    return start;
}

/* The number that a line begins with; 0: it does not. */
uint64_t audit_seq(const char *line)
{
    static const char begin[] = "{\"seq\":";
    return strncmp(line, begin, strlen(begin)) ? 0 : strtoull(line + strlen(begin), NULL, 10);
}

static int take_up(struct sc_audit *audit, const struct sc_buf *text, struct sc_err *err)
{
    const char *lines = text->data ? (const char *)text->data : "";
    size_t len = 0;
    const char *last = last_line(lines, text->len, &len);
    size_t whole = last ? (size_t)(last - lines) + len + 1 : 0;
    if (whole < text->len && ftruncate(audit->file, (off_t)whole) < 0)
        return sc_err_sys(err, -errno, "audit: half a line at the end");
    audit->size = whole;
    if (!last)
        return 0;
    audit->first = audit_seq(lines);
    audit->next = audit_seq(last) + 1;
    if (!audit->first || audit->next == 1)
        return sc_err_set(err, SC_ERR_HOST, -EBADMSG,
                          "audit: " AUDIT_FILE
                          " is not what was written; put it aside, and `snapcell audit verify` tells more");
    audit_hash(last, len, audit->last);
    return 0;
}

/* The present file is empty: the one that was put aside last tells number and hash. */
static int take_up_rotated(struct sc_audit *audit, struct sc_err *err)
{
    char name[AUDIT_NAME_MAX];
    struct sc_buf text;
    size_t len = 0;
    int r = audit_last_rotated(audit->folder, name);
    if (r <= 0)
        return r < 0 ? sc_err_sys(err, r, "audit") : 0;
    sc_buf_init(&text, AUDIT_READ_MAX);
    r = sc_buf_read_file(&text, audit->folder, name);
    const char *last = r == 0 && text.data ? last_line((const char *)text.data, text.len, &len) : NULL;
    if (r < 0)
        sc_err_sys(err, r, "audit: %s", name);
    else if (last) {
        audit->next = audit_seq(last) + 1;
        audit_hash(last, len, audit->last);
    }
    sc_buf_fini(&text);
    return r;
}

static int open_file(struct sc_audit *audit)
{
    audit->file =
        openat(audit->folder, AUDIT_FILE, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
    return audit->file < 0 ? -errno : 0;
}

static int take_lock(struct sc_audit *audit, struct sc_err *err)
{
    audit->lock = openat(audit->folder, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (audit->lock < 0)
        return sc_err_sys(err, -errno, "audit: lock");
    /* Of the process, and gone with it: what it forks does not hold it, as it would hold a flock. */
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(audit->lock, F_SETLK, &all) < 0)
        return errno == EACCES || errno == EAGAIN
                   ? sc_err_usage(err, "state", "state: another keeper uses this folder")
                   : sc_err_sys(err, -errno, "audit: lock");
    return 0;
}

static int begin(struct sc_audit *audit, int state, struct sc_err *err)
{
    struct sc_buf text;
    audit->folder = audit_open_folder(state, true, err);
    if (audit->folder < 0)
        return audit->folder;
    int r = take_lock(audit, err);
    if (r < 0)
        return r;
    r = open_file(audit);
    sc_buf_init(&text, AUDIT_READ_MAX);
    if (r == 0)
        r = sc_buf_read_file(&text, audit->folder, AUDIT_FILE);
    if (r < 0)
        sc_err_sys(err, r, "audit: " AUDIT_FILE);
    else
        r = take_up(audit, &text, err);
    if (r == 0 && audit->next == 1)
        r = take_up_rotated(audit, err);
    sc_buf_fini(&text);
    return r;
}

int sc_audit_open(int state, uint64_t rotate, struct sc_audit **ret_audit, struct sc_err *err)
{
    struct sc_audit *audit = calloc(1, sizeof *audit);
    if (!audit)
        return sc_err_sys(err, -ENOMEM, "audit");
    *audit = (struct sc_audit){.folder = -1, .file = -1, .lock = -1, .rotate = rotate, .next = 1};
    memset(audit->last, '0', SC_SHA256_TEXT - 1);
    int r = begin(audit, state, err);
    if (r < 0) {
        sc_audit_close(audit);
        return r;
    }
    *ret_audit = audit;
    return 0;
}

void sc_audit_close(struct sc_audit *audit)
{
    if (!audit)
        return;
    if (audit->file >= 0)
        (void)fdatasync(audit->file);
    sc_close(&audit->file);
    sc_close(&audit->lock);
    sc_close(&audit->folder);
    free(audit);
}

/* ---- writing ---- */

/* The present file gets its first record's number as name. */
static int put_aside(struct sc_audit *audit)
{
    char name[AUDIT_NAME_MAX];
    snprintf(name, sizeof name, AUDIT_ROTATED, audit->first);
    if (fdatasync(audit->file) < 0 || renameat(audit->folder, AUDIT_FILE, audit->folder, name) < 0)
        return -errno;
    sc_close(&audit->file);
    audit->size = audit->first = 0;
    return open_file(audit);
}

static int append(struct sc_audit *audit, const char *line, size_t len)
{
    int r = audit->file < 0 ? open_file(audit) : 0;
    if (r == 0 && audit->size && audit->size + len > audit->rotate)
        r = put_aside(audit);
    if (r < 0)
        return r;
    ssize_t n = write(audit->file, line, len);
    if (n == (ssize_t)len) {
        audit->size += len;
        return 0;
    }
    r = n < 0 ? -errno : -ENOSPC;
    if (n > 0 && ftruncate(audit->file, (off_t)audit->size) < 0)
        r = -errno;
    return r;
}

static int make_line(const struct sc_audit *audit, const json_t *record, struct sc_buf *line)
{
    struct timespec now;
    struct tm parts;
    char time[32], *text = sc_json_dump(record, JSON_COMPACT);
    clock_gettime(CLOCK_REALTIME, &now);
    if (!text || !gmtime_r(&now.tv_sec, &parts) ||
        !strftime(time, sizeof time, "%Y-%m-%dT%H:%M:%S", &parts)) {
        free(text);
        return -ENOMEM;
    }
    int r = sc_buf_printf(line, "{\"seq\":%" PRIu64 ",\"prev\":\"%s\",\"time\":\"%s.%03ldZ\",", audit->next,
                          audit->last, time, now.tv_nsec / 1000000);
    if (r == 0 && audit->untold)
        r = sc_buf_printf(line, "\"lost\":%" PRIu64 ",", audit->untold);
    if (r == 0)
        r = sc_buf_add_str(line, text + 1); /* behind its brace */
    if (r == 0)
        r = sc_buf_add_str(line, "\n");
    free(text);
    return r;
}

int sc_audit_write(struct sc_audit *audit, json_t *record)
{
    struct sc_buf line;
    sc_buf_init(&line, AUDIT_LINE_MAX);
    int r = record ? make_line(audit, record, &line) : -ENOMEM;
    if (r == 0)
        r = append(audit, (const char *)line.data, line.len);
    if (r == 0) {
        audit_hash(line.data, line.len - 1, audit->last);
        audit->first = audit->first ? audit->first : audit->next;
        audit->next++;
        audit->untold = 0;
    } else {
        audit->lost++;
        audit->untold++;
    }
    audit->fails = r < 0;
    sc_buf_fini(&line);
    json_decref(record);
    return r;
}

uint64_t sc_audit_lost(const struct sc_audit *audit)
{
    return audit->lost;
}

bool sc_audit_fails(const struct sc_audit *audit)
{
    return audit->fails;
}
