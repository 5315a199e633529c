/* What a single run costs through a keeper, in a cell that waited and in one made for it, beside a bare
 * `bash -c :` of the same moment.
 *
 *     warm SOCKET ROUNDS      prints   sample <group> <way> <ns>
 *
 * Groups are language and mood of the machine: `hot` when bare shells were started right before, without a
 * pause, `idle` after 20 ms in which nothing was done. Ways: bare-bash (start to end), warm-byte and
 * cold-byte (request sent to first byte of output), warm and cold (to the reply). Between two samples there
 * is time for the keeper to make the next cell, which is neither measured nor hidden: docs/warm-cells.md
 * tells what it costs. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "keeper/client.h"

#define REFILL_NS (150 * SC_NS_PER_MS) /* an interpreter is ready by then */
#define IDLE_NS (20 * SC_NS_PER_MS)
#define PRIMING_MAX 100

extern char **environ;

static const struct language {
    const char *name, *code;
} LANGUAGES[] = {{"python", "print(1)"}, {"node", "console.log(1)"}, {"bash", "echo 1"}};

struct taken {
    uint64_t first_ns, end_ns;
    bool warm;
};

__attribute__((noreturn)) static void fail(const char *what, const char *why)
{
    fprintf(stderr, "warm: %s: %s\n", what, why);
    exit(1);
}

static void sample(const char *language, const char *mood, const char *way, uint64_t ns)
{
    printf("sample\t%s-%s\t%s\t%" PRIu64 "\n", language, mood, way, ns);
}

static void pass(uint64_t ns)
{
    const struct timespec pause = {.tv_sec = (time_t)(ns / SC_NS_PER_S), .tv_nsec = (long)(ns % SC_NS_PER_S)};
    nanosleep(&pause, NULL);
}

static uint64_t bare_bash(void)
{
    const char *argv[] = {"/bin/bash", "-c", ":", NULL};
    pid_t pid;
    uint64_t begin = sc_now_ns();
    int r = posix_spawn(&pid, argv[0], NULL, NULL, (char **)argv, environ);
    if (r)
        fail(argv[0], strerror(r));
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return sc_now_ns() - begin;
}

static int take_output(void *output_data, enum sc_keeper_stream stream, const void *data, size_t len)
{
    uint64_t *first_ns = output_data;
    (void)data;
    if (stream == SC_KEEPER_STDOUT && len > 0 && !*first_ns)
        *first_ns = sc_now_ns();
    return 0;
}

static json_t *spec_of(const struct language *language, bool warm)
{
    const char *degraded = getenv("SNAPCELL_TEST_DEGRADED"), *parent = getenv("SNAPCELL_CGROUP_PARENT");
    json_t *spec = json_pack("{s:s, s:s, s:s, s:s*}", "language", language->name, "mode", "rich", "code",
                             language->code, "cgroup_parent", parent);
    if (degraded && *degraded)
        fail("host", "these figures are of a host that can do all");
    if (!warm) /* read by interpreters at their start */
        json_object_set_new(spec, "env", json_pack("{s:s}", "OMP_NUM_THREADS", "2"));
    return spec;
}

static struct taken once(struct sc_keeper_client *client, const struct language *language, bool warm)
{
    struct taken taken = {0};
    const struct sc_keeper_exchange exchange = {.output = take_output, .output_data = &taken.first_ns};
    struct sc_err err = {0};
    json_t *reply = NULL,
           *request = json_pack("{s:s, s:o}", "request", "once", "spec", spec_of(language, warm));
    uint64_t begin = sc_now_ns();
    if (sc_keeper_ask(client, request, &exchange, &reply, &err) < 0)
        fail("keeper", err.message);
    taken.end_ns = sc_now_ns() - begin;
    taken.first_ns -= begin;
    const char *kind = json_string_value(json_object_get(json_object_get(reply, "start"), "kind"));
    const char *status = json_string_value(json_object_get(reply, "status"));
    if (!kind || !status || strcmp(status, "ok") != 0)
        fail(language->name, status ? status : "no status");
    taken.warm = !strcmp(kind, "warm");
    json_decref(reply);
    return taken;
}

static void settle(bool hot)
{
    uint64_t until = sc_now_ns() + REFILL_NS;
    while (hot && sc_now_ns() < until)
        bare_bash();
    if (!hot)
        pass(REFILL_NS + IDLE_NS);
}

static void measure(struct sc_keeper_client *client, const struct language *language, bool hot,
                    unsigned rounds)
{
    const char *mood = hot ? "hot" : "idle";
    for (unsigned i = 0; !once(client, language, true).warm; i++) {
        if (i == PRIMING_MAX)
            fail(language->name, "no cell was ever there ahead");
        pass(REFILL_NS);
    }
    for (unsigned round = 0; round < rounds; round++) {
        settle(hot);
        sample(language->name, mood, "bare-bash", bare_bash());
        settle(hot);
        struct taken taken = once(client, language, true);
        sample(language->name, mood, taken.warm ? "warm-byte" : "missed-byte", taken.first_ns);
        sample(language->name, mood, taken.warm ? "warm" : "missed", taken.end_ns);
        if (round % 5)
            continue;
        settle(hot);
        taken = once(client, language, false);
        sample(language->name, mood, "cold-byte", taken.first_ns);
        sample(language->name, mood, "cold", taken.end_ns);
    }
}

int main(int argc, char **argv)
{
    struct sc_keeper_client *client = NULL;
    struct sc_err err = {0};
    if (argc != 3)
        fail("usage", "warm SOCKET ROUNDS");
    unsigned rounds = (unsigned)strtoul(argv[2], NULL, 10);
    if (sc_keeper_client_open(argv[1], &client, &err) < 0)
        fail("keeper", err.message);
    for (size_t i = 0; i < sizeof LANGUAGES / sizeof LANGUAGES[0]; i++) {
        measure(client, &LANGUAGES[i], true, rounds);
        measure(client, &LANGUAGES[i], false, rounds);
    }
    sc_keeper_client_close(client);
    return 0;
}
