#include "cell/egress.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/sys.h"
#include "cell/maker.h"
#include "cell/space.h"

#define READY_PATIENCE_NS (30 * SC_NS_PER_S)
#define ANSWER_PATIENCE_NS (1 * SC_NS_PER_S)

extern const unsigned char sc_egress_image[];
extern const size_t sc_egress_image_len;
extern const unsigned char sc_egress_tls_image[];
extern const size_t sc_egress_tls_image_len;

#define TOO_MANY_RULES                                                                                       \
    "network: more rules about addresses and ports than fit one table of the kernel's: allowed are about "   \
    "400 ranges of ports"

/* The rules in sealed memory. Descriptor or negative errno. */
static int config_of(const struct sc_net *net)
{
    json_t *value = sc_net_to_json(net, false);
    char *text = value ? sc_json_dump(value, JSON_COMPACT) : NULL;
    json_decref(value);
    if (!text)
        return -ENOMEM;
    int fd =
        strlen(text) <= SC_NET_CONFIG_MAX ? sc_memfd_sealed("snapcell-rules", text, strlen(text)) : -EMSGSIZE;
    free(text);
    return fd;
}

static void free_secrets(char **secrets, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        explicit_bzero(secrets[i], strlen(secrets[i]));
        free(secrets[i]);
    }
    free(secrets);
}

/* Their number, or negative errno with err set. */
static int secrets_of(const struct sc_net *net, char ***ret_secrets, struct sc_err *err)
{
    char **secrets = calloc(SC_NET_SECRETS_MAX, sizeof *secrets);
    size_t n = 0;
    int r = secrets ? 0 : sc_err_sys(err, -ENOMEM, "credentials");
    for (const struct sc_net *layer = net; layer && r == 0; layer = layer->within) {
        for (size_t i = 0; i < layer->n_rules && r == 0; i++) {
            const struct sc_net_rule *rule = &layer->rules[i];
            if (!rule->secret_field)
                continue;
            if (!rule->secret)
                r = sc_err_usage(err, "network",
                                 "network: %s: its credential was withheld: allowed with its value",
                                 rule->text);
            else if (n == SC_NET_SECRETS_MAX)
                r = sc_err_usage(err, "network", "network: more than the %d credentials allowed",
                                 SC_NET_SECRETS_MAX);
            else if (!(secrets[n] = strdup(rule->secret)))
                r = sc_err_sys(err, -ENOMEM, "credentials");
            else
                n++;
        }
    }
    if (r < 0) {
        free_secrets(secrets, n);
        return r;
    }
    *ret_secrets = secrets;
    return (int)n;
}

/* A message each; they fit the socket's room. */
static int send_secrets(int control, const struct sc_egress_kit *kit)
{
    char message[1 + SC_NET_SECRET_MAX] = {SC_NET_SECRET_HEAD};
    int r = 0;
    for (size_t i = 0; i < kit->n_secrets && r == 0; i++) {
        size_t len = strlen(kit->secrets[i]);
        memcpy(message + 1, kit->secrets[i], len);
        if (send(control, message, 1 + len, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
            r = -errno;
    }
    explicit_bzero(message, sizeof message);
    return r;
}

int sc_egress_kit_set(struct sc_egress_kit *kit, const struct sc_net *net, struct sc_err *err)
{
    struct sc_buf table;
    char **secrets = NULL;
    int n_secrets = secrets_of(net, &secrets, err);
    if (n_secrets < 0)
        return n_secrets;
    int r = sc_net_table_build(net, &table);
    if (r == -EMSGSIZE) {
        free_secrets(secrets, (size_t)n_secrets);
        return sc_err_usage(err, "network", TOO_MANY_RULES);
    }
    int config = r == 0 ? config_of(net) : r;
    if (config < 0) {
        free_secrets(secrets, (size_t)n_secrets);
        sc_buf_fini(&table);
        return sc_err_sys(err, config, "rules of the network");
    }
    sc_close(&kit->config);
    sc_buf_fini(&kit->table);
    kit->config = config;
    kit->table = table;
    free_secrets(kit->secrets, kit->n_secrets);
    kit->secrets = secrets;
    kit->n_secrets = (size_t)n_secrets;
    return 0;
}

int sc_egress_kit_open(const struct sc_plan *plan, struct sc_egress_kit *ret_kit, struct sc_err *err)
{
    *ret_kit = SC_EGRESS_KIT_NONE;
    if (plan->spec->net.mode == SC_NET_NONE)
        return 0;
    int r = sc_egress_kit_set(ret_kit, &plan->spec->net, err);
    if (r < 0)
        return r;
    r = plan->own_authority ? sc_trust_open(&ret_kit->trust, err) : 0;
    if (r < 0) {
        sc_egress_kit_close(ret_kit);
        return r;
    }
    ret_kit->image = plan->own_authority
                         ? sc_memfd_sealed("snapcell-egress", sc_egress_tls_image, sc_egress_tls_image_len)
                         : sc_memfd_sealed("snapcell-egress", sc_egress_image, sc_egress_image_len);
    if (ret_kit->image >= 0)
        return 0;
    r = ret_kit->image;
    sc_egress_kit_close(ret_kit);
    return sc_err_sys(err, r, "the egress process's image");
}

void sc_egress_kit_close(struct sc_egress_kit *kit)
{
    sc_close(&kit->image);
    sc_close(&kit->config);
    sc_buf_fini(&kit->table);
    sc_trust_close(&kit->trust);
    free_secrets(kit->secrets, kit->n_secrets);
    kit->secrets = NULL;
    kit->n_secrets = 0;
}

/* ---- its start ---- */

struct child {
    int slots[SC_NET_SLOT_END];
    int image;
    bool as_root, landlock;
    uid_t uid;
};

/* In the child: descriptors to their places, by way of numbers above all of them. */
static bool arrange(struct child *child)
{
    for (int i = 0; i < SC_NET_SLOT_END; i++) {
        child->slots[i] = fcntl(child->slots[i], F_DUPFD, 2 * SC_NET_SLOT_END);
        if (child->slots[i] < 0)
            return false;
    }
    child->image = fcntl(child->image, F_DUPFD_CLOEXEC, 2 * SC_NET_SLOT_END);
    for (int i = 0; i < SC_NET_SLOT_END; i++)
        if (dup2(child->slots[i], i) < 0)
            return false;
    /* Its own image is what exec needs last, and closes. */
    int image = dup3(child->image, SC_NET_SLOT_END, O_CLOEXEC);
    child->image = image;
    return image >= 0 && sc_sys_close_range(SC_NET_SLOT_END + 1, ~0u, 0) == 0;
}

static bool drop_ids(const struct child *child)
{
    return !child->as_root || (syscall(SYS_setgroups, 0, NULL) == 0 &&
                               syscall(SYS_setresgid, child->uid, child->uid, child->uid) == 0 &&
                               syscall(SYS_setresuid, child->uid, child->uid, child->uid) == 0);
}

/* No memory of the caller's comes along, nor any of its descriptors: exec, and a list of those that stay. */
__attribute__((noreturn)) static void become(struct child *child)
{
    char name[] = "snapcell-egress", no_landlock[] = SC_NET_NO_LANDLOCK;
    char *const argv[] = {name, child->landlock ? NULL : no_landlock, NULL};
    char *const env[] = {NULL};
    sigset_t none;
    struct sigaction standard = {.sa_handler = SIG_DFL};
    for (int number = 1; number < _NSIG; number++)
        sigaction(number, &standard, NULL);
    if (arrange(child) && drop_ids(child) && chdir("/") == 0) {
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        syscall(SYS_execveat, child->image, "", argv, env, AT_EMPTY_PATH);
    }
    _exit(127);
}

static pid_t spawn(struct child *child)
{
    pid_t pid = sc_maker_fork();
    if (pid == 0)
        become(child);
    return pid;
}

int sc_egress_start(const struct sc_plan *plan, const struct sc_egress_kit *kit, int net_fds[SC_NET_FD_COUNT],
                    struct sc_egress *ret_egress, struct sc_err *err)
{
    struct sc_egress egress = SC_EGRESS_NONE;
    struct child child = {
        .image = kit->image, .as_root = !plan->rootless, .landlock = plan->landlock_handled_fs != 0};
    bool told = false;
    int ends[2] = {-1, -1}, null = open("/dev/null", O_RDWR | O_CLOEXEC), r = null < 0 ? -errno : 0;
    uint32_t uid = 0;
    if (r == 0 && child.as_root) {
        egress.id_lock = sc_ids_take(plan->host, 1, &uid, err);
        told = egress.id_lock < 0;
        r = told ? egress.id_lock : 0;
        child.uid = uid;
    }
    if (r == 0 && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        r = -errno;
    child.slots[0] = child.slots[1] = child.slots[2] = null;
    child.slots[SC_NET_SLOT_CONTROL] = ends[1];
    child.slots[SC_NET_SLOT_CONFIG] = kit->config;
    child.slots[SC_NET_SLOT_ROOTS] = kit->trust.roots >= 0 ? kit->trust.roots : null;
    for (int i = 0; i < SC_NET_FD_COUNT; i++)
        child.slots[SC_NET_SLOT_FIRST + i] = net_fds[i];
    if (r == 0) {
        egress.pid = spawn(&child);
        r = egress.pid < 0 ? egress.pid : 0;
        /* Not yet waited for, so the number is still its own. Without one it ends with its stream. */
        egress.pidfd = r == 0 ? sc_sys_pidfd_open(egress.pid) : -1;
    }
    if (r == 0)
        r = send_secrets(ends[0], kit);
    egress.control = ends[0];
    sc_close(&ends[1]);
    sc_close(&null);
    for (int i = 0; i < SC_NET_FD_COUNT; i++)
        sc_close(&net_fds[i]);
    if (r < 0) {
        if (egress.pid < 0)
            egress.pid = 0;
        sc_egress_end(&egress);
        return told ? r : sc_err_sys(err, r, "starting the egress process");
    }
    *ret_egress = egress;
    return 0;
}

void sc_egress_end(struct sc_egress *egress)
{
    sc_close(&egress->control);
    if (egress->pid > 0) {
        /* By descriptor: where the caller waits for any child, the number may be another's by now. */
        if (egress->pidfd >= 0)
            sc_sys_pidfd_kill(egress->pidfd, SIGKILL);
        while (waitpid(egress->pid, NULL, __WALL) < 0 && errno == EINTR)
            ;
    }
    sc_close(&egress->pidfd);
    egress->pid = 0;
    egress->ready = false;
    free(egress->authority);
    egress->authority = NULL;
    sc_close(&egress->id_lock);
}

/* ---- what it says ---- */

/* Once, and what looks like one certificate: it goes into files that programs read. */
static int keep_authority(struct sc_egress *egress, struct sc_net_authority *told, size_t len)
{
    static const char head[] = "-----BEGIN CERTIFICATE-----\n";
    if (egress->authority || len != sizeof *told)
        return -EPROTO;
    told->pem[sizeof told->pem - 1] = '\0';
    if (strncmp(told->pem, head, sizeof head - 1) != 0 || strstr(told->pem + 1, head))
        return -EPROTO;
    for (const char *at = told->pem; *at; at++)
        if (*at != '\n' && (*at < ' ' || *at >= 0x7f))
            return -EPROTO;
    egress->authority = strdup(told->pem);
    return egress->authority ? 0 : -ENOMEM;
}

union heard {
    struct sc_net_note note;
    struct sc_net_authority authority;
};

static int take_heard(struct sc_egress *egress, union heard *heard, size_t len)
{
    if (heard->note.kind == SC_NET_NOTE_AUTHORITY)
        return keep_authority(egress, &heard->authority, len);
    if (len != sizeof heard->note)
        return -EPROTO;
    struct sc_net_note *note = &heard->note;
    note->name[sizeof note->name - 1] = note->address[sizeof note->address - 1] = '\0';
    note->rule[sizeof note->rule - 1] = note->reason[sizeof note->reason - 1] = '\0';
    return 0;
}

/* 1: a message; 0: none until `until_ns`; negative errno: it is gone, or talks nonsense. */
static int hear(struct sc_egress *egress, uint64_t until_ns, union heard *ret_heard)
{
    struct pollfd poll_fd = {egress->control, POLLIN, 0};
    for (;;) {
        uint64_t now = sc_now_ns();
        int wait_ms = until_ns > now ? (int)((until_ns - now) / SC_NS_PER_MS) + 1 : 0;
        int n = poll(&poll_fd, 1, wait_ms);
        if (n == 0)
            return 0;
        if (n < 0 && errno == EINTR)
            continue;
        ssize_t got =
            n < 0 ? -1 : recv(egress->control, ret_heard, sizeof *ret_heard, MSG_DONTWAIT | MSG_TRUNC);
        if (got <= 0)
            return got == 0 ? -EPIPE : -errno;
        int r = take_heard(egress, ret_heard, (size_t)got);
        return r < 0 ? r : 1;
    }
}

/* As hear, past its word of the authority. */
static int next_note(struct sc_egress *egress, uint64_t until_ns, struct sc_net_note *ret_note)
{
    union heard heard;
    int r;
    do
        r = hear(egress, until_ns, &heard);
    while (r == 1 && heard.note.kind == SC_NET_NOTE_AUTHORITY);
    if (r == 1)
        *ret_note = heard.note;
    return r;
}

static int not_started(int r, const struct sc_net_note *note, struct sc_err *err)
{
    if (r == 1 && note->kind == SC_NET_NOTE_FAILED && note->count > 0 && note->count < 4096)
        return sc_err_sys(err, -(int)note->count, "the egress process: %s", note->reason);
    return sc_err_set(err, SC_ERR_SANDBOX, r < 0 ? r : -ETIMEDOUT, "the egress process did not start");
}

int sc_egress_await_authority(struct sc_egress *egress, struct sc_err *err)
{
    union heard heard;
    int r = egress->authority ? 1 : hear(egress, sc_now_ns() + READY_PATIENCE_NS, &heard);
    return egress->authority ? 0 : not_started(r, &heard.note, err);
}

int sc_egress_await(struct sc_egress *egress, struct sc_err *err)
{
    struct sc_net_note note;
    if (egress->pid == 0 || egress->ready)
        return 0;
    int r = next_note(egress, sc_now_ns() + READY_PATIENCE_NS, &note);
    if (r != 1 || note.kind != SC_NET_NOTE_READY)
        return not_started(r, &note, err);
    egress->ready = true;
    return 0;
}

static const char *protocol_name(uint8_t protocol)
{
    return protocol == IPPROTO_UDP                                  ? "/udp"
           : protocol == IPPROTO_ICMP || protocol == IPPROTO_ICMPV6 ? "/icmp"
                                                                    : "";
}

static void note_denied(const struct sc_net_note *note, sc_egress_denied *denied, void *userdata)
{
    char resource[96], hint[160], port[8] = "";
    const char *action = note->what == SC_NET_WHAT_NAME ? "resolve" : "connect";
    if (note->what == SC_NET_WHAT_PACKET && note->protocol != IPPROTO_TCP)
        action = "send";
    if (note->port)
        snprintf(port, sizeof port, ":%u", note->port);
    snprintf(resource, sizeof resource, "%.75s%s%s", *note->name ? note->name : note->address, port,
             note->what == SC_NET_WHAT_PACKET ? protocol_name(note->protocol) : "");
    snprintf(hint, sizeof hint, "%s%s", note->reason,
             note->what == SC_NET_WHAT_CONNECT ? "; the program saw its connection reset" : "");
    if (denied)
        denied(userdata, action, resource, note->rule, hint, note->count);
}

bool sc_egress_listen(struct sc_egress *egress, sc_egress_denied *denied, void *userdata)
{
    struct sc_net_note note;
    int r = 1;
    while (egress->control >= 0 && (r = next_note(egress, 0, &note)) > 0) {
        if (note.kind == SC_NET_NOTE_DENIED)
            note_denied(&note, denied, userdata);
        egress->ready = egress->ready || note.kind == SC_NET_NOTE_READY;
        if (note.kind == SC_NET_NOTE_FAILED)
            snprintf(egress->failed, sizeof egress->failed, "the egress process: %s: %s", note.reason,
                     strerror((int)(note.count & 4095)));
    }
    if (egress->control >= 0 && r < 0)
        sc_close(&egress->control);
    return egress->control >= 0;
}

static int keep_record(struct sc_result *result, const struct sc_net_note *note)
{
    static const char *const whats[] = {
        [SC_NET_WHAT_NAME] = "name", [SC_NET_WHAT_CONNECT] = "connection", [SC_NET_WHAT_PACKET] = "packet"};
    if (note->what < SC_NET_WHAT_NAME || note->what > SC_NET_WHAT_PACKET)
        return -EPROTO;
    struct sc_network_record record = {.what = whats[note->what],
                                       .allowed = note->allow,
                                       .protocol =
                                           note->what == SC_NET_WHAT_PACKET ? note->protocol : IPPROTO_TCP,
                                       .port = note->port,
                                       .count = note->count,
                                       .bytes_out = note->bytes_out,
                                       .bytes_in = note->bytes_in};
    memcpy(record.name, note->name, sizeof record.name);
    memcpy(record.address, note->address, sizeof record.address);
    memcpy(record.rule, note->rule, sizeof record.rule);
    memcpy(record.reason, note->reason, sizeof record.reason);
    return sc_result_add_network(result, &record);
}

void sc_egress_report(struct sc_egress *egress, struct sc_result *result, sc_egress_denied *denied,
                      void *userdata)
{
    const uint8_t order = SC_NET_ORDER_REPORT;
    uint64_t until_ns = sc_now_ns() + ANSWER_PATIENCE_NS;
    struct sc_net_note note;
    if (egress->pid == 0)
        return;
    result->has_network = true;
    result->n_network = 0;
    int r = egress->control < 0 ? -EPIPE : 0;
    if (r == 0 && send(egress->control, &order, sizeof order, MSG_NOSIGNAL) != sizeof order)
        r = -errno;
    while (r >= 0 && (r = next_note(egress, until_ns, &note)) > 0) {
        if (note.kind == SC_NET_NOTE_DENIED)
            note_denied(&note, denied, userdata);
        else if (note.kind == SC_NET_NOTE_RECORD)
            r = keep_record(result, &note);
        else if (note.kind == SC_NET_NOTE_DONE)
            break;
    }
    if (r > 0 && note.count && denied)
        denied(userdata, "more", "refusals of other kinds", "at most 512 kinds are recorded", "", note.count);
    if (r > 0)
        return;
    /* Gone, broken or silent: the cell has no network any more, and its records are not whole. */
    sc_egress_end(egress);
    if (denied)
        denied(userdata, "egress", "the egress process", "snapcell",
               "it ended early: there was no network from then on, and the records are not whole", 1);
}

/* ---- other rules ---- */

static int change_process(struct sc_egress *egress, const struct sc_egress_kit *kit, sc_egress_denied *denied,
                          void *userdata)
{
    const uint8_t order = SC_NET_ORDER_CHANGE;
    uint64_t until_ns = sc_now_ns() + ANSWER_PATIENCE_NS;
    struct sc_net_note note;
    ssize_t n = sc_send_fds(egress->control, &order, sizeof order, &kit->config, 1);
    int r = n < 0 ? (int)n : send_secrets(egress->control, kit) < 0 ? -EIO : 1;
    while (r > 0 && (r = next_note(egress, until_ns, &note)) > 0) {
        if (note.kind == SC_NET_NOTE_DONE)
            return 0;
        if (note.kind == SC_NET_NOTE_DENIED)
            note_denied(&note, denied, userdata);
        egress->ready = egress->ready || note.kind == SC_NET_NOTE_READY;
    }
    return r < 0 ? r : -ETIMEDOUT;
}

struct table_order {
    int net_ns, owner_ns;
    const struct sc_buf *table;
};

/* A helper that joins the cell's namespace and has every right over it. */
static void change_table(int socket, void *data)
{
    const struct table_order *order = data;
    if (order->owner_ns >= 0 && setns(order->owner_ns, CLONE_NEWUSER) < 0)
        sc_maker_fail(socket, "user namespace", "owner", -errno);
    if (setns(order->net_ns, CLONE_NEWNET) < 0)
        sc_maker_fail(socket, "network namespace", "", -errno);
    int r = sc_net_space_change(order->table->data, order->table->len);
    if (r < 0)
        sc_maker_fail(socket, "network rules", "table", r);
    sc_maker_send(socket, NULL, 0);
}

static int change_namespace(struct table_order *order, struct sc_err *err)
{
    struct sc_maker maker = {0};
    int r = sc_maker_start(&maker, change_table, order, err);
    if (r == 0)
        r = sc_maker_take(&maker, NULL, 0, err);
    sc_maker_end(&maker);
    return r;
}

/* The process decides, so it comes first: the table only makes refusals quick. */
int sc_egress_change(struct sc_egress *egress, const struct sc_egress_kit *kit, int net_ns, int owner_ns,
                     sc_egress_denied *denied, void *userdata, struct sc_err *err)
{
    struct table_order order = {.net_ns = net_ns, .owner_ns = owner_ns, .table = &kit->table};
    int r = change_process(egress, kit, denied, userdata);
    if (r < 0)
        sc_err_sys(err, r, "telling the egress process other rules");
    else
        r = change_namespace(&order, err);
    if (r < 0)
        sc_egress_end(egress);
    return r;
}
