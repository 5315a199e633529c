/* A stranger's bytes: every number is checked, every name bounded. */
#include "agent/tar_read.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "agent/tar.h"
#include "base/fd.h"

#define RECORDS_MAX (64 * 1024) /* of one pax header */

/* At least one byte at data[start], unless the stream is at its end: 0. */
static int fill(struct sc_tar_reader *reader)
{
    if (reader->used > 0)
        return 1;
    ssize_t n;
    do
        n = read(reader->fd, reader->data, sizeof reader->data);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return -errno;
    reader->start = 0;
    reader->used = (size_t)n;
    return n > 0;
}

/* Whole; 0 when the stream ends before the first byte, -EBADMSG when within. */
static int take(struct sc_tar_reader *reader, void *ret_data, size_t len)
{
    size_t have = 0;
    while (have < len) {
        int r = fill(reader);
        if (r <= 0)
            return r < 0 ? r : have ? -EBADMSG : 0;
        size_t n = len - have < reader->used ? len - have : reader->used;
        memcpy((char *)ret_data + have, reader->data + reader->start, n);
        reader->start += n;
        reader->used -= n;
        have += n;
    }
    return 1;
}

/* `to` −1: thrown away. */
static int move(struct sc_tar_reader *reader, uint64_t size, int to)
{
    while (size > 0) {
        int r = fill(reader);
        if (r <= 0)
            return r < 0 ? r : -EBADMSG;
        size_t n = size < reader->used ? (size_t)size : reader->used;
        r = to >= 0 ? sc_write_all(to, reader->data + reader->start, n) : 0;
        if (r < 0)
            return r;
        reader->start += n;
        reader->used -= n;
        size -= n;
    }
    return 0;
}

static uint64_t filling(uint64_t size)
{
    return (SC_TAR_BLOCK - size % SC_TAR_BLOCK) % SC_TAR_BLOCK;
}

/* A page of zeros at the same place of a new file needs no page. */
#define HOLE 4096

/* As many bytes as lie up to the next page of the file, at most. */
static size_t piece_of(uint64_t at, size_t most)
{
    size_t rest = HOLE - (size_t)(at % HOLE);
    return most < rest ? most : rest;
}

static int move_with_holes(struct sc_tar_reader *reader, uint64_t size, int to)
{
    static const char zeros[HOLE];
    for (uint64_t at = 0; at < size;) {
        int r = fill(reader);
        if (r <= 0)
            return r < 0 ? r : -EBADMSG;
        uint64_t left = size - at;
        size_t n = piece_of(at, left < reader->used ? (size_t)left : reader->used);
        const char *data = reader->data + reader->start;
        if (memcmp(data, zeros, n) != 0) {
            if (lseek(to, (off_t)at, SEEK_SET) < 0)
                return -errno;
            r = sc_write_all(to, data, n);
        } else {
            r = 0;
        }
        if (r < 0)
            return r;
        reader->start += n;
        reader->used -= n;
        at += n;
    }
    return ftruncate(to, (off_t)size) < 0 ? -errno : 0;
}

int sc_tar_read_content(struct sc_tar_reader *reader, uint64_t size, int to, bool holes)
{
    int r = holes ? move_with_holes(reader, size, to) : move(reader, size, to);
    return r == 0 ? move(reader, filling(size), -1) : r;
}

/* Octal with blanks around, or, where the first bit is set, the bytes themselves. */
static int number(const char *field, size_t size, uint64_t *ret_value)
{
    uint64_t value = 0;
    size_t i = 0;
    if ((uint8_t)field[0] & 0x80) {
        if ((uint8_t)field[0] & 0x40)
            return -EBADMSG; /* negative */
        value = (uint8_t)field[0] & 0x3f;
        for (i = 1; i < size; i++) {
            if (value >> 55)
                return -EBADMSG;
            value = value << 8 | (uint8_t)field[i];
        }
        *ret_value = value;
        return 0;
    }
    while (i < size && field[i] == ' ')
        i++;
    for (; i < size && field[i] >= '0' && field[i] <= '7'; i++) {
        if (value >> 59)
            return -EBADMSG;
        value = value << 3 | (uint64_t)(field[i] - '0');
    }
    for (; i < size; i++)
        if (field[i] != ' ' && field[i] != '\0')
            return -EBADMSG;
    *ret_value = value;
    return 0;
}

/* Writers of long ago added the bytes with their sign. */
static bool has_checksum(const struct sc_tar_header *header)
{
    uint64_t said;
    int64_t with_sign = 0;
    const char *bytes = (const char *)header;
    for (int i = 0; i < SC_TAR_BLOCK; i++)
        with_sign += i >= 148 && i < 156 ? ' ' : (signed char)bytes[i];
    return number(header->checksum, sizeof header->checksum, &said) == 0 &&
           (said == sc_tar_checksum(header) || (int64_t)said == with_sign);
}

static bool is_zero(const struct sc_tar_header *header)
{
    static const struct sc_tar_header zero;
    return !memcmp(header, &zero, sizeof zero);
}

static int copy_name(char ret_name[SC_TAR_NAME_ROOM], const char *value, size_t len)
{
    if (len >= SC_TAR_NAME_ROOM)
        return -ENAMETOOLONG;
    if (memchr(value, '\0', len))
        return -EBADMSG;
    memcpy(ret_name, value, len);
    ret_name[len] = '\0';
    return 0;
}

/* ---- what stands ahead of a member and changes it ---- */

struct overrides {
    bool has_name, has_link, has_size, has_mtime;
    uint64_t size;
    int64_t mtime;
};

static int decimal(const char *text, size_t len, bool may_have_fraction, uint64_t *ret_value)
{
    uint64_t value = 0;
    size_t i = 0;
    for (; i < len && text[i] >= '0' && text[i] <= '9'; i++) {
        if (value > (uint64_t)INT64_MAX / 10 - 1)
            return -EBADMSG;
        value = value * 10 + (uint64_t)(text[i] - '0');
    }
    if (i == 0 || (i < len && !(may_have_fraction && text[i] == '.')))
        return -EBADMSG;
    *ret_value = value;
    return 0;
}

static bool is_key(const char *key, size_t len, const char *name)
{
    return len == strlen(name) && !memcmp(key, name, len);
}

static int take_record(const char *key, size_t key_len, const char *value, size_t len,
                       struct overrides *overrides, struct sc_tar_member *member)
{
    uint64_t seconds;
    if (is_key(key, key_len, "path")) {
        overrides->has_name = true;
        return copy_name(member->name, value, len);
    }
    if (is_key(key, key_len, "linkpath")) {
        overrides->has_link = true;
        return copy_name(member->link, value, len);
    }
    if (is_key(key, key_len, "size")) {
        overrides->has_size = true;
        return decimal(value, len, false, &overrides->size);
    }
    if (is_key(key, key_len, "mtime") && decimal(value, len, true, &seconds) == 0) {
        overrides->has_mtime = true; /* one from before 1970 is left to the header */
        overrides->mtime = (int64_t)seconds;
    }
    if (key_len >= 11 && !memcmp(key, "GNU.sparse.", 11))
        return -EINVAL;
    return 0;
}

static int take_records(const char *records, size_t size, struct overrides *overrides,
                        struct sc_tar_member *member)
{
    while (size > 0) {
        const char *blank = memchr(records, ' ', size < 20 ? size : 20);
        uint64_t len;
        if (!blank || decimal(records, (size_t)(blank - records), false, &len) < 0 || len > size ||
            len < (size_t)(blank - records) + 3 || records[len - 1] != '\n')
            return -EBADMSG;
        const char *key = blank + 1, *end = records + len - 1;
        const char *equals = memchr(key, '=', (size_t)(end - key));
        if (!equals)
            return -EBADMSG;
        int r = take_record(key, (size_t)(equals - key), equals + 1, (size_t)(end - equals - 1), overrides,
                            member);
        if (r < 0)
            return r;
        records += len;
        size -= len;
    }
    return 0;
}

/* A header that is about the next one. */
static int take_extra(struct sc_tar_reader *reader, char type, uint64_t size, struct overrides *overrides,
                      struct sc_tar_member *member)
{
    static char records[RECORDS_MAX];
    static struct sc_tar_member of_all; /* a global header's values would be another member's */
    struct overrides global = {0};
    if (size > sizeof records)
        return -E2BIG;
    if (size > 0 && take(reader, records, (size_t)size) <= 0)
        return -EBADMSG;
    int r = move(reader, filling(size), -1);
    if (r < 0)
        return r;
    switch (type) {
    case SC_TAR_PAX:
        return take_records(records, (size_t)size, overrides, member);
    case SC_TAR_PAX_GLOBAL:
        r = take_records(records, (size_t)size, &global, &of_all);
        return r == 0 && (global.has_name || global.has_link || global.has_size) ? -EINVAL : r;
    case SC_TAR_LONG_NAME:
        overrides->has_name = true;
        return copy_name(member->name, records, strnlen(records, (size_t)size));
    default:
        overrides->has_link = true;
        return copy_name(member->link, records, strnlen(records, (size_t)size));
    }
}

static bool is_extra(char type)
{
    return type == SC_TAR_PAX || type == SC_TAR_PAX_GLOBAL || type == SC_TAR_LONG_NAME ||
           type == SC_TAR_LONG_LINK;
}

/* ---- members ---- */

/* Only the POSIX form has a prefix: GNU keeps times there. */
static int header_name(const struct sc_tar_header *header, char ret_name[SC_TAR_NAME_ROOM])
{
    size_t prefix =
        memcmp(header->magic, "ustar", 6) == 0 ? strnlen(header->prefix, sizeof header->prefix) : 0;
    size_t len = strnlen(header->name, sizeof header->name);
    memcpy(ret_name, header->prefix, prefix);
    if (prefix)
        ret_name[prefix++] = '/';
    memcpy(ret_name + prefix, header->name, len);
    ret_name[prefix + len] = '\0';
    return 0;
}

static int finish(const struct sc_tar_header *header, uint64_t size, const struct overrides *overrides,
                  struct sc_tar_member *member)
{
    uint64_t mode, mtime;
    if (number(header->mode, sizeof header->mode, &mode) < 0)
        return -EBADMSG;
    if (number(header->mtime, sizeof header->mtime, &mtime) < 0 || mtime > INT64_MAX)
        mtime = 0; /* from before 1970 */
    if (!overrides->has_name)
        header_name(header, member->name);
    if (!overrides->has_link) {
        size_t len = strnlen(header->link, sizeof header->link);
        memcpy(member->link, header->link, len);
        member->link[len] = '\0';
    }
    size_t len = strlen(member->name);
    member->type = header->type;
    if (member->type == SC_TAR_FILE_OLD || member->type == SC_TAR_FILE_CONTIGUOUS)
        member->type = SC_TAR_FILE;
    if (member->type == SC_TAR_FILE && len > 0 && member->name[len - 1] == '/')
        member->type = SC_TAR_FOLDER;
    member->mode = (uint32_t)mode & 07777;
    member->mtime = overrides->has_mtime ? overrides->mtime : (int64_t)mtime;
    member->size = member->type != SC_TAR_FILE ? 0 : overrides->has_size ? overrides->size : size;
    return member->size > INT64_MAX ? -EBADMSG : 1;
}

int sc_tar_next(struct sc_tar_reader *reader, int fd, struct sc_tar_member *ret_member)
{
    struct sc_tar_header header;
    struct overrides overrides = {0};
    reader->fd = fd;
    ret_member->name[0] = ret_member->link[0] = '\0';
    for (;;) {
        uint64_t size;
        int r = take(reader, &header, sizeof header);
        if (r == 0 || (r > 0 && is_zero(&header)))
            return overrides.has_name || overrides.has_link || overrides.has_size ? -EBADMSG : 0;
        if (r < 0)
            return r;
        if (!has_checksum(&header) || number(header.size, sizeof header.size, &size) < 0)
            return -EBADMSG;
        if (!is_extra(header.type))
            return finish(&header, size, &overrides, ret_member);
        r = take_extra(reader, header.type, size, &overrides, ret_member);
        if (r < 0)
            return r;
    }
}
