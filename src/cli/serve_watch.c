/* Theory of operation
 *
 * `snapcell serve` is three processes. This one is their supervisor: it holds the listeners and both ends of
 * the door between the other two, starts the keeper (which makes cells and parses no client's bytes) and the
 * gate (which parses them and has no right at all), and starts anew whichever of them dies. It reads nothing
 * but signals. A gate that is started anew finds the keeper at the same door, and the other way round.
 *
 * SIGHUP starts a new gate beside the old one, on the same listeners, and tells the old one to finish what it
 * has. SIGTERM and SIGINT tell the gate to finish, then end the keeper. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/sys.h"
#include "cli/options.h"
#include "cli/say.h"
#include "cli/serve.h"
#include "keeper/place.h"
#include "spec/spec.h"

#define GATES_MAX 4                       /* the present one, and old ones that finish */
#define PAUSE_MS 20                       /* while the keeper comes up */
#define AGAIN_NS SC_NS_PER_S              /* between two starts of a child that dies at once */
#define KEEPER_ENDS_NS (20 * SC_NS_PER_S) /* then it is killed */

struct gate_child {
    pid_t pid;  /* 0: none */
    int orders; /* the other end of its stdin */
    bool told;  /* to finish */
    uint64_t until_ns;
};

struct service {
    struct sc_serve_wants *wants;
    const struct sc_serve_listeners *listeners;
    sc_serve_reread *reread;
    const struct sc_cli_args *args;
    int signals, keeper_door, gate_door;
    pid_t keeper;
    uint64_t keeper_ns, gate_ns; /* of their last starts */
    struct gate_child gates[GATES_MAX];
    bool ending;
    uint64_t keeper_until_ns;
};

/* ---- children ---- */

#define KEPT_FD 3 /* of the keeper: the door */

/* In the child: descriptor 0 is `in`, KEPT_FD is `kept` (-1: none), and nothing else of ours stays but stdout
 * and stderr. */
static void become(const char *const *argv, int in, int kept)
{
    sigset_t none;
    sigemptyset(&none);
    bool moved = dup2(in, STDIN_FILENO) >= 0;
    if (kept == KEPT_FD)
        moved = moved && fcntl(kept, F_SETFD, 0) == 0; /* dup2 onto itself would leave it close-on-exec */
    else if (kept >= 0)
        moved = moved && dup2(kept, KEPT_FD) >= 0;
    if (!moved || sc_sys_close_range(KEPT_FD + (kept >= 0), ~0u, 0) < 0)
        _exit(SC_CLI_EXIT_FAILED);
    /* The supervisor's death is theirs: the gate sees its door shut, the keeper is told. */
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execv("/proc/self/exe", (char *const *)argv);
    sc_cli_say("serve: /proc/self/exe: %s", strerror(errno));
    _exit(SC_CLI_EXIT_FAILED);
}

static int start_keeper(struct service *service)
{
    const struct sc_serve_wants *wants = service->wants;
    const char *argv[10 + SC_SERVE_PASSED_MAX] = {"snapcell",    "keeper",    "--socket",
                                                  wants->socket, "--gate-fd", "3"};
    size_t n = 6;
    if (wants->state[0]) {
        argv[n++] = "--state";
        argv[n++] = wants->state;
    }
    for (size_t i = 0; i < wants->n_passed; i++)
        argv[n++] = wants->passed[i];
    service->keeper_ns = sc_now_ns();
    pid_t pid = fork();
    if (pid == 0)
        become(argv, STDIN_FILENO, service->keeper_door);
    if (pid < 0)
        return -errno;
    service->keeper = pid;
    return 0;
}

static json_t *degraded_names(uint32_t bits)
{
    json_t *names = json_array();
    for (unsigned bit = 0; SC_DEGRADE_NAMES[bit]; bit++)
        if (bits & (1u << bit))
            (void)json_array_append_new(names, json_string(SC_DEGRADE_NAMES[bit]));
    return names;
}

static json_t *setup_of(const struct service *service)
{
    const struct sc_serve_wants *wants = service->wants;
    json_t *tcp = json_array(), *hosts = json_array(), *debug = json_array();
    for (size_t i = 0; i < service->listeners->n; i++)
        (void)json_array_append_new(tcp, json_boolean(service->listeners->each[i].tcp));
    for (size_t i = 0; i < service->listeners->n; i++)
        (void)json_array_append_new(debug, json_boolean(service->listeners->each[i].e2b_debug));
    for (size_t i = 0; i < wants->n_hosts; i++)
        (void)json_array_append_new(hosts, json_string(wants->hosts[i]));
    return json_pack("{s:o, s:o, s:s, s:o, s:i, s:i, s:o}", "tcp", tcp, "debug", debug, "e2b_key",
                     wants->e2b_debug ? wants->key : "", "hosts", hosts, "become", (int)wants->gate_uid,
                     "clients", (int)wants->clients, "e2b_degraded", degraded_names(wants->e2b_degraded));
}

static int send_setup(const struct service *service, int orders)
{
    int fds[SC_GATE_LISTENERS_MAX + 1];
    json_t *setup = setup_of(service);
    char *text = sc_json_dump(setup, JSON_COMPACT);
    json_decref(setup);
    if (!text)
        return -ENOMEM;
    uint32_t len = (uint32_t)strlen(text);
    for (size_t i = 0; i < service->listeners->n; i++)
        fds[i] = service->listeners->each[i].fd;
    fds[service->listeners->n] = service->gate_door;
    ssize_t n = sc_send_fds(orders, &len, sizeof len, fds, service->listeners->n + 1);
    int r = n == sizeof len ? sc_write_all(orders, text, len) : n < 0 ? (int)n : -EIO;
    free(text);
    return r;
}

static int start_gate(struct service *service)
{
    static const char *const argv[] = {"snapcell", "gate", NULL};
    struct gate_child *place = service->gates;
    int orders[2];
    while (place < service->gates + GATES_MAX && place->pid)
        place++;
    if (place == service->gates + GATES_MAX)
        return -EBUSY;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, orders) < 0)
        return -errno;
    service->gate_ns = sc_now_ns();
    pid_t pid = fork();
    if (pid == 0)
        become(argv, orders[1], -1);
    int r = pid < 0 ? -errno : 0;
    close(orders[1]);
    if (r == 0)
        r = send_setup(service, orders[0]);
    if (pid > 0)
        *place = (struct gate_child){.pid = pid,
                                     .orders = orders[0]}; /* one without a set-up ends, and is seen to */
    else
        close(orders[0]);
    return r;
}

static void finish(struct service *service, struct gate_child *gate)
{
    if (!gate->pid || gate->told)
        return;
    gate->told = true;
    gate->until_ns = sc_now_ns() + service->wants->drain_ns;
    sc_close(&gate->orders); /* its end is the order */
}

static struct gate_child *present_gate(struct service *service)
{
    for (size_t i = 0; i < GATES_MAX; i++)
        if (service->gates[i].pid && !service->gates[i].told)
            return &service->gates[i];
    return NULL;
}

static bool any_gate(const struct service *service)
{
    for (size_t i = 0; i < GATES_MAX; i++)
        if (service->gates[i].pid)
            return true;
    return false;
}

/* ---- deaths ---- */

static void tell_death(const char *who, pid_t pid, int status)
{
    if (WIFSIGNALED(status))
        sc_cli_say("serve: the %s (pid %d) was ended by signal %d", who, pid, WTERMSIG(status));
    else
        sc_cli_say("serve: the %s (pid %d) ended with status %d", who, pid, WEXITSTATUS(status));
}

static void on_death(struct service *service, pid_t pid, int status)
{
    if (pid == service->keeper) {
        service->keeper = 0;
        if (!service->ending || status != 0)
            tell_death("keeper", pid, status);
        return;
    }
    for (size_t i = 0; i < GATES_MAX; i++) {
        struct gate_child *gate = &service->gates[i];
        if (pid != gate->pid)
            continue;
        if (!gate->told || status != 0)
            tell_death("gate", pid, status);
        sc_close(&gate->orders);
        *gate = (struct gate_child){.pid = 0, .orders = -1};
    }
}

static void reap(struct service *service)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        on_death(service, pid, status);
}

/* Starts what is missing; who died at once waits a moment. */
static void mend(struct service *service)
{
    uint64_t now = sc_now_ns();
    if (service->ending)
        return;
    if (!service->keeper && now - service->keeper_ns > AGAIN_NS && start_keeper(service) < 0)
        sc_cli_say("serve: the keeper cannot be started: %s", strerror(errno));
    if (!present_gate(service) && now - service->gate_ns > AGAIN_NS && start_gate(service) < 0)
        sc_cli_say("serve: the gate cannot be started");
}

static void end_late(struct service *service)
{
    uint64_t now = sc_now_ns();
    for (size_t i = 0; i < GATES_MAX; i++)
        if (service->gates[i].pid && service->gates[i].told && now > service->gates[i].until_ns)
            (void)kill(service->gates[i].pid, SIGKILL);
    if (!service->ending || any_gate(service) || !service->keeper)
        return;
    if (!service->keeper_until_ns) {
        service->keeper_until_ns = now + KEEPER_ENDS_NS;
        (void)kill(service->keeper, SIGTERM);
    } else if (now > service->keeper_until_ns) {
        (void)kill(service->keeper, SIGKILL);
    }
}

/* ---- the loop ---- */

static void on_signal(struct service *service)
{
    struct signalfd_siginfo info;
    if (read(service->signals, &info, sizeof info) != sizeof info)
        return;
    switch (info.ssi_signo) {
    case SIGCHLD:
        reap(service);
        return;
    case SIGHUP: {
        struct gate_child *old = present_gate(service);
        if (service->reread(service->args, service->wants) < 0)
            sc_cli_say("serve: the configuration stays as it was");
        else if (start_gate(service) == 0 && old)
            finish(service, old);
        return;
    }
    default:
        service->ending = true;
        for (size_t i = 0; i < GATES_MAX; i++)
            finish(service, &service->gates[i]);
    }
}

static void turn(struct service *service)
{
    struct pollfd signals = {.fd = service->signals, .events = POLLIN};
    bool busy = service->ending || !service->keeper || !present_gate(service);
    if (poll(&signals, 1, busy ? 100 : 1000) < 0)
        return;
    if (signals.revents)
        on_signal(service);
    mend(service);
    end_late(service);
}

/* The first keeper must come up: what it says goes to our stderr. */
static int await_keeper(struct service *service)
{
    struct sc_err err = {0};
    int sock = -1, status;
    while (sc_keeper_place_connect(service->wants->socket, &sock, &err) < 0) {
        if (waitpid(service->keeper, &status, WNOHANG) == service->keeper) {
            service->keeper = 0;
            return WIFEXITED(status) && WEXITSTATUS(status) ? WEXITSTATUS(status) : SC_CLI_EXIT_FAILED;
        }
        poll(NULL, 0, PAUSE_MS);
    }
    close(sock);
    return 0;
}

static void announce_key(const char *key)
{
    char e2b[SC_KEY_TEXT];
    sc_key_e2b(key, e2b);
    printf("e2b-key %s\nkey %s\n", e2b, key);
    explicit_bzero(e2b, sizeof e2b);
}

static void announce(const struct service *service)
{
    for (size_t i = 0; i < service->listeners->n; i++)
        printf("%s %s\n", service->listeners->each[i].e2b_debug ? "e2b-debug on" : "listening on",
               service->listeners->names[i]);
    if (service->wants->key[0])
        announce_key(service->wants->key);
    fflush(stdout);
}

int sc_serve_watch(struct sc_serve_wants *wants, const struct sc_serve_listeners *listeners,
                   sc_serve_reread *reread, const struct sc_cli_args *args)
{
    struct service service = {.wants = wants, .listeners = listeners, .reread = reread, .args = args};
    sigset_t mask;
    int door[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, door) < 0) {
        sc_cli_say("serve: door: %s", strerror(errno));
        return SC_CLI_EXIT_FAILED;
    }
    service.keeper_door = door[0];
    service.gate_door = door[1];
    for (size_t i = 0; i < GATES_MAX; i++)
        service.gates[i].orders = -1;
    sigemptyset(&mask);
    sigaddset(&mask, SIGTERM);
    sigaddset(&mask, SIGINT);
    sigaddset(&mask, SIGHUP);
    sigaddset(&mask, SIGCHLD);
    sigprocmask(SIG_BLOCK, &mask, NULL);
    service.signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    int r = service.signals < 0 ? -errno : start_keeper(&service);
    int status = r < 0 ? SC_CLI_EXIT_FAILED : await_keeper(&service);
    if (r < 0)
        sc_cli_say("serve: %s", strerror(-r));
    if (status == 0 && start_gate(&service) < 0) {
        sc_cli_say("serve: the gate cannot be started");
        service.ending = true;
        status = SC_CLI_EXIT_FAILED;
    }
    if (status == 0)
        announce(&service);
    while (service.keeper || any_gate(&service))
        turn(&service);
    sc_close(&service.signals);
    close(door[0]);
    close(door[1]);
    return status;
}
