/* The listeners of `snapcell serve`. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/num.h"
#include "cli/serve.h"

#define BACKLOG 1024
#define FIRST_GIVEN 3 /* sd_listen_fds(3) */

static void add(struct sc_serve_listeners *listeners, int fd, bool tcp, const char *name)
{
    snprintf(listeners->names[listeners->n], sizeof listeners->names[0], "%s", name);
    listeners->each[listeners->n++] = (struct sc_gate_listener){.fd = fd, .tcp = tcp};
}

/* A socket that nobody listens on any more is replaced, anything else is left alone. */
static int clear_place(const char *path, const struct sockaddr_un *address)
{
    struct stat st;
    if (lstat(path, &st) < 0)
        return errno == ENOENT ? 0 : -errno;
    if (!S_ISSOCK(st.st_mode))
        return -EEXIST;
    int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (sock < 0)
        return -errno;
    int r = connect(sock, (const struct sockaddr *)address, sizeof *address) == 0 ? -EADDRINUSE : 0;
    close(sock);
    return r < 0 ? r : unlink(path) < 0 ? -errno : 0;
}

static int listen_unix(struct sc_serve_listeners *listeners, const char *path, struct sc_err *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char name[PATH_MAX + 16];
    if (strlen(path) >= sizeof address.sun_path)
        return sc_err_usage(err, "http-socket", "http-socket: %s: at most %zu bytes are allowed", path,
                            sizeof address.sun_path - 1);
    memcpy(address.sun_path, path, strlen(path) + 1);
    int r = clear_place(path, &address);
    int fd = r < 0 ? -1 : socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (r == 0 && fd < 0)
        r = -errno;
    mode_t mask = umask(0177);
    if (r == 0 && (bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || listen(fd, BACKLOG) < 0))
        r = -errno;
    umask(mask);
    if (r < 0) {
        sc_close(&fd);
        return sc_err_sys(err, r, "http-socket: %s", path);
    }
    snprintf(listeners->remove, sizeof listeners->remove, "%s", path);
    snprintf(name, sizeof name, "unix:%s", path);
    add(listeners, fd, false, name);
    return 0;
}

/* "127.0.0.1:8480", "[::1]:8480". */
static int parse_address(const char *text, struct sockaddr_storage *ret_address, socklen_t *ret_len)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    char host[INET6_ADDRSTRLEN + 3];
    uint64_t port = 0;
    const char *colon = strrchr(text, ':');
    size_t len = colon ? (size_t)(colon - text) : 0;
    if (!colon || len >= sizeof host || sc_parse_u64(colon + 1, &port) < 0 || port > 65535)
        return -EINVAL;
    snprintf(host, sizeof host, "%.*s", (int)len, text);
    if (*host == '[' && len > 2 && host[len - 1] == ']') {
        host[len - 1] = '\0';
        v6.sin6_port = htons((uint16_t)port);
        if (inet_pton(AF_INET6, host + 1, &v6.sin6_addr) != 1)
            return -EINVAL;
        memcpy(ret_address, &v6, *ret_len = sizeof v6);
        return 0;
    }
    v4.sin_port = htons((uint16_t)port);
    if (inet_pton(AF_INET, host, &v4.sin_addr) != 1)
        return -EINVAL;
    memcpy(ret_address, &v4, *ret_len = sizeof v4);
    return 0;
}

int sc_serve_listen_check(const char *text, struct sc_err *err)
{
    struct sockaddr_storage address = {0};
    socklen_t len = 0;
    if (parse_address(text, &address, &len) == 0)
        return 0;
    return sc_err_usage(err, "listen", "listen: %s: must be ADDRESS:PORT, as 127.0.0.1:8480 or [::1]:8480",
                        text);
}

static void tell_address(int fd, char *ret_name, size_t size)
{
    struct sockaddr_storage bound = {0};
    socklen_t len = sizeof bound;
    char host[INET6_ADDRSTRLEN] = "?";
    (void)getsockname(fd, (struct sockaddr *)&bound, &len);
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)&bound;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&bound;
    bool six = bound.ss_family == AF_INET6;
    (void)inet_ntop(bound.ss_family, six ? (const void *)&v6->sin6_addr : (const void *)&v4->sin_addr, host,
                    sizeof host);
    snprintf(ret_name, size, six ? "http://[%s]:%u" : "http://%s:%u", host,
             ntohs(six ? v6->sin6_port : v4->sin_port));
}

static int listen_tcp(struct sc_serve_listeners *listeners, const char *text, struct sc_err *err)
{
    struct sockaddr_storage address = {0};
    socklen_t len = 0;
    const int on = 1;
    char name[100];
    if (parse_address(text, &address, &len) < 0)
        return sc_err_usage(err, "listen",
                            "listen: %s: must be ADDRESS:PORT, as 127.0.0.1:8480 or [::1]:8480", text);
    int fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int r = fd < 0 ? -errno : 0;
    if (r == 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0)
        r = -errno;
    if (r == 0 && (bind(fd, (struct sockaddr *)&address, len) < 0 || listen(fd, BACKLOG) < 0))
        r = -errno;
    if (r < 0) {
        sc_close(&fd);
        return sc_err_sys(err, r, "listen: %s", text);
    }
    tell_address(fd, name, sizeof name);
    add(listeners, fd, true, name);
    return 0;
}

/* The ports are E2B's. */
static int listen_debug(struct sc_serve_listeners *listeners, struct sc_err *err)
{
    static const char *const addresses[] = {"127.0.0.1:49983", "127.0.0.1:49999"};
    for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++) {
        int r = listen_tcp(listeners, addresses[i], err);
        if (r < 0)
            return r;
        listeners->each[listeners->n - 1].e2b_debug = true;
    }
    return 0;
}

/* sd_listen_fds(3), without the library. How many; 0: none were given to us. */
static int count_given(void)
{
    const char *pid = getenv("LISTEN_PID"), *fds = getenv("LISTEN_FDS");
    uint64_t owner = 0, n = 0;
    if (!pid || !fds || sc_parse_u64(pid, &owner) < 0 || sc_parse_u64(fds, &n) < 0 ||
        owner != (uint64_t)getpid())
        return 0;
    return n > SC_GATE_LISTENERS_MAX ? -E2BIG : (int)n;
}

static int take_given(struct sc_serve_listeners *listeners, int n, struct sc_err *err)
{
    for (int fd = FIRST_GIVEN; fd < FIRST_GIVEN + n; fd++) {
        struct sockaddr_storage bound = {0};
        socklen_t len = sizeof bound;
        char name[100];
        if (getsockname(fd, (struct sockaddr *)&bound, &len) < 0)
            return sc_err_sys(err, -errno, "listen: descriptor %d of LISTEN_FDS", fd);
        bool tcp = bound.ss_family != AF_UNIX;
        if (tcp)
            tell_address(fd, name, sizeof name);
        int moved = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_GIVEN + SC_GATE_LISTENERS_MAX);
        if (moved < 0 || sc_set_nonblocking(moved) < 0)
            return sc_err_sys(err, -errno, "listen: descriptor %d of LISTEN_FDS", fd);
        close(fd);
        add(listeners, moved, tcp, tcp ? name : "unix: (given by the service manager)");
    }
    return 0;
}

int sc_serve_listen(const struct sc_serve_wants *wants, struct sc_serve_listeners *listeners,
                    struct sc_err *err)
{
    *listeners = (struct sc_serve_listeners){.n = 0};
    int given = count_given(), r = 0;
    if (given < 0)
        return sc_err_usage(err, "listen", "listen: LISTEN_FDS: at most %d are allowed",
                            SC_GATE_LISTENERS_MAX);
    if (given > 0) {
        r = take_given(listeners, given, err);
    } else {
        if (wants->http_socket[0])
            r = listen_unix(listeners, wants->http_socket, err);
        if (r == 0 && wants->listen[0])
            r = listen_tcp(listeners, wants->listen, err);
        if (r == 0 && wants->e2b_debug)
            r = listen_debug(listeners, err);
        if (r == 0 && listeners->n == 0)
            r = sc_err_usage(err, "listen", "serve: nothing to listen on: give --http-socket or --listen");
    }
    if (r < 0)
        sc_serve_unlisten(listeners);
    return r;
}

void sc_serve_unlisten(struct sc_serve_listeners *listeners)
{
    for (size_t i = 0; i < listeners->n; i++)
        sc_close(&listeners->each[i].fd);
    if (listeners->remove[0])
        (void)unlink(listeners->remove);
    listeners->n = 0;
}
