/* soak-many COUNT [DEGRADED]: so many runs in one process by the library. Afterwards its resident memory must
 * be no more than a few pages above what it was after the first hundred. While a plan lives, the number of
 * descriptors moves with the cells that are made ahead; when all objects are freed it must be what it was
 * before the first. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "snapcell.h"

#define WARM 100
#define GROWTH_PAGES_MAX 64 /* the allocator's slack: less than one page in ten runs */

static int fail(const char *what, const struct snapcell_error *error)
{
    fprintf(stderr, "soak-many: %s: %s\n", what, snapcell_error_message(error));
    return 1;
}

static int count_descriptors(void)
{
    int n = 0;
    DIR *dir = opendir("/proc/self/fd");

    while (dir && readdir(dir))
        n++;
    if (dir)
        closedir(dir);
    return n;
}

static long resident_pages(void)
{
    long size = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "re");

    if (!f || fscanf(f, "%ld %ld", &size, &resident) != 2)
        resident = -1;
    if (f)
        fclose(f);
    return resident;
}

static int run_once(struct snapcell_plan *plan, struct snapcell_error *error)
{
    struct snapcell_result *result = NULL;

    if (snapcell_run(plan, NULL, &result, error) < 0)
        return fail("run", error);
    int wrong = strcmp(snapcell_result_status(result), "ok") != 0;
    if (wrong)
        fprintf(stderr, "soak-many: %s: %s\n", snapcell_result_status(result),
                snapcell_result_message(result));
    snapcell_result_free(result);
    return wrong;
}

static int run_all(struct snapcell_plan *plan, long count, struct snapcell_error *error)
{
    long pages = 0;

    for (long i = 0; i < count; i++) {
        if (i == WARM)
            pages = resident_pages();
        if (run_once(plan, error))
            return 1;
    }
    if (count <= WARM)
        return 0;
    printf("pages %ld then %ld\n", pages, resident_pages());
    return resident_pages() > pages + GROWTH_PAGES_MAX;
}

int main(int argc, char **argv)
{
    static const char *const command[] = {"/bin/true", NULL};
    struct snapcell_error *error = snapcell_error_new();
    struct snapcell_host *host = NULL;
    struct snapcell_spec *spec = NULL;
    struct snapcell_plan *plan = NULL;
    long count = argc > 1 ? strtol(argv[1], NULL, 10) : 1000;
    int r, descriptors = count_descriptors();

    if (snapcell_host_probe(getenv("SNAPCELL_CGROUP_PARENT"), &host, error) < 0)
        return fail("host", error);
    if (snapcell_spec_new(&spec, error) < 0 || snapcell_spec_set_command(spec, command, error) < 0 ||
        (argc > 2 && argv[2][0] && snapcell_spec_add(spec, "allow-degraded", argv[2], error) < 0))
        r = fail("spec", error);
    else if (snapcell_plan_new(spec, host, &plan, error) < 0)
        r = fail("plan", error);
    else
        r = run_all(plan, count, error);
    snapcell_plan_free(plan);
    snapcell_spec_free(spec);
    snapcell_host_free(host);
    snapcell_error_free(error);
    printf("descriptors %d then %d\n", descriptors, count_descriptors());
    return r || count_descriptors() != descriptors;
}
