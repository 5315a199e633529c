/* Attempts on sockets and shared kernel names. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "probe.h"

/* FAMILY,TYPE,PROTOCOL as numbers. */
static int do_socket(char *arg)
{
    int family = 0, type = 0, protocol = 0;
    sscanf(arg, "%d,%d,%d", &family, &type, &protocol);
    return TRIED(socket(family, type, protocol));
}

static int do_socketpair(char *arg)
{
    int pair[2];
    (void)arg;
    return TRIED(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
}

static struct sockaddr_in loopback(unsigned port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return a;
}

static int do_tcp(char *arg)
{
    struct sockaddr_in a = loopback((unsigned)strtoul(arg, NULL, 10));
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return fd < 0 ? errno : TRIED(connect(fd, (struct sockaddr *)&a, sizeof a));
}

/* An outside address: asks for a route, sends nothing. */
static int do_route(char *arg)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(9)};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    inet_pton(AF_INET, arg, &a.sin_addr);
    return fd < 0 ? errno : TRIED(connect(fd, (struct sockaddr *)&a, sizeof a));
}

static int do_own_tcp(char *arg)
{
    struct sockaddr_in a = loopback(0);
    socklen_t len = sizeof a;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0),
        fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)arg;
    if (listener < 0 || fd < 0 || bind(listener, (struct sockaddr *)&a, sizeof a) < 0 ||
        listen(listener, 1) < 0 || getsockname(listener, (struct sockaddr *)&a, &len) < 0)
        return errno;
    return TRIED(connect(fd, (struct sockaddr *)&a, sizeof a));
}

static struct sockaddr_un unix_name(const char *name, int abstract, socklen_t *ret_len)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    snprintf(a.sun_path + abstract, sizeof a.sun_path - 1, "%s", name);
    *ret_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name) + 1);
    return a;
}

static int connect_unix(const char *name, int abstract)
{
    socklen_t len;
    struct sockaddr_un a = unix_name(name, abstract, &len);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return fd < 0 ? errno : TRIED(connect(fd, (struct sockaddr *)&a, len));
}

static int do_abstract(char *arg)
{
    return connect_unix(arg, 1);
}

static int do_unix(char *arg)
{
    return connect_unix(arg, 0);
}

static int do_own_abstract(char *arg)
{
    socklen_t len;
    struct sockaddr_un a = unix_name("probe", 1, &len);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)arg;
    if (listener < 0 || bind(listener, (struct sockaddr *)&a, len) < 0 || listen(listener, 1) < 0)
        return errno;
    return connect_unix("probe", 1);
}

/* 0 when the interface is there. */
static int do_interface(char *arg)
{
    return if_nametoindex(arg) ? 0 : errno;
}

/* ENODEV when there is no interface besides loopback, else 0. */
static int do_other_interface(char *arg)
{
    struct if_nameindex *all = if_nameindex();
    int r = ENODEV;
    (void)arg;
    for (struct if_nameindex *i = all; i && i->if_index; i++)
        if (strcmp(i->if_name, "lo") != 0)
            r = 0;
    return all ? r : errno;
}

static int do_interface_down(char *arg)
{
    struct ifreq r = {0};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    (void)arg;
    snprintf(r.ifr_name, sizeof r.ifr_name, "lo");
    return fd < 0 ? errno : TRIED(ioctl(fd, SIOCSIFFLAGS, &r));
}

static int do_shm(char *arg)
{
    return TRIED(shmget((key_t)strtol(arg, NULL, 10), 0, 0));
}

static int do_own_shm(char *arg)
{
    int id = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
    (void)arg;
    return id < 0 ? errno : TRIED(shmctl(id, IPC_RMID, NULL));
}

static int do_bind_low(char *arg)
{
    struct sockaddr_in a = loopback(80);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)arg;
    return fd < 0 ? errno : TRIED(bind(fd, (struct sockaddr *)&a, sizeof a));
}

#define CALL(name)                                                                                           \
    {                                                                                                        \
#name, do_##name                                                                                     \
    }
static const struct attempt table[] = {
    CALL(socket),         CALL(socketpair), CALL(tcp),          CALL(route),     CALL(own_tcp),
    CALL(abstract),       CALL(unix),       CALL(own_abstract), CALL(interface), CALL(other_interface),
    CALL(interface_down), CALL(shm),        CALL(own_shm),      CALL(bind_low),  {NULL, NULL},
};

int main(int argc, char **argv)
{
    return probe_main(table, argc, argv);
}
