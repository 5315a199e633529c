/* A command of a living cell stands behind the same walls as the program of a run, and what serves it, agent
 * and shepherd, is as far out of its reach. As root and as an ordinary user. */
#include "live_cell.h"

#include <sys/wait.h>

/* Everything about a process that says what it may do. Three things differ in cells that stay: the runners
 * have a folder, processor time is limited by who gives the command, not by the kernel, and for want of
 * memory programs die before those who serve them. */
static const char SELF[] =
    "grep -E '^(Umask|Uid|Gid|Groups|Cap|NoNewPrivs|Seccomp|CoreDumping|Sig(Blk|Ign|Cgt)|Cpus_allowed_list)' "
    "/proc/self/status\n"
    "ulimit -a | grep -v '^time'\n"
    "env | grep -v '^_=' | sort\n"
    "pwd\n"
    "id\n"
    "ls /proc/self/fd\n"
    "cat /proc/self/coredump_filter\n"
    "grep -v /snapcell /proc/self/mountinfo | cut -d' ' -f4- | sort\n"
    "ls -A / /dev /home/user /tmp | grep -v '^snapcell$'\n"
    "cat /proc/self/attr/current 2>&1\n"
    "true\n";

static void run_once(struct world *world)
{
    const char *const argv[] = {"sh", "-c", SELF, NULL};
    begin(world, "unused", NULL, NULL);
    sc_spec_fini(&world->spec);
    sc_spec_init(&world->spec);
    assert_int_equal(sc_spec_set_command(&world->spec, argv, NULL), 0);
    if (*to_accept())
        assert_int_equal(sc_spec_add(&world->spec, "allow-degraded", to_accept(), NULL), 0);
    expect(world, SC_STATUS_OK, 0);
}

static void as_the_program_of_a_run(void **state)
{
    (void)state;
    struct world world;
    struct living cell;
    struct operation op = {0};
    run_once(&world);
    begin_living(&cell, NULL);
    for (int i = 0; i < 2; i++) { /* the first, and one after others */
        shell(&cell, &op, SELF);
        assert_exit(&op, 0);
        assert_non_null(strstr((char *)op.out.data, "Seccomp:\t2\n"));
        assert_non_null(strstr((char *)op.out.data, "CapBnd:\t0000000000000000\n"));
        assert_string_equal((char *)op.out.data, (char *)world.result.out.kept.data);
        forget(&op);
    }
    end_living(&cell);
    end(&world);
}

/* Prints one line for each attempt that should have failed and did not. The shepherd is our parent. */
static const char REACH[] =
    "import ctypes, os, signal\n"
    "libc = ctypes.CDLL(None, use_errno=True)\n"
    "def tries(name, f):\n"
    "    try:\n"
    "        f()\n"
    "    except OSError:\n"
    "        return\n"
    "    print(name)\n"
    "def call(*args):\n"
    "    if libc.syscall(*args) == -1:\n"
    "        raise OSError(ctypes.get_errno(), '')\n"
    "buf = ctypes.create_string_buffer(64)\n"
    "iov = (ctypes.c_void_p * 2)(ctypes.addressof(buf), 64)\n"
    "for pid in (1, os.getppid()):\n"
    "    for name in ('mem', 'maps', 'environ', 'fd/3', 'exe', 'root/x', 'cwd/x', 'stack', 'syscall', "
    "'auxv'):\n"
    "        tries('%d %s' % (pid, name), lambda: open('/proc/%d/%s' % (pid, name), 'rb').read(1))\n"
    "    for name in ('exe', 'root', 'cwd', 'ns/mnt', 'fd/3'):\n"
    "        tries('%d link %s' % (pid, name), lambda: os.readlink('/proc/%d/%s' % (pid, name)))\n"
    "    tries('%d mem for writing' % pid, lambda: open('/proc/%d/mem' % pid, 'wb'))\n"
    "    tries('%d oom_score_adj' % pid, lambda: open('/proc/%d/oom_score_adj' % pid, 'w').write('1000'))\n"
    "    tries('%d attach' % pid, lambda: call(101, 16, pid, 0, 0))\n"
    "    tries('%d seize' % pid, lambda: call(101, 0x4206, pid, 0, 0))\n"
    "    tries('%d read memory' % pid, lambda: call(310, pid, iov, 1, iov, 1, 0))\n"
    "    tries('%d priority' % pid, lambda: os.setpriority(os.PRIO_PROCESS, pid, 19))\n"
    "    tries('%d limits' % pid, lambda: call(302, pid, 7, ctypes.byref(ctypes.c_uint64(0)), None))\n"
    "    for number in (0, signal.SIGTERM, signal.SIGSTOP, signal.SIGKILL):\n"
    "        tries('%d signal %d' % (pid, number), lambda: os.kill(pid, number))\n"
    "print('done')\n";

/* Where agent and program share one uid, signals are held by Landlock alone. */
static bool signals_are_held(const struct living *cell)
{
    return !cell->plan->agent_shares_uid || the_host()->landlock_abi >= 6;
}

static void who_serves_is_out_of_reach(void **state)
{
    (void)state;
    struct living cell;
    struct operation op = {0}, other = {0};
    const char *const argv[] = {"python3", "-c", REACH, NULL};
    begin_living(&cell, NULL);
    give_shell(&cell, &other, "sleep 1000", 0);
    give(&cell, &op, &(struct sc_command){.argv = argv});
    step_until(&cell, &op.is_over);
    assert_exit(&op, 0);
    char *said = (char *)op.out.data;
    if (signals_are_held(&cell) && strcmp(said, "done\n") != 0)
        fail_msg("within reach:\n%s", said);
    assert_non_null(strstr(said, "done\n"));
    assert_false(other.is_over);
    forget(&op);
    forget(&other);
    end_living(&cell);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, note_traces, expect_no_traces)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(as_the_program_of_a_run),
        TEST(who_serves_is_out_of_reach),
    };
    return RUN_AS_BOTH(tests);
}
