/* Each stage between a fork and its "go": when it fails the child ends and nothing of it runs; when it is
 * left out that is noticed. With the library's test build, whose orders can say so. As root and as an
 * ordinary user. */
#include "live_cell.h"

#include <errno.h>
#include <sys/wait.h>

static const char ZYGOTE[] = "import ctypes, os\n"
                             "lib = ctypes.PyDLL('/snapcell/fork/libsnapcell-fork.so')\n"
                             "if lib.sc_fork_serve(4, None, ctypes.create_string_buffer(256)) != 1:\n"
                             "    os._exit(50)\n"
                             "os.execvp('sh', ['sh', '-c', os.read(0, 65536).decode()])\n";

/* How deep Landlock domains can still be nested: 16 at most. */
static const char SCRIPT[] = "pwd; python3 -c 'import ctypes, struct\n"
                             "libc = ctypes.CDLL(None, use_errno=True)\n"
                             "entered = 0\n"
                             "for _ in range(20):\n"
                             "    fd = libc.syscall(444, struct.pack(\"Q\", 1), 8, 0)\n"
                             "    if fd < 0 or libc.syscall(446, fd, 0):\n"
                             "        break\n"
                             "    entered += 1\n"
                             "print(entered)'";
static const char *const NAME[] = {"fork", NULL};

/* Those that the program above has gone through itself, with the same values, are only tried for their
 * failure: limits, processors, priority. The child's number is another one here by chance,
 * test_fork_runners.c has one that would be the same. `visible` withheld would leave the child more closed
 * than others. */
static const struct stage {
    const char *name;
    const char *missed;       /* when it is left out: what the cell's end, or the failure, tells */
    const char *missed_alike; /* the same rootless, where it is something else */
} STAGES[] = {
    {"user", "pid", NULL},
    {"group", "control group", NULL},
    {"pid", "ns/pid", NULL},
    {"number", NULL, NULL},
    {"namespaces", "ns/time", NULL},
    {"root", "root", NULL},
    {"limits", NULL, NULL},
    {"pin", NULL, NULL},
    {"program_priority", NULL, NULL},
    {"domain", "14\n", NULL}, /* a domain less */
    {"bounds", "CapBnd", NULL},
    {"program_ids", "user id", "CapPrm"},
    {"visible", NULL, NULL},
    {"cwd", "/\n", NULL},
    {"filter", "its filter has no listener", NULL},
};

struct family {
    struct living zygote, cell;
    struct operation program, op;
};

static void begin_family(struct family *family, const char *mutant)
{
    const char *const argv[] = {"python3", "-I", "-c", ZYGOTE, NULL};
    memset(family, 0, sizeof *family);
    begin_forkable(&family->zygote);
    give(&family->zygote, &family->program, &(struct sc_command){.argv = argv, .flags = SC_COMMAND_SOCKET});
    step_until(&family->zygote, &family->program.started);
    begin_below(&family->cell, &family->zygote, false);
    assert_int_equal(mutant ? setenv("SC_FORK_MUTANT", mutant, 1) : unsetenv("SC_FORK_MUTANT"), 0);
}

static void fork_once(struct family *family)
{
    family->op = (struct operation){.input = SCRIPT, .input_len = sizeof SCRIPT - 1};
    give_fork(&family->cell, &family->op, &family->program,
              &(struct sc_command){.argv = NAME, .flags = SC_COMMAND_STDIN});
    while (!family->op.is_over && !family->cell.ended)
        step_once(&family->cell);
}

static void end_family(struct family *family)
{
    unsetenv("SC_FORK_MUTANT");
    forget(&family->op);
    forget(&family->program);
    end_below(&family->cell);
    end_living(&family->zygote);
}

static void nothing_runs_when_a_stage_fails(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof STAGES / sizeof STAGES[0]; i++) {
        struct family family;
        char mutant[32];
        snprintf(mutant, sizeof mutant, "!%s", STAGES[i].name);
        begin_family(&family, mutant);
        fork_once(&family);
        assert_true(family.op.failed && !family.op.started);
        assert_string_equal(family.op.why.stage, STAGES[i].name);
        assert_int_equal(family.op.why.code, -EIO);
        assert_int_equal(family.op.came, 0);
        assert_int_equal(family.cell.ended, 0);
        /* The same cell takes the next one. */
        unsetenv("SC_FORK_MUTANT");
        forget(&family.op);
        fork_once(&family);
        assert_exit(&family.op, 0);
        end_family(&family);
    }
}

static const char *expected(const struct stage *stage)
{
    return stage->missed_alike && the_host()->uid != 0 ? stage->missed_alike : stage->missed;
}

static void a_stage_that_is_left_out_is_missed(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof STAGES / sizeof STAGES[0]; i++) {
        struct family family;
        char text[512];
        const char *missed = expected(&STAGES[i]);
        if (!missed || (!strcmp(STAGES[i].name, "group") && strstr(to_accept(), "memory")))
            continue; /* without groups there is nothing to join */
        begin_family(&family, STAGES[i].name);
        fork_once(&family);
        snprintf(text, sizeof text, "%s%s%s", family.cell.message,
                 family.op.failed ? family.op.why.stage : "",
                 family.op.out.data ? (char *)family.op.out.data : "");
        if (!strstr(text, missed))
            fail_msg("%s: %s", STAGES[i].name, text);
        if (!family.op.failed && !family.op.exited)
            assert_int_equal(family.op.came, 0);
        end_family(&family);
    }
}

static void none_is_missed(void **state)
{
    (void)state;
    struct family family;
    begin_family(&family, NULL);
    fork_once(&family);
    assert_exit(&family.op, 0);
    assert_string_equal((char *)family.op.out.data, "/home/user\n13\n");
    end_family(&family);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, note_traces, expect_no_traces)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(none_is_missed),
        TEST(nothing_runs_when_a_stage_fails),
        TEST(a_stage_that_is_left_out_is_missed),
    };
    return RUN_AS_BOTH(tests);
}
