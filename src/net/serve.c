/* The egress process: a program of its own, embedded into the library. egress.h tells how it works. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/json.h"
#include "net/egress.h"
#include "net/tls.h"

#define EVENTS_A_ROUND 128

int sc_egress_watch(struct sc_egress *egress, struct sc_source *source, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = source};
    return epoll_ctl(egress->epoll, EPOLL_CTL_ADD, source->fd, &event) < 0 ? -errno : 0;
}

__attribute__((noreturn)) static void fail(const char *step, int code)
{
    struct sc_net_note note = {.kind = SC_NET_NOTE_FAILED, .count = (uint64_t)-code};
    snprintf(note.reason, sizeof note.reason, "%s", step);
    (void)!send(SC_NET_SLOT_CONTROL, &note, sizeof note, MSG_NOSIGNAL);
    _exit(1);
}

/* The whole of a descriptor's file, from its beginning. */
static int read_rules(int fd, struct sc_net *ret_net)
{
    struct stat st;
    struct sc_net net = {0};
    json_t *value = NULL;
    json_error_t error;
    if (fstat(fd, &st) < 0 || st.st_size <= 0 || st.st_size > SC_NET_CONFIG_MAX)
        return -EINVAL;
    char *text = malloc((size_t)st.st_size);
    if (!text)
        return -ENOMEM;
    int r = pread(fd, text, (size_t)st.st_size, 0) == st.st_size ? 0 : -EIO;
    if (r == 0)
        r = sc_json_load(text, (size_t)st.st_size, JSON_REJECT_DUPLICATES, &value, &error);
    if (r == 0)
        r = sc_net_from_json(&net, value, "", NULL);
    json_decref(value);
    free(text);
    if (r < 0) {
        sc_net_fini(&net);
        return r;
    }
    sc_net_tighten(&net);
    *ret_net = net;
    return 0;
}

static int take_secret(int control, char **ret_secret)
{
    char message[1 + SC_NET_SECRET_MAX + 1];
    ssize_t n = recv(control, message, sizeof message, 0);
    if (n == 0)
        _exit(0); /* the owner is gone */
    if (n < 2 || n == sizeof message || message[0] != SC_NET_SECRET_HEAD)
        return n < 0 ? -errno : -EPROTO;
    message[n] = '\0';
    *ret_secret = strdup(message + 1);
    explicit_bzero(message, sizeof message);
    return *ret_secret ? 0 : -ENOMEM;
}

/* What the rules themselves withhold. */
static int take_secrets(int control, struct sc_net *net)
{
    int r = 0;
    for (struct sc_net *layer = net; layer; layer = layer->within)
        for (size_t i = 0; i < layer->n_rules && r == 0; i++)
            if (layer->rules[i].secret_field)
                r = take_secret(control, &layer->rules[i].secret);
    return r;
}

static void change(struct sc_egress *egress, int fd)
{
    struct sc_net net;
    const struct sc_net_note done = {.kind = SC_NET_NOTE_DONE};
    int r = read_rules(fd, &net);
    if (r == 0)
        r = take_secrets(egress->control.fd, &net);
    if (r < 0)
        fail("changed rules", r); /* with neither the old nor the new ones there is no going on */
    r = sc_relay_change(egress, &net);
    if (r < 0)
        fail("changed rules", r);
    (void)!send(egress->control.fd, &done, sizeof done, MSG_NOSIGNAL);
}

static void on_order(struct sc_egress *egress, struct sc_source *source, uint32_t events)
{
    uint8_t order = 0;
    int fd = -1;
    size_t n_fds = 1;
    (void)events;
    ssize_t n = sc_recv_fds(source->fd, &order, sizeof order, &fd, &n_fds);
    if (n <= 0)
        _exit(0); /* the owner is gone, and so is the cell */
    if (order == SC_NET_ORDER_REPORT)
        sc_records_report(egress);
    if (order == SC_NET_ORDER_CHANGE && n_fds == 1)
        change(egress, fd);
    if (n_fds)
        close(fd);
}

static int start(struct sc_egress *egress, const char **ret_step)
{
    *ret_step = "memory";
    egress->records = calloc(SC_RECORDS_MAX, sizeof *egress->records);
    egress->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (!egress->records || egress->epoll < 0)
        return -ENOMEM;
    *ret_step = "rules";
    int r = read_rules(SC_NET_SLOT_CONFIG, &egress->net);
    close(SC_NET_SLOT_CONFIG);
    if (r == 0)
        r = sc_budgets_renew(&egress->budgets, &egress->net);
    if (r < 0)
        return r;
    *ret_step = "TLS";
    r = sc_net_tls ? sc_net_tls->prepare() : 0;
    if (r < 0)
        return r;
    *ret_step = "resolver";
    r = sc_dial_init(egress);
    if (r < 0)
        return r;
    *ret_step = "name server";
    r = sc_name_server_start(egress);
    if (r == 0)
        r = sc_packets_start(egress);
    if (r == 0)
        r = sc_relay_start(egress);
    egress->control = (struct sc_source){SC_NET_SLOT_CONTROL, on_order};
    return r == 0 ? sc_egress_watch(egress, &egress->control, EPOLLIN) : r;
}

/* A listener that is ready, and no descriptor for who waits there, would keep us running for nothing. */
static size_t most_connections(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur < SC_NET_FDS_BESIDE + SC_NET_FDS_A_CONNECTION)
        return 1;
    return (size_t)(limit.rlim_cur - SC_NET_FDS_BESIDE) / SC_NET_FDS_A_CONNECTION;
}

static void serve(struct sc_egress *egress)
{
    for (;;) {
        struct epoll_event events[EVENTS_A_ROUND];
        int relay = sc_relay_round(egress), dial = sc_dial_round(egress);
        int wait = relay >= 0 && (dial < 0 || relay < dial) ? relay : dial;
        int n = epoll_wait(egress->epoll, events, EVENTS_A_ROUND, wait);
        for (int i = 0; i < n; i++) {
            struct sc_source *source = events[i].data.ptr;
            source->ready(egress, source, events[i].events);
        }
        if (n < 0 && errno != EINTR)
            fail("epoll", -errno);
    }
}

/* The owner lays the certificate into the cell while we go on. */
static int start_tls(void)
{
    struct sc_net_authority authority = {.kind = SC_NET_NOTE_AUTHORITY};
    int r = sc_net_tls->certify(authority.pem);
    if (r < 0)
        return r;
    ssize_t sent = send(SC_NET_SLOT_CONTROL, &authority, sizeof authority, MSG_NOSIGNAL);
    return sent == sizeof authority ? sc_net_tls->trust(SC_NET_SLOT_ROOTS) : -EPIPE;
}

int main(int argc, char **argv)
{
    static struct sc_egress egress;
    const struct sc_net_note ready = {.kind = SC_NET_NOTE_READY};
    const char *step = "";
    egress.connections_most = most_connections();
    bool landlock = !(argc > 1 && !strcmp(argv[1], SC_NET_NO_LANDLOCK));
    int r = start(&egress, &step);
    if (r == 0)
        r = sc_egress_seal(landlock, &step);
    /* Not before nobody can look into this process. */
    if (r == 0) {
        step = "credentials";
        r = take_secrets(SC_NET_SLOT_CONTROL, &egress.net);
    }
    if (r == 0 && sc_net_tls) {
        step = "certificates";
        r = start_tls();
    }
    if (r < 0)
        fail(step, r);
    if (send(SC_NET_SLOT_CONTROL, &ready, sizeof ready, MSG_NOSIGNAL) != sizeof ready)
        return 1;
    serve(&egress);
    return 0;
}
