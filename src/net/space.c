/* Inside a namespace that was just made: what the cell's packets meet. Allocates nothing: it runs in a helper
 * process whose memory is its maker's. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_log.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/fd.h"
#include "net/table.h"
#include "net/netlink.h"

#define LOOPBACK_INDEX 1 /* in every namespace */
#define BACKLOG 1024
#define LOG_COPY 64 /* bytes of a packet: both headers and the ports */

static int open_netlink(int protocol)
{
    const struct timeval patience = {.tv_sec = 10};
    int sock = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
    if (sock < 0)
        return -errno;
    if (setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0)
        return sock;
    int r = -errno;
    close(sock);
    return r;
}

/* Every address is one of ours. */
static int add_route(int sock, int family)
{
    struct {
        struct nlmsghdr head;
        struct rtmsg route;
        struct nlattr attr;
        uint32_t index;
    } message = {
        .head = {.nlmsg_len = sizeof message,
                 .nlmsg_type = RTM_NEWROUTE,
                 .nlmsg_flags = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_ACK,
                 .nlmsg_seq = 1},
        .route = {.rtm_family = (unsigned char)family,
                  .rtm_table = RT_TABLE_LOCAL,
                  .rtm_protocol = RTPROT_BOOT,
                  .rtm_scope = family == AF_INET ? RT_SCOPE_HOST : RT_SCOPE_UNIVERSE,
                  .rtm_type = RTN_LOCAL},
        .attr = {.nla_len = NLA_HDRLEN + sizeof(uint32_t), .nla_type = RTA_OIF},
        .index = LOOPBACK_INDEX,
    };
    return sc_nl_ask(sock, &message, sizeof message, 1);
}

static int add_routes(bool v6)
{
    int sock = open_netlink(NETLINK_ROUTE);
    if (sock < 0)
        return sock;
    int r = add_route(sock, AF_INET);
    if (r == 0 && v6)
        r = add_route(sock, AF_INET6);
    close(sock);
    return r;
}

/* The sequence number of the batch's last message but one, whose answer is waited for. */
static uint32_t last_asked(const void *batch, size_t len)
{
    uint32_t seq = 0;
    size_t left = len;
    for (const struct nlmsghdr *m = batch; NLMSG_OK(m, left); m = NLMSG_NEXT(m, left))
        if (m->nlmsg_flags & NLM_F_ACK)
            seq = m->nlmsg_seq;
    return seq;
}

int sc_net_space_change(const void *batch, size_t len)
{
    int sock = open_netlink(NETLINK_NETFILTER);
    if (sock < 0)
        return sock;
    int r = sc_nl_ask(sock, batch, len, last_asked(batch, len));
    close(sock);
    return r;
}

static int open_listener(int family, int type, uint16_t port)
{
    struct sockaddr_in v4 = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct sockaddr_in6 v6 = {
        .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    const int on = 1;
    int sock = socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (sock < 0)
        return -errno;
    if (family == AF_INET6)
        setsockopt(sock, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    const struct sockaddr *addr = family == AF_INET ? (struct sockaddr *)&v4 : (struct sockaddr *)&v6;
    if (bind(sock, addr, family == AF_INET ? sizeof v4 : sizeof v6) == 0 &&
        (type == SOCK_DGRAM || listen(sock, BACKLOG) == 0))
        return sock;
    int r = -errno;
    close(sock);
    return r;
}

static int open_listeners(int family, int *ret_fds)
{
    const struct {
        int type;
        uint16_t port;
    } wanted[] = {
        {SOCK_STREAM, SC_NET_PORT_TCP}, {SOCK_DGRAM, SC_NET_PORT_DNS}, {SOCK_STREAM, SC_NET_PORT_DNS}};
    for (size_t i = 0; i < 3; i++) {
        ret_fds[i] = open_listener(family, wanted[i].type, wanted[i].port);
        if (ret_fds[i] < 0)
            return ret_fds[i];
    }
    return 0;
}

static int bind_log(int sock)
{
    struct {
        struct nlmsghdr head;
        struct nfgenmsg group;
        struct nlattr bind_attr;
        struct nfulnl_msg_config_cmd bind;
        uint8_t pad[3];
        struct nlattr mode_attr;
        struct nfulnl_msg_config_mode mode;
        uint8_t pad2[2];
        struct nlattr threshold_attr;
        uint32_t threshold;
    } message = {
        .head = {.nlmsg_len = sizeof message,
                 .nlmsg_type = NFNL_SUBSYS_ULOG << 8 | NFULNL_MSG_CONFIG,
                 .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK,
                 .nlmsg_seq = 1},
        .group = {.version = NFNETLINK_V0, .res_id = htons(SC_NET_LOG_GROUP)},
        .bind_attr = {NLA_HDRLEN + sizeof message.bind, NFULA_CFG_CMD},
        .bind = {.command = NFULNL_CFG_CMD_BIND},
        .mode_attr = {NLA_HDRLEN + sizeof message.mode, NFULA_CFG_MODE},
        .mode = {.copy_range = htonl(LOG_COPY), .copy_mode = NFULNL_COPY_PACKET},
        .threshold_attr = {NLA_HDRLEN + sizeof message.threshold, NFULA_CFG_QTHRESH},
        .threshold = htonl(1),
    };
    return sc_nl_ask(sock, &message, sizeof message, 1);
}

static int open_log(int *ret_fd)
{
    int sock = open_netlink(NETLINK_NETFILTER);
    if (sock < 0)
        return sock;
    int r = bind_log(sock);
    if (r == 0)
        r = sc_set_nonblocking(sock);
    if (r < 0)
        close(sock);
    else
        *ret_fd = sock;
    return r;
}

/* Where the kernel has no v6 there is nothing to answer for. */
static int no_v6(int *ret_fds)
{
    for (int i = 0; i < 3; i++) {
        ret_fds[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (ret_fds[i] < 0)
            return -errno;
    }
    return 0;
}

int sc_net_space_make(const void *batch, size_t len, int ret_fds[SC_NET_FD_COUNT], const char **ret_step)
{
    *ret_step = "listeners";
    int r = open_listeners(AF_INET, ret_fds + SC_NET_FD_TCP4);
    if (r < 0)
        return r;
    int v6 = open_listeners(AF_INET6, ret_fds + SC_NET_FD_TCP6);
    bool has_v6 = v6 == 0;
    if (v6 == -EAFNOSUPPORT || v6 == -EADDRNOTAVAIL)
        v6 = no_v6(ret_fds + SC_NET_FD_TCP6);
    if (v6 < 0)
        return v6;
    *ret_step = "records of refused packets (nfnetlink_log)";
    r = open_log(&ret_fds[SC_NET_FD_LOG]);
    if (r < 0)
        return r;
    *ret_step = "table (nf_tables with nat, redirect, reject, log, limit)";
    r = sc_net_space_change(batch, len);
    if (r < 0)
        return r;
    *ret_step = "routes";
    return add_routes(has_v6);
}
