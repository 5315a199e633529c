/* A task: what is asked for, and whether it may be. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "judge/judge.h"
#include "judge/parts.h"

void sc_judge_task_init(struct sc_judge_task *task)
{
    *task = (struct sc_judge_task){.jobs = 1};
    sc_spec_init(&task->build);
    sc_spec_init(&task->run);
    sc_spec_init(&task->checker);
}

static void free_bytes(struct sc_judge_bytes *bytes)
{
    free(bytes->data);
    free(bytes->file);
}

void sc_judge_task_fini(struct sc_judge_task *task)
{
    if (!task)
        return;
    for (size_t i = 0; i < task->n_tests; i++) {
        struct sc_judge_test *test = &task->tests[i];
        free(test->name);
        free_bytes(&test->input);
        free_bytes(&test->expected);
        sc_strv_fini(&test->args);
    }
    free(task->tests);
    sc_spec_fini(&task->build);
    sc_spec_fini(&task->run);
    sc_spec_fini(&task->checker);
    sc_judge_task_init(task);
}

static int not_here(const char *part, const char *field, const char *why, struct sc_err *err)
{
    char path[SC_ERR_FIELD_MAX];
    snprintf(path, sizeof path, "%s.%s", part, field);
    return sc_err_usage(err, path, "%s: not allowed here: %s", path, why);
}

/* What the judge itself decides about the cells of a part. */
static int check_part(const struct sc_spec *spec, const char *part, bool own_stdin, struct sc_err *err)
{
    if (own_stdin && spec->stdin_data)
        return not_here(part, "stdin", "each test has its own", err);
    if (spec->pty)
        return not_here(part, "pty", "input and output of tests are files", err);
    if (spec->mode != SC_MODE_PLAIN)
        return not_here(part, "mode", "tests run as they are, in mode plain", err);
    if (spec->template)
        return not_here(part, "template", "a task says all of it itself", err);
    if (spec->forkable)
        return not_here(part, "forkable", "what ends with its test is not copied", err);
    if (spec->validate.on)
        return not_here(part, "validate", "the judge reads no code; `snapcell check` does", err);
    return 0;
}

/* The check of requests names fields as if the part were the whole: the part is put before. */
static int check_spec(const struct sc_spec *spec, const char *part, uint64_t host_memory, struct sc_err *err)
{
    struct sc_spec copy;
    if (sc_spec_copy(spec, &copy) < 0)
        return sc_err_sys(err, -ENOMEM, "the judge's task");
    int r = sc_spec_check(&copy, host_memory, err);
    sc_spec_fini(&copy);
    if (r < 0)
        sc_err_below(err, part);
    return r;
}

/* The host was looked at for one place where groups are made. */
static int check_parent(const struct sc_judge_task *task, const struct sc_spec *spec, const char *part,
                        struct sc_err *err)
{
    const char *own = spec->cgroup_parent, *run = task->run.cgroup_parent;
    if (!own || (run && !strcmp(own, run)))
        return 0;
    return not_here(part, "cgroup_parent", "that of run holds for all cells", err);
}

static int check_build(const struct sc_judge_task *task, uint64_t host_memory, struct sc_err *err)
{
    if (!task->has_build)
        return 0;
    if (task->build.n_outs == 0)
        return sc_err_usage(err, "build.outputs",
                            "build.outputs: missing: which files the build leaves for the runs");
    int r = check_part(&task->build, "build", false, err);
    if (r == 0)
        r = check_parent(task, &task->build, "build", err);
    return r < 0 ? r : check_spec(&task->build, "build", host_memory, err);
}

static int check_run(const struct sc_judge_task *task, uint64_t host_memory, struct sc_err *err)
{
    if (!task->has_run)
        return sc_err_usage(err, "run", "run: missing: what runs for each test");
    if (task->run.n_outs)
        return not_here("run", "out", "a run's output is its stdout", err);
    int r = check_part(&task->run, "run", true, err);
    return r < 0 ? r : check_spec(&task->run, "run", host_memory, err);
}

/* The names that the checker finds its three files under are taken. */
static int check_names(const struct sc_spec *spec, struct sc_err *err)
{
    for (size_t i = 0; i < spec->n_files; i++)
        for (size_t name = 0; name < SC_CHECKER_FILES; name++)
            if (!strcmp(spec->files[i].path, SC_CHECKER_NAMES[name]))
                return sc_err_usage(err, "checker.files",
                                    "checker.files: %s: the name of one of the files that every checker gets",
                                    spec->files[i].path);
    return 0;
}

static int check_checker(const struct sc_judge_task *task, uint64_t host_memory, struct sc_err *err)
{
    if (!task->has_checker)
        return 0;
    if (task->checker.n_outs)
        return not_here("checker", "out", "a checker tells by its exit code", err);
    int r = check_part(&task->checker, "checker", true, err);
    if (r == 0)
        r = check_names(&task->checker, err);
    if (r == 0)
        r = check_parent(task, &task->checker, "checker", err);
    return r < 0 ? r : check_spec(&task->checker, "checker", host_memory, err);
}

/* Only what the test changes, so that not every test's check copies the program's source. */
static int check_limits(const struct sc_judge_test *test, const char *path, uint64_t host_memory,
                        struct sc_err *err)
{
    static const char *const nothing[] = {"true", NULL};
    struct sc_spec spec;
    sc_spec_init(&spec);
    spec.limits = test->limits;
    int r = sc_spec_set_command(&spec, nothing, err);
    if (r == 0)
        r = sc_spec_check(&spec, host_memory, err);
    sc_spec_fini(&spec);
    if (r < 0)
        sc_err_below(err, path);
    return r;
}

static int check_file(const struct sc_judge_bytes *bytes, const char *path, const char *field, uint64_t max,
                      struct sc_err *err)
{
    struct stat st;
    char here[SC_ERR_FIELD_MAX];
    if (!bytes->file)
        return 0;
    snprintf(here, sizeof here, "%s.%s", path, field);
    if (stat(bytes->file, &st) < 0)
        return sc_err_usage(err, here, "%s: %s: %s", here, bytes->file, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return sc_err_usage(err, here, "%s: %s: not a regular file", here, bytes->file);
    if ((uint64_t)st.st_size > max)
        return sc_err_usage(err, here, "%s: %s: %llu bytes: at most %llu are allowed", here, bytes->file,
                            (unsigned long long)st.st_size, (unsigned long long)max);
    return 0;
}

static int check_test(const struct sc_judge_task *task, size_t i, uint64_t host_memory, struct sc_err *err)
{
    const struct sc_judge_test *test = &task->tests[i];
    bool expects = test->expected.data || test->expected.file;
    char path[32], field[SC_ERR_FIELD_MAX];
    snprintf(path, sizeof path, "tests[%zu]", i);
    snprintf(field, sizeof field, "%s.compare", path);
    if (test->compare == SC_COMPARE_CHECKER && !task->has_checker)
        return sc_err_usage(err, field, "%s: checker: the task has no checker", field);
    if ((test->compare == SC_COMPARE_EXACT || test->compare == SC_COMPARE_TRIMMED) && !expects)
        return sc_err_usage(err, field, "%s: the test has no expected output to compare with", field);
    int r = check_file(&test->input, path, "stdin_file", SC_SPEC_STDIN_MAX, err);
    if (r == 0)
        r = check_file(&test->expected, path, "expected_file", SC_JUDGE_EXPECTED_MAX, err);
    if (r == 0 && test->has_limits)
        r = check_limits(test, path, host_memory, err);
    return r;
}

int sc_judge_task_check(const struct sc_judge_task *task, uint64_t host_memory, struct sc_err *err)
{
    int r = check_build(task, host_memory, err);
    if (r == 0)
        r = check_run(task, host_memory, err);
    if (r == 0)
        r = check_checker(task, host_memory, err);
    if (r == 0 && task->n_tests == 0)
        r = sc_err_usage(err, "tests", "tests: none: at least one is needed");
    if (r == 0 && (task->jobs < 1 || task->jobs > SC_JUDGE_JOBS_MAX))
        r = sc_err_usage(err, "jobs", "jobs: %u: allowed 1 to %d", task->jobs, SC_JUDGE_JOBS_MAX);
    for (size_t i = 0; i < task->n_tests && r == 0; i++)
        r = check_test(task, i, host_memory, err);
    return r;
}
