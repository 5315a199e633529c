/* A delegated transient scope from systemd, by sd-bus.
 *
 * libsystemd is opened only when a scope is really asked for: linked, it and the five libraries it brings
 * would cost every start of every program more than the cell does. */
#include "host/cgroup.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "host/systemd_config.h"

#if !HAVE_LIBSYSTEMD

int sc_scope_enter(uid_t uid, char *why, size_t why_size)
{
    (void)uid;
    snprintf(why, why_size, "built without libsystemd, so systemd cannot be asked for a scope");
    return -ENOSYS;
}

#else

#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"

#define BUS_FUNCTIONS(X)                                                                                     \
    X(sd_bus_new)                                                                                            \
    X(sd_bus_set_address)                                                                                    \
    X(sd_bus_set_bus_client)                                                                                 \
    X(sd_bus_start)                                                                                          \
    X(sd_bus_flush_close_unref)                                                                              \
    X(sd_bus_message_new_method_call)                                                                        \
    X(sd_bus_message_append)                                                                                 \
    X(sd_bus_message_read)                                                                                   \
    X(sd_bus_message_unref)                                                                                  \
    X(sd_bus_call)                                                                                           \
    X(sd_bus_match_signal)                                                                                   \
    X(sd_bus_process)                                                                                        \
    X(sd_bus_wait)                                                                                           \
    X(sd_bus_error_free)

struct bus_api {
#define X(name) __typeof__(&name) name;
    BUS_FUNCTIONS(X)
#undef X
};

struct job {
    const struct bus_api *api;
    char path[128];
    char result[32]; /* "" until it was removed */
};

#define SCOPE_TIMEOUT_NS (5 * SC_NS_PER_S)

static void *load_api(struct bus_api *api, char *why, size_t size)
{
    void *library = dlopen("libsystemd.so.0", RTLD_NOW | RTLD_LOCAL);
    bool whole = library != NULL;
    if (!library)
        snprintf(why, size, "systemd cannot be asked for a scope: %.90s", dlerror());
#define X(name)                                                                                              \
    if (whole && !(api->name = (__typeof__(&name))dlsym(library, #name))) {                                  \
        snprintf(why, size, "libsystemd.so.0 has no " #name);                                                \
        whole = false;                                                                                       \
    }
    BUS_FUNCTIONS(X)
#undef X
    if (library && !whole) {
        dlclose(library);
        library = NULL;
    }
    return library;
}

static int open_at(const struct bus_api *api, const char *socket, bool is_bus, sd_bus **ret_bus)
{
    char address[160];
    sd_bus *bus = NULL;
    if (access(socket, W_OK) < 0)
        return -errno;
    snprintf(address, sizeof address, "unix:path=%s", socket);
    int r = api->sd_bus_new(&bus);
    if (r >= 0)
        r = api->sd_bus_set_address(bus, address);
    if (r >= 0)
        r = api->sd_bus_set_bus_client(bus, is_bus);
    if (r >= 0)
        r = api->sd_bus_start(bus);
    if (r < 0) {
        api->sd_bus_flush_close_unref(bus);
        return r;
    }
    *ret_bus = bus;
    return 0;
}

/* The manager's own bus, then its private socket: a small system may have no bus daemon. The environment's
 * addresses are not asked: under su or cron they are somebody else's, or not there. */
static int open_manager(const struct bus_api *api, uid_t uid, sd_bus **ret_bus)
{
    char bus[80], private[80];
    if (uid == 0) {
        snprintf(bus, sizeof bus, "/run/dbus/system_bus_socket");
        snprintf(private, sizeof private, "/run/systemd/private");
    } else {
        snprintf(bus, sizeof bus, "/run/user/%u/bus", (unsigned)uid);
        snprintf(private, sizeof private, "/run/user/%u/systemd/private", (unsigned)uid);
    }
    int r = open_at(api, bus, true, ret_bus);
    return r < 0 ? open_at(api, private, false, ret_bus) : r;
}

static int job_removed(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
    struct job *job = userdata;
    uint32_t id;
    const char *path, *unit, *result;
    (void)error;
    if (job->api->sd_bus_message_read(message, "uoss", &id, &path, &unit, &result) < 0)
        return 0;
    /* Signals that overtook the answer were queued by sd_bus_call: the job has its name by now. */
    if (strcmp(job->path, path))
        return 0;
    snprintf(job->result, sizeof job->result, "%s", result);
    return 0;
}

static int ask(const struct bus_api *api, sd_bus *bus, const char *unit, struct job *job, char *why,
               size_t size)
{
    sd_bus_message *call = NULL, *answer = NULL;
    sd_bus_error error = SD_BUS_ERROR_NULL;
    const char *path = NULL;
    int r = api->sd_bus_message_new_method_call(bus, &call, "org.freedesktop.systemd1",
                                                "/org/freedesktop/systemd1",
                                                "org.freedesktop.systemd1.Manager", "StartTransientUnit");
    if (r >= 0)
        r = api->sd_bus_message_append(call, "ssa(sv)a(sa(sv))", unit, "fail", 4, "Description", "s",
                                       "Snapcell and its cells", "PIDs", "au", 1, (uint32_t)getpid(),
                                       "Delegate", "b", 1, "CollectMode", "s", "inactive-or-failed", 0);
    if (r >= 0)
        r = api->sd_bus_call(bus, call, SCOPE_TIMEOUT_NS / 1000, &error, &answer);
    if (r >= 0)
        r = api->sd_bus_message_read(answer, "o", &path);
    if (r >= 0)
        snprintf(job->path, sizeof job->path, "%s", path);
    else
        snprintf(why, size, "systemd refused a scope: %.110s", error.message ? error.message : strerror(-r));
    api->sd_bus_error_free(&error);
    api->sd_bus_message_unref(answer);
    api->sd_bus_message_unref(call);
    return r < 0 ? r : 0;
}

static int wait_for(const struct bus_api *api, sd_bus *bus, struct job *job, char *why, size_t size)
{
    uint64_t end = sc_now_ns() + SCOPE_TIMEOUT_NS;
    while (!job->result[0]) {
        int r = api->sd_bus_process(bus, NULL);
        uint64_t now = sc_now_ns();
        if (r == 0 && now >= end)
            r = -ETIMEDOUT;
        else if (r == 0)
            r = api->sd_bus_wait(bus, (end - now) / 1000 + 1);
        if (r < 0) {
            snprintf(why, size, "waiting for systemd's scope: %s", strerror(-r));
            return r;
        }
    }
    if (!strcmp(job->result, "done"))
        return 0;
    snprintf(why, size, "systemd's scope: job %.40s", job->result);
    return -EIO;
}

/* What counts is where the kernel says we are. */
static int verify(const char *unit, char *why, size_t size)
{
    struct sc_buf own;
    sc_buf_init(&own, 1 << 16);
    int r = sc_buf_read_file(&own, AT_FDCWD, "/proc/self/cgroup");
    if (r == 0 && (!own.data || !strstr((const char *)own.data, unit)))
        r = -ESRCH;
    sc_buf_fini(&own);
    if (r < 0)
        snprintf(why, size, "systemd made a scope but this process is not in it");
    return r;
}

static int start_scope(const struct bus_api *api, uid_t uid, char *why, size_t size)
{
    struct job job = {.api = api};
    sd_bus *bus = NULL;
    char unit[80];
    int r = open_manager(api, uid, &bus);
    if (r < 0) {
        snprintf(why, size, "the %s manager of systemd does not answer: %s", uid ? "user" : "system",
                 strerror(-r));
        return r;
    }
    snprintf(unit, sizeof unit, "snapcell-%d-%" PRIx64 ".scope", (int)getpid(), sc_now_ns());
    r = api->sd_bus_match_signal(bus, NULL, NULL, "/org/freedesktop/systemd1",
                                 "org.freedesktop.systemd1.Manager", "JobRemoved", job_removed, &job);
    if (r < 0)
        snprintf(why, size, "listening to systemd: %s", strerror(-r));
    else
        r = ask(api, bus, unit, &job, why, size);
    if (r >= 0)
        r = wait_for(api, bus, &job, why, size);
    if (r >= 0)
        r = verify(unit, why, size);
    api->sd_bus_flush_close_unref(bus);
    return r < 0 ? r : 0;
}

int sc_scope_enter(uid_t uid, char *why, size_t why_size)
{
    struct bus_api api;
    void *library = load_api(&api, why, why_size);
    if (!library)
        return -ENOENT;
    int r = start_scope(&api, uid, why, why_size);
    dlclose(library);
    return r;
}

#endif
