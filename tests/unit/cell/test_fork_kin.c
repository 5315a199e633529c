/* Cells below a cell: what they are to each other, who refuses a fork, and what many of them leave. As root
 * and as an ordinary user. */
#include "family.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/sys.h"
#include "cell/live_parts.h"

/* ---- above and below ---- */

static void the_end_of_the_cell_above_is_its_end(void **state)
{
    (void)state;
    struct family family;
    struct living cell;
    struct operation op = {0};
    begin_pair(&family, &cell);
    give_script(&cell, &op, &family, "sleep 1000");
    step_until(&cell, &op.started);
    sc_live_kill(family.zygote.live);
    while (!cell.ended || !family.zygote.ended)
        if (sc_live_step(cell.live, NULL) < 0 || sc_live_step(family.zygote.live, NULL) < 0)
            fail_msg("step");
    assert_true(op.is_over);
    forget(&op);
    end_pair(&family, &cell);
}

static void closing_the_one_above_ends_those_below(void **state)
{
    (void)state;
    struct family family;
    struct living cell;
    begin_pair(&family, &cell);
    sc_live_close(family.zygote.live);
    assert_false(sc_live_is_alive(cell.live));
    sc_live_close(cell.live);
    sc_works_free(family.zygote.works);
    sc_plan_free(family.zygote.plan);
    sc_spec_fini(&family.zygote.spec);
    forget(&family.program);
}

static pid_t start_stranger(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        pause();
        _exit(0);
    }
    return pid;
}

static void end_stranger(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Whoever is in its groups beside the agent, however that came. */
static void look_with_a_stranger_in(struct living *cell)
{
    const struct sc_group *group = &cell->live->cell.space.group;
    for (int i = 0; cell->live->cell.space.has_group && i < SC_CTL_COUNT; i++) {
        char text[16];
        if (group->dir_fds[i] < 0)
            continue;
        pid_t stranger = start_stranger();
        snprintf(text, sizeof text, "%d", (int)stranger);
        assert_int_equal(sc_write_file(group->dir_fds[i], "cgroup.procs", text), 0);
        assert_false(sc_live_is_blank(cell->live));
        end_stranger(stranger);
        assert_true(sc_live_is_blank(cell->live));
    }
}

static void a_cell_is_blank_until_it_is_used(void **state)
{
    (void)state;
    struct family family;
    struct living cell;
    struct operation op = {0};
    begin_pair(&family, &cell);
    while (!sc_live_is_sealed(cell.live)) {
        assert_false(sc_live_is_blank(cell.live));
        assert_int_equal(sc_live_step(cell.live, NULL), 0);
    }
    assert_true(sc_live_is_blank(cell.live));
    assert_false(sc_live_is_blank(family.zygote.live)); /* its program runs */
    look_with_a_stranger_in(&cell);
    give_script(&cell, &op, &family, "sleep 1000");
    assert_false(sc_live_is_blank(cell.live)); /* asked for is used */
    step_until(&cell, &op.started);
    assert_false(sc_live_is_blank(cell.live));
    sc_live_kill(cell.live);
    while (!cell.ended)
        assert_int_equal(sc_live_step(cell.live, NULL), 0);
    assert_false(sc_live_is_blank(cell.live));
    forget(&op);
    end_pair(&family, &cell);
}

static void a_dead_cell_is_not_blank_before_anybody_has_heard(void **state)
{
    (void)state;
    struct family family;
    struct living cell;
    begin_pair(&family, &cell);
    while (!sc_live_is_sealed(cell.live))
        assert_int_equal(sc_live_step(cell.live, NULL), 0);
    assert_true(sc_live_is_blank(cell.live));
    struct pollfd dead = {cell.live->cell.pidfd, POLLIN, 0};
    assert_int_equal(sc_sys_pidfd_kill(cell.live->cell.pidfd, SIGKILL), 0);
    assert_int_equal(poll(&dead, 1, -1), 1);
    assert_true(sc_live_is_alive(cell.live));
    assert_false(sc_live_is_blank(cell.live));
    end_pair(&family, &cell);
}

/* Siblings see nothing of each other, nor of the one above. */
static void siblings_are_apart(void **state)
{
    (void)state;
    struct family family;
    struct living cells[3];
    struct operation ops[3] = {0};
    static const char script[] =
        "echo $BIRTH $(ps -e -o pid= | wc -l) $(ls -A /home/user /tmp | grep -c mine); touch mine /tmp/mine; "
        "cat; id -u";
    begin_family(&family);
    for (int i = 0; i < 3; i++) {
        begin_below(&cells[i], &family.zygote, false);
        run_script(&cells[i], &ops[i], &family, script);
        assert_exit(&ops[i], 0);
        for (int j = 0; j < i; j++) {
            assert_memory_not_equal(ops[i].out.data, ops[j].out.data, 32); /* fresh randomness */
            assert_string_equal((char *)ops[i].out.data + 128, (char *)ops[j].out.data + 128);
        }
        assert_non_null(strstr((char *)ops[i].out.data, " 0\n1000\n"));
    }
    for (int i = 0; i < 3; i++) {
        forget(&ops[i]);
        end_below(&cells[i]);
    }
    end_family(&family);
}

/* Calls are refused, recorded and answered in a fork as in any program of its cell. */
static void refusals_are_recorded(void **state)
{
    (void)state;
    struct family family;
    struct living cell;
    struct operation op = {0};
    static const char script[] =
        "python3 -c 'import ctypes as c, os\n"
        "l = c.CDLL(None, use_errno=True)\n"
        "for n, a in ((272, 0x10000000), (161, 0), (308, 0), (425, 1)):\n"
        "    r = l.syscall(n, a, 0, 0)\n"
        "    print(n, r, c.get_errno())\n"
        "print(os.sysconf(\"SC_PHYS_PAGES\") > 0, l.sysinfo(c.create_string_buffer(128)))'";
    begin_pair(&family, &cell);
    run_script(&cell, &op, &family, script);
    assert_exit(&op, 0);
    assert_string_equal((char *)op.out.data, "272 -1 1\n161 -1 1\n308 -1 1\n425 -1 1\nTrue 0\n");
    assert_int_equal(cell.denials, 4);
    assert_int_equal(family.zygote.denials, 0);
    forget(&op);
    end_pair(&family, &cell);
}

/* Each system call there is, in a process of its own, with arguments that none can do anything with. Left out
 * are those that would wait or end the process in ways of their own, or are about all others. */
static const char EVERY_CALL[] =
    "python3 -c '\n"
    "import ctypes, os\n"
    "libc = ctypes.CDLL(None, use_errno=True)\n"
    "for nr in list(range(475)) + [0x40000000]:\n"
    "    if nr in (15, 34, 56, 57, 58, 60, 62, 231, 435):\n"
    "        continue\n"
    "    r, w = os.pipe()\n"
    "    pid = os.fork()\n"
    "    if pid == 0:\n"
    "        bad = ctypes.c_long(-1)\n"
    "        code = libc.syscall(ctypes.c_long(nr), bad, bad, bad, bad, bad, bad)\n"
    "        os.write(w, b\"%d\" % (ctypes.get_errno() if code == -1 else 0))\n"
    "        os._exit(0)\n"
    "    os.close(w)\n"
    "    print(nr, os.read(r, 16).decode(), os.waitpid(pid, 0)[1])\n"
    "    os.close(r)\n"
    "'";

static void assert_same_lines(char *a, char *b)
{
    for (char *line, *other; (line = strsep(&a, "\n")) && (other = strsep(&b, "\n"));)
        if (strcmp(line, other) != 0)
            fail_msg("%s instead of %s", line, other);
    assert_true(!a == !b);
}

static void every_call_is_answered_alike(void **state)
{
    (void)state;
    struct family family;
    struct living cell, other; /* some calls leave things behind */
    struct operation fork = {0}, cold = {0};
    begin_pair(&family, &cell);
    begin_below(&other, &family.zygote, false);
    shell(&other, &cold, EVERY_CALL);
    assert_exit(&cold, 0);
    cell.begun_ns = sc_now_ns();
    run_script(&cell, &fork, &family, EVERY_CALL);
    assert_exit(&fork, 0);
    assert_non_null(strstr((char *)cold.out.data, "\n308 1 0\n")); /* setns: EPERM */
    assert_same_lines((char *)fork.out.data, (char *)cold.out.data);
    assert_true(cell.denials > 20);
    assert_int_equal(cell.denials, other.denials);
    forget(&fork);
    forget(&cold);
    end_below(&other);
    end_pair(&family, &cell);
}

static void forks_of_forks(void **state)
{
    (void)state;
    struct family family;
    struct living middle, lowest;
    struct operation zygote = {0}, op = {0}, failed = {0};
    /* The first child becomes such an interpreter in turn: its fork socket is handed on by exec. */
    char script[4096];
    snprintf(script, sizeof script, "exec python3 -I -c \"%s\"", ZYGOTE);
    begin_family(&family);
    begin_below(&middle, &family.zygote, true);
    zygote = (struct operation){.input = script, .input_len = strlen(script)};
    give_fork(&middle, &zygote, &family.program,
              &(struct sc_command){.argv = NAME, .flags = SC_COMMAND_STDIN | SC_COMMAND_SOCKET});
    step_until(&middle, &zygote.started);
    begin_below(&lowest, &middle, false);
    op = (struct operation){.input = SELF, .input_len = strlen(SELF)};
    give_fork(&lowest, &op, &zygote, &(struct sc_command){.argv = NAME, .flags = SC_COMMAND_STDIN});
    step_until(&lowest, &op.is_over);
    if (op.failed)
        fail_msg("stage %s: %s: %s", op.why.stage, op.why.object, strerror(-op.why.code));
    shell(&lowest, &failed, SELF);
    assert_exit(&op, 0);
    assert_string_equal((char *)op.out.data, (char *)failed.out.data);
    forget(&op);
    forget(&failed);
    forget(&zygote);
    end_below(&lowest);
    end_below(&middle);
    end_family(&family);
}

/* What a program that can be forked keeps of its filter leads nowhere: it has no right, and makes no
 * namespace. */
static void a_forkable_cell_holds_its_own(void **state)
{
    (void)state;
    struct living cell;
    struct operation op = {0};
    static const char script[] =
        "python3 -c 'import ctypes as c, os\n"
        "l = c.CDLL(None, use_errno=True)\n"
        "def say(*a):\n"
        "    r = l.syscall(*a); print(r, c.get_errno() if r else 0)\n"
        "for flag in (0x10000000, 0x00020000, 0x40000000):\n"
        "    say(272, flag)\n"                 /* unshare */
        "    say(56, flag | 17, 0, 0, 0, 0)\n" /* clone */
        "for name, flag in ((\"user\", 0x10000000), (\"net\", 0x40000000), (\"mnt\", 0x20000)):\n"
        "    say(308, os.open(\"/proc/self/ns/\" + name, os.O_RDONLY), flag)\n"
        "say(161, b\"/tmp\")\n"                                /* chroot */
        "say(165, b\"none\", b\"/tmp\", b\"tmpfs\", 0, 0)\n'"; /* mount */
    begin_forkable(&cell);
    shell(&cell, &op, script);
    assert_exit(&op, 0);
    assert_string_equal((char *)op.out.data,
                        "-1 38\n-1 38\n-1 38\n-1 38\n-1 38\n-1 38\n" /* no such call */
                        "-1 22\n-1 1\n-1 38\n" /* its own user namespace, no right, no such call */
                        "-1 1\n-1 38\n");
    assert_int_equal(cell.denials, 0);
    forget(&op);
    end_living(&cell);
}

/* ---- refusals ---- */

static void what_cannot_be_forked(void **state)
{
    (void)state;
    struct family family;
    struct living cell, plain;
    struct operation op = {0}, sleeper = {0}, second = {0};
    struct sc_live *none;
    uint16_t id;
    begin_pair(&family, &cell);
    static const char *const env[] = {"A=b", NULL};
    const struct sc_command like = {.argv = NAME}, terminal = {.argv = NAME, .flags = SC_COMMAND_PTY},
                            forkable = {.argv = NAME, .flags = SC_COMMAND_SOCKET},
                            with_env = {.argv = NAME, .env = env};
    give_shell(&family.zygote, &sleeper, "sleep 1000", 0);
    step_until(&family.zygote, &sleeper.started);
    struct sc_live *above = family.zygote.live;
    static const struct sc_live_op_events silent = {0};
    assert_int_equal(sc_live_adopt(cell.live, above, sleeper.id, &like, &silent, NULL, &id, &cell.err),
                     -EINVAL);
    assert_int_equal(sc_live_adopt(above, above, family.program.id, &like, &silent, NULL, &id, &cell.err),
                     -EINVAL);
    const struct sc_command *const bad[] = {&terminal, &forkable, &with_env};
    for (int i = 0; i < 3; i++)
        assert_int_equal(
            sc_live_adopt(cell.live, above, family.program.id, bad[i], &silent, NULL, &id, &cell.err),
            -EINVAL);
    give_script(&cell, &op, &family, "sleep 1000");
    assert_int_equal(sc_live_adopt(cell.live, above, family.program.id, &like, &silent, NULL, &id, &cell.err),
                     -EBUSY);
    begin_living(&plain, NULL);
    assert_int_equal(
        sc_live_open_child(plain.works, plain.live, false, &(struct sc_live_events){0}, &none, &plain.err),
        -EINVAL);
    end_living(&plain);
    assert_int_equal(
        sc_live_open_child(cell.works, cell.live, false, &(struct sc_live_events){0}, &none, &plain.err),
        -EINVAL);
    (void)second;
    forget(&op);
    forget(&sleeper);
    end_pair(&family, &cell);
}

/* The program answers no; the cell stays as it is, and serves another. */
static void a_program_that_refuses_says_why(void **state)
{
    (void)state;
    struct living zygote, cell;
    struct operation program = {0}, op = {0}, after = {0};
    static const char threaded[] = "import ctypes, threading, time\n"
                                   "threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()\n"
                                   "lib = ctypes.PyDLL('/snapcell/fork/libsnapcell-fork.so')\n"
                                   "lib.sc_fork_serve(4, None, ctypes.create_string_buffer(256))\n";
    const char *const argv[] = {"python3", "-I", "-c", threaded, NULL};
    begin_forkable(&zygote);
    give(&zygote, &program, &(struct sc_command){.argv = argv, .flags = SC_COMMAND_SOCKET});
    step_until(&zygote, &program.started);
    begin_below(&cell, &zygote, false);
    give_fork(&cell, &op, &program, &(struct sc_command){.argv = NAME});
    step_until(&cell, &op.is_over);
    assert_true(op.failed);
    assert_int_equal(op.why.code, -EBUSY);
    assert_string_equal(op.why.stage, "fork");
    assert_string_equal(op.why.object, "it has more than one thread");
    assert_int_equal(cell.ended, 0);
    shell(&cell, &after, "echo alive");
    assert_exit(&after, 0);
    forget(&after);
    /* And when it ends: it, too, is a reason. */
    assert_int_equal(sc_live_signal(zygote.live, program.id, SIGKILL, SC_SIGNAL_TREE), 0);
    step_until(&zygote, &program.is_over);
    forget(&op);
    forget(&program);
    end_below(&cell);
    end_living(&zygote);
}

/* A program that lies: it says of a process that was never sealed that it was, with what `give_fd` makes into
 * `fd`. */
static void lie(const char *give_fd, const char *what)
{
    struct living zygote, cell;
    struct operation program = {0}, op = {0};
    char liar[2048];
    snprintf(
        liar, sizeof liar,
        "import array, ctypes, os, socket, struct, time\n"
        "s = socket.socket(fileno=4)\n"
        "order, parts, _, _ = s.recvmsg(8192, 4096)\n"
        "fds = array.array('i'); fds.frombytes(parts[0][2])\n"
        "if os.fork() == 0:\n"
        "    r = socket.socket(fileno=fds[0])\n"
        "    %s\n"
        "    socket.send_fds(r, [bytes(128)], [fd])\n"
        "    r.recv(1)\n"
        "    time.sleep(1000)\n"
        "s.send(struct.pack('=Iii28s96s', struct.unpack_from('=I', order, 4)[0], os.getpid(), 0, b'', b''))\n"
        "time.sleep(1000)\n",
        give_fd);
    const char *const argv[] = {"python3", "-I", "-c", liar, NULL};
    begin_forkable(&zygote);
    give(&zygote, &program, &(struct sc_command){.argv = argv, .flags = SC_COMMAND_SOCKET});
    step_until(&zygote, &program.started);
    begin_below(&cell, &zygote, false);
    give_fork(&cell, &op, &program, &(struct sc_command){.argv = NAME});
    while (!cell.ended)
        step_once(&cell);
    assert_true(op.is_over && op.failed && !op.started);
    assert_int_equal(cell.why, SC_STATUS_SANDBOX_ERROR);
    if (!strstr(cell.message, what))
        fail_msg("%s", cell.message);
    assert_int_equal(zygote.ended, 0);
    forget(&op);
    forget(&program);
    end_below(&cell);
    end_living(&zygote);
}

static void who_lies_about_its_child_loses_the_cell(void **state)
{
    (void)state;
    /* The listener of a filter of its own, that allows everything. */
    lie("code = ctypes.create_string_buffer(struct.pack('=HBBI', 6, 0, 0, 0x7fff0000)); "
        "fd = ctypes.CDLL(None).syscall(317, 1, 8, struct.pack('=HxxxxxxQ', 1, ctypes.addressof(code)))",
        "not sealed: ns/user");
    /* What can always be read would keep the supervisor busy. */
    lie("fd = os.eventfd(1)", "not sealed: what it gave as its filter's listener is none");
    lie("fd = os.open('/dev/zero', os.O_RDONLY)",
        "not sealed: what it gave as its filter's listener is none");
}

/* A program that keeps what an order lends it, and enters the cell below itself: it has every capability over
 * that cell's namespaces then, and no call that leads from these into the kernel's depths. */
static void what_an_order_lends_leads_no_further(void **state)
{
    (void)state;
    struct living zygote, cell;
    struct operation program = {0}, op = {0};
    static const char thief[] =
        "import array, ctypes, os, socket, struct\n"
        "s = socket.socket(fileno=4)\n"
        "order, parts, _, _ = s.recvmsg(8192, 4096)\n"
        "given = array.array('i'); given.frombytes(parts[0][2])\n"
        "mask = struct.unpack_from('=I', order, 12)[0]\n"
        "fds = dict(zip([i for i in range(32) if mask >> i & 1], given))\n"
        "c = ctypes.CDLL(None, use_errno=True)\n"
        "def say(what, r): print(what, 0 if r >= 0 else ctypes.get_errno(), flush=True)\n"
        "say('user', c.setns(fds[7], 0x10000000))\n"
        "say('net', c.setns(fds[10], 0x40000000))\n"
        "t = socket.socket()\n"
        "for level, name in ((0, 64), (0, 65), (0, 17), (41, 64), (41, 65), (41, 35), (6, 19), (0, 96), (0, "
        "128), "
        "(0, 200), (0, 1153), (0, 1), (6, 1)):\n"
        "    say('set %d %d' % (level, name), c.setsockopt(t.fileno(), level, name, bytes(100), 100))\n"
        "def link(kind, body, flags=0x605):\n"
        "    try: n = socket.socket(16, 3, 0)\n"
        "    except OSError as e: print('netlink', e.errno, flush=True); return\n"
        "    n.send(struct.pack('=IHHII', 16 + len(body), kind, flags, 1, 0) + body)\n"
        "    print('link', kind, struct.unpack_from('=i', n.recv(4096), 16)[0], flush=True)\n"
        "def attr(kind, data): return struct.pack('=HH', len(data) + 4, kind) + data + bytes(-len(data) % "
        "4)\n"
        "link(16, bytes(16) + attr(3, b'x0\\0') + attr(18, attr(1, b'dummy\\0')))\n"
        "link(36, struct.pack('=BxHiIII', 0, 0, 1, 0x10000, 0xffffffff, 0) + attr(1, b'pfifo\\0'))\n"
        "os._exit(0)\n";
    const char *const argv[] = {"python3", "-I", "-c", thief, NULL};
    begin_forkable(&zygote);
    give(&zygote, &program, &(struct sc_command){.argv = argv, .flags = SC_COMMAND_SOCKET});
    step_until(&zygote, &program.started);
    begin_below(&cell, &zygote, false);
    give_fork(&cell, &op, &program, &(struct sc_command){.argv = NAME});
    while (!program.is_over)
        step_once(&cell);
    assert_exit(&program, 0);
    assert_string_equal((char *)program.out.data,
                        "user 0\nnet 0\n"
                        "set 0 64 1\nset 0 65 1\nset 0 17 1\n"    /* packet filter, IPsec */
                        "set 41 64 1\nset 41 65 1\nset 41 35 1\n" /* the same of v6 */
                        "set 6 19 1\n"                            /* TCP_REPAIR */
                        "set 0 96 92\nset 0 128 92\nset 0 200 92\nset 0 1153 92\n"
                        "set 0 1 0\nset 6 1 0\n" /* what programs set */
                        "netlink 93\nnetlink 93\n");
    forget(&op);
    forget(&program);
    end_below(&cell);
    end_living(&zygote);
}

/* As root: every cell below another has ids of its own, and gives them back. */
static void ids_are_given_once_and_given_back(void **state)
{
    (void)state;
    enum { N = 20 };
    struct family family;
    struct living cells[N];
    char seen[N][32];
    need_root();
    begin_family(&family);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < N; i++) {
            struct operation op = {0};
            begin_below(&cells[i], &family.zygote, false);
            run_script(&cells[i], &op, &family, "cat /proc/self/uid_map | tr -s ' '");
            const char *own = strstr((char *)op.out.data, " 1000 ");
            assert_non_null(own);
            snprintf(seen[i], sizeof seen[i], "%s", own);
            for (int j = 0; j < i; j++)
                assert_string_not_equal(seen[i], seen[j]);
            forget(&op);
        }
        for (int i = 0; i < N; i++)
            end_below(&cells[i]);
    }
    end_family(&family);
}

static void many_forks_live_in_one_cell_after_another(void **state)
{
    (void)state;
    struct family family;
    struct living cell;
    begin_pair(&family, &cell);
    for (int i = 0; i < 300; i++) {
        struct operation op = {0};
        cell.begun_ns = sc_now_ns(); /* the time limit is of each */
        run_script(&cell, &op, &family, "exit 5");
        assert_exit(&op, 5);
        forget(&op);
    }
    end_pair(&family, &cell);
}

static void many_forks_leave_nothing(void **state)
{
    (void)state;
    struct family family;
    begin_family(&family);
    for (int i = 0; i < 60; i++) {
        struct living cell;
        struct operation op = {0};
        begin_below(&cell, &family.zygote, false);
        family.zygote.begun_ns = cell.begun_ns;
        run_script(&cell, &op, &family, "true");
        assert_exit(&op, 0);
        forget(&op);
        end_below(&cell);
    }
    end_family(&family);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, note_traces, expect_no_traces)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_end_of_the_cell_above_is_its_end),
        TEST(closing_the_one_above_ends_those_below),
        TEST(a_cell_is_blank_until_it_is_used),
        TEST(a_dead_cell_is_not_blank_before_anybody_has_heard),
        TEST(siblings_are_apart),
        TEST(refusals_are_recorded),
        TEST(every_call_is_answered_alike),
        TEST(forks_of_forks),
        TEST(a_forkable_cell_holds_its_own),
        TEST(what_cannot_be_forked),
        TEST(a_program_that_refuses_says_why),
        TEST(what_an_order_lends_leads_no_further),
        TEST(who_lies_about_its_child_loses_the_cell),
        TEST(ids_are_given_once_and_given_back),
        TEST(many_forks_live_in_one_cell_after_another),
        TEST(many_forks_leave_nothing),
    };
    return RUN_AS_BOTH(tests);
}
