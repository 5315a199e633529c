/* What a living cell costs: a run in a kept Python against the interpreter's own exec of the same code,
 * through the library and through a keeper; 100 MB of output against one pipe; a check of source in a living
 * checker.
 *
 *     living BASELINE.py SOCKET SOURCE.py ROUNDS      prints   sample <group> <way> <ns>
 *
 * Ways of one group take turns, a block each, so that the machine's moods are everybody's. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "host/host.h"
#include "keeper/client.h"
#include "snap/checker.h"
#include "snapcell.h"
#include "spec/spec.h"

#define BLOCK 25
#define OUTPUT_BYTES (100u << 20)

extern char **environ;

struct code {
    const char *name, *text;
};
static const struct code CODES[] = {
    {"python-value", "1 + 1"},
    {"python-print", "x = [i**2 for i in range(10)]; print(sum(x))"},
    {"python-function", "def f(n):\n    return n if n < 2 else f(n - 1) + f(n - 2)\nf(15)"},
};
#define N_CODES (sizeof CODES / sizeof CODES[0])

struct bench {
    struct snapcell_host *host;
    struct snapcell_session *session;
    struct snapcell_error *error;
    struct sc_keeper_client *client;
    char keeper_session[64];
    FILE *to_plain, *from_plain; /* the interpreter outside of any cell */
    pid_t plain;
};

__attribute__((noreturn)) static void fail(const char *what, const char *why)
{
    fprintf(stderr, "living: %s: %s\n", what, why);
    exit(1);
}

static void sample(const char *group, const char *way, uint64_t ns)
{
    printf("sample\t%s\t%s\t%" PRIu64 "\n", group, way, ns);
}

static void start_plain(struct bench *bench, const char *script)
{
    int in[2], out[2];
    posix_spawn_file_actions_t actions;
    const char *argv[] = {"/usr/bin/python3", "-I", script, NULL};
    if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
        fail("pipe", strerror(errno));
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], 0);
    posix_spawn_file_actions_adddup2(&actions, out[1], 3);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    int r = posix_spawn(&bench->plain, argv[0], &actions, NULL, (char **)argv, environ);
    if (r)
        fail(argv[0], strerror(r));
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]);
    close(out[1]);
    bench->to_plain = fdopen(in[1], "w");
    bench->from_plain = fdopen(out[0], "r");
}

/* The interpreter's own clock around its own exec. */
static void run_plain(struct bench *bench, const struct code *code)
{
    uint64_t ns = 0;
    fprintf(bench->to_plain, "%zu\n%s", strlen(code->text), code->text);
    fflush(bench->to_plain);
    if (fscanf(bench->from_plain, "%" SCNu64, &ns) != 1)
        fail("baseline", "ended");
    sample(code->name, "exec", ns);
}

static void run_library(struct bench *bench, const struct code *code)
{
    const struct snapcell_code run = {
        .language = "python", .code = code->text, .code_len = strlen(code->text)};
    struct snapcell_result *result = NULL;
    uint64_t begin = sc_now_ns();
    if (snapcell_session_run(bench->session, &run, NULL, &result, bench->error) < 0)
        fail("run", snapcell_error_message(bench->error));
    sample(code->name, "library", sc_now_ns() - begin);
    if (strcmp(snapcell_result_status(result), "ok") != 0)
        fail("run", snapcell_result_message(result));
    snapcell_result_free(result);
}

static json_t *ask(struct bench *bench, json_t *request)
{
    struct sc_err err = {0};
    json_t *reply = NULL;
    if (sc_keeper_ask(bench->client, request, NULL, &reply, &err) < 0)
        fail("keeper", err.message);
    return reply;
}

static void run_keeper(struct bench *bench, const struct code *code)
{
    uint64_t begin = sc_now_ns();
    json_t *reply = ask(bench, json_pack("{s:s,s:s,s:s,s:s}", "request", "run", "session",
                                         bench->keeper_session, "language", "python", "code", code->text));
    sample(code->name, "keeper", sc_now_ns() - begin);
    json_decref(reply);
}

static void measure_runs(struct bench *bench, unsigned rounds)
{
    void (*const ways[])(struct bench *, const struct code *) = {run_plain, run_library, run_keeper};
    for (size_t code = 0; code < N_CODES; code++)
        for (unsigned round = 0; round < rounds; round++)
            for (size_t way = 0; way < sizeof ways / sizeof ways[0]; way++)
                for (int i = 0; i < BLOCK; i++)
                    ways[way](bench, &CODES[code]);
}

static void output_through_pipe(void)
{
    char count[16], chunk[65536];
    int ends[2];
    pid_t pid;
    posix_spawn_file_actions_t actions;
    snprintf(count, sizeof count, "%u", OUTPUT_BYTES);
    const char *argv[] = {"/usr/bin/head", "-c", count, "/dev/zero", NULL};
    uint64_t begin = sc_now_ns();
    if (pipe2(ends, O_CLOEXEC) < 0)
        fail("pipe", strerror(errno));
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    int r = posix_spawn(&pid, argv[0], &actions, NULL, (char **)argv, environ);
    if (r)
        fail(argv[0], strerror(r));
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    while (read(ends[0], chunk, sizeof chunk) > 0)
        ;
    close(ends[0]);
    waitpid(pid, NULL, 0);
    sample("output-100MB", "pipe", sc_now_ns() - begin);
}

static void output_of_command(struct bench *bench)
{
    char count[16];
    snprintf(count, sizeof count, "%u", OUTPUT_BYTES);
    const char *argv[] = {"head", "-c", count, "/dev/zero", NULL};
    const struct snapcell_command command = {.argv = argv};
    struct snapcell_result *result = NULL;
    size_t len = 0;
    uint64_t begin = sc_now_ns();
    if (snapcell_session_exec(bench->session, &command, NULL, &result, bench->error) < 0)
        fail("exec", snapcell_error_message(bench->error));
    sample("output-100MB", "session", sc_now_ns() - begin);
    snapcell_result_stdout(result, &len);
    if (len != OUTPUT_BYTES)
        fail("exec", "output was cut");
    snapcell_result_free(result);
}

static void output_of_run(struct bench *bench, struct snapcell_plan *plan)
{
    struct snapcell_result *result = NULL;
    size_t len = 0;
    uint64_t begin = sc_now_ns();
    if (snapcell_run(plan, NULL, &result, bench->error) < 0)
        fail("run", snapcell_error_message(bench->error));
    sample("output-100MB", "run", sc_now_ns() - begin);
    snapcell_result_stdout(result, &len);
    if (len != OUTPUT_BYTES)
        fail("run", "output was cut");
    snapcell_result_free(result);
}

static struct snapcell_spec *new_spec(struct bench *bench)
{
    struct snapcell_spec *spec = NULL;
    const char *degraded = getenv("SNAPCELL_TEST_DEGRADED");
    if (snapcell_spec_new(&spec, bench->error) < 0 ||
        snapcell_spec_set(spec, "wall", "60s", bench->error) < 0 ||
        snapcell_spec_set(spec, "stdout", "128M", bench->error) < 0 ||
        snapcell_spec_set(spec, "cpus", "2", bench->error) < 0 ||
        (degraded && *degraded && snapcell_spec_add(spec, "allow-degraded", degraded, bench->error) < 0))
        fail("spec", snapcell_error_message(bench->error));
    return spec;
}

static void measure_output(struct bench *bench, unsigned rounds)
{
    char count[16];
    snprintf(count, sizeof count, "%u", OUTPUT_BYTES);
    const char *argv[] = {"head", "-c", count, "/dev/zero", NULL};
    struct snapcell_spec *spec = new_spec(bench);
    struct snapcell_plan *plan = NULL;
    if (snapcell_spec_set_command(spec, argv, bench->error) < 0 ||
        snapcell_plan_new(spec, bench->host, &plan, bench->error) < 0)
        fail("plan", snapcell_error_message(bench->error));
    for (unsigned round = 0; round < rounds; round++) {
        output_through_pipe();
        output_of_run(bench, plan);
        output_of_command(bench);
    }
    snapcell_plan_free(plan);
    snapcell_spec_free(spec);
}

static char *read_text(const char *path, size_t *ret_len)
{
    FILE *file = fopen(path, "r");
    char *text = malloc(1 << 20);
    if (!file || !text)
        fail(path, strerror(errno));
    *ret_len = fread(text, 1, (1 << 20) - 1, file);
    fclose(file);
    return text;
}

static void measure_checks(const char *source, unsigned rounds)
{
    struct sc_err err = {0};
    struct sc_host host;
    struct sc_spec place;
    struct sc_checker *checker = NULL;
    struct sc_validate validate = {.on = true};
    struct sc_check_request request = {.lang = SC_LANG_PYTHON, .name = "source.py", .validate = &validate};
    sc_spec_init(&place);
    request.source = read_text(source, &request.len);
    const struct sc_host_options options = {.cgroup_parent = getenv("SNAPCELL_CGROUP_PARENT")};
    if (sc_host_probe(&host, &options, &err) < 0 || sc_checker_open(&host, &place, &checker, &err) < 0)
        fail("checker", err.message);
    for (unsigned i = 0; i < rounds * BLOCK + 1; i++) {
        struct sc_check_report report;
        uint64_t begin = sc_now_ns();
        if (sc_checker_check_now(checker, &request, &report, &err) < 0)
            fail("check", err.message);
        if (i > 0) /* the first waits for the checker's cell */
            sample("check-200-lines", "checker", sc_now_ns() - begin);
        sc_check_report_fini(&report);
    }
    sc_checker_close(checker);
    free((char *)request.source);
}

static void open_all(struct bench *bench, char **argv)
{
    struct sc_err err = {0};
    bench->error = snapcell_error_new();
    start_plain(bench, argv[1]);
    if (snapcell_host_probe(getenv("SNAPCELL_CGROUP_PARENT"), &bench->host, bench->error) < 0)
        fail("host", snapcell_error_message(bench->error));
    struct snapcell_spec *spec = new_spec(bench);
    if (snapcell_session_new(spec, bench->host, NULL, &bench->session, bench->error) < 0)
        fail("session", snapcell_error_message(bench->error));
    snapcell_spec_free(spec);
    if (sc_keeper_client_open(argv[2], &bench->client, &err) < 0)
        fail("keeper", err.message);
    json_t *reply = ask(bench, json_pack("{s:s,s:{}}", "request", "session.start", "spec"));
    snprintf(bench->keeper_session, sizeof bench->keeper_session, "%s",
             json_string_value(json_object_get(reply, "session")));
    json_decref(reply);
}

static void close_all(struct bench *bench)
{
    json_decref(
        ask(bench, json_pack("{s:s,s:s}", "request", "session.end", "session", bench->keeper_session)));
    sc_keeper_client_close(bench->client);
    snapcell_session_free(bench->session);
    snapcell_host_free(bench->host);
    snapcell_error_free(bench->error);
    fclose(bench->to_plain);
    fclose(bench->from_plain);
    waitpid(bench->plain, NULL, 0);
}

int main(int argc, char **argv)
{
    struct bench bench = {0};
    if (argc != 5)
        fail("usage", "living BASELINE.py SOCKET SOURCE.py ROUNDS");
    unsigned rounds = (unsigned)strtoul(argv[4], NULL, 10);
    open_all(&bench, argv);
    measure_runs(&bench, rounds);
    measure_output(&bench, rounds < 5 ? rounds : 5);
    close_all(&bench);
    measure_checks(argv[3], rounds);
    return 0;
}
