/* Artifacts of a hostile tree: only regular files of the work folder come out, within the limits, and every
 * name that does not is told. */
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"

static struct traces traces;
static char *out;

static int before(void **state)
{
    (void)state;
    traces = traces_of_now();
    out = make_folder();
    return 0;
}

static int after(void **state)
{
    (void)state;
    remove_folder(out);
    assert_same_traces(&traces);
    return 0;
}

static const char *to_out(const char *glob)
{
    static char options[4][400]; /* several are used at once */
    static unsigned n;
    char *option = options[n++ % 4];
    snprintf(option, sizeof options[0], "%s:%s", glob, out);
    return option;
}

static bool has_artifact(const struct world *w, const char *path)
{
    for (size_t i = 0; i < w->result.n_artifacts; i++)
        if (!strcmp(w->result.artifacts[i].path, path))
            return true;
    return false;
}

static const char *why_skipped(const struct world *w, const char *path)
{
    for (size_t i = 0; i < w->result.n_skipped; i++)
        if (!strcmp(w->result.skipped[i].path, path))
            return w->result.skipped[i].why;
    return "(it was not)";
}

static void expect_content(const char *name, const char *content)
{
    char path[400];
    struct sc_buf text;
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", out, name);
    sc_buf_init(&text, 1 << 20);
    assert_int_equal(sc_buf_read_file(&text, AT_FDCWD, path), 0);
    assert_string_equal((char *)text.data, content);
    sc_buf_fini(&text);
    assert_int_equal(lstat(path, &st), 0);
    assert_true(S_ISREG(st.st_mode));
    assert_int_equal(st.st_mode & 07111, 0); /* nothing out here is made executable, let alone more */
}

static bool came_out(const char *name)
{
    char path[400];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", out, name);
    return lstat(path, &st) == 0;
}

static void hostile_tree(void **state)
{
    (void)state;
    struct world w;
    begin(&w, "tree", "", "out", to_out("out"), NULL);
    expect(&w, SC_STATUS_OK, 0);
    static const char *const good[][2] = {
        {"out/good", "good"},     {"out/sub/deep", "deep"}, {"out/hard", "good"},
        {"out/line\nbreak", "n"}, {"out/b\xff\xfe", "u"},   {"out/ -rf *", "s"},
        {"out/\033[2J", "e"},     {"out/tricky..", "t"},    {"out/...", "d"}};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        if (!has_artifact(&w, good[i][0]))
            fail_msg("%s is missing", good[i][0]);
        expect_content(good[i][0], good[i][1]);
    }
    static const char *const skipped[][2] = {{"out/link", "symlink"},
                                             {"out/rootlink", "symlink"},
                                             {"out/up", "symlink"},
                                             {"out/again", "symlink"},
                                             {"out/same", "symlink"},
                                             {"out/fifo", "not a regular file"},
                                             {"out/sock", "not a regular file"},
                                             {"out/sparse", "more bytes than the limit on artifacts"}};
    for (size_t i = 0; i < sizeof skipped / sizeof skipped[0]; i++) {
        assert_false(came_out(skipped[i][0]));
        assert_string_equal(why_skipped(&w, skipped[i][0]), skipped[i][1]);
    }
    assert_true(w.result.limits_hit & SC_HIT_ARTIFACTS); /* the sparse one */
    /* Rights inside are no matter to root; another reads what the program's id may. */
    if (geteuid() != 0) {
        assert_string_equal(why_skipped(&w, "out/locked"), "cannot be read");
        assert_string_equal(why_skipped(&w, "out/dark"), "cannot be read");
    } else {
        assert_true(has_artifact(&w, "out/locked") && has_artifact(&w, "out/dark/x"));
    }
    end(&w);
}

/* Through a link at any place of the pattern nothing is reached. */
static void patterns_follow_no_link(void **state)
{
    (void)state;
    static const char *const globs[] = {
        "outlink",     "outlink/good", "out/rootlink/etc/passwd", "out/rootlink/*/passwd", "out/up/out/good",
        "*/up/*/good", "out/link",     "out/s*/../good"};
    for (size_t i = 0; i < sizeof globs / sizeof globs[0] - 1; i++) {
        struct world w;
        begin(&w, "tree", "", "out", to_out(globs[i]), NULL);
        expect(&w, SC_STATUS_OK, 0);
        if (w.result.n_artifacts)
            fail_msg("%s gave %s", globs[i], w.result.artifacts[0].path);
        end(&w);
    }
    struct sc_spec spec;
    sc_spec_init(&spec);
    assert_true(sc_spec_add(&spec, "out", globs[sizeof globs / sizeof globs[0] - 1], NULL) < 0 ||
                sc_spec_check(&spec, 0, NULL) < 0); /* ".." is refused beforehand */
    sc_spec_fini(&spec);
}

static void patterns(void **state)
{
    (void)state;
    struct world w;
    begin(&w, "tree", "", "out", to_out("out/g*d"), "out", to_out("*/sub/d??p"), NULL);
    expect(&w, SC_STATUS_OK, 0);
    assert_int_equal(w.result.n_artifacts, 2);
    assert_true(has_artifact(&w, "out/good") && has_artifact(&w, "out/sub/deep"));
    end(&w);
    begin(&w, "tree", "", "out", to_out("nothing*here"), NULL);
    expect(&w, SC_STATUS_OK, 0);
    assert_int_equal(w.result.n_artifacts + w.result.n_skipped, 0);
    end(&w);
}

static void depth(void **state)
{
    (void)state;
    struct world w;
    begin(&w, "deep", "20", "out", to_out("d"), "artifacts-depth", "5", NULL);
    expect(&w, SC_STATUS_OK, 0);
    assert_int_equal(w.result.n_artifacts, 5);
    assert_true(w.result.limits_hit & SC_HIT_ARTIFACTS);
    assert_string_equal(why_skipped(&w, "d/d/d/d/d/d"), "deeper than artifacts-depth");
    end(&w);
    /* A pattern goes no deeper than a folder does. */
    begin(&w, "deep", "20", "out", to_out("*/*/*/*/*/*/*/*/f"), "artifacts-depth", "5", NULL);
    expect(&w, SC_STATUS_OK, 0);
    assert_int_equal(w.result.n_artifacts, 0);
    assert_true(w.result.limits_hit & SC_HIT_ARTIFACTS);
    end(&w);
    /* As deep as the program can go with the shortest names, and as the limit lets us follow. */
    begin(&w, "deep", "1200", "out", to_out("d"), "artifacts-depth", "256", NULL);
    expect(&w, SC_STATUS_OK, 0);
    assert_int_equal(w.result.n_artifacts, 256);
    end(&w);
}

static void count_and_bytes(void **state)
{
    (void)state;
    struct world w;
    begin(&w, "many", "300", "out", to_out("f*"), "artifacts-count", "100", NULL);
    expect(&w, SC_STATUS_OK, 0);
    assert_int_equal(w.result.n_artifacts, 100);
    assert_true(w.result.limits_hit & SC_HIT_ARTIFACTS);
    end(&w);
    begin(&w, "tree", "", "out", to_out("out/good"), "out", to_out("out/sub/deep"), "out",
          to_out("out/ -rf *"), "artifacts", "9", NULL);
    expect(&w, SC_STATUS_OK, 0);
    assert_int_equal(w.result.n_artifacts, 3); /* 4 + 4 + 1 bytes: just as many as there may be */
    assert_int_equal(w.result.limits_hit & SC_HIT_ARTIFACTS, 0);
    end(&w);
    begin(&w, "tree", "", "out", to_out("out/good"), "out", to_out("out/sub/deep"), "artifacts", "7", NULL);
    expect(&w, SC_STATUS_OK, 0);
    assert_int_equal(w.result.n_artifacts, 1);
    assert_true(w.result.limits_hit & SC_HIT_ARTIFACTS);
    end(&w);
}

/* What lies at the target may be a trap, too: nothing is written through a link or into a special file. */
static void targets(void **state)
{
    (void)state;
    struct world w;
    char path[400], *victim = make_folder();
    snprintf(path, sizeof path, "%s/out", out);
    assert_int_equal(symlink(victim, path), 0);
    begin(&w, "tree", "", "out", to_out("out/good"), NULL);
    expect(&w, SC_STATUS_OK, 0);
    assert_int_equal(w.result.n_artifacts, 0);
    assert_string_equal(why_skipped(&w, "out/good"), "its name cannot be used below the output folder");
    end(&w);
    assert_int_equal(rmdir(victim), 0);
    free(victim);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0755), 0);
    snprintf(path, sizeof path, "%s/out/good", out);
    assert_int_equal(symlink("/nonexistent/place", path), 0);
    begin(&w, "tree", "", "out", to_out("out/good"), NULL);
    expect(&w, SC_STATUS_OK, 0);
    assert_int_equal(w.result.n_artifacts, 0);
    end(&w);
}

struct taken {
    unsigned n;
    int answer;
    char content[64];
};

static int take(void *userdata, const char *path, int fd, uint64_t size)
{
    struct taken *taken = userdata;
    assert_non_null(path);
    taken->n++;
    ssize_t n = read(fd, taken->content, sizeof taken->content - 1);
    assert_int_equal(n, size);
    assert_int_equal(write(fd, "x", 1), -1); /* to read only */
    return taken->answer;
}

static void by_callback(void **state)
{
    (void)state;
    struct world w;
    struct taken taken = {0};
    struct sc_callbacks callbacks = {.userdata = &taken, .artifact = take, .cancel_fd = -1};
    begin(&w, "tree", "", "out", to_out("out/good"), NULL);
    assert_int_equal(run(&w, &callbacks), 0);
    assert_int_equal(taken.n, 1);
    assert_string_equal(taken.content, "good");
    assert_int_equal(w.result.n_artifacts, 1);
    assert_null(w.result.artifacts[0].saved);
    assert_false(came_out("out"));
    /* Its refusal ends the collection, and is told. */
    taken = (struct taken){.answer = -ENOSPC};
    assert_int_equal(run(&w, &callbacks), -ENOSPC);
    assert_int_equal(taken.n, 1);
    assert_non_null(strstr(w.err.message, "out/good"));
    end(&w);
}

static int leave_few_descriptors(void *userdata)
{
    struct rlimit *limit = userdata;
    struct rlimit few = {24, limit->rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
    return 0;
}

/* To have no descriptors left is our trouble: it must not look as if the files had not been there. */
static void out_of_descriptors(void **state)
{
    (void)state;
    struct world w;
    struct rlimit before_it;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before_it), 0);
    struct rlimit copy = before_it;
    struct sc_callbacks callbacks = {.userdata = &copy, .cancelled = leave_few_descriptors, .cancel_fd = -1};
    begin(&w, "deep", "30", "out", to_out("d"), NULL);
    int r = run(&w, &callbacks);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before_it), 0);
    assert_int_equal(r, -EMFILE);
    assert_int_equal(w.err.kind, SC_ERR_SANDBOX);
    end(&w);
}

/* A folder that cannot be written to: an error that names it, and a cell that is gone. */
static void a_folder_that_cannot_be_written(void **state)
{
    (void)state;
    struct world w;
    begin(&w, "tree", "", "out", "out/good:/proc/nowhere", NULL);
    assert_true(run(&w, NULL) < 0);
    assert_non_null(strstr(w.err.message, "/proc/nowhere"));
    end(&w);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, before, after)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(hostile_tree), TEST(patterns_follow_no_link), TEST(patterns),
        TEST(depth),        TEST(count_and_bytes),         TEST(targets),
        TEST(by_callback),  TEST(out_of_descriptors),      TEST(a_folder_that_cannot_be_written),
    };
    return RUN_AS_BOTH(tests);
}
