/* The cell's own network namespace, told to the kernel: it answers for every address, and hands what leaves
 * to the egress process's listeners. Messages are made ahead; sending them allocates nothing. */
#ifndef SC_NET_TABLE_H
#define SC_NET_TABLE_H

#include <stddef.h>

#include "base/buf.h"
#include "spec/network.h"

/* Ports on the namespace's own loopback. Programs cannot have them. */
#define SC_NET_PORT_TCP 64999
#define SC_NET_PORT_DNS 64953
#define SC_NET_LOG_GROUP 7 /* where refused packets are told of */

/* Stand-ins for names: benchmark ranges, which nobody routes. */
#define SC_NET_STANDIN_V4                                                                                    \
    {                                                                                                        \
        198, 18, 0, 0                                                                                        \
    }
#define SC_NET_STANDIN_V4_BITS 15
#define SC_NET_STANDIN_V6                                                                                    \
    {                                                                                                        \
        0x20, 0x01, 0, 0x02                                                                                  \
    }
#define SC_NET_STANDIN_V6_BITS 48

/* What the egress process is handed from inside the namespace. */
enum sc_net_fd {
    SC_NET_FD_TCP4,
    SC_NET_FD_DNS4, /* UDP */
    SC_NET_FD_DNS4_TCP,
    SC_NET_FD_LOG, /* netlink */
    SC_NET_FD_TCP6,
    SC_NET_FD_DNS6,
    SC_NET_FD_DNS6_TCP,
    SC_NET_FD_COUNT
};

/* The batch of netfilter messages for these rules, as it goes into one send. 0, -ENOMEM, -EMSGSIZE. */
int sc_net_table_build(const struct sc_net *net, struct sc_buf *ret_batch);

/* In a process that has just made the namespace and may configure it: routes, table, listeners. Fills ret_fds
 * with descriptors, /dev/null in place of those of v6 where the kernel has none. 0 or negative errno, with
 * *ret_step saying at what. */
int sc_net_space_make(const void *batch, size_t len, int ret_fds[SC_NET_FD_COUNT], const char **ret_step);
/* The same table with other rules, from a process that has joined the namespace. */
int sc_net_space_change(const void *batch, size_t len);

#endif
