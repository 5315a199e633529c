/* snap/shelf.h: what was built is whole or not there, whenever a build ends. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "snap/shelf.h"

static char place[64];
static char hashes[4][SC_SHA256_TEXT];

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

static int begin(void **state)
{
    (void)state;
    snprintf(place, sizeof place, "/tmp/shelf-XXXXXX");
    for (size_t i = 0; i < 4; i++) {
        memset(hashes[i], 'a' + (int)i, SC_SHA256_TEXT - 1);
        hashes[i][SC_SHA256_TEXT - 1] = '\0';
    }
    return mkdtemp(place) ? setenv("SNAPCELL_STORE", place, 1) : -1;
}

static int end(void **state)
{
    (void)state;
    return nftw(place, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* A build whose content is its hash: two files and a folder. */
static int build(const char *hash)
{
    struct sc_shelf_build made;
    int r = sc_shelf_begin("t", hash, &made, NULL);
    if (r != 0)
        return r;
    int folder = mkdirat(made.work, "sub", 0755);
    int a = openat(made.work, "a", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    int b = openat(made.work, "sub/b", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    r = folder < 0 || a < 0 || b < 0 || sc_write_all(a, hash, 64) < 0 || sc_write_all(b, hash, 64) < 0 ? -EIO
                                                                                                       : 0;
    close(a);
    close(b);
    if (r < 0)
        sc_shelf_abandon(&made);
    return r < 0 ? r : sc_shelf_commit(&made, NULL);
}

static bool file_is(const char *folder, const char *name, const char *hash)
{
    char path[PATH_MAX + 16], text[65] = "";
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool same = fd >= 0 && read(fd, text, sizeof text) == 64 && !strncmp(text, hash, 64);
    if (fd >= 0)
        close(fd);
    return same;
}

/* What is in use is whole. Its hash, or "". */
static const char *current(void)
{
    static char hash[SC_SHA256_TEXT];
    char path[PATH_MAX];
    if (sc_shelf_current("t", hash, path) < 0)
        return "";
    assert_true(file_is(path, "a", hash) && file_is(path, "sub/b", hash));
    return hash;
}

static bool there(const char *name)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/templates/t/%s", place, name);
    return access(path, F_OK) == 0;
}

static void one_after_another(void **state)
{
    (void)state;
    assert_string_equal(current(), "");
    assert_int_equal(build(hashes[0]), 0);
    assert_string_equal(current(), hashes[0]);
    assert_int_equal(build(hashes[0]), 1);
    assert_int_equal(build(hashes[1]), 0);
    assert_true(there(hashes[0])); /* for cells that use it */
    assert_int_equal(build(hashes[2]), 0);
    assert_string_equal(current(), hashes[2]);
    assert_false(there(hashes[0]));
    assert_int_equal(build(hashes[1]), 1); /* back to one that is there */
    assert_string_equal(current(), hashes[1]);
    assert_int_equal(sc_shelf_remove("t", NULL), 1);
    assert_int_equal(sc_shelf_remove("t", NULL), 0);
    assert_string_equal(current(), "");
}

static void an_abandoned_one_leaves_nothing(void **state)
{
    struct sc_shelf_build made;
    (void)state;
    assert_int_equal(build(hashes[0]), 0);
    assert_int_equal(sc_shelf_begin("t", hashes[1], &made, NULL), 0);
    assert_int_equal(mkdirat(made.work, "locked", 0), 0);
    sc_shelf_abandon(&made);
    assert_false(there(".build") || there(hashes[1]));
    assert_string_equal(current(), hashes[0]);
}

/* Stops a build of hashes[1] at its n-th system call and kills it there. False: it had ended before. */
static bool kill_at(unsigned n)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        raise(SIGSTOP);
        _exit(build(hashes[1]) < 0);
    }
    waitpid(pid, &status, 0);
    for (unsigned i = 0; i < n && WIFSTOPPED(status); i++) {
        ptrace(PTRACE_SYSCALL, pid, NULL, NULL);
        waitpid(pid, &status, 0);
    }
    if (!WIFSTOPPED(status)) {
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        return false;
    }
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    return true;
}

static void killed_at_every_system_call(void **state)
{
    unsigned n = 0, before = 0, after = 0;
    bool killed = true;
    (void)state;
    while (killed) {
        assert_int_equal(build(hashes[0]), 0);
        killed = kill_at(++n);
        bool is_old = !strcmp(current(), hashes[0]);
        assert_true(is_old || !strcmp(current(), hashes[1]));
        before += is_old;
        after += !is_old;
        /* The next build goes well, whatever the killed one left. */
        assert_true(build(hashes[1]) >= 0);
        assert_string_equal(current(), hashes[1]);
        assert_false(there(".build") || there(".next"));
        assert_int_equal(sc_shelf_remove("t", NULL), 1);
    }
    assert_true(before > 20 && after > 2);
}

static void two_at_once(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        int status = 0;
        pid_t pid = fork();
        if (pid == 0)
            _exit(build(hashes[0]) < 0);
        assert_true(build(hashes[0]) >= 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        assert_string_equal(current(), hashes[0]);
        assert_int_equal(sc_shelf_remove("t", NULL), 1);
    }
}

static void what_others_may_write_to_is_refused(void **state)
{
    char path[PATH_MAX], hash[SC_SHA256_TEXT];
    struct sc_shelf_build made;
    struct sc_err err = {0};
    (void)state;
    assert_int_equal(build(hashes[0]), 0);
    snprintf(path, sizeof path, "%s/templates/t", place);
    assert_int_equal(chmod(path, 0777), 0);
    char found[PATH_MAX];
    assert_true(sc_shelf_current("t", hash, found) < 0);
    assert_true(sc_shelf_begin("t", hashes[1], &made, &err) < 0);
    assert_int_equal(err.kind, SC_ERR_USAGE);
}

static void a_link_that_is_no_hash_is_none(void **state)
{
    char path[PATH_MAX];
    (void)state;
    assert_int_equal(build(hashes[0]), 0);
    snprintf(path, sizeof path, "%s/templates/t/current", place);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("/etc", path), 0);
    assert_string_equal(current(), "");
}

static void removing_follows_no_link(void **state)
{
    char path[PATH_MAX];
    struct sc_shelf_build made;
    (void)state;
    snprintf(path, sizeof path, "%s/beside", place);
    assert_int_equal(mkdir(path, 0755), 0);
    snprintf(path, sizeof path, "%s/beside/kept", place);
    assert_int_equal(mkdir(path, 0755), 0);
    assert_int_equal(sc_shelf_begin("t", hashes[0], &made, NULL), 0);
    assert_int_equal(symlinkat("../../../beside", made.work, "link"), 0);
    sc_shelf_abandon(&made);
    assert_int_equal(access(path, F_OK), 0);
}

static void notes(void **state)
{
    char reason[SC_SHELF_NOTE_MAX], longer[2 * SC_SHELF_NOTE_MAX];
    (void)state;
    assert_false(sc_shelf_noted("t", reason));
    assert_int_equal(sc_shelf_note("t", "it failed", NULL), 0);
    assert_true(sc_shelf_noted("t", reason));
    assert_string_equal(reason, "it failed");
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    assert_int_equal(sc_shelf_note("t", longer, NULL), 0);
    assert_true(sc_shelf_noted("t", reason));
    assert_int_equal(strlen(reason), SC_SHELF_NOTE_MAX - 1);
    assert_int_equal(sc_shelf_note("t", NULL, NULL), 0);
    assert_false(sc_shelf_noted("t", reason));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(one_after_another),
        TEST(an_abandoned_one_leaves_nothing),
        TEST(killed_at_every_system_call),
        TEST(two_at_once),
        TEST(what_others_may_write_to_is_refused),
        TEST(a_link_that_is_no_hash_is_none),
        TEST(removing_follows_no_link),
        TEST(notes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
