/* A notebook on top of libsnapcell: cells of code that share their variables, one of which never ends. Its
 * variables survive that, and the answer is taken out as a file.
 *
 *     notebook [ALLOW_DEGRADED]
 */
#include <snapcell.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char table[] = "city,people\nOslo,717710\nBergen,291940\nTromso,78745\n";

static const struct {
    const char *code, *expected;
} cells[] = {
    {"import csv\nrows = list(csv.DictReader(open('cities.csv')))\nlen(rows)", "ok"},
    {"people = sum(int(row['people']) for row in rows)\nprint(people, 'people')", "ok"},
    {"while True: pass", "timeout"},
    {"open('answer.txt', 'w').write(f'{people} in {len(rows)} cities')", "ok"},
    {"people / 0", "error"},
};

static int tell(const char *what, const struct snapcell_error *error)
{
    fprintf(stderr, "%s: %s\n", what, snapcell_error_message(error));
    return -1;
}

/* 1: came to the expected end, 0: did not, -1: no answer. */
static int run(struct snapcell_session *session, size_t which, struct snapcell_error *error)
{
    struct snapcell_code code = {
        .language = "python",
        .code = cells[which].code,
        .code_len = strlen(cells[which].code),
        .wall_ms = !strcmp(cells[which].expected, "timeout") ? 500 : 0,
    };
    struct snapcell_result *result = NULL;
    if (snapcell_session_run(session, &code, NULL, &result, error) < 0)
        return tell("run", error);
    printf("[%zu] %-8s %s%s\n", which + 1, snapcell_result_status(result),
           snapcell_result_stdout(result, NULL), snapcell_result_message(result));
    int r = !strcmp(snapcell_result_status(result), cells[which].expected);
    snapcell_result_free(result);
    return r;
}

/* 0: all went as expected. */
static int work(struct snapcell_session *session, struct snapcell_error *error)
{
    char *answer = NULL;
    size_t len;
    int status = 0;
    if (snapcell_session_write_file(session, "cities.csv", table, strlen(table), 0, error) < 0)
        return tell("cities.csv", error);
    for (size_t i = 0; i < sizeof cells / sizeof *cells && status == 0; i++)
        status = run(session, i, error) - 1;
    if (status == 0 && snapcell_session_read_file(session, "answer.txt", 1000, &answer, &len, error) < 0)
        return tell("answer.txt", error);
    if (status == 0)
        printf("%s\n", answer);
    snapcell_string_free(answer);
    return status;
}

int main(int argc, char **argv)
{
    struct snapcell_error *error = snapcell_error_new();
    struct snapcell_host *host = NULL;
    struct snapcell_spec *spec = NULL;
    struct snapcell_session *session = NULL;
    if (!error)
        return 2;
    int r = snapcell_host_probe(getenv("SNAPCELL_CGROUP_PARENT"), &host, error);
    if (r == 0)
        r = snapcell_spec_new(&spec, error);
    if (r == 0 && argc > 1 && *argv[1])
        r = snapcell_spec_add(spec, "allow-degraded", argv[1], error);
    if (r == 0)
        r = snapcell_session_new(spec, host, NULL, &session, error);
    r = r < 0 ? tell("session", error) : work(session, error);
    snapcell_session_free(session);
    snapcell_spec_free(spec);
    snapcell_host_free(host);
    snapcell_error_free(error);
    return r ? 1 : 0;
}
