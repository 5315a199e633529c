/* A small judge on top of libsnapcell: runs three answers to one task, none of which it trusts, and says what
 * became of each.
 *
 *     judge [ALLOW-DEGRADED]
 *
 * ALLOW-DEGRADED names what may be gone without on a host that cannot limit whole trees of processes, as in
 * "memory,cpu,cpus". The group below which cells are made is $SNAPCELL_CGROUP_PARENT, if that is set.
 *
 * Exit status: 0 when every answer came to the verdict that is expected here, 1 when not, 2 when no cell
 * could be made.
 */
#include <snapcell.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct answer {
    const char *who;
    const char *code;
    const char *expected; /* status, and for "ok" also the right output */
};

/* The task: print the sum of the numbers on stdin. */
static const char task[] = "1\n2\n39\n";
static const char solution[] = "42\n";

static const struct answer answers[] = {
    {"ada", "import sys\nprint(sum(int(line) for line in sys.stdin))\n", "ok"},
    {"bob", "while True:\n    pass\n", "timeout"},
    {"eve", "print('42', open('/etc/shadow').read())\n", "error"},
};

/* Tells what went wrong and returns the function's failure. */
static int tell(const char *what, const struct snapcell_error *error)
{
    fprintf(stderr, "judge: %s: %s\n", what, snapcell_error_message(error));
    return -1;
}

static int fill(struct snapcell_spec *spec, const struct answer *answer, const char *allow_degraded,
                struct snapcell_error *error)
{
    static const char *const limits[][2] = {
        {"language", "python"}, {"wall", "2s"}, {"memory", "64M"}, {"tasks", "16"}, {"stdout", "4K"},
    };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (snapcell_spec_set(spec, limits[i][0], limits[i][1], error) < 0)
            return -1;
    if (allow_degraded && snapcell_spec_add(spec, "allow-degraded", allow_degraded, error) < 0)
        return -1;
    if (snapcell_spec_set_stdin(spec, task, strlen(task), error) < 0)
        return -1;
    return snapcell_spec_set_code(spec, answer->code, strlen(answer->code), error);
}

/* 1: came to the expected verdict, 0: did not, -1: no cell. */
static int judge(const struct answer *answer, const struct snapcell_result *result)
{
    const char *status = snapcell_result_status(result);
    const char *output = snapcell_result_stdout(result, NULL);
    const char *verdict = status;
    if (!strcmp(status, "ok"))
        verdict = strcmp(output, solution) ? "wrong" : "right";
    printf("%-4s %-8s %6.2f s  %5.1f MB  %s\n", answer->who, verdict,
           (double)snapcell_result_wall_ns(result) / 1e9,
           (double)snapcell_result_memory_peak_bytes(result) / 1e6, snapcell_result_message(result));
    return !strcmp(status, answer->expected) && strcmp(verdict, "wrong") != 0;
}

static int run(const struct snapcell_host *host, const struct answer *answer, const char *allow_degraded,
               struct snapcell_error *error)
{
    struct snapcell_spec *spec = NULL;
    struct snapcell_plan *plan = NULL;
    struct snapcell_result *result = NULL;
    int r = snapcell_spec_new(&spec, error);
    if (r == 0)
        r = fill(spec, answer, allow_degraded, error);
    if (r == 0)
        r = snapcell_plan_new(spec, host, &plan, error);
    if (r == 0)
        r = snapcell_run(plan, NULL, &result, error);
    r = r < 0 ? tell(answer->who, error) : judge(answer, result);
    snapcell_result_free(result);
    snapcell_plan_free(plan);
    snapcell_spec_free(spec);
    return r;
}

int main(int argc, char **argv)
{
    const char *allow_degraded = argc > 1 && *argv[1] ? argv[1] : NULL;
    struct snapcell_error *error = snapcell_error_new();
    struct snapcell_host *host = NULL;
    int status = 0;
    if (!error)
        return 2;
    if (snapcell_host_probe(getenv("SNAPCELL_CGROUP_PARENT"), &host, error) < 0) {
        tell("host", error);
        status = 2;
    }
    for (size_t i = 0; i < sizeof answers / sizeof *answers && status < 2; i++) {
        int r = run(host, &answers[i], allow_degraded, error);
        if (r <= 0)
            status = r < 0 ? 2 : 1;
    }
    snapcell_host_free(host);
    snapcell_error_free(error);
    return status;
}
