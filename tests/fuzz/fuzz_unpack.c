/* What comes out of a cell as a tar stream, unpacked as a folder or as a root file system: nothing is ever
 * made beside the folder, and nothing in it has a special bit or may be written to by others. Built by
 * tests/fuzz/run. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/say.h"
#include "cli/tree_parts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

void sc_cli_say(const char *format, ...)
{
    (void)format;
}

static int check_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)path, (void)kind, (void)at;
    bool usual = S_ISREG(st->st_mode) || S_ISDIR(st->st_mode) || S_ISLNK(st->st_mode);
    if (!usual || (!S_ISLNK(st->st_mode) && (st->st_mode & 07022)))
        abort();
    return 0;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

/* The folder is all that there is in `place`, before and after. */
static void check_place(const char *place)
{
    DIR *dir = opendir(place);
    const struct dirent *entry;
    while (dir && (entry = readdir(dir)))
        if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..") && strcmp(entry->d_name, "root"))
            abort();
    if (!dir)
        abort();
    closedir(dir);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char place[] = "unpack-XXXXXX", root[sizeof place + 8];
    if (size < 1)
        return 0;
    if (!*root) {
        umask(022);
        if (!mkdtemp(place))
            abort();
        snprintf(root, sizeof root, "%s/root", place);
    }
    int in = memfd_create("stream", MFD_CLOEXEC);
    if (in < 0 || mkdir(root, 0755) < 0 || pwrite(in, data + 1, size - 1, 0) != (ssize_t)size - 1)
        abort();
    int folder = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    (void)sc_cli_tree_unpack(in, folder, data[0] & 1);
    close(folder);
    close(in);
    check_place(place);
    if (nftw(root, check_one, 16, FTW_PHYS) != 0 || nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0)
        abort();
    return 0;
}
