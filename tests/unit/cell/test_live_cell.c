/* Living cells end to end: the supervisor's half and the agent's own, with the whole cell between them, as
 * root and as an ordinary user. */
#include "fixture.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "cell/live.h"
#include "cell/run.h"

#define LARGE_MIB 300
#define PATIENCE_NS (30 * SC_NS_PER_S)

struct living {
    struct world world;
    struct sc_live *live;
    struct traces traces;
    unsigned ended, memory;
    char message[256];
};

/* What came of one operation. */
struct op {
    struct living *living;
    uint16_t id;
    unsigned started, exited, gone, failed, done;
    uint64_t bytes[4];
    char text[4][4096];
    struct sc_command_end end;
    struct sc_msg_failed why;
    struct sc_msg_file_done result;
    const char *feed; /* input still to be written */
    size_t feed_len;
    unsigned feed_again; /* so often from its beginning */
    size_t feed_size;
    char *all; /* of stdout, when there is room for it */
    size_t all_room;
    bool keep_open; /* stdin stays open when all is written */
};

static void on_started(void *userdata, pid_t pid)
{
    struct op *op = userdata;
    (void)pid;
    op->started++;
}

static void on_output(void *userdata, enum sc_stream_number stream, const void *data, size_t len)
{
    struct op *op = userdata;
    if (op->bytes[stream] < sizeof op->text[0] - 1) {
        size_t room = sizeof op->text[0] - 1 - op->bytes[stream];
        memcpy(op->text[stream] + op->bytes[stream], data, len < room ? len : room);
    }
    if (op->all && stream == SC_STREAM_OUT && op->bytes[stream] + len <= op->all_room)
        memcpy(op->all + op->bytes[stream], data, len);
    op->bytes[stream] += len;
    assert_int_equal(sc_live_took(op->living->live, op->id, stream, len), 0);
}

static void feed(struct op *op)
{
    while (op->feed_len > 0) {
        ssize_t n = sc_live_write(op->living->live, op->id, SC_STREAM_IN, op->feed, op->feed_len);
        if (n <= 0)
            return;
        op->feed += n;
        op->feed_len -= (size_t)n;
        if (op->feed_len == 0 && op->feed_again > 0) {
            op->feed_again--;
            op->feed -= op->feed_size;
            op->feed_len = op->feed_size;
        }
    }
    if (!op->keep_open)
        sc_live_close_input(op->living->live, op->id);
}

static void on_room(void *userdata, enum sc_stream_number stream)
{
    (void)stream;
    feed(userdata);
}

static void on_exited(void *userdata, const struct sc_command_end *end)
{
    struct op *op = userdata;
    op->exited++;
    op->end = *end;
}

static void on_gone(void *userdata)
{
    ((struct op *)userdata)->gone++;
}

static void on_failed(void *userdata, const struct sc_msg_failed *failed)
{
    struct op *op = userdata;
    op->failed++;
    op->why = *failed;
}

static void on_done(void *userdata, const struct sc_msg_file_done *done)
{
    struct op *op = userdata;
    op->done++;
    op->result = *done;
}

static const struct sc_live_op_events EVENTS = {on_started, on_output, on_room, on_exited,
                                                on_gone,    on_failed, on_done};

static void on_ended(void *userdata, enum sc_status why, const char *message)
{
    struct living *living = userdata;
    (void)why;
    living->ended++;
    snprintf(living->message, sizeof living->message, "%s", message ? message : "");
}

static void on_memory(void *userdata)
{
    ((struct living *)userdata)->memory++;
}

static void open_living(struct living *living, const char *option, const char *value)
{
    memset(living, 0, sizeof *living);
    living->traces = traces_of_now();
    begin(&living->world, "unused", NULL, option, value, NULL);
    if (option && !strcmp(option, "disk-backing"))
        assert_int_equal(sc_spec_set(&living->world.spec, "disk", "400M", NULL) +
                             sc_spec_set(&living->world.spec, "memory", "64M", NULL),
                         0);
    sc_spec_clear_program(&living->world.spec);
    living->world.spec.session = true;
    make_works(&living->world);
    const struct sc_live_events events = {.userdata = living, .out_of_memory = on_memory, .ended = on_ended};
    if (sc_live_open(living->world.works, &events, &living->live, &living->world.err) < 0)
        fail_msg("%s", living->world.err.message);
}

static void close_living(struct living *living)
{
    if (living->ended)
        fail_msg("the cell ended: %s", living->message);
    sc_live_close(living->live);
    end(&living->world);
    assert_same_traces(&living->traces);
}

static void step(struct living *living)
{
    struct pollfd readable = {sc_live_fd(living->live), POLLIN, 0};
    uint64_t now = sc_now_ns(), next = sc_live_next_ns(living->live);
    int wait_ms = next > now + SC_NS_PER_S ? 1000 : next > now ? (int)((next - now) / SC_NS_PER_MS) + 1 : 0;
    poll(&readable, 1, wait_ms);
    if (sc_live_step(living->live, &living->world.err) < 0)
        fail_msg("step: %s", living->world.err.message);
}

static void wait_for(struct living *living, const unsigned *flag, unsigned value)
{
    uint64_t until = sc_now_ns() + PATIENCE_NS;
    while (*flag < value) {
        step(living);
        if (living->ended && *flag < value)
            fail_msg("the cell ended: %s", living->message);
        if (sc_now_ns() > until)
            fail_msg("nothing comes");
    }
}

static void start(struct living *living, struct op *op, const struct sc_command *command)
{
    op->living = living;
    if (sc_live_command(living->live, command, &EVENTS, op, &op->id, &living->world.err) < 0)
        fail_msg("%s", living->world.err.message);
    if (command->flags & (SC_COMMAND_STDIN | SC_COMMAND_PTY))
        feed(op);
}

static void start_shell(struct living *living, struct op *op, const char *script, uint32_t flags)
{
    const char *const argv[] = {"sh", "-c", script, NULL};
    start(living, op, &(struct sc_command){.argv = argv, .flags = flags, .rows = 24, .cols = 80});
}

/* Start to end. */
static void shell(struct living *living, struct op *op, const char *script, const char *input)
{
    memset(op, 0, sizeof *op);
    op->feed = input;
    op->feed_len = input ? strlen(input) : 0;
    start_shell(living, op, script, input ? SC_COMMAND_STDIN : 0);
    wait_for(living, &op->gone, 1);
}

static void file(struct living *living, struct op *op, const struct sc_file_op *order, const char *input,
                 size_t len)
{
    memset(op, 0, sizeof *op);
    op->living = living;
    op->feed = input;
    op->feed_len = len;
    if (sc_live_file(living->live, order, &EVENTS, op, &op->id, &living->world.err) < 0)
        fail_msg("%s", living->world.err.message);
    if (input)
        feed(op);
    wait_for(living, &op->done, 1);
}

static void expect_done(struct living *l, struct op *op, const struct sc_file_op *order, const char *input,
                        int code)
{
    file(l, op, order, input, input ? strlen(input) : 0);
    if (op->result.code != code)
        fail_msg("kind %d of %s: %d (%s), not %d", (int)order->kind, order->path, op->result.code,
                 op->result.object, code);
}

#define ORDER(kind_, path_, ...)                                                                             \
    &(const struct sc_file_op)                                                                               \
    {                                                                                                        \
        .kind = kind_, .path = path_, ##__VA_ARGS__                                                          \
    }

/* ---- commands ---- */

static void commands(void **state)
{
    (void)state;
    struct living l;
    static struct op op;
    open_living(&l, NULL, NULL);
    shell(&l, &op, "cat; pwd; id -u; exit 3", "given\n");
    assert_string_equal(op.text[SC_STREAM_OUT], "given\n/home/user\n1000\n");
    assert_int_equal(op.end.wait_status, 3 << 8);
    shell(&l, &op, "echo kept > a; ls -l /proc/self/fd | tail -n +2 | wc -l; echo again > /dev/stdout", NULL);
    assert_string_equal(op.text[SC_STREAM_OUT], "4\nagain\n");
    shell(&l, &op, "cat /proc/self/oom_score_adj /proc/1/oom_score_adj /proc/$PPID/oom_score_adj", NULL);
    int own, agent, shepherd;
    assert_int_equal(sscanf(op.text[SC_STREAM_OUT], "%d\n%d\n%d", &own, &agent, &shepherd), 3);
    assert_true(own >= 500 && own > agent && own > shepherd);
    shell(&l, &op, "cat a", NULL);
    assert_string_equal(op.text[SC_STREAM_OUT], "kept\n");
    close_living(&l);
}

static void a_terminal(void **state)
{
    (void)state;
    struct living l;
    static struct op op;
    memset(&op, 0, sizeof op);
    open_living(&l, NULL, NULL);
    op.feed = "line\n";
    op.feed_len = 5;
    op.keep_open = true;
    start_shell(&l, &op, "stty size; tty; read x; echo got $x; echo tty > /dev/tty; sleep 1000",
                SC_COMMAND_PTY);
    while (!strstr(op.text[SC_STREAM_OUT], "got line\r\ntty\r\n"))
        step(&l);
    assert_non_null(strstr(op.text[SC_STREAM_OUT], "24 80\r\n/dev/pts/0\r\n"));
    assert_int_equal(sc_live_write(l.live, op.id, SC_STREAM_IN, "\3", 1), 1); /* Ctrl-C is the terminal's */
    wait_for(&l, &op.gone, 1);
    assert_int_equal(op.end.wait_status, SIGINT);
    close_living(&l);
}

/* 100 MB through pipe, agent, stream and supervisor. */
static void a_flood(void **state)
{
    (void)state;
    struct living l;
    static struct op op;
    open_living(&l, NULL, NULL);
    shell(&l, &op, "head -c 104857600 /dev/zero", NULL);
    assert_int_equal(op.bytes[SC_STREAM_OUT], 104857600);
    assert_int_equal(op.end.wait_status, 0);
    close_living(&l);
}

/* Whatever a tree does to get away, it is found and ended. */
static void trees(void **state)
{
    (void)state;
    static const char *const scripts[] = {
        "(setsid sh -c 'sleep 1000 & sleep 1001' &) ; exit 0",
        "cp /bin/sleep './x) S 1 (y'; (setsid './x) S 1 (y' 1000 &); exit 0",
        "cp /bin/sleep './a\nb) R 1'; (setsid './a\nb) R 1' 1000 &); exit 0",
        "trap '' TERM INT HUP; (trap '' TERM; sleep 1000 &); exit 0",
    };
    struct living l;
    static struct op op;
    open_living(&l, NULL, NULL);
    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++) {
        memset(&op, 0, sizeof op);
        start_shell(&l, &op, scripts[i], 0);
        wait_for(&l, &op.exited, 1);
        assert_int_equal(op.end.wait_status, 0);
        assert_int_equal(sc_live_signal(l.live, op.id, SIGKILL, SC_SIGNAL_TREE), 0);
        wait_for(&l, &op.gone, 1);
    }
    close_living(&l);
}

static void a_fork_bomb(void **state)
{
    (void)state;
    struct living l;
    static struct op op;
    memset(&op, 0, sizeof op); /* static: the run as another user starts with what this one left */
    open_living(&l, "tasks", "200");
    const char *const argv[] = {"sh", "-c",
                                "f() { sleep 0.01; f & f & f; }; (f 2>/dev/null &); exec sleep 1000", NULL};
    start(&l, &op, &(struct sc_command){.argv = argv, .wall_ns = 300 * SC_NS_PER_MS});
    wait_for(&l, &op.gone, 1);
    if (!op.end.timed_out)
        fail_msg("it ended by itself: %x %s", (unsigned)op.end.wait_status, op.text[SC_STREAM_ERR]);
    assert_int_equal(op.end.wait_status, SIGKILL);
    shell(&l, &op, "echo alive", NULL); /* there is room again */
    assert_string_equal(op.text[SC_STREAM_OUT], "alive\n");
    close_living(&l);
}

/* The kernel takes the one that grows; the rest of the cell goes on. */
static void out_of_memory(void **state)
{
    (void)state;
    struct living l;
    static struct op op, other;
    if (!the_host()->controllers[SC_CTL_MEMORY].version)
        skip();
    memset(&other, 0, sizeof other);
    memset(&op, 0, sizeof op);
    open_living(&l, "memory", "64M");
    other.keep_open = true;
    start_shell(&l, &other, "read x; echo lives", SC_COMMAND_STDIN);
    wait_for(&l, &other.started, 1);
    start_shell(&l, &op, "exec awk 'BEGIN { s = \"0123456789\"; for (;;) s = s s }'", 0);
    wait_for(&l, &op.gone, 1);
    assert_int_equal(op.end.wait_status, SIGKILL);
    assert_int_equal(l.memory, 1);
    assert_int_equal(sc_live_write(l.live, other.id, SC_STREAM_IN, "x\n", 2), 2);
    wait_for(&l, &other.gone, 1);
    assert_string_equal(other.text[SC_STREAM_OUT], "lives\n");
    close_living(&l);
}

/* ---- files ---- */

static void files(void **state)
{
    (void)state;
    struct living l;
    static struct op op;
    open_living(&l, NULL, NULL);
    expect_done(&l, &op, ORDER(SC_FILE_WRITE, "a/b/c", .flags = SC_FILE_PARENTS), "one\n", 0);
    expect_done(&l, &op, ORDER(SC_FILE_APPEND, "/home/user/a/b/c"), "two\n", 0);
    expect_done(&l, &op, ORDER(SC_FILE_READ, "a/b/c"), NULL, 0);
    assert_string_equal(op.text[SC_STREAM_OUT], "one\ntwo\n");
    shell(&l, &op, "cat a/b/c; stat -c '%a %U' a/b/c; ls -A a/b", NULL);
    assert_string_equal(op.text[SC_STREAM_OUT], "one\ntwo\n644 user\nc\n");
    expect_done(&l, &op, ORDER(SC_FILE_WRITE, "/usr/x"), "no", -EROFS);
    expect_done(&l, &op, ORDER(SC_FILE_READ, "/etc/shadow"), NULL, -ENOENT);
    expect_done(&l, &op, ORDER(SC_FILE_READ, "/proc/1/environ"), NULL, -EACCES);
    expect_done(&l, &op, ORDER(SC_FILE_READ, "/dev/zero"), NULL, -EINVAL);
    expect_done(&l, &op, ORDER(SC_FILE_READ, "a"), NULL, -EISDIR);
    shell(&l, &op, "chmod 0 a/b", NULL);
    expect_done(&l, &op, ORDER(SC_FILE_READ, "a/b/c"), NULL, -EACCES);
    expect_done(&l, &op, ORDER(SC_FILE_CHMOD, "a/b", .mode = 0755), NULL, 0);
    expect_done(&l, &op, ORDER(SC_FILE_REMOVE, "a", .flags = SC_FILE_RECURSIVE), NULL, 0);
    shell(&l, &op, "ls -A; chmod 700 .", NULL);
    assert_string_equal(op.text[SC_STREAM_OUT], "");
    expect_done(&l, &op, ORDER(SC_FILE_WRITE, "private"), "x", 0);
    shell(&l, &op, "chmod 0 .", NULL);
    expect_done(&l, &op, ORDER(SC_FILE_READ, "private"), NULL, -EACCES);
    expect_done(&l, &op, ORDER(SC_FILE_WRITE, "/tmp/x"), "x", 0);
    expect_done(&l, &op, ORDER(SC_FILE_CHMOD, "/home/user", .mode = 0755), NULL, 0);
    close_living(&l);
}

static void a_full_disk(void **state)
{
    (void)state;
    struct living l;
    static struct op op;
    static char much[2 << 20];
    open_living(&l, "disk", "1m");
    file(&l, &op, ORDER(SC_FILE_WRITE, "big"), much, sizeof much);
    assert_int_equal(op.result.code, -ENOSPC);
    shell(&l, &op, "ls -A", NULL);
    assert_string_equal(op.text[SC_STREAM_OUT], ""); /* nothing half-way is left */
    close_living(&l);
}

static void watching(void **state)
{
    (void)state;
    struct living l;
    static struct op watch, op;
    struct sc_change change;
    const struct sc_file_op order = {.kind = SC_FILE_WATCH, .path = "."};
    memset(&watch, 0, sizeof watch);
    open_living(&l, NULL, NULL);
    watch.living = &l;
    if (sc_live_file(l.live, &order, &EVENTS, &watch, &watch.id, &l.world.err) < 0)
        fail_msg("%s", l.world.err.message);
    wait_for(&l, &watch.started, 1);
    shell(&l, &op, "mkdir new", NULL);
    while (watch.bytes[SC_STREAM_OUT] < sizeof change + 3)
        step(&l);
    memcpy(&change, watch.text[SC_STREAM_OUT], sizeof change);
    assert_int_equal(change.kind, SC_CHANGE_MADE);
    assert_int_equal(change.is_folder, 1);
    assert_string_equal(watch.text[SC_STREAM_OUT] + sizeof change, "new");
    assert_int_equal(sc_live_signal(l.live, watch.id, SIGTERM, SC_SIGNAL_TREE), 0);
    wait_for(&l, &watch.done, 1);
    assert_int_equal(watch.result.code, 0);
    close_living(&l);
}

/* Far more than the cell's memory passes through it onto its disk. */
static void a_large_file(void **state)
{
    (void)state;
    struct living l;
    static struct op op;
    static char piece[1 << 20];
    need_root();
    if (!the_host()->loop_devices)
        skip();
    open_living(&l, "disk-backing", "image");
    const struct sc_file_op order = {.kind = SC_FILE_WRITE, .path = "large"};
    memset(&op, 0, sizeof op);
    op.living = &l;
    op.feed = piece;
    op.feed_len = op.feed_size = sizeof piece;
    op.feed_again = LARGE_MIB - 1;
    if (sc_live_file(l.live, &order, &EVENTS, &op, &op.id, &l.world.err) < 0)
        fail_msg("%s", l.world.err.message);
    feed(&op);
    wait_for(&l, &op.done, 1);
    assert_int_equal(op.result.code, 0);
    assert_int_equal(op.result.bytes, (uint64_t)LARGE_MIB << 20);
    shell(&l, &op, "stat -c %s large", NULL);
    assert_int_equal(atoll(op.text[SC_STREAM_OUT]), (long long)LARGE_MIB << 20);
    close_living(&l);
}

static char archive[16 << 20];

/* The archive as it comes from a file of the cell, or is made of one of its folders. */
static size_t take_archive(struct living *l, struct op *op, enum sc_file_kind kind, const char *path)
{
    const struct sc_file_op order = {.kind = kind, .path = path};
    memset(op, 0, sizeof *op);
    op->living = l;
    op->all = archive;
    op->all_room = sizeof archive;
    if (sc_live_file(l->live, &order, &EVENTS, op, &op->id, &l->world.err) < 0)
        fail_msg("%s", l->world.err.message);
    wait_for(l, &op->done, 1);
    assert_int_equal(op->result.code, 0);
    assert_true(op->bytes[SC_STREAM_OUT] <= sizeof archive);
    return (size_t)op->bytes[SC_STREAM_OUT];
}

static void archives(void **state)
{
    (void)state;
    struct living l;
    static struct op op;
    open_living(&l, NULL, NULL);
    shell(&l, &op,
          "n=$(printf %0120d 7); mkdir -p src/deep/$n/$n src/empty; i=0; "
          "while [ $i -lt 2600 ]; do echo $i > src/f$i; i=$((i+1)); done; "
          "ln -s ../f1 src/deep/link; ln -s $n/$n/x src/deep/$n/$n/long; echo x > src/deep/$n/$n/x; "
          "ln src/f2 src/twin; chmod 700 src/f7; tar cf gnu.tar -C src .; tar cf pax.tar -H pax -C src .; "
          "tar cf ustar.tar -H ustar -C src f1 empty",
          NULL);
    assert_int_equal(op.end.wait_status, 0);
    size_t len = take_archive(&l, &op, SC_FILE_TAR_OUT, "src");
    assert_int_equal(op.result.files, 2600 + 8);
    file(&l, &op, ORDER(SC_FILE_TAR_IN, "ours/new", .flags = SC_FILE_PARENTS), archive, len);
    assert_int_equal(op.result.code, 0);
    assert_int_equal(op.result.files, 2600 + 8);
    file(&l, &op, ORDER(SC_FILE_WRITE, "ours.tar"), archive, len); /* others can read it */
    static const char *const made[][2] = {{"gnu.tar", "gnu"}, {"pax.tar", "pax"}, {"ustar.tar", "ustar"}};
    for (size_t i = 0; i < 3; i++) {
        len = take_archive(&l, &op, SC_FILE_READ, made[i][0]);
        file(&l, &op, ORDER(SC_FILE_TAR_IN, made[i][1], .flags = SC_FILE_PARENTS), archive, len);
        if (op.result.code)
            fail_msg("%s: %d %s", made[i][0], op.result.code, op.result.object);
    }
    shell(&l, &op,
          "diff -r --no-dereference src ours/new && diff -r --no-dereference src gnu && diff -r "
          "--no-dereference src pax && "
          "mkdir theirs && tar xf ours.tar -C theirs && diff -r --no-dereference src theirs && cmp src/f1 "
          "ustar/f1 && "
          "stat -c '%a %h' gnu/f7 gnu/twin ours/new/f7 && stat -c %y src/f9 | cut -c-19 && stat -c %y "
          "ours/new/f9 | cut -c-19",
          NULL);
    if (op.end.wait_status)
        fail_msg("%s%s", op.text[SC_STREAM_OUT], op.text[SC_STREAM_ERR]);
    assert_memory_equal(op.text[SC_STREAM_OUT], "700 1\n644 2\n700 1\n", 18);
    assert_memory_equal(op.text[SC_STREAM_OUT] + 18, op.text[SC_STREAM_OUT] + 38, 20);
    close_living(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands), cmocka_unit_test(a_terminal),

        cmocka_unit_test(a_flood),  cmocka_unit_test(trees),        cmocka_unit_test(a_fork_bomb),
        cmocka_unit_test(files),    cmocka_unit_test(a_full_disk),  cmocka_unit_test(archives),
        cmocka_unit_test(watching), cmocka_unit_test(a_large_file), cmocka_unit_test(out_of_memory),
    };
    return RUN_AS_BOTH(tests);
}
