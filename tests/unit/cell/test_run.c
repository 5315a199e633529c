/* sc_cell_run: every way a run can end, what goes in and what comes out. As root and as an ordinary user. */
#include "fixture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"

static void exit_codes(void **state)
{
    (void)state;
    static const int codes[] = {0, 1, 42, 124, 137, 255};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        struct world w;
        char text[8];
        snprintf(text, sizeof text, "%d", codes[i]);
        begin(&w, "exit", text, NULL);
        expect(&w, codes[i] ? SC_STATUS_ERROR : SC_STATUS_OK, codes[i]);
        assert_int_equal(w.result.signal, 0);
        assert_true(w.result.usage.wall_ns > 0 && w.result.usage.wall_ns < 60 * SC_NS_PER_S);
        end(&w);
    }
}

static void signals(void **state)
{
    (void)state;
    static const int numbers[] = {SIGSEGV, SIGKILL, SIGTERM, SIGABRT};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        struct world w;
        char text[8];
        snprintf(text, sizeof text, "%d", numbers[i]);
        begin(&w, "signal", text, NULL);
        expect(&w, SC_STATUS_SIGNALED, -1);
        assert_int_equal(w.result.signal, numbers[i]);
        end(&w);
    }
}

static void wall_clock(void **state)
{
    (void)state;
    struct world w;
    begin(&w, "family", "3", "wall", "150ms", NULL);
    expect(&w, SC_STATUS_TIMEOUT, -1);
    assert_true(w.result.limits_hit & SC_HIT_WALL);
    assert_string_equal((char *)w.result.out.kept.data, "ready\n"); /* what was said before is kept */
    assert_true(w.result.usage.wall_ns >= 150 * SC_NS_PER_MS);
    end(&w);
}

static void cpu_clock(void **state)
{
    (void)state;
    struct world w;
    /* Where no group counts, the kernel's own limit is in whole seconds. */
    bool counted = the_host()->controllers[SC_CTL_CPUACCT].version;
    begin(&w, "spin", "", "cpu", counted ? "100ms" : "1s", "wall", "20s", NULL);
    expect(&w, SC_STATUS_CPU_TIMEOUT, -1);
    assert_true(w.result.limits_hit & SC_HIT_CPU);
    assert_true(w.result.usage.cpu_user_ns + w.result.usage.cpu_system_ns >= 90 * SC_NS_PER_MS);
    end(&w);
}

static void memory(void **state)
{
    (void)state;
    struct world w;
    if (!the_host()->controllers[SC_CTL_MEMORY].version) {
        begin(&w, "eat", "", "memory", "32M", NULL);
        expect(&w, SC_STATUS_ERROR, 3); /* per process: mmap says no */
    } else {
        begin(&w, "eat", "", "memory", "32M", NULL);
        expect(&w, SC_STATUS_OUT_OF_MEMORY, -1);
        assert_true(w.result.limits_hit & SC_HIT_MEMORY);
        assert_true(w.result.usage.memory_peak_bytes >= 30 * SC_MIB);
        assert_true(w.result.usage.memory_peak_bytes <= 33 * SC_MIB);
    }
    end(&w);
}

static void output_cut(void **state)
{
    (void)state;
    struct world w;
    begin(&w, "out", "100000", "stdout", "1000", NULL);
    expect(&w, SC_STATUS_OK, 0);
    assert_int_equal(w.result.out.kept.len, 1000);
    assert_int_equal(w.result.out.total, 100000);
    assert_true(w.result.out.truncated);
    assert_int_equal(w.result.limits_hit, SC_HIT_STDOUT);
    end(&w);
    begin(&w, "err", "1000", "stderr", "1000", NULL); /* just as much as there may be */
    expect(&w, SC_STATUS_OK, 0);
    assert_int_equal(w.result.err.kept.len, 1000);
    assert_false(w.result.err.truncated);
    assert_int_equal(w.result.limits_hit, 0);
    end(&w);
}

static void output_end(void **state)
{
    (void)state;
    struct world w;
    begin(&w, "flood", "", "stdout", "70000", "overflow", "end", NULL);
    expect(&w, SC_STATUS_OUTPUT_LIMIT, -1);
    assert_int_equal(w.result.out.kept.len, 70000);
    assert_true(w.result.out.truncated);
    end(&w);
}

/* More than a pipe holds, written just before the end, while orphans keep the pipe open. */
static void last_words(void **state)
{
    (void)state;
    struct world w;
    begin(&w, "out", "900000", NULL);
    expect(&w, SC_STATUS_OK, 0);
    assert_int_equal(w.result.out.kept.len, 900000);
    end(&w);
    begin(&w, "orphans", "5", "wall", "20s", NULL);
    expect(&w, SC_STATUS_OK, 0);
    assert_string_equal((char *)w.result.out.kept.data, "gone\n");
    assert_true(w.result.usage.wall_ns < 10 * SC_NS_PER_S);
    end(&w);
}

static void disk(void **state)
{
    (void)state;
    struct world w;
    begin(&w, "fill", "", "disk", "4M", NULL);
    expect(&w, SC_STATUS_DISK_LIMIT, 11);
    assert_true(w.result.limits_hit & SC_HIT_DISK);
    assert_true(w.result.usage.disk_bytes >= 4 * SC_MIB - 8192);
    end(&w);
}

static int says_cancel(void *userdata)
{
    return ++*(int *)userdata >= 2;
}

static void cancelled_by_callback(void **state)
{
    (void)state;
    struct world w;
    int asked = 0;
    struct sc_callbacks callbacks = {.userdata = &asked, .cancelled = says_cancel, .cancel_fd = -1};
    begin(&w, "family", "2", "wall", "60s", NULL);
    assert_int_equal(run(&w, &callbacks), 0);
    assert_int_equal(w.result.status, SC_STATUS_CANCELLED);
    end(&w);
}

static void cancelled_by_descriptor(void **state)
{
    (void)state;
    struct world w;
    int event = eventfd(0, EFD_CLOEXEC);
    struct sc_callbacks callbacks = {.cancel_fd = event};
    assert_int_equal(eventfd_write(event, 1), 0);
    begin(&w, "sleep", "", "wall", "60s", NULL);
    assert_int_equal(run(&w, &callbacks), 0);
    assert_int_equal(w.result.status, SC_STATUS_CANCELLED);
    end(&w);
    close(event);
}

struct heard {
    size_t bytes[3];
    unsigned calls;
};

static void hear(void *userdata, int stream, const void *data, size_t len)
{
    struct heard *heard = userdata;
    assert_non_null(data);
    heard->bytes[stream] += len;
    heard->calls++;
}

static void output_callback(void **state)
{
    (void)state;
    struct world w;
    struct heard heard = {0};
    struct sc_callbacks callbacks = {.userdata = &heard, .output = hear, .cancel_fd = -1};
    begin(&w, "out", "300000", "stdout", "250000", NULL);
    assert_int_equal(run(&w, &callbacks), 0);
    assert_int_equal(heard.bytes[1], 250000); /* never more than is kept */
    assert_int_equal(heard.bytes[2], 0);
    end(&w);
}

static void expect_count(struct world *w, unsigned long long bytes, unsigned long long sum)
{
    char text[64];
    expect(w, SC_STATUS_OK, 0);
    snprintf(text, sizeof text, "%llu %llu\n", bytes, sum);
    assert_string_equal((char *)w->result.out.kept.data, text);
}

static void stdin_data(void **state)
{
    (void)state;
    struct world w;
    static char data[700000];
    memset(data, 3, sizeof data);
    begin(&w, "count", "", NULL);
    expect_count(&w, 0, 0); /* none: it is at its end */
    end(&w);
    begin(&w, "count", "", NULL);
    assert_int_equal(sc_spec_set_stdin(&w.spec, data, sizeof data, NULL), 0);
    expect_count(&w, sizeof data, 3 * sizeof data);
    expect_count(&w, sizeof data, 3 * sizeof data); /* and again for the next run */
    end(&w);
    begin(&w, "count", "", NULL);
    assert_int_equal(sc_spec_set_stdin(&w.spec, "", 0, NULL), 0);
    expect_count(&w, 0, 0);
    end(&w);
}

static void stdin_descriptor(void **state)
{
    (void)state;
    struct world w;
    static char data[300000];
    memset(data, 2, sizeof data);
    int fd = sc_memfd_sealed("stdin", data, sizeof data);
    assert_true(fd >= 0 && lseek(fd, 0, SEEK_SET) == 0);
    begin(&w, "count", "", NULL);
    w.spec.stdin_fd = fd;
    expect_count(&w, sizeof data, 2 * sizeof data);
    end(&w);
    close(fd);
    begin(&w, "exit", "0", NULL);
    w.spec.stdin_fd = 9999; /* not open: as good as empty */
    expect(&w, SC_STATUS_OK, 0);
    end(&w);
}

/* A pipe that nobody writes to and nobody closes: the run ends without it. */
static void stdin_that_never_comes(void **state)
{
    (void)state;
    struct world w;
    int from, to;
    assert_int_equal(sc_pipe(&from, &to), 0);
    begin(&w, "exit", "4", NULL);
    w.spec.stdin_fd = from;
    expect(&w, SC_STATUS_ERROR, 4);
    end(&w);
    close(from);
    close(to);
}

/* A program may leave its stdin unread, or close it: its caller must not die of SIGPIPE, whatever it does
 * with that. */
static void stdin_unread(void **state)
{
    (void)state;
    static char data[4 << 20];
    struct sigaction old, standard = {.sa_handler = SIG_DFL};
    sigset_t pending;
    assert_int_equal(sigaction(SIGPIPE, &standard, &old), 0);
    for (int i = 0; i < 3; i++) {
        struct world w;
        begin(&w, i ? "shut" : "exit", "0", NULL);
        assert_int_equal(sc_spec_set_stdin(&w.spec, data, sizeof data, NULL), 0);
        expect(&w, SC_STATUS_OK, 0);
        end(&w);
    }
    assert_int_equal(sigpending(&pending), 0);
    assert_false(sigismember(&pending, SIGPIPE));
    sigaction(SIGPIPE, &old, NULL);
}

struct typist {
    int master;
    char heard[256];
    size_t n;
};

static void type(void *userdata, int master)
{
    struct typist *typist = userdata;
    typist->master = master;
    assert_int_equal(write(master, "hello\n", 6), 6);
}

static int listen_to(void *userdata)
{
    struct typist *typist = userdata;
    ssize_t n = typist->master >= 0
                    ? read(typist->master, typist->heard + typist->n, sizeof typist->heard - 1 - typist->n)
                    : 0;
    if (n > 0)
        typist->n += (size_t)n;
    return 0;
}

static void terminal(void **state)
{
    (void)state;
    struct world w;
    struct typist typist = {.master = -1};
    struct sc_callbacks callbacks = {
        .userdata = &typist, .terminal = type, .cancelled = listen_to, .cancel_fd = -1};
    begin(&w, "terminal", "", NULL);
    w.spec.pty = true;
    if (run(&w, &callbacks) < 0)
        fail_msg("%s", w.err.message);
    assert_int_equal(w.result.status, SC_STATUS_OK);
    assert_non_null(strstr(typist.heard, "111 1"));
    end(&w);
}

static void files_in(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        unsigned mode;
    } cases[] = {{"plain", 0}, {"a/b/c/deep", 0600}, {"run me", 0755}, {"none", 0444}, {"line\nbreak", 0640}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct world w;
        char expected[64];
        begin(&w, "show", cases[i].path, NULL);
        struct sc_spec_file file = {
            .data = strdup("12345"), .len = 5, .path = strdup(cases[i].path), .mode = cases[i].mode};
        w.spec.files = malloc(sizeof file);
        w.spec.files[0] = file;
        w.spec.n_files = 1;
        expect(&w, SC_STATUS_OK, 0);
        snprintf(expected, sizeof expected, "%o 1000 1000 5\n", cases[i].mode ? cases[i].mode : 0644);
        assert_string_equal((char *)w.result.out.kept.data, expected);
        end(&w);
    }
}

static void folder_in(void **state)
{
    (void)state;
    struct world w;
    char *folder = make_folder(), path[300];
    snprintf(path, sizeof path, "%s/sub", folder);
    assert_int_equal(mkdir(path, 0755), 0);
    snprintf(path, sizeof path, "%s/sub/tool", folder);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(fchmod(fd, 0750), 0);
    close(fd);
    snprintf(path, sizeof path, "%s:copy", folder);
    begin(&w, "show", "copy/sub/tool", "dir", path, NULL);
    expect(&w, SC_STATUS_OK, 0);
    assert_string_equal((char *)w.result.out.kept.data, "750 1000 1000 0\n");
    end(&w);
    /* A link in it is refused: what it names is not in the folder. */
    snprintf(path, sizeof path, "%s/sub/link", folder);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    snprintf(path, sizeof path, "%s:copy", folder);
    begin(&w, "exit", "0", "dir", path, NULL);
    assert_int_equal(run(&w, NULL), -EINVAL);
    assert_int_equal(w.err.kind, SC_ERR_USAGE);
    assert_string_equal(w.err.field, "dir");
    assert_non_null(strstr(w.err.message, "symbolic link"));
    end(&w);
    remove_folder(folder);
}

/* Refused before anything ran, and the request is at fault. Nothing comes out, either. */
static void files_that_do_not_fit(void **state)
{
    (void)state;
    struct world w;
    char *folder = make_folder(), path[300];
    for (int i = 0; i < 40; i++) {
        snprintf(path, sizeof path, "%s/%d", folder, i);
        int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        assert_int_equal(ftruncate(fd, 100000), 0);
        close(fd);
    }
    snprintf(path, sizeof path, "%s:big", folder);
    char *out = make_folder(), option[400];
    snprintf(option, sizeof option, "*:%s", out);
    begin(&w, "exit", "0", "disk", "2M", "dir", path, "out", option, NULL);
    assert_true(run(&w, NULL) < 0);
    assert_int_equal(w.err.kind, SC_ERR_USAGE);
    assert_string_equal(w.err.field, "disk");
    assert_int_equal(rmdir(out), 0); /* empty */
    free(out);
    end(&w);
    remove_folder(folder);
}

static void nothing_to_run(void **state)
{
    (void)state;
    static const struct {
        const char *command;
        int code;
    } cases[] = {{"no-such-command-anywhere", 127}, {"/etc/passwd", 126}, {"/usr", 126}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct world w;
        begin(&w, "exit", "0", NULL);
        sc_spec_clear_program(&w.spec);
        assert_int_equal(sc_spec_set_command(&w.spec, (const char *const[]){cases[i].command, NULL}, NULL),
                         0);
        expect(&w, SC_STATUS_ERROR, cases[i].code);
        end(&w);
    }
}

static void made_ahead(void **state)
{
    (void)state;
    struct world w;
    begin(&w, "exit", "7", NULL);
    make_works(&w);
    assert_int_equal(sc_works_ready(w.works, 3, NULL), 0);
    for (int i = 0; i < 5; i++) /* three that were ready, two that were not */
        expect(&w, SC_STATUS_ERROR, 7);
    assert_int_equal(sc_works_ready(w.works, 2, NULL), 0);
    end(&w); /* and two that never ran */
}

/* Told every time, however short the program lived. */
static void refused_network(void **state)
{
    (void)state;
    struct world w;
    begin(&w, "dial", "", NULL);
    for (int i = 0; i < 20; i++) {
        expect(&w, SC_STATUS_OK, 0);
        assert_int_equal(w.result.n_denials, 1);
        assert_string_equal(w.result.denials[0].layer, "network");
        assert_int_equal(w.result.denials[0].count, 1);
    }
    end(&w);
}

static void two_plans(void **state)
{
    (void)state;
    struct world a, b;
    begin(&a, "say", "a", "memory", "64M", NULL);
    begin(&b, "say", "b", NULL);
    for (int i = 0; i < 3; i++) {
        expect(&a, SC_STATUS_OK, 0);
        expect(&b, SC_STATUS_OK, 0);
        assert_string_equal((char *)a.result.out.kept.data, "a");
        assert_string_equal((char *)b.result.out.kept.data, "b");
    }
    end(&a);
    end(&b);
}

static void two_hundred(void **state)
{
    (void)state;
    struct world w;
    begin(&w, "exit", "0", NULL);
    make_works(&w);
    for (int i = 0; i < 200; i++)
        expect(&w, SC_STATUS_OK, 0);
    end(&w);
}

/* Loop devices with a file of `folder` behind them. */
static unsigned loops_of(const char *folder)
{
    unsigned n = 0;
    DIR *dir = opendir("/sys/block");
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        char path[300], file[300] = "";
        snprintf(path, sizeof path, "/sys/block/%.200s/loop/backing_file", entry->d_name);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd >= 0 && read(fd, file, sizeof file - 1) > 0)
            n += !strncmp(file, folder, strlen(folder));
        sc_close(&fd);
    }
    if (dir)
        closedir(dir);
    return n;
}

static void disk_image(void **state)
{
    (void)state;
    struct world w;
    need_root();
    if (!the_host()->loop_devices)
        skip();
    char *folder = make_folder();
    assert_int_equal(setenv("SNAPCELL_DISK_DIR", folder, 1), 0);
    begin(&w, "fill", "", "disk", "8M", "disk-backing", "image", "file-size", "1G", NULL);
    expect(&w, SC_STATUS_DISK_LIMIT, 11);
    end(&w);
    uint64_t until =
        sc_now_ns() + SC_NS_PER_S; /* the kernel lets go of a dead cell's mounts in its own time */
    while (loops_of(folder) && sc_now_ns() < until)
        sched_yield();
    assert_int_equal(loops_of(folder), 0);
    assert_int_equal(unsetenv("SNAPCELL_DISK_DIR"), 0);
    assert_int_equal(rmdir(folder), 0); /* the image never had a name */
    free(folder);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, note_traces, expect_no_traces)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(exit_codes),
        TEST(signals),
        TEST(wall_clock),
        TEST(cpu_clock),
        TEST(memory),
        TEST(output_cut),
        TEST(output_end),
        TEST(last_words),
        TEST(disk),
        TEST(cancelled_by_callback),
        TEST(cancelled_by_descriptor),
        TEST(output_callback),
        TEST(stdin_data),
        TEST(stdin_descriptor),
        TEST(stdin_that_never_comes),
        TEST(stdin_unread),
        TEST(terminal),
        TEST(files_in),
        TEST(folder_in),
        TEST(files_that_do_not_fit),
        TEST(nothing_to_run),
        TEST(made_ahead),
        TEST(refused_network),
        TEST(two_plans),
        TEST(two_hundred),
        TEST(disk_image),
    };
    return RUN_AS_BOTH(tests);
}
