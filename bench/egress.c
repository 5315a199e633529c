/* Both ends of bench/egress.py.
 *
 *   egress origin ADDRESS PORT        for each connection: "r" is answered by a byte; "dN " by N MiB; "u"
 * takes all and then answers by a byte egress connects ADDRESS PORT N    N times: connect, send a byte, take
 * a byte, close. One line: median and all, in ns egress down|up ADDRESS PORT MIB   one line: ns
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MIB (1024 * 1024)
static char chunk[256 * 1024];

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static long long now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static struct sockaddr_in address_of(char **argv)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(argv[3]))};
    if (inet_pton(AF_INET, argv[2], &addr.sin_addr) != 1)
        die(argv[2]);
    return addr;
}

static void send_all(int sock, long long bytes)
{
    while (bytes > 0) {
        size_t want = bytes < (long long)sizeof chunk ? (size_t)bytes : sizeof chunk;
        ssize_t n = send(sock, chunk, want, MSG_NOSIGNAL);
        if (n <= 0)
            die("send");
        bytes -= n;
    }
}

static long long take_all(int sock, long long bytes)
{
    long long got = 0;
    ssize_t n;
    while (got < bytes && (n = recv(sock, chunk, sizeof chunk, 0)) > 0)
        got += n;
    return got;
}

static void serve_one(int sock)
{
    char order[16] = "";
    if (recv(sock, order, 1, 0) != 1)
        exit(0);
    if (order[0] == 'd') {
        for (size_t i = 0; i < sizeof order - 1 && recv(sock, order + i, 1, 0) == 1 && order[i] != ' '; i++)
            ;
        send_all(sock, atoll(order) * MIB);
    } else {
        if (order[0] == 'u')
            take_all(sock, 1ll << 60);
        send_all(sock, 1);
    }
    exit(0);
}

__attribute__((noreturn)) static void origin(char **argv)
{
    struct sockaddr_in addr = address_of(argv);
    int sock = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    setsockopt(sock, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(sock, (struct sockaddr *)&addr, sizeof addr) < 0 || listen(sock, 1024) < 0)
        die("origin");
    signal(SIGCHLD, SIG_IGN);
    for (;;) {
        char byte;
        int client = accept(sock, NULL, NULL);
        if (client < 0)
            die("accept");
        setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        /* What only takes a byte is served here: forking would be most of what is measured. */
        if (recv(client, &byte, 1, MSG_PEEK) == 1 && byte == 'r') {
            if (recv(client, &byte, 1, 0) != 1 || send(client, &byte, 1, MSG_NOSIGNAL) != 1)
                die("answer");
        } else if (fork() == 0) {
            serve_one(client);
        }
        close(client);
    }
}

static int dial(char **argv)
{
    struct sockaddr_in addr = address_of(argv);
    int sock = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    if (connect(sock, (struct sockaddr *)&addr, sizeof addr) < 0)
        die("connect");
    setsockopt(sock, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return sock;
}

static int compare(const void *a, const void *b)
{
    long long x = *(const long long *)a, y = *(const long long *)b;
    return (x > y) - (x < y);
}

static int connects(char **argv)
{
    int n = atoi(argv[4]);
    long long *took = calloc((size_t)n, sizeof *took), begun = now_ns();
    for (int i = 0; i < n; i++) {
        long long start = now_ns();
        int sock = dial(argv);
        char byte = 'r';
        if (send(sock, &byte, 1, MSG_NOSIGNAL) != 1 || recv(sock, &byte, 1, 0) != 1)
            die("round trip");
        took[i] = now_ns() - start;
        close(sock);
    }
    long long all = now_ns() - begun;
    qsort(took, (size_t)n, sizeof *took, compare);
    printf("%lld %lld\n", took[n / 2], all);
    return 0;
}

static int transfer(char **argv)
{
    long long bytes = atoll(argv[4]) * MIB, start = now_ns(), got = 1;
    int sock = dial(argv);
    char order[16];
    if (!strcmp(argv[1], "down")) {
        int n = snprintf(order, sizeof order, "d%s ", argv[4]);
        if (send(sock, order, (size_t)n, MSG_NOSIGNAL) != n)
            die("order");
        got = take_all(sock, bytes);
    } else {
        bytes++;
        chunk[0] = 'u';
        send_all(sock, bytes);
        shutdown(sock, SHUT_WR);
        bytes = 1;
        got = take_all(sock, 1);
    }
    if (got != bytes)
        die("not all bytes came");
    printf("%lld\n", now_ns() - start);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 4 && !strcmp(argv[1], "origin"))
        origin(argv);
    if (argc == 5 && !strcmp(argv[1], "connects"))
        return connects(argv);
    if (argc == 5 && (!strcmp(argv[1], "down") || !strcmp(argv[1], "up")))
        return transfer(argv);
    fputs("usage: see bench/egress.py\n", stderr);
    return 2;
}
