/* libFuzzer target: any messages about files to the agent. Nothing may appear, change or vanish outside of
 * the work folder, and nothing but regular files and folders inside. An input is a row of: type, length (2
 * bytes), payload. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/fd.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char place[64]; /* in the current folder; holds "work", "work/link" → "../beside", and "beside", which
                          must stay empty */
static int place_fd;

static void make_place(void)
{
    snprintf(place, sizeof place, "./place-XXXXXX");
    if (!mkdtemp(place) || (place_fd = open(place, O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0 ||
        mkdirat(place_fd, "beside", 0777) < 0)
        abort();
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    return remove(path);
}

static void remove_work(void)
{
    char path[80];
    snprintf(path, sizeof path, "%s/work", place);
    nftw(path, remove_one, 64, FTW_DEPTH | FTW_PHYS);
}

static void remove_place(void)
{
    char path[80];
    remove_work();
    snprintf(path, sizeof path, "%s/beside", place);
    rmdir(path);
    rmdir(place);
}

static unsigned count_names(const char *name)
{
    unsigned n = 0;
    DIR *dir = fdopendir(openat(place_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!dir)
        abort();
    for (struct dirent *entry; (entry = readdir(dir));)
        n++;
    closedir(dir);
    return n - 2;
}

static int look_at(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)path;
    (void)kind;
    if (S_ISLNK(st->st_mode) ? strcmp(path + at->base, "link") != 0
                             : !S_ISREG(st->st_mode) && !S_ISDIR(st->st_mode))
        abort();
    if (st->st_mode & 07000)
        abort();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct sc_image image;
    char path[80];
    if (!*place) {
        make_place();
        atexit(remove_place);
        image.agent_uid = image.program_uid = geteuid();
    }
    if (mkdirat(place_fd, "work", 0777) < 0 || symlinkat("../beside", place_fd, "work/link") < 0)
        abort();
    struct sc_agent agent = {.image = &image,
                             .control = -1,
                             .supervisor = -1,
                             .pty_master = -1,
                             .work_fd = openat(place_fd, "work", O_PATH | O_DIRECTORY | O_CLOEXEC)};
    struct sc_agent_files files = {.open_fd = -1};
    static const uint16_t types[] = {SC_MSG_FILE, SC_MSG_DATA, SC_MSG_CLOSE, SC_MSG_DIR};
    for (int r = 0; r >= 0 && size >= 3;) {
        size_t len = data[1] | (size_t)data[2] << 8;
        len = len < size - 3 ? len : size - 3;
        uint8_t *copy = malloc(len ? len : 1); /* of its own, so that a byte too far is seen */
        memcpy(copy, data + 3, len);
        r = sc_agent_file_message(&agent, &files, types[data[0] % 4], copy, (uint32_t)len);
        free(copy);
        data += 3 + len;
        size -= 3 + len;
    }
    sc_close(&files.open_fd);
    close(agent.work_fd);
    if (count_names(".") != 2 || count_names("beside") != 0)
        abort();
    snprintf(path, sizeof path, "%s/work", place);
    nftw(path, look_at, 64, FTW_PHYS);
    remove_work();
    return 0;
}
