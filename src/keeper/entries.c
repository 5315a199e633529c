#include "keeper/entries.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/json.h"
#include "base/text.h"
#include "keeper/reply.h"

static const char *type_of(uint32_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
        return "file";
    case S_IFDIR:
        return "folder";
    case S_IFLNK:
        return "link";
    default:
        return "special";
    }
}

static const char *change_of(uint16_t kind)
{
    static const char *const names[] = {
        [SC_CHANGE_MADE] = "made",       [SC_CHANGE_WRITTEN] = "written", [SC_CHANGE_REMOVED] = "removed",
        [SC_CHANGE_RENAMED] = "renamed", [SC_CHANGE_MODE] = "mode",       [SC_CHANGE_LOST] = "lost",
    };
    return kind < sizeof names / sizeof *names ? names[kind] : NULL;
}

/* Adds the object, whose reference it takes, as one line. */
static int add_line(json_t *object, struct sc_buf *out)
{
    char *text = sc_json_dump(object, JSON_COMPACT);
    json_decref(object);
    if (!text)
        return -ENOMEM;
    int r = sc_buf_add_str(out, text);
    free(text);
    return r < 0 ? r : sc_buf_add(out, "\n", 1);
}

static int add_entry(const struct sc_entry *entry, const uint8_t *texts, struct sc_buf *out)
{
    char mode[8];
    json_t *object = json_object();
    snprintf(mode, sizeof mode, "%04o", entry->mode & 07777);
    int r = sc_keeper_put_bytes(object, "name", texts, entry->name_len);
    if (r == 0)
        r = json_object_set_new(object, "type", json_string(type_of(entry->mode)));
    if (r == 0)
        r = json_object_set_new(object, "size", json_integer((json_int_t)entry->size));
    if (r == 0)
        r = json_object_set_new(object, "mtime_ns", json_integer(entry->mtime_ns));
    if (r == 0)
        r = json_object_set_new(object, "mode", json_string(mode));
    if (r == 0 && entry->target_len)
        r = sc_keeper_put_bytes(object, "target", texts + entry->name_len, entry->target_len);
    if (r < 0) {
        json_decref(object);
        return -ENOMEM;
    }
    return add_line(object, out);
}

static int add_change(const struct sc_change *change, const uint8_t *name, struct sc_buf *out)
{
    const char *what = change_of(change->kind);
    if (!what)
        return -EPROTO;
    json_t *object = json_object();
    int r = json_object_set_new(object, "change", json_string(what));
    if (r == 0)
        r = sc_keeper_put_bytes(object, "path", name, change->name_len);
    if (r == 0)
        r = json_object_set_new(object, "folder", json_boolean(change->is_folder != 0));
    if (r < 0) {
        json_decref(object);
        return -ENOMEM;
    }
    return add_line(object, out);
}

/* Length of the record that `held` begins with, or 0 when its head is not whole. */
static size_t record_length(const struct sc_keeper_entries *entries)
{
    struct sc_entry entry;
    struct sc_change change;
    if (entries->kind == SC_FILE_WATCH) {
        if (entries->used < sizeof change)
            return 0;
        memcpy(&change, entries->held, sizeof change);
        return sizeof change + change.name_len;
    }
    if (entries->used < sizeof entry)
        return 0;
    memcpy(&entry, entries->held, sizeof entry);
    return sizeof entry + entry.name_len + entry.target_len;
}

static int add_record(const struct sc_keeper_entries *entries, struct sc_buf *out)
{
    struct sc_entry entry;
    struct sc_change change;
    if (entries->kind == SC_FILE_WATCH) {
        memcpy(&change, entries->held, sizeof change);
        return add_change(&change, entries->held + sizeof change, out);
    }
    memcpy(&entry, entries->held, sizeof entry);
    return add_entry(&entry, entries->held + sizeof entry, out);
}

int sc_keeper_entries_add(struct sc_keeper_entries *entries, const void *data, size_t len, struct sc_buf *out)
{
    const uint8_t *at = data;
    size_t head = entries->kind == SC_FILE_WATCH ? sizeof(struct sc_change) : sizeof(struct sc_entry);
    for (;;) {
        size_t whole = record_length(entries);
        if (whole > sizeof entries->held)
            return -EPROTO;
        if (whole && entries->used == whole) {
            int r = add_record(entries, out);
            entries->used = 0;
            if (r < 0)
                return r;
            continue;
        }
        if (len == 0)
            return 0;
        size_t wanted = (whole ? whole : head) - entries->used;
        size_t step = len < wanted ? len : wanted;
        memcpy(entries->held + entries->used, at, step);
        entries->used += step;
        at += step;
        len -= step;
    }
}
