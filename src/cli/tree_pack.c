#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/tar.h"
#include "cli/say.h"
#include "cli/tree_parts.h"

#define SIZE_MAX_USTAR 077777777777ull
#define CHUNK 65536

static void octal(char *field, size_t size, uint64_t value)
{
    for (size_t i = size - 1; i-- > 0; value >>= 3)
        field[i] = (char)('0' + (value & 7));
}

static int put(FILE *out, const void *data, size_t len)
{
    return len == 0 || fwrite(data, len, 1, out) == 1 ? 0 : -EPIPE;
}

static int put_padding(FILE *out, uint64_t size)
{
    static const char zeros[SC_TAR_BLOCK];
    size_t rest = (size_t)(size % SC_TAR_BLOCK);
    return put(out, zeros, rest ? SC_TAR_BLOCK - rest : 0);
}

/* Texts that do not fit are cut here: a record before this one has them whole. */
static int put_header(FILE *out, char type, const char *name, const char *link, const struct stat *st,
                      uint64_t size)
{
    struct sc_tar_header header = {.type = type};
    memcpy(header.name, name, strnlen(name, sizeof header.name));
    memcpy(header.link, link, strnlen(link, sizeof header.link));
    memcpy(header.magic, "ustar\00000", sizeof header.magic);
    octal(header.mode, sizeof header.mode, st ? st->st_mode & 0777 : 0644);
    octal(header.uid, sizeof header.uid, 0);
    octal(header.gid, sizeof header.gid, 0);
    octal(header.size, sizeof header.size, size);
    octal(header.mtime, sizeof header.mtime, st && st->st_mtime > 0 ? (uint64_t)st->st_mtime : 0);
    octal(header.checksum, sizeof header.checksum - 1, sc_tar_checksum(&header));
    header.checksum[sizeof header.checksum - 1] = ' ';
    return put(out, &header, sizeof header);
}

static int put_long(FILE *out, char type, const char *text)
{
    size_t len = strlen(text) + 1;
    int r = put_header(out, type, "././@LongLink", "", NULL, len);
    if (r == 0)
        r = put(out, text, len);
    return r < 0 ? r : put_padding(out, len);
}

static int put_member(FILE *out, char type, const char *name, const char *link, const struct stat *st,
                      uint64_t size)
{
    int r = 0;
    if (strlen(name) > sizeof((struct sc_tar_header *)0)->name)
        r = put_long(out, SC_TAR_LONG_NAME, name);
    if (r == 0 && strlen(link) > sizeof((struct sc_tar_header *)0)->link)
        r = put_long(out, SC_TAR_LONG_LINK, link);
    return r < 0 ? r : put_header(out, type, name, link, st, size);
}

/* Exactly `size` bytes, whatever becomes of the file meanwhile. */
static int put_content(FILE *out, int fd, uint64_t size)
{
    static char chunk[CHUNK];
    uint64_t left = size;
    while (left > 0) {
        size_t want = left < CHUNK ? (size_t)left : CHUNK;
        ssize_t n = read(fd, chunk, want);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0) {
            memset(chunk, 0, want);
            n = (ssize_t)want;
        }
        int r = put(out, chunk, (size_t)n);
        if (r < 0)
            return r;
        left -= (uint64_t)n;
    }
    return put_padding(out, size);
}

static int put_file(FILE *out, const char *path, const char *name)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int r = fstat(fd, &st) < 0 ? -errno : 0;
    if (r == 0 && !S_ISREG(st.st_mode))
        r = -ESTALE;
    if (r == 0 && (uint64_t)st.st_size > SIZE_MAX_USTAR)
        r = -EFBIG;
    if (r == 0)
        r = put_member(out, SC_TAR_FILE, name, "", &st, (uint64_t)st.st_size);
    if (r == 0)
        r = put_content(out, fd, (uint64_t)st.st_size);
    close(fd);
    return r;
}

static int put_link(FILE *out, const FTSENT *entry, const char *name)
{
    char target[SC_TAR_BLOCK * 8];
    ssize_t n = readlink(entry->fts_accpath, target, sizeof target - 1);
    if (n < 0)
        return -errno;
    target[n] = '\0';
    return put_member(out, SC_TAR_SYMLINK, name, target, entry->fts_statp, 0);
}

static int put_entry(FILE *out, const FTSENT *entry, const char *name)
{
    switch (entry->fts_info) {
    case FTS_D:
        return put_member(out, SC_TAR_FOLDER, name, "", entry->fts_statp, 0);
    case FTS_DP:
        return 0;
    case FTS_F:
        return put_file(out, entry->fts_accpath, name);
    case FTS_SL:
    case FTS_SLNONE:
        return put_link(out, entry, name);
    case FTS_DEFAULT:
        sc_cli_say("%s: left out: not a file, folder or link", entry->fts_path);
        return 0;
    default:
        return entry->fts_errno ? -entry->fts_errno : -EIO;
    }
}

static int put_tree(FILE *out, FTS *walk, size_t root_len)
{
    FTSENT *entry;
    while ((errno = 0, entry = fts_read(walk))) {
        if (entry->fts_level == 0 && entry->fts_info != FTS_DNR && entry->fts_info != FTS_NS)
            continue;
        const char *name = entry->fts_path + root_len;
        int r = put_entry(out, entry, name + (*name == '/'));
        if (r == -EPIPE)
            return r; /* the other end has its own story */
        if (r < 0) {
            sc_cli_say("%s: %s", entry->fts_path, strerror(-r));
            return r;
        }
    }
    return -errno;
}

int sc_cli_tree_pack(int out, const char *path)
{
    static const char end[2 * SC_TAR_BLOCK];
    char *root = strdup(path);
    char *const roots[] = {root, NULL};
    FILE *stream = fdopen(out, "w");
    FTS *walk = root && stream ? fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL) : NULL;
    int r = walk ? put_tree(stream, walk, strlen(root)) : -ENOMEM;
    if (walk)
        fts_close(walk);
    if (r == 0)
        r = put(stream, end, sizeof end);
    if (stream && fclose(stream) != 0 && r == 0)
        r = -EPIPE;
    free(root);
    return r;
}
