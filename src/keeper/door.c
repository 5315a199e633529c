/* The door: a pair of sockets that `snapcell serve` made, through which a gate hands over its connections,
 * and the sockets of clients whose user the kernel tells. What is wrong is dropped: a gate that goes on
 * wrongly only harms itself. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "keeper/identity.h"
#include "keeper/parts.h"

#define AT_ONCE 64 /* messages, before others have their turn */

static int option(int sock, int which, int *ret_value)
{
    socklen_t len = sizeof *ret_value;
    return getsockopt(sock, SOL_SOCKET, which, ret_value, &len) < 0 ? -errno : 0;
}

static bool is_unix(int sock)
{
    int domain = 0;
    return option(sock, SO_DOMAIN, &domain) == 0 && domain == AF_UNIX;
}

static bool is_stream(int sock)
{
    int type = 0, listens = 0;
    return is_unix(sock) && option(sock, SO_TYPE, &type) == 0 && type == SOCK_STREAM &&
           option(sock, SO_ACCEPTCONN, &listens) == 0 && !listens;
}

/* Takes `fd`. */
static void take(struct keeper *keeper, const struct sc_keeper_door_message *message, int fd)
{
    struct ucred peer;
    socklen_t len = sizeof peer;
    if (message->what == SC_KEEPER_DOOR_CONNECT && is_stream(fd) && sc_set_nonblocking(fd) == 0) {
        peer_accept_gate(keeper, fd);
        return;
    }
    if (message->what == SC_KEEPER_DOOR_PEER && is_unix(fd) &&
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && peer.uid != (uid_t)-1)
        identities_keep_peer(keeper->identities, message->nonce, peer.uid);
    close(fd);
}

/* 1: there was a message; 0: there is none now; negative errno: nobody holds the other end any more. */
static int take_one(struct keeper *keeper)
{
    struct sc_keeper_door_message message = {0};
    int fds[SC_FDS_MAX];
    size_t n_fds = SC_FDS_MAX;
    ssize_t n = sc_recv_fds(keeper->options->gate_fd, &message, sizeof message, fds, &n_fds);
    if (n == -EAGAIN)
        return 0;
    if (n <= 0)
        return n < 0 ? (int)n : -EPIPE;
    if (n == (ssize_t)sizeof message && n_fds == 1) {
        take(keeper, &message, fds[0]);
        return 1;
    }
    for (size_t i = 0; i < n_fds; i++)
        close(fds[i]);
    return 1;
}

static void on_door(evutil_socket_t fd, short what, void *userdata)
{
    (void)fd;
    (void)what;
    door_look(userdata);
}

void door_look(struct keeper *keeper)
{
    int r = keeper->door ? 1 : 0;
    for (int i = 0; i < AT_ONCE && r > 0; i++)
        r = take_one(keeper);
    if (r < 0) {
        event_free(keeper->door);
        keeper->door = NULL;
    }
}

int door_open(struct keeper *keeper, struct sc_err *err)
{
    int type = 0, fd = keeper->options->gate_fd;
    if (fd < 0)
        return 0;
    if (!is_unix(fd) || option(fd, SO_TYPE, &type) < 0 || type != SOCK_SEQPACKET)
        return sc_err_usage(err, "gate-fd",
                            "gate-fd: %d: must be one end of a pair of SOCK_SEQPACKET sockets", fd);
    int r = sc_set_nonblocking(fd);
    if (r < 0)
        return sc_err_sys(err, r, "gate-fd");
    keeper->door = event_new(keeper->base, fd, EV_READ | EV_PERSIST, on_door, keeper);
    if (!keeper->door || event_add(keeper->door, NULL) < 0)
        return sc_err_sys(err, -ENOMEM, "gate-fd");
    return 0;
}

void door_close(struct keeper *keeper)
{
    if (keeper->door)
        event_free(keeper->door);
    keeper->door = NULL;
}
