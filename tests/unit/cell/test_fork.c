/* Programs that are forked into cells of their own: what such a process is, how it ends, and what is left. As
 * root and as an ordinary user. */
#include "live_cell.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

/* An interpreter that waits to be forked; a child becomes the shell of the script on its stdin. */
static const char ZYGOTE[] =
    "import ctypes, os, sys\n"
    "lib = ctypes.PyDLL('/snapcell/fork/libsnapcell-fork.so')\n"
    "class Birth(ctypes.Structure):\n"
    "    _fields_ = [('randomness', ctypes.c_uint8 * 64), ('wall_ns', ctypes.c_int64),\n"
    "                ('has_runner', ctypes.c_int32), ('has_socket', ctypes.c_int32)]\n"
    "birth = Birth()\n"
    "held = open('/etc/passwd'), os.pipe(), os.memfd_create('x')\n"
    "code = lib.sc_fork_serve(4, None, ctypes.byref(birth))\n"
    "if code != 1:\n"
    "    os._exit(50 + code)\n"
    "script = b''\n"
    "while part := os.read(0, 65536):\n"
    "    script += part\n"
    "os.environ['BIRTH'] = bytes(birth.randomness).hex()\n"
    "os.execvp('sh', ['sh', '-c', script.decode()])\n";

/* As in test_live_walls.c: everything about a process that says what it may do. A filter more is to be seen.
 */
static const char SELF[] =
    "grep -E '^(Umask|Uid|Gid|Groups|Cap|NoNewPrivs|Seccomp:|CoreDumping|Sig(Blk|Cgt)|Cpus_allowed_list)' "
    "/proc/self/status\n"
    "ulimit -a\n"
    "pwd\n"
    "id\n"
    "ls /proc/self/fd\n"
    "cat /proc/self/mountinfo | cut -d' ' -f4- | sort\n"
    "ls -A / /dev /home/user /tmp\n"
    "cat /proc/self/cgroup | sed 's/snapcell-[^/]*//'\n"
    "cat /proc/self/oom_score_adj\n"
    "cut -d' ' -f19 /proc/self/stat\n" /* nice */
    "hostname\n"
    "cat /proc/net/dev\n"
    "true\n";

struct family {
    struct living zygote;
    struct operation program;
};

static void begin_family(struct family *family)
{
    const char *const argv[] = {"python3", "-I", "-c", ZYGOTE, NULL};
    begin_forkable(&family->zygote);
    family->program = (struct operation){0};
    give(&family->zygote, &family->program, &(struct sc_command){.argv = argv, .flags = SC_COMMAND_SOCKET});
    step_until(&family->zygote, &family->program.started);
}

static void end_family(struct family *family)
{
    forget(&family->program);
    end_living(&family->zygote);
}

static const char *const NAME[] = {"fork", NULL};

static void give_script(struct living *cell, struct operation *op, struct family *family, const char *script)
{
    op->input = script;
    op->input_len = strlen(script);
    give_fork(cell, op, &family->program, &(struct sc_command){.argv = NAME, .flags = SC_COMMAND_STDIN});
}

/* To its very end. */
static void run_script(struct living *cell, struct operation *op, struct family *family, const char *script)
{
    give_script(cell, op, family, script);
    step_until(cell, &op->is_over);
    if (op->failed)
        fail_msg("stage %s: %s: %s", op->why.stage, op->why.object, strerror(-op->why.code));
}

static void as_a_command_of_the_cell(void **state)
{
    (void)state;
    struct family family;
    struct living cell;
    struct operation fork = {0}, cold = {0};
    begin_family(&family);
    begin_below(&cell, &family.zygote, false);
    shell(&cell, &cold, SELF);
    assert_exit(&cold, 0);
    run_script(&cell, &fork, &family, SELF);
    assert_exit(&fork, 0);
    assert_non_null(strstr((char *)fork.out.data, "CapBnd:\t0000000000000000\n"));
    assert_string_equal((char *)fork.out.data, (char *)cold.out.data);
    forget(&fork);
    forget(&cold);
    end_below(&cell);
    end_family(&family);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, note_traces, expect_no_traces)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(as_a_command_of_the_cell),
    };
    return RUN_AS_BOTH(tests);
}
