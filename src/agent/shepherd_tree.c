/* Who descends from a shepherd, as /proc tells it. The number of the parent is the second field after the
 * program's name, which the program itself chooses: it may hold parentheses, blanks and newlines, so the
 * fields are counted from the last closing parenthesis. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/shepherd.h"
#include "base/fd.h"

#define PID_END (4u << 20) /* the kernel's own highest is below */
#define STATUS_MAX 2048    /* what stands before the numbers: its name and ids */
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

/* 0: of nobody here. Its state's letter in *ret_state, "" when it is gone. */
static pid_t parent_of(int proc, const char *pid, char *ret_state)
{
    *ret_state = '\0';
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
    if (!name_end || text + n - name_end <= 4)
        return 0;
    *ret_state = name_end[2];
    return number_of(name_end + 4);
}

/* Whether it lives in a pid namespace below this one's: the kernel tells a number for each. */
static bool is_below(int proc, const char *pid)
{
    char path[32], text[STATUS_MAX];
    size_t len = strlen(pid);
    if (len > 16)
        return false;
    memcpy(path, pid, len + 1);
    memcpy(path + len, "/status", sizeof "/status");
    if (sc_read_text(proc, path, text, sizeof text) <= 0)
        return false;
    const char *numbers = strstr(text, "\nNSpid:\t");
    if (!numbers)
        return false;
    numbers += sizeof "\nNSpid:\t" - 1;
    return numbers[strspn(numbers, "0123456789")] == '\t';
}

/* Calls `each` for every process but `self`. */
static void for_all(int proc, pid_t self, void (*each)(int proc, const char *name, pid_t pid, void *data),
                    void *data)
{
    static char entries[32 * 1024] __attribute__((aligned(8)));
    lseek(proc, 0, SEEK_SET);
    for (long n; (n = syscall(SYS_getdents64, proc, entries, sizeof entries)) > 0;)
        for (long at = 0; at < n;) {
            const struct entry *entry = (const struct entry *)(entries + at);
            at += entry->size;
            pid_t pid = number_of(entry->name);
            if (pid > 0 && pid != self)
                each(proc, entry->name, pid, data);
        }
}

static void mark(pid_t pid)
{
    found[pid / 64] |= 1ull << (pid % 64);
    highest = pid > highest ? pid : highest;
}

static void forget_all(void)
{
    memset(found, 0, ((size_t)highest / 64 + 1) * sizeof found[0]);
    highest = 0;
}

struct search {
    pid_t self; /* its children count; 0: only those of who was found before */
    unsigned fresh;
};

static void find_child(int proc, const char *name, pid_t pid, void *data)
{
    struct search *search = data;
    char state;
    if (is_found(pid))
        return;
    pid_t parent = parent_of(proc, name, &state);
    if (parent <= 0 || (parent != search->self && !is_found(parent)))
        return;
    mark(pid);
    search->fresh++;
}

/* One walk over all processes: how many descendants it found that were not known. */
static unsigned walk(int proc, pid_t self, bool of_self)
{
    struct search search = {.self = of_self ? self : 0};
    for_all(proc, self, find_child, &search);
    return search.fresh;
}

struct others {
    int number;
    bool found, own; /* signal those that were found, or the others; not those in cells below */
    unsigned living;
};

/* One that is dead and not waited for yet is nobody's care any more. */
static void signal_other(int proc, const char *name, pid_t pid, void *data)
{
    struct others *others = data;
    char state;
    if (is_found(pid) != others->found)
        return;
    parent_of(proc, name, &state);
    if (others->own && is_below(proc, name))
        return;
    if (state == '\0' || state == 'Z' || state == 'X')
        return;
    others->living++;
    if (others->number)
        kill(pid, others->number);
}

unsigned sc_tree_signal_others(const pid_t *helpers, size_t n_helpers, int number, bool own)
{
    struct others others = {.number = number, .own = own};
    if (getpid() != 1) /* a test's: anywhere else that is everybody */
        return 0;
    int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (proc < 0)
        return 1; /* somebody may be left */
    forget_all();
    for (size_t i = 0; i < n_helpers; i++)
        if (helpers[i] < (pid_t)PID_END)
            mark(helpers[i]);
    while (walk(proc, getpid(), false) > 0)
        ;
    for_all(proc, getpid(), signal_other, &others);
    close(proc);
    return others.living;
}

unsigned sc_tree_signal(int number)
{
    unsigned count = 0;
    int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (proc < 0)
        return 0;
    forget_all();
    for (unsigned fresh; (fresh = walk(proc, getpid(), true)) > 0;)
        count += fresh;
    close(proc);
    for (pid_t pid = 1; pid <= highest; pid++)
        if (is_found(pid))
            kill(pid, number);
    return count;
}

unsigned sc_tree_signal_own(int number)
{
    struct others others = {.number = number, .found = true, .own = true};
    int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (proc < 0)
        return 1; /* somebody may be left */
    forget_all();
    while (walk(proc, getpid(), true) > 0)
        ;
    for_all(proc, getpid(), signal_other, &others);
    close(proc);
    return others.living;
}
