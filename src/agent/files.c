/* Files that go into the work folder before the program starts. Everything is opened below the folder,
 * following no link, with the file-system id of the program, so that no right of the agent's is at work here.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/fd.h"
#include "base/sys.h"

#define BENEATH (SC_RESOLVE_BENEATH | SC_RESOLVE_NO_SYMLINKS | SC_RESOLVE_NO_MAGICLINKS | SC_RESOLVE_NO_XDEV)

/* Opens the folder that holds `path`, making what is missing, and tells the last component. */
static int open_parent(int root, char *path, const char **ret_last)
{
    int at = sc_sys_openat2(root, ".", O_PATH | O_DIRECTORY | O_CLOEXEC, 0, BENEATH);
    char *part = path;
    for (char *slash; at >= 0 && (slash = strchr(part, '/')); part = slash + 1) {
        *slash = '\0';
        if (mkdirat(at, part, 0755) < 0 && errno != EEXIST) {
            int r = -errno;
            close(at);
            return r;
        }
        int next = sc_sys_openat2(at, part, O_PATH | O_DIRECTORY | O_CLOEXEC, 0, BENEATH);
        *slash = '/';
        close(at);
        at = next;
    }
    *ret_last = part;
    return at;
}

static int open_file(int root, char *path, uint32_t mode, int *ret_fd)
{
    const char *name;
    int parent = open_parent(root, path, &name);
    if (parent < 0)
        return parent;
    int fd =
        sc_sys_openat2(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600, BENEATH);
    close(parent);
    if (fd < 0)
        return fd;
    if (fchmod(fd, mode & 0777) < 0) {
        int r = -errno;
        close(fd);
        return r;
    }
    *ret_fd = fd;
    return 0;
}

static int make_dir(int root, char *path, uint32_t mode)
{
    const char *name;
    int parent = open_parent(root, path, &name);
    if (parent < 0)
        return parent;
    int r = mkdirat(parent, name, mode & 0777) < 0 && errno != EEXIST ? -errno : 0;
    close(parent);
    return r;
}

static int open_trust(int *ret_fd)
{
    int folder = sc_sys_openat2(AT_FDCWD, SC_TRUST_FOLDER, O_PATH | O_DIRECTORY | O_CLOEXEC, 0,
                                SC_RESOLVE_NO_SYMLINKS | SC_RESOLVE_NO_MAGICLINKS);
    char name[] = SC_TRUST_FILE;
    if (folder < 0)
        return folder;
    int r = open_file(folder, name, 0444, ret_fd);
    close(folder);
    return r;
}

/* A path message: fixed head, then a NUL-terminated path that fills the rest. */
static int take_path(const uint8_t *payload, uint32_t len, struct sc_msg_file *ret_head, char path[4096])
{
    if (len < sizeof *ret_head + 2 || len - sizeof *ret_head > 4096 || payload[len - 1] != '\0')
        return -EPROTO;
    memcpy(ret_head, payload, sizeof *ret_head);
    memcpy(path, payload + sizeof *ret_head, len - sizeof *ret_head);
    return 0;
}

int sc_agent_file_message(struct sc_agent *agent, struct sc_agent_files *files, uint16_t type,
                          const uint8_t *payload, uint32_t len)
{
    static char path[4096];
    struct sc_msg_file head;
    sc_agent_be_program(agent);
    int r = type == SC_MSG_FILE || type == SC_MSG_DIR ? take_path(payload, len, &head, path) : 0;
    if (r < 0)
        return r;
    switch (type) {
    case SC_MSG_DIR:
        return make_dir(agent->work_fd, path, head.mode);
    case SC_MSG_FILE:
        return files->open_fd >= 0 ? -EPROTO : open_file(agent->work_fd, path, head.mode, &files->open_fd);
    case SC_MSG_TRUST:
        return files->open_fd >= 0 ? -EPROTO : open_trust(&files->open_fd);
    case SC_MSG_DATA:
        return files->open_fd < 0 ? -EPROTO : sc_write_all(files->open_fd, payload, len);
    default:
        if (files->open_fd < 0)
            return -EPROTO;
        sc_close(&files->open_fd);
        return 0;
    }
}
