/* What a run gets beside its plan: stdin and files of its own. */
#include "fixture.h"

#include <unistd.h>

static int note_artifact(void *userdata, const char *path, int fd, uint64_t size)
{
    char text[8] = "";
    assert_string_equal(path, "sub/extra");
    assert_int_equal(read(fd, text, sizeof text), size);
    assert_memory_equal(text, userdata, size);
    return 0;
}

/* One plan, and cells that were made ahead, serve inputs that they knew nothing of. */
static void input_of_one_run(void **state)
{
    (void)state;
    struct world w;
    char extra[] = "one", other[] = "two";
    struct sc_spec_file file = {.data = extra, .len = 3, .path = (char[]){"sub/extra"}};
    struct sc_run_input input = {"abc", 3, &file, 1};
    struct sc_callbacks callbacks = {
        .userdata = extra, .artifact = note_artifact, .input = &input, .cancel_fd = -1};
    begin(&w, "count", "", "out", "sub:.", NULL);
    assert_int_equal(sc_spec_set_stdin(&w.spec, "", 0, NULL), 0);
    make_works(&w);
    assert_int_equal(sc_works_ready(w.works, 2, &w.err), 0);
    assert_int_equal(run(&w, &callbacks), 0);
    assert_string_equal((char *)w.result.out.kept.data, "3 294\n");
    assert_int_equal(w.result.n_artifacts, 1);
    input.stdin_data = "";
    input.stdin_len = 0;
    file.data = callbacks.userdata = other;
    assert_int_equal(run(&w, &callbacks), 0);
    assert_string_equal((char *)w.result.out.kept.data, "0 0\n");
    assert_int_equal(w.result.n_artifacts, 1);
    /* Nothing of it is left for the next. */
    expect(&w, SC_STATUS_OK, 0);
    assert_string_equal((char *)w.result.out.kept.data, "0 0\n");
    assert_int_equal(w.result.n_artifacts, 0);
    end(&w);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, note_traces, expect_no_traces)

int main(void)
{
    static const struct CMUnitTest tests[] = {TEST(input_of_one_run)};
    return RUN_AS_BOTH(tests);
}
