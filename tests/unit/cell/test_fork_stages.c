/* Each stage between a fork and its "go", and each of the agent whose cell it comes to live in: when one
 * fails nothing of the child runs; when one is left out, that is noticed, from outside or by what the child
 * can do. With test builds of the fork library and of the agent. As root and as an ordinary user. */
#include "live_cell.h"

#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

/* An interpreter that has changed of itself what it can. A child of it does what is on its stdin. */
static const char ZYGOTE[] =
    "import ctypes, os, resource\n"
    "lib = ctypes.PyDLL('/snapcell/fork/libsnapcell-fork.so')\n"
    "resource.setrlimit(resource.RLIMIT_NOFILE, (100, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))\n"
    "os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])\n"
    "os.umask(0o77)\n"
    "held = os.pipe()\n"
    "zygote = os.getpid()\n"
    "if lib.sc_fork_serve(4, None, ctypes.create_string_buffer(256)) != 1:\n"
    "    os._exit(50)\n"
    "exec(os.read(0, 65536))\n";

/* What a child is, does and cannot do. In front of it stand NOW, the host's clock, PORT, at which somebody
 * listens on the host's loopback, and ROOT. Landlock domains can be nested 16 deep. */
static const char TELL[] =
    "import errno, socket, sys, time\n"
    "libc = ctypes.CDLL(None, use_errno=True)\n"
    "def tell(*words): print(*words, flush=True)\n"
    "def attempt(name, work, *args):\n"
    "    try: work(*args); tell(name, 'ok')\n"
    "    except OSError as e: tell(name, errno.errorcode[e.errno])\n"
    "def of(text, *names): return [line.split()[1] for line in text.splitlines() if line.split(':')[0] in "
    "names]\n"
    "tell('dumpable', libc.prctl(3, 0, 0, 0, 0))\n"
    "tell('session', os.getsid(0) == os.getpid())\n"
    "tell('umask', oct(os.umask(0o22)))\n"
    "tell('files', resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 100)\n"
    "tell('processors', len(os.sched_getaffinity(0)))\n"
    "tell('descriptors', [fd for fd in range(100) if os.path.exists('/proc/self/fd/%d' % fd)])\n"
    "tell('folder', os.getcwd())\n"
    "tell('name', socket.gethostname())\n"
    "tell('clock', 'own' if time.monotonic() < NOW / 2 else 'host')\n"
    "attempt('loopback', socket.create_connection, ('127.0.0.1', PORT))\n"
    "tell('groups', sorted({line.split(':', 2)[2].strip() for line in open('/proc/self/cgroup')}))\n"
    "tell('mounts', len(open('/proc/self/mountinfo').read()))\n"
    "attempt('write below /', os.mkdir, '/made')\n"
    "attempt('write at home', os.mkdir, '/home/user/made')\n"
    "attempt('signal the agent', os.kill, 1, 0)\n"
    "attempt('read the agent', open, '/proc/1/mem', 'rb')\n"
    "attempt('map of the agent', open, '/proc/1/maps')\n"
    "agent = open('/proc/1/status').read()\n"
    "tell('agent id', *of(agent, 'Uid'))\n"
    "tell('agent rights', *of(agent, 'CapPrm'))\n"
    "tell('agent sealed', *of(agent, 'NoNewPrivs'))\n"
    "tell('agent filter', *of(agent, 'Seccomp'))\n"
    "tell('agent first', not ROOT or int(open('/proc/1/stat').read().rsplit(')')[1].split()[16]) < "
    "os.getpriority(0, 0))\n"
    "tell('network namespaces', open('/proc/sys/user/max_net_namespaces').read().strip())\n"
    "attempt('a call', lambda: libc.syscall(250, 0, 0) >= 0 or (_ for _ in "
    "()).throw(OSError(ctypes.get_errno(), '')))\n"
    "entered = 0\n"
    "while (fd := libc.syscall(444, (ctypes.c_uint64 * 1)(1), 8, 0)) >= 0 and libc.syscall(446, fd, 0) == "
    "0:\n"
    "    entered += 1\n"
    "tell('domains', entered)\n"
    "os._exit(0)\n";

static const char *const NAME[] = {"fork", NULL};

/* What is missed when a stage is left out: a line that is told otherwise ("name wanted" is not there any
 * more), or, after "!", why the child was not let go on. NULL: nothing of it shows here, and why. */
static char
    DOMAINS[32]; /* what a whole child tells last: how many more are to be had depends on the kernel */

struct stage {
    const char *name;
    const char *missed;
    const char *missed_alike; /* the same for an ordinary user, where it is something else; "-": nothing */
};

static const struct stage OF_THE_CHILD[] = {
    {"user", "!pid", NULL},
    {"group", "!control group", NULL},
    {"pid", "!ns/pid", NULL},
    {"number", NULL, NULL}, /* has a test of its own, below */
    {"own number", NULL, NULL},
    {"session", "session True", NULL},
    {"streams", "", NULL}, /* nothing is told */
    {"namespaces", "!ns/time", NULL},
    {"root", "!root", NULL},
    {"limits", "files True", NULL},
    {"pin", NULL, "processors 2"},    /* the cpuset group says the same */
    {"program_priority", NULL, NULL}, /* has a test of its own, below */
    {"domain", DOMAINS, NULL},
    {"bounds", "!CapBnd", NULL},
    {"program_ids", "!user id", "!CapPrm"},
    {"visible", "dumpable 1", "-"}, /* no id changes, which would have taken it */
    {"cwd", "folder /home/user", NULL},
    {"filter", "!its filter has no listener", NULL},
    {"rest", "descriptors [0, 1, 2]", NULL},
};

/* Of one stage, each for itself. */
static const struct stage NAMESPACES[] = {
    {"cgroup namespace", "!ns/cgroup", NULL}, {"time namespace", "!ns/time", NULL},
    {"network namespace", "!ns/net", NULL},   {"ipc namespace", "!ns/ipc", NULL},
    {"uts namespace", "!ns/uts", NULL},
};

static const struct stage OF_THE_AGENT[] = {
    {"group", "groups ['/']", NULL},
    {"priority", "agent first True", "-"},
    {"time", "clock own", NULL},
    {"network", "loopback ECONNREFUSED", NULL},
    {"names", "name cell", NULL},
    {"mounts", "", NULL},
    {"vacant", "", NULL},
    {"user", "network namespaces 0", NULL},
    {"ids", "agent id 999", "-"},
    {"capabilities", "agent rights 00000000000000e0", NULL},
    {"sealed", "agent sealed 1", NULL},
    {"landlock", DOMAINS, NULL},
    {"filter", "agent filter 2", NULL},
};

#define COUNT(list) (sizeof(list) / sizeof(list)[0])

/* Without groups there is nothing to join, and one processor cannot be fewer. */
static const char *expected(const struct stage *stage)
{
    const char *missed = stage->missed_alike && the_host()->uid != 0 ? stage->missed_alike : stage->missed;
    bool is_none = !missed || !strcmp(missed, "-") ||
                   (!strcmp(stage->name, "group") && strstr(to_accept(), "memory")) ||
                   (!strcmp(stage->name, "pin") && sysconf(_SC_NPROCESSORS_ONLN) == 1);
    return is_none ? NULL : missed;
}

struct family {
    struct living zygote, cell;
    struct operation program, op;
    char script[sizeof TELL + 128];
};

/* ---- a cell and its zygote ---- */

static int listen_on_loopback(in_port_t *ret_port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, len), 0);
    assert_int_equal(listen(fd, 64), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
    *ret_port = ntohs(at.sin_port);
    return fd;
}

static void begin_zygote(struct family *family)
{
    const char *const argv[] = {"python3", "-I", "-c", ZYGOTE, NULL};
    memset(family, 0, sizeof *family);
    begin_forkable_with(&family->zygote, "pin", sysconf(_SC_NPROCESSORS_ONLN) > 1 ? "0-1" : "0");
    give(&family->zygote, &family->program, &(struct sc_command){.argv = argv, .flags = SC_COMMAND_SOCKET});
    step_until(&family->zygote, &family->program.started);
}

static void end_zygote(struct family *family)
{
    forget(&family->program);
    end_living(&family->zygote);
}

static void begin_cell(struct family *family)
{
    begin_below(&family->cell, &family->zygote, false);
    family->zygote.begun_ns = family->cell.begun_ns;
}

static void end_cell(struct family *family)
{
    forget(&family->op);
    end_below(&family->cell);
}

/* Steps until it is over, or the cell is. `mutant` is of the fork library. */
static void fork_once(struct family *family, const char *mutant, const char *script)
{
    assert_int_equal(mutant ? setenv("SC_FORK_MUTANT", mutant, 1) : unsetenv("SC_FORK_MUTANT"), 0);
    forget(&family->op);
    family->op = (struct operation){.input = script, .input_len = strlen(script)};
    family->cell.begun_ns = family->zygote.begun_ns = sc_now_ns();
    give_fork(&family->cell, &family->op, &family->program,
              &(struct sc_command){.argv = NAME, .flags = SC_COMMAND_STDIN});
    while (!family->op.is_over && !family->cell.ended)
        step_once(&family->cell);
    unsetenv("SC_FORK_MUTANT");
}

static const char *telling(struct family *family, in_port_t port)
{
    snprintf(family->script, sizeof family->script, "NOW, PORT, ROOT = %.3f, %d, %s\n%s",
             (double)sc_now_ns() / 1e9, port, the_host()->uid == 0 ? "True" : "False", TELL);
    return family->script;
}

static const char *said(const struct family *family)
{
    return family->op.out.data ? (const char *)family->op.out.data : "";
}

/* ---- with nothing left out ---- */

static bool tells(const struct family *family, const char *line)
{
    size_t len = strlen(line);
    for (const char *at = said(family); (at = strstr(at, line)); at += len)
        if ((at == said(family) || at[-1] == '\n') && at[len] == '\n')
            return true;
    return false;
}

static void fork_whole(struct family *family, in_port_t port)
{
    fork_once(family, NULL, telling(family, port));
    assert_exit(&family->op, 0);
    const char *last = strstr(said(family), "\ndomains ");
    assert_non_null(last);
    snprintf(DOMAINS, sizeof DOMAINS, "%.*s", (int)strcspn(last + 1, "\n"), last + 1);
}

/* The twin of all below: each line that is missed there is told here. */
static void none_is_missed(void **state)
{
    static const struct {
        const struct stage *list;
        size_t n;
    } lists[] = {{OF_THE_CHILD, COUNT(OF_THE_CHILD)}, {OF_THE_AGENT, COUNT(OF_THE_AGENT)}};
    (void)state;
    struct family family;
    in_port_t port;
    int listener = listen_on_loopback(&port);
    begin_zygote(&family);
    begin_cell(&family);
    fork_whole(&family, port);
    for (size_t i = 0; i < COUNT(lists); i++)
        for (size_t j = 0; j < lists[i].n; j++) {
            const char *missed = expected(&lists[i].list[j]);
            if (missed && *missed && *missed != '!' && !tells(&family, missed))
                fail_msg("%s: %s", missed, said(&family));
        }
    assert_true(tells(&family, "mounts 0"));
    assert_true(tells(&family, "write below / EROFS"));
    assert_true(tells(&family, "write at home ok"));
    assert_true(tells(&family, "signal the agent EPERM"));
    assert_true(tells(&family, "read the agent EACCES"));
    assert_true(tells(&family, "map of the agent EACCES"));
    assert_true(tells(&family, "a call EPERM"));
    end_cell(&family);
    end_zygote(&family);
    close(listener);
}

/* ---- stages that fail ---- */

static void nothing_runs_when_a_stage_fails(void **state)
{
    (void)state;
    struct family family;
    begin_zygote(&family);
    begin_cell(&family);
    for (size_t i = 0; i < COUNT(OF_THE_CHILD); i++) {
        char mutant[64];
        snprintf(mutant, sizeof mutant, "!%s", OF_THE_CHILD[i].name);
        fork_once(&family, mutant, "os.write(1, b'ran')\nos._exit(0)\n");
        assert_int_equal(family.op.came, 0);
        assert_int_equal(family.cell.ended, 0);
        assert_true(family.op.failed && !family.op.started);
        assert_string_equal(family.op.why.stage, OF_THE_CHILD[i].name);
        assert_int_equal(family.op.why.code, -EIO);
    }
    /* The same cell takes the next one. */
    fork_once(&family, NULL, "os.write(1, b'ran')\nos._exit(0)\n");
    assert_exit(&family.op, 0);
    assert_string_equal(said(&family), "ran");
    end_cell(&family);
    end_zygote(&family);
}

/* ---- stages that are left out ---- */

static void must_miss(const struct family *family, const struct stage *stage)
{
    const char *missed = expected(stage);
    char why[512];
    snprintf(why, sizeof why, "%s%s", family->cell.message, family->op.failed ? family->op.why.stage : "");
    if (*missed == '!' && (!strstr(why, missed + 1) || family->op.came > 0))
        fail_msg("without %s: %s %s", stage->name, why, said(family));
    if (*missed != '!' && tells(family, *missed ? missed : DOMAINS))
        fail_msg("without %s: %s", stage->name, said(family));
}

static void stages_of_the_child(struct family *family, const struct stage *list, size_t n, in_port_t port)
{
    for (size_t i = 0; i < n; i++) {
        if (!expected(&list[i]))
            continue;
        begin_cell(family);
        fork_once(family, list[i].name, telling(family, port));
        must_miss(family, &list[i]);
        end_cell(family);
    }
}

static void stages_of_the_agent(struct family *family, in_port_t port)
{
    for (size_t i = 0; i < COUNT(OF_THE_AGENT); i++) {
        if (!expected(&OF_THE_AGENT[i]))
            continue;
        assert_int_equal(setenv("SC_CHILD_MUTANT", OF_THE_AGENT[i].name, 1), 0);
        bool is_made = try_below(&family->cell, &family->zygote, false) == 0;
        unsetenv("SC_CHILD_MUTANT");
        if (!is_made)
            continue; /* nothing can run there */
        fork_once(family, NULL, telling(family, port));
        must_miss(family, &OF_THE_AGENT[i]);
        end_cell(family);
    }
}

static void a_stage_that_is_left_out_is_missed(void **state)
{
    (void)state;
    struct family family;
    in_port_t port;
    int listener = listen_on_loopback(&port);
    begin_zygote(&family);
    begin_cell(&family);
    fork_whole(&family, port);
    end_cell(&family);
    stages_of_the_child(&family, OF_THE_CHILD, COUNT(OF_THE_CHILD), port);
    stages_of_the_child(&family, NAMESPACES, COUNT(NAMESPACES), port);
    stages_of_the_agent(&family, port);
    end_zygote(&family);
    close(listener);
}

/* ---- numbers ---- */

/* Forks one after the other, each with the next number of its cell, until one would have the zygote's. */
static bool meets_its_zygotes_number(struct family *family, const char *mutant)
{
    for (int i = 0; i < 100 && !tells(family, "same True"); i++) {
        fork_once(family, mutant, "print('same', os.getpid() == zygote, flush=True)\nos._exit(0)\n");
        if (family->op.failed) {
            assert_string_equal(family->op.why.stage, "own number");
            return true;
        }
        assert_exit(&family->op, 0);
    }
    return tells(family, "same True");
}

static void no_fork_has_its_zygotes_number(void **state)
{
    (void)state;
    struct family family;
    static const char *const mutants[] = {NULL, "number", "number,own number"};
    begin_zygote(&family);
    for (int i = 0; i < 3; i++) {
        begin_cell(&family);
        assert_int_equal(meets_its_zygotes_number(&family, mutants[i]), i > 0);
        assert_int_equal(family.op.failed, i == 1); /* the child sees it, where nothing saw to it before */
        end_cell(&family);
    }
    end_zygote(&family);
}

/* ---- priority: last, as not everybody comes back from a lower one ---- */

static int priority_of_a_fork(struct family *family, const char *mutant)
{
    fork_once(family, mutant, "print(os.getpriority(0, 0))\nos.sys.stdout.flush()\nos._exit(0)\n");
    assert_exit(&family->op, 0);
    return atoi(said(family));
}

static void a_fork_has_its_callers_priority(void **state)
{
    (void)state;
    struct family family;
    int before = getpriority(PRIO_PROCESS, 0), lower = before + 3;
    begin_zygote(&family);
    assert_int_equal(setpriority(PRIO_PROCESS, 0, lower), 0);
    begin_cell(&family);
    assert_int_equal(priority_of_a_fork(&family, NULL), lower);
    assert_int_equal(priority_of_a_fork(&family, "program_priority"), before);
    end_cell(&family);
    end_zygote(&family);
    (void)setpriority(PRIO_PROCESS, 0, before);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, note_traces, expect_no_traces)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(none_is_missed),
        TEST(nothing_runs_when_a_stage_fails),
        TEST(a_stage_that_is_left_out_is_missed),
        TEST(no_fork_has_its_zygotes_number),
        TEST(a_fork_has_its_callers_priority),
    };
    return RUN_AS_BOTH(tests);
}
