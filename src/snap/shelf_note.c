#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "snap/shelf.h"

static const char NOTES[] = "notes";

static int write_note(int folder, const char *name, const char *reason)
{
    int fd = openat(folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0)
        return -errno;
    size_t len = strlen(reason);
    int r = sc_write_all(fd, reason, len < SC_SHELF_NOTE_MAX ? len : SC_SHELF_NOTE_MAX - 1);
    close(fd);
    return r;
}

int sc_shelf_note(const char *name, const char *reason, struct sc_err *err)
{
    char path[PATH_MAX];
    int folder = sc_shelf_open(NOTES, "", path, err);
    if (folder < 0)
        return folder;
    int r = 0;
    if (reason)
        r = write_note(folder, name, reason);
    else if (unlinkat(folder, name, 0) < 0 && errno != ENOENT)
        r = -errno;
    close(folder);
    return r < 0 ? sc_err_sys(err, r, "template store: %s/%s", path, name) : 0;
}

bool sc_shelf_noted(const char *name, char ret_reason[SC_SHELF_NOTE_MAX])
{
    char path[PATH_MAX];
    struct sc_buf text;
    if (sc_shelf_folder(path, NULL) < 0)
        return false;
    size_t len = strlen(path);
    if (snprintf(path + len, sizeof path - len, "/%s/%s", NOTES, name) >= (int)(sizeof path - len))
        return false;
    sc_buf_init(&text, SC_SHELF_NOTE_MAX);
    bool there = sc_buf_read_file(&text, AT_FDCWD, path) == 0;
    if (there)
        snprintf(ret_reason, SC_SHELF_NOTE_MAX, "%s", text.data ? (const char *)text.data : "");
    sc_buf_fini(&text);
    return there;
}
