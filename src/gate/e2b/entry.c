/* Entries of the cell's files as E2B's EntryInfo. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gate/e2b/e2b.h"

static const char *type_of(const json_t *entry)
{
    const char *type = e2b_text(entry, "type");
    return !type                     ? "FILE_TYPE_UNSPECIFIED"
           : !strcmp(type, "file")   ? "FILE_TYPE_FILE"
           : !strcmp(type, "folder") ? "FILE_TYPE_DIRECTORY"
           : !strcmp(type, "link")   ? "FILE_TYPE_SYMLINK"
                                     : "FILE_TYPE_UNSPECIFIED";
}

static unsigned mode_of(const json_t *entry)
{
    const char *mode = e2b_text(entry, "mode");
    return mode ? (unsigned)strtoul(mode, NULL, 8) : 0;
}

/* "drwxr-xr-x", of links "Lrwxrwxrwx". */
static void show_mode(const json_t *entry, char ret_text[11])
{
    static const char letters[] = "rwxrwxrwx";
    const char *type = e2b_text(entry, "type");
    unsigned mode = mode_of(entry);
    ret_text[0] = type && !strcmp(type, "folder") ? 'd' : type && !strcmp(type, "link") ? 'L' : '-';
    for (int i = 0; i < 9; i++)
        ret_text[1 + i] = mode & (0400u >> i) ? letters[i] : '-';
    ret_text[10] = '\0';
}

static void show_time(json_int_t ns, char *ret_text, size_t size)
{
    time_t when = (time_t)(ns / 1000000000);
    struct tm parts;
    char seconds[32] = "1970-01-01T00:00:00";
    if (gmtime_r(&when, &parts))
        (void)strftime(seconds, sizeof seconds, "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(ret_text, size, "%s.%09lldZ", seconds, (long long)(ns >= 0 ? ns % 1000000000 : 0));
}

json_t *e2b_entry(const char *path, const json_t *entry, const json_t *target, const char *target_path)
{
    char permissions[11], changed[48];
    const char *slash = strrchr(path, '/');
    bool is_link = !strcmp(type_of(entry), "FILE_TYPE_SYMLINK");
    show_mode(entry, permissions);
    show_time(json_integer_value(json_object_get(entry, "mtime_ns")), changed, sizeof changed);
    json_t *told = json_pack(
        "{s:s, s:s, s:s, s:I, s:i, s:s, s:s, s:s, s:s}", "name", slash && slash[1] ? slash + 1 : path, "type",
        is_link ? type_of(target) : type_of(entry), "path", path, "size",
        json_integer_value(json_object_get(entry, "size")), "mode", (int)mode_of(is_link ? target : entry),
        "permissions", permissions, "owner", E2B_USER, "group", E2B_USER, "modifiedTime", changed);
    if (told && is_link && target_path)
        (void)json_object_set_new(told, "symlinkTarget", json_string(target_path));
    return told;
}
