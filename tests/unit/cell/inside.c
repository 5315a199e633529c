/* inside MARK VERB [ARG]: what the tests of src/cell run in their cells. MARK does nothing; it is how a test
 * finds its processes from outside. Static, so that it starts fast and needs nothing of the root. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int say(const char *text)
{
    return write(1, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : 1;
}

__attribute__((noreturn)) static void sleep_for_good(void)
{
    for (;;)
        pause();
}

__attribute__((noreturn)) static int spin(void)
{
    for (volatile unsigned n = 0;; n++)
        ;
}

/* Grandchildren in sessions of their own, all under our mark; then sleeps. */
static int family(int n)
{
    for (int i = 0; i < n; i++)
        if (fork() == 0) {
            setsid();
            if (fork() == 0)
                sleep_for_good();
            sleep_for_good();
        }
    say("ready\n");
    sleep_for_good();
}

/* Ends while its descendants hold the streams open. */
static int orphans(int n)
{
    for (int i = 0; i < n; i++)
        if (fork() == 0)
            sleep_for_good();
    return say("gone\n");
}

/* Children that leave children behind and end at once. */
static int storm(void)
{
    for (int i = 0; i < 400; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            for (int j = 0; j < 2; j++)
                if (fork() == 0)
                    _exit(0);
            _exit(0);
        }
        if (pid > 0 && i % 2)
            waitpid(pid, NULL, 0);
    }
    return 5;
}

static int eat(void)
{
    size_t step = 4u << 20;
    for (;;) {
        char *at = mmap(NULL, step, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (at == MAP_FAILED)
            return 3;
        memset(at, 1, step);
    }
}

static int pour(int fd, long bytes)
{
    static char chunk[65536];
    memset(chunk, 'x', sizeof chunk);
    while (bytes != 0) {
        size_t want = bytes > 0 && bytes < (long)sizeof chunk ? (size_t)bytes : sizeof chunk;
        ssize_t n = write(fd, chunk, want);
        if (n < 0)
            return 4;
        if (bytes > 0)
            bytes -= n;
    }
    return 0;
}

static int count(void)
{
    static char chunk[65536];
    unsigned long long total = 0, sum = 0;
    for (ssize_t n; (n = read(0, chunk, sizeof chunk)) != 0; total += (unsigned long long)n) {
        if (n < 0)
            return 5;
        for (ssize_t i = 0; i < n; i++)
            sum += (unsigned char)chunk[i];
    }
    printf("%llu %llu\n", total, sum);
    return 0;
}

/* Closes stdin with a writer at the other end, and lives on a moment. */
static int shut(void)
{
    struct timespec moment = {.tv_nsec = 20000000};
    close(0);
    nanosleep(&moment, NULL);
    return 0;
}

static int terminal(void)
{
    char line[64];
    printf("%d%d%d %d\n", isatty(0), isatty(1), isatty(2), tcgetpgrp(0) == getpgrp());
    fflush(stdout);
    if (!fgets(line, sizeof line, stdin))
        return 6;
    printf("got %s", line);
    return 0;
}

static int make(const char *path, const char *content)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (fd < 0)
        return 1;
    int r = write(fd, content, strlen(content)) == (ssize_t)strlen(content) ? 0 : 1;
    close(fd);
    return r;
}

/* A tree that lies in every way a tree can. */
static int tree(void)
{
    int bad = 0;
    bad |=
        mkdir("out", 0755) | make("out/good", "good") | mkdir("out/sub", 0755) | make("out/sub/deep", "deep");
    bad |= symlink("/etc/passwd", "out/link") | symlink("/", "out/rootlink") | symlink("..", "out/up") |
           symlink("link", "out/again") | symlink("sub", "out/same");
    bad |= mkfifo("out/fifo", 0666);
    int sock = socket(AF_UNIX, SOCK_STREAM, 0);
    struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "out/sock"};
    bad |= bind(sock, (struct sockaddr *)&name, sizeof name);
    bad |= make("out/line\nbreak", "n") | make("out/b\xff\xfe", "u") | make("out/ -rf *", "s") |
           make("out/\033[2J", "e");
    bad |= link("out/good", "out/hard");
    int fd = open("out/sparse", O_WRONLY | O_CREAT, 0644);
    bad |= ftruncate(fd, 100l << 20);
    close(fd);
    bad |= make("out/locked", "l") | chmod("out/locked", 0);
    bad |= mkdir("out/dark", 0755) | make("out/dark/x", "x") | chmod("out/dark", 0);
    bad |= make("out/tricky..", "t") | make("out/...", "d");
    bad |= symlink("/home/user/out", "outlink");
    return bad ? 7 : 0;
}

static int deep(int levels)
{
    for (int i = 0; i < levels; i++)
        if (make("f", "f") || mkdir("d", 0755) || chdir("d"))
            return 8;
    return 0;
}

static int many(int n)
{
    char name[32];
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof name, "f%06d", i);
        if (make(name, ""))
            return 9;
    }
    return 0;
}

/* An address of a documentation range; then ends at once. */
static int dial(void)
{
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(80), .sin_addr.s_addr = htonl(0xc0000201)};
    int sock = socket(AF_INET, SOCK_STREAM, 0);
    return connect(sock, (struct sockaddr *)&to, sizeof to) < 0 && errno == ENETUNREACH ? 0 : 13;
}

static int show(const char *path)
{
    struct stat st;
    if (stat(path, &st) < 0)
        return 10;
    printf("%o %u %u %lld\n", st.st_mode & 07777, st.st_uid, st.st_gid, (long long)st.st_size);
    return 0;
}

/* Fills the work folder; then fails, as a program does that checks its writes. */
static int fill(void)
{
    static char chunk[65536];
    int fd = open("big", O_WRONLY | O_CREAT, 0644);
    while (write(fd, chunk, sizeof chunk) > 0)
        ;
    return errno == ENOSPC ? 11 : 12;
}

int main(int argc, char **argv)
{
    const char *verb = argc > 2 ? argv[2] : "", *arg = argc > 3 ? argv[3] : "0";
    static const struct {
        const char *name;
        int (*run)(void);
    } plain[] = {{"spin", spin}, {"eat", eat},   {"count", count}, {"shut", shut}, {"terminal", terminal},
                 {"tree", tree}, {"fill", fill}, {"storm", storm}, {"dial", dial}};
    static const struct {
        const char *name;
        int (*run)(int);
    } counted[] = {{"family", family}, {"orphans", orphans}, {"deep", deep}, {"many", many}};
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
        if (!strcmp(plain[i].name, verb))
            return plain[i].run();
    for (size_t i = 0; i < sizeof counted / sizeof counted[0]; i++)
        if (!strcmp(counted[i].name, verb))
            return counted[i].run(atoi(arg));
    if (!strcmp(verb, "exit"))
        return atoi(arg);
    if (!strcmp(verb, "signal"))
        return raise(atoi(arg));
    if (!strcmp(verb, "sleep"))
        sleep_for_good();
    if (!strcmp(verb, "say"))
        return say(arg);
    if (!strcmp(verb, "out") || !strcmp(verb, "err"))
        return pour(verb[0] == 'o' ? 1 : 2, atol(arg));
    if (!strcmp(verb, "flood"))
        return pour(1, -1);
    if (!strcmp(verb, "show"))
        return show(arg);
    return 99;
}
