/* Who descends from a shepherd, as /proc tells it. The number of the parent is the second field after the
 * program's name, which the program itself chooses: it may hold parentheses, blanks and newlines, so the
 * fields are counted from the last closing parenthesis. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/shepherd.h"
#include "base/fd.h"

#define PID_END (4u << 20) /* the kernel's own highest is below */
#define STAT_MAX 256       /* number, name of at most 64 bytes, state, parent */

struct entry { /* as getdents64 gives it */
    uint64_t inode;
    int64_t offset;
    uint16_t size;
    uint8_t type;
    char name[];
};

/* One bit for each process number: a descendant that was found. Untouched pages cost nothing. */
static uint64_t found[PID_END / 64];
static pid_t highest;

static bool is_found(pid_t pid)
{
    return found[pid / 64] >> (pid % 64) & 1;
}

static pid_t number_of(const char *text)
{
    pid_t value = 0;
    if (*text < '1' || *text > '9')
        return 0;
    for (; *text >= '0' && *text <= '9'; text++) {
        value = value * 10 + (*text - '0');
        if (value >= (pid_t)PID_END)
            return 0;
    }
    return *text == '\0' || *text == ' ' ? value : 0;
}

static pid_t parent_of(int proc, const char *pid)
{
    char path[32], text[STAT_MAX];
    size_t len = strlen(pid);
    if (len > 16)
        return 0;
    memcpy(path, pid, len + 1);
    memcpy(path + len, "/stat", sizeof "/stat");
    ssize_t n = sc_read_text(proc, path, text, sizeof text);
    if (n <= 0)
        return 0;
    const char *name_end = memrchr(text, ')', (size_t)n);
    /* ") S 123 " */
    return name_end && text + n - name_end > 4 ? number_of(name_end + 4) : 0;
}

/* One walk over all processes: how many descendants it found that were not known. */
static unsigned walk(int proc, pid_t self)
{
    static char entries[32 * 1024] __attribute__((aligned(8)));
    unsigned fresh = 0;
    lseek(proc, 0, SEEK_SET);
    for (long n; (n = syscall(SYS_getdents64, proc, entries, sizeof entries)) > 0;)
        for (long at = 0; at < n;) {
            const struct entry *entry = (const struct entry *)(entries + at);
            at += entry->size;
            pid_t pid = number_of(entry->name);
            if (pid <= 0 || pid == self || is_found(pid))
                continue;
            pid_t parent = parent_of(proc, entry->name);
            if (parent != self && !(parent > 0 && is_found(parent)))
                continue;
            found[pid / 64] |= 1ull << (pid % 64);
            highest = pid > highest ? pid : highest;
            fresh++;
        }
    return fresh;
}

unsigned sc_tree_signal(int number)
{
    unsigned count = 0;
    int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (proc < 0)
        return 0;
    memset(found, 0, ((size_t)highest / 64 + 1) * sizeof found[0]);
    highest = 0;
    for (unsigned fresh; (fresh = walk(proc, getpid())) > 0;)
        count += fresh;
    close(proc);
    for (pid_t pid = 1; pid <= highest; pid++)
        if (is_found(pid))
            kill(pid, number);
    return count;
}
