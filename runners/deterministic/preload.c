/* Preloaded into the programs of a deterministic run (docs/deterministic.md): answers for the C library what
 * differs from run to run. The wall clock begins at the run's start time and goes on by one microsecond with
 * each reading, and by what a program asked to sleep; random bytes come from the seed; the processors are as
 * many as the cell is said to have. Monotonic clocks are the kernel's.
 *
 * Linked with nothing, so that it goes with any C library of its machine: raw system calls only, and errno's
 * place, which every C library exports. It is no wall: a program that makes its system calls itself, or drops
 * the preload, has the kernel's answers. */
#include <stddef.h>
#include <stdint.h>

#define ANSWERS "/snapcell/deterministic/values"
#define NS_PER_S 1000000000ull
#define STEP_NS 1000ull

enum { NR_READ = 0, NR_OPEN = 2, NR_CLOSE = 3, NR_WRITE = 1, NR_GETPID = 39, NR_EXIT_GROUP = 231 };
enum { NR_NANOSLEEP = 35, NR_CLOCK_GETTIME = 228, NR_CLOCK_NANOSLEEP = 230 };
enum { NR_SETAFFINITY = 203, NR_GETAFFINITY = 204, NR_GETRANDOM = 318 };
enum { NR_MMAP = 9, NR_EXECVE = 59, NR_READLINK = 89, NR_PERSONALITY = 135 };
enum { REALTIME = 0, MONOTONIC = 1, REALTIME_COARSE = 5, TAI = 11 };
enum { BAD_ADDRESS = 14, INVALID = 22, IO_ERROR = 5 };
#define ABSOLUTE 1

struct moment {
    int64_t s, ns;
};
struct old_moment {
    int64_t s, us;
};

extern int *__errno_location(void);
extern char **environ;

/* What is exported: the C library's own names. */
#define ANSWER __attribute__((visibility("default")))

static uint64_t wall_ns, seed, processors, may_start_again;
static int is_ready, has_own_processors;
static struct {
    uint64_t pid, at;
} stream;
/* What this thread was last told: a deadline it makes is counted from here. */
static __thread uint64_t monotonic_ns __attribute__((tls_model("initial-exec")));

static long call6(long number, long a, long b, long c, long d, long e, long f)
{
    long r;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(r)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return r;
}

static long call4(long number, long a, long b, long c, long d)
{
    return call6(number, a, b, c, d, 0, 0);
}

/* The kernel's answer as C libraries give it. */
static long answered(long r)
{
    if (r < 0 && r > -4096) {
        *__errno_location() = (int)-r;
        return -1;
    }
    return r;
}

/* ---- what the run was given ---- */

static const char *number(const char *at, uint64_t *ret_value)
{
    uint64_t value = 0;
    for (; *at >= '0' && *at <= '9'; at++)
        value = value * 10 + (uint64_t)(*at - '0');
    *ret_value = value;
    return *at ? at + 1 : at;
}

/* A run that was to be deterministic and cannot be ends here. */
static void give_up(void)
{
    static const char text[] = "snapcell: " ANSWERS " cannot be read\n";
    call4(NR_WRITE, 2, (long)text, sizeof text - 1, 0);
    for (;;)
        call4(NR_EXIT_GROUP, 127, 0, 0, 0);
}

/* Other libraries ask before our own beginning; two threads that come here at once read the same. */
static void get_ready(void)
{
    char text[96] = "";
    if (__atomic_load_n(&is_ready, __ATOMIC_ACQUIRE))
        return;
    long fd = call4(NR_OPEN, (long)ANSWERS, 02000000 /* O_CLOEXEC */, 0, 0);
    long n = fd >= 0 ? call4(NR_READ, fd, (long)text, sizeof text - 1, 0) : -1;
    if (n <= 0)
        give_up();
    call4(NR_CLOSE, fd, 0, 0, 0);
    uint64_t start = 0, zero = 0;
    const char *at = number(text, &seed);
    at = number(at, &start);
    at = number(at, &processors);
    number(at, &may_start_again);
    __atomic_compare_exchange_n(&wall_ns, &zero, start, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    __atomic_store_n(&is_ready, 1, __ATOMIC_RELEASE);
}

/* ---- clocks ---- */

static uint64_t wall(void)
{
    get_ready();
    return __atomic_fetch_add(&wall_ns, STEP_NS, __ATOMIC_ACQ_REL);
}

static void slept(uint64_t ns)
{
    get_ready();
    __atomic_fetch_add(&wall_ns, ns, __ATOMIC_ACQ_REL);
}

static uint64_t ns_of(const struct moment *moment)
{
    return (uint64_t)moment->s * NS_PER_S + (uint64_t)moment->ns;
}

static int is_wall(int clock)
{
    return clock == REALTIME || clock == REALTIME_COARSE || clock == TAI;
}

ANSWER int clock_gettime(int clock, struct moment *ret_moment)
{
    if (is_wall(clock) && ret_moment) {
        uint64_t now = wall();
        *ret_moment = (struct moment){(int64_t)(now / NS_PER_S), (int64_t)(now % NS_PER_S)};
        return 0;
    }
    long r = call4(NR_CLOCK_GETTIME, clock, (long)ret_moment, 0, 0);
    if (r == 0 && clock == MONOTONIC)
        monotonic_ns = ns_of(ret_moment);
    return (int)answered(r);
}

ANSWER int gettimeofday(struct old_moment *ret_moment, int *ret_zone)
{
    if (ret_moment) {
        uint64_t now = wall();
        *ret_moment = (struct old_moment){(int64_t)(now / NS_PER_S), (int64_t)(now % NS_PER_S / 1000)};
    }
    if (ret_zone)
        ret_zone[0] = ret_zone[1] = 0;
    return 0;
}

ANSWER int64_t time(int64_t *ret_s)
{
    int64_t now = (int64_t)(wall() / NS_PER_S);
    if (ret_s)
        *ret_s = now;
    return now;
}

ANSWER int timespec_get(struct moment *ret_moment, int base)
{
    return base == 1 && clock_gettime(REALTIME, ret_moment) == 0 ? base : 0;
}

/* How long a sleep until `deadline` was meant to be, on the clock that was asked. */
static uint64_t until(int clock, uint64_t deadline)
{
    uint64_t now = clock == MONOTONIC ? monotonic_ns : __atomic_load_n(&wall_ns, __ATOMIC_ACQUIRE);
    return deadline > now ? deadline - now : 0;
}

/* 0 or an errno, as clock_nanosleep answers. A deadline of the wall clock becomes a time to wait. */
ANSWER int clock_nanosleep(int clock, int flags, const struct moment *when, struct moment *ret_rest)
{
    if (!when)
        return BAD_ADDRESS;
    if (when->s < 0 || when->ns < 0 || when->ns >= (int64_t)NS_PER_S)
        return INVALID;
    get_ready();
    uint64_t ns = flags & ABSOLUTE ? until(clock, ns_of(when)) : ns_of(when);
    struct moment length = {(int64_t)(ns / NS_PER_S), (int64_t)(ns % NS_PER_S)};
    long r = is_wall(clock) && (flags & ABSOLUTE)
                 ? call4(NR_CLOCK_NANOSLEEP, MONOTONIC, 0, (long)&length, 0)
                 : call4(NR_CLOCK_NANOSLEEP, clock, flags, (long)when, (long)ret_rest);
    if (r == 0)
        slept(ns);
    return (int)-r;
}

ANSWER int nanosleep(const struct moment *length, struct moment *ret_rest)
{
    long r = call4(NR_NANOSLEEP, (long)length, (long)ret_rest, 0, 0);
    if (r == 0)
        slept(ns_of(length));
    return (int)answered(r);
}

ANSWER int usleep(unsigned us)
{
    struct moment length = {us / 1000000, (int64_t)(us % 1000000) * 1000};
    return nanosleep(&length, NULL);
}

ANSWER unsigned sleep(unsigned s)
{
    struct moment length = {s, 0};
    return nanosleep(&length, &length) == 0 ? 0 : (unsigned)length.s + (length.ns > 0);
}

/* ---- random bytes ---- */

static uint64_t mixed(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

/* Each process has a stream of its own: a fork goes on with another one than its parent. */
static void fill(unsigned char *bytes, size_t len)
{
    get_ready();
    uint64_t pid = (uint64_t)call4(NR_GETPID, 0, 0, 0, 0);
    if (__atomic_exchange_n(&stream.pid, pid, __ATOMIC_ACQ_REL) != pid)
        __atomic_store_n(&stream.at, 0, __ATOMIC_RELEASE);
    uint64_t key = mixed(mixed(seed + 0x9e3779b97f4a7c15ull) + pid);
    while (len > 0) {
        uint64_t at = __atomic_add_fetch(&stream.at, 1, __ATOMIC_ACQ_REL);
        uint64_t word = mixed(key + at * 0x9e3779b97f4a7c15ull);
        for (int i = 0; i < 8 && len > 0; i++, len--, word >>= 8)
            *bytes++ = (unsigned char)word;
    }
}

ANSWER long getrandom(void *ret_bytes, size_t len, unsigned flags)
{
    if (flags & ~7u) {
        *__errno_location() = INVALID;
        return -1;
    }
    fill(ret_bytes, len);
    return (long)len;
}

ANSWER int getentropy(void *ret_bytes, size_t len)
{
    if (len > 256) {
        *__errno_location() = IO_ERROR;
        return -1;
    }
    fill(ret_bytes, len);
    return 0;
}

ANSWER void arc4random_buf(void *ret_bytes, size_t len)
{
    fill(ret_bytes, len);
}

ANSWER uint32_t arc4random(void)
{
    uint32_t value;
    fill((unsigned char *)&value, sizeof value);
    return value;
}

/* Below `bound`, each equally likely to within 2^-32. */
ANSWER uint32_t arc4random_uniform(uint32_t bound)
{
    uint64_t value;
    fill((unsigned char *)&value, sizeof value);
    return bound ? (uint32_t)(value % bound) : 0;
}

/* ---- processors ---- */

ANSWER int sched_setaffinity(int pid, size_t size, const void *mask)
{
    long r = call4(NR_SETAFFINITY, pid, (long)size, (long)mask, 0);
    if (r == 0)
        __atomic_store_n(&has_own_processors, 1, __ATOMIC_RELEASE);
    return (int)answered(r);
}

/* The cell's, until the program has chosen its own: then what it chose. */
ANSWER int sched_getaffinity(int pid, size_t size, unsigned char *ret_mask)
{
    long r = call4(NR_GETAFFINITY, pid, (long)size, (long)ret_mask, 0);
    if (r < 0)
        return (int)answered(r);
    get_ready();
    int is_own = __atomic_load_n(&has_own_processors, __ATOMIC_ACQUIRE);
    for (size_t i = is_own ? (size_t)r : 0; i < size; i++)
        ret_mask[i] = is_own || i * 8 >= processors ? 0
                      : processors - i * 8 >= 8     ? 0xff
                                                    : (unsigned char)((1u << (processors - i * 8)) - 1);
    return 0;
}

/* ---- calls by their number ---- */

/* Python's os.getrandom, and libraries that are older than the C library's function. */
ANSWER long syscall(long number, long a, long b, long c, long d, long e, long f)
{
    if (number == NR_GETRANDOM)
        return getrandom((void *)a, (size_t)b, (unsigned)c);
    return answered(call6(number, a, b, c, d, e, f));
}

/* ---- addresses ---- */

/* A change of AppArmor's profile takes back, at the cell's first exec, that addresses are fixed. Then the
 * program starts once more, behind that change. */
#define FIXED 0x0040000ul
#define MARK "SNAPCELL_STARTED_AGAIN="
#define PATH_ROOM 4096
#define ARGUMENTS_ROOM (4u * 1024 * 1024)

static int is_mark(const char *entry)
{
    static const char mark[] = MARK;
    size_t i = 0;
    while (mark[i] && entry[i] == mark[i])
        i++;
    return !mark[i];
}

/* Nobody else shall see it. */
static int take_mark(void)
{
    char **at = environ;
    while (*at && !is_mark(*at))
        at++;
    if (!*at)
        return 0;
    for (; *at; at++)
        at[0] = at[1];
    return 1;
}

/* Zeroed, and never given back: either this process is gone a moment later, or it is small. */
static void *room_of(size_t bytes)
{
    long room = call6(NR_MMAP, 0, (long)bytes, 3 /* read, write */, 0x22 /* private, anonymous */, -1, 0);
    return room < 0 && room > -4096 ? NULL : (void *)room;
}

/* All of the file, ended by a null. Its length; 0: it cannot be had, or is too long. */
static size_t read_arguments(char *text, size_t room)
{
    long fd = call4(NR_OPEN, (long)"/proc/self/cmdline", 02000000 /* O_CLOEXEC */, 0, 0), n = 1;
    size_t len = 0;
    while (fd >= 0 && n > 0 && len < room) {
        n = call4(NR_READ, fd, (long)(text + len), (long)(room - len), 0);
        len += n > 0 ? (size_t)n : 0;
    }
    if (fd >= 0)
        call4(NR_CLOSE, fd, 0, 0, 0);
    return n == 0 && len > 0 && !text[len - 1] ? len : 0;
}

static char **find_arguments(void)
{
    char *text = room_of(ARGUMENTS_ROOM);
    size_t len = text ? read_arguments(text, ARGUMENTS_ROOM) : 0, n = 0;
    for (size_t i = 0; i < len; i++)
        n += !text[i];
    char **arguments = n ? room_of((n + 1) * sizeof *arguments) : NULL;
    for (size_t i = 0; arguments && i < n; i++) {
        arguments[i] = text;
        while (*text++)
            ;
    }
    return arguments;
}

static char **marked_environment(void)
{
    static char mark[] = MARK;
    size_t n = 0;
    while (environ[n])
        n++;
    char **copy = room_of((n + 2) * sizeof *copy);
    for (size_t i = 0; copy && i < n; i++)
        copy[i] = environ[i];
    if (copy)
        copy[n] = mark;
    return copy;
}

__attribute__((constructor)) static void fix_addresses(void)
{
    char path[PATH_ROOM];
    get_ready();
    if (!environ || take_mark() || !may_start_again)
        return;
    long now = call4(NR_PERSONALITY, 0xffffffff, 0, 0, 0);
    long n = now < 0 || now & (long)FIXED
                 ? -1
                 : call4(NR_READLINK, (long)"/proc/self/exe", (long)path, PATH_ROOM - 1, 0);
    if (n <= 0 || call4(NR_PERSONALITY, now | (long)FIXED, 0, 0, 0) < 0)
        return;
    path[n] = '\0';
    char **arguments = find_arguments(), **variables = marked_environment();
    if (arguments && variables)
        call4(NR_EXECVE, (long)path, (long)arguments, (long)variables, 0);
}
