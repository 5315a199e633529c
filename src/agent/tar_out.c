/* A tar stream of a file or folder. Names are relative to the path that was asked for. What a program changes
 * meanwhile cannot break the stream: a file that shrinks is filled with zeros to the size that its header
 * says, one that grows is cut. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/operate.h"
#include "agent/tar.h"
#include "base/fd.h"

#define DEPTH_MAX 64
#define SIZE_MAX_USTAR 077777777777ull
#define OUT_ROOM (128 * 1024)

/* Many small files make many small pieces: they leave together. */
static char out[OUT_ROOM];
static size_t out_used;

static int flush(struct sc_operation *op)
{
    size_t n = out_used;
    out_used = 0;
    return n ? sc_operation_put(op, out, n) : 0;
}

static int put(struct sc_operation *op, const void *data, size_t len)
{
    if (len > OUT_ROOM - out_used) {
        int r = flush(op);
        if (r < 0)
            return r;
    }
    if (len > OUT_ROOM)
        return sc_operation_put(op, data, len);
    memcpy(out + out_used, data, len);
    out_used += len;
    return 0;
}

static int pad(struct sc_operation *op, uint64_t size)
{
    static const char zeros[SC_TAR_BLOCK];
    size_t rest = (size_t)(size % SC_TAR_BLOCK);
    return rest ? put(op, zeros, SC_TAR_BLOCK - rest) : 0;
}

static void octal(char *field, size_t size, uint64_t value)
{
    for (size_t i = size - 1; i-- > 0; value >>= 3)
        field[i] = (char)('0' + (value & 7));
}

static int put_header(struct sc_operation *op, const char *name, const char *link, const struct stat *st,
                      char type, uint64_t size)
{
    struct sc_tar_header header = {.type = type};
    memcpy(header.name, name, strnlen(name, sizeof header.name));
    memcpy(header.link, link, strnlen(link, sizeof header.link));
    octal(header.mode, sizeof header.mode, st->st_mode & 0777);
    octal(header.uid, sizeof header.uid, 0);
    octal(header.gid, sizeof header.gid, 0);
    octal(header.size, sizeof header.size, size > SIZE_MAX_USTAR ? 0 : size);
    octal(header.mtime, sizeof header.mtime, st->st_mtim.tv_sec > 0 ? (uint64_t)st->st_mtim.tv_sec : 0);
    memcpy(header.magic, "ustar\00000", 8);
    octal(header.checksum, sizeof header.checksum - 1, sc_tar_checksum(&header));
    header.checksum[7] = ' ';
    return put(op, &header, sizeof header);
}

/* "LEN key=value\n", where LEN counts itself. Appends to a bounded text. */
static size_t add_record(char *text, size_t used, size_t room, const char *key, const char *value)
{
    size_t rest = strlen(key) + strlen(value) + 3, len = rest + 1;
    for (size_t digits = 1, limit = 10; len >= limit; limit *= 10) {
        digits++;
        len = rest + digits;
    }
    int n = snprintf(text + used, room - used, "%zu %s=%s\n", len, key, value);
    return n > 0 && (size_t)n < room - used ? used + (size_t)n : used;
}

/* A pax header ahead of what does not fit. */
static int put_long(struct sc_operation *op, const char *name, const char *link, const struct stat *st,
                    uint64_t size)
{
    static char records[2 * SC_NAME_ROOM + 256];
    const struct stat plain = {.st_mode = 0644, .st_mtim = st->st_mtim};
    size_t used = 0;
    char number[24];
    if (strlen(name) > sizeof((struct sc_tar_header *)0)->name)
        used = add_record(records, used, sizeof records, "path", name);
    if (strlen(link) > sizeof((struct sc_tar_header *)0)->link)
        used = add_record(records, used, sizeof records, "linkpath", link);
    if (size > SIZE_MAX_USTAR) {
        snprintf(number, sizeof number, "%llu", (unsigned long long)size);
        used = add_record(records, used, sizeof records, "size", number);
    }
    if (!used)
        return 0;
    int r = put_header(op, "PaxHeader", "", &plain, SC_TAR_PAX, used);
    if (r == 0)
        r = put(op, records, used);
    return r == 0 ? pad(op, used) : r;
}

static int put_content(struct sc_operation *op, int fd, uint64_t size)
{
    static char piece[64 * 1024];
    uint64_t left = size;
    int r = 0;
    while (left > 0 && r == 0) {
        size_t most = left < sizeof piece ? (size_t)left : sizeof piece;
        ssize_t n = read(fd, piece, most);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0) {
            memset(piece, 0, most);
            n = (ssize_t)most;
        }
        r = put(op, piece, (size_t)n);
        left -= (uint64_t)n;
    }
    return r == 0 ? pad(op, size) : r;
}

/* ---- hard links ---- */

/* Files with more than one name whose first name is out. What does not fit any more goes out once more, as a
 * file of its own. */
#define LINKS_MAX 8192
#define LINK_NAMES_ROOM (1024 * 1024)
static struct {
    dev_t dev;
    ino_t ino;
    uint32_t name;
} links[LINKS_MAX];
static char link_names[LINK_NAMES_ROOM];
static size_t n_links, link_names_used;

/* The name under which it went out, or NULL: then it is remembered under this one. */
static const char *first_name(const struct stat *st, const char *name)
{
    size_t len = strlen(name) + 1;
    for (size_t i = 0; i < n_links; i++)
        if (links[i].ino == st->st_ino && links[i].dev == st->st_dev)
            return link_names + links[i].name;
    if (n_links < LINKS_MAX && len <= LINK_NAMES_ROOM - link_names_used) {
        links[n_links].dev = st->st_dev;
        links[n_links].ino = st->st_ino;
        links[n_links++].name = (uint32_t)link_names_used;
        memcpy(link_names + link_names_used, name, len);
        link_names_used += len;
    }
    return NULL;
}

/* ---- members ---- */

static int put_file(struct sc_operation *op, int dir, const char *last, const char *name)
{
    struct stat st;
    int fd = openat(dir, last, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? 0 : sc_operation_fault(op, name, -errno);
    int r = fstat(fd, &st) < 0 ? -errno : 0;
    uint64_t size = (uint64_t)st.st_size;
    bool may_link = (op->order->flags & SC_FILE_AS_IT_WAS) && st.st_nlink > 1;
    const char *first = r == 0 && S_ISREG(st.st_mode) && may_link ? first_name(&st, name) : NULL;
    if (first) {
        r = put_long(op, name, first, &st, 0);
        if (r == 0)
            r = put_header(op, name, first, &st, SC_TAR_HARD_LINK, 0);
        op->done.files++;
    } else if (r == 0 && S_ISREG(st.st_mode)) {
        r = put_long(op, name, "", &st, size);
        if (r == 0)
            r = put_header(op, name, "", &st, SC_TAR_FILE, size);
        if (r == 0)
            r = put_content(op, fd, size);
        op->done.files++;
    }
    close(fd);
    return r;
}

static int put_link(struct sc_operation *op, int dir, const char *last, const char *name,
                    const struct stat *st)
{
    char target[SC_NAME_ROOM];
    ssize_t n = readlinkat(dir, last, target, sizeof target - 1);
    if (n < 0)
        return errno == ENOENT ? 0 : sc_operation_fault(op, name, -errno);
    target[n] = '\0';
    int r = put_long(op, name, target, st, 0);
    op->done.files++;
    return r == 0 ? put_header(op, name, target, st, SC_TAR_SYMLINK, 0) : r;
}

static int put_folder_header(struct sc_operation *op, const char *name, const struct stat *st)
{
    int r = put_long(op, name, "", st, 0);
    return r == 0 ? put_header(op, name, "", st, SC_TAR_FOLDER, 0) : r;
}

static int put_folder(struct sc_operation *op, int fd, char name[SC_NAME_ROOM], size_t len, int depth);

static int put_member(struct sc_operation *op, int dir, const char *last, char name[SC_NAME_ROOM], size_t len,
                      int depth)
{
    struct stat st;
    if (fstatat(dir, last, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : sc_operation_fault(op, name, -errno);
    if (S_ISREG(st.st_mode))
        return put_file(op, dir, last, name);
    if (S_ISLNK(st.st_mode))
        return put_link(op, dir, last, name, &st);
    if (!S_ISDIR(st.st_mode))
        return 0; /* FIFOs and sockets are of the moment */
    if (depth == DEPTH_MAX || len + 2 > SC_NAME_ROOM)
        return sc_operation_fault(op, name, -ENAMETOOLONG);
    int fd = openat(dir, last, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? 0 : sc_operation_fault(op, name, -errno);
    memcpy(name + len, "/", 2);
    int r = put_folder_header(op, name, &st);
    op->done.files++;
    if (r < 0) {
        close(fd);
        return r;
    }
    r = put_folder(op, fd, name, len + 1, depth + 1);
    /* Once more behind what is in it: making that needs another mode, and changes its time. */
    return r == 0 && (op->order->flags & SC_FILE_AS_IT_WAS) ? put_folder_header(op, name, &st) : r;
}

/* Takes fd. `name` is the folder's own, with its slash; room behind it is used. */
static int put_folder(struct sc_operation *op, int fd, char name[SC_NAME_ROOM], size_t len, int depth)
{
    int r = 0;
    DIR *dir = fdopendir(fd);
    if (!dir) {
        close(fd);
        return -ENOMEM;
    }
    for (struct dirent *entry; r == 0 && (entry = readdir(dir));) {
        size_t more = strlen(entry->d_name);
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        if (len + more + 1 > SC_NAME_ROOM) {
            r = sc_operation_fault(op, name, -ENAMETOOLONG);
            break;
        }
        memcpy(name + len, entry->d_name, more + 1);
        r = put_member(op, fd, entry->d_name, name, len + more, depth);
    }
    name[len] = '\0';
    closedir(dir);
    return r;
}

int sc_operate_tar_out(struct sc_operation *op)
{
    static const char end[2 * SC_TAR_BLOCK];
    static char name[SC_NAME_ROOM];
    struct stat st;
    int r;
    if (stat(op->path, &st) < 0)
        return -errno;
    sc_operation_started(op);
    if (S_ISDIR(st.st_mode)) {
        int fd = open(op->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        r = fd < 0 ? -errno : put_folder(op, fd, name, 0, 1);
    } else {
        const char *last;
        int parent = sc_open_parent(op->path, &last);
        memcpy(name, last, parent < 0 ? 0 : strlen(last) + 1);
        r = parent < 0 ? parent : put_member(op, parent, last, name, strlen(last), 1);
        sc_close(&parent);
    }
    if (r == 0)
        r = put(op, end, sizeof end);
    return r == 0 ? flush(op) : r;
}
