/* The store of what was built: names and bytes are a hostile build's. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "judge/parts.h"

static struct sc_store store;
static struct sc_err err;

static int begin(void **state)
{
    (void)state;
    umask(077); /* a strict caller's: the cells' users must be able to read all the same */
    return sc_store_open(&store, &err);
}

static int end(void **state)
{
    (void)state;
    char outer[PATH_MAX];
    struct stat st;
    strcpy(outer, store.outer);
    sc_store_close(&store);
    return stat(outer, &st) < 0 && errno == ENOENT && store.folder == -1 ? 0 : -1;
}

static int put(const char *name, const char *content, mode_t mode)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    int fd = fileno(file);
    assert_int_equal(sc_write_all(fd, content, strlen(content)), 0);
    assert_int_equal(fchmod(fd, mode), 0);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    int r = sc_store_put(&store, name, fd, strlen(content));
    fclose(file);
    return r;
}

static mode_t mode_of(const char *name)
{
    struct stat st;
    assert_int_equal(fstatat(store.folder, name, &st, AT_SYMLINK_NOFOLLOW), 0);
    return st.st_mode & 07777;
}

/* How many names a folder has. */
static unsigned entries(const char *folder)
{
    unsigned n = 0;
    DIR *stream = opendir(folder);
    assert_non_null(stream);
    for (struct dirent *entry; (entry = readdir(stream));)
        n += entry->d_name[0] != '.';
    closedir(stream);
    return n;
}

static void files_can_be_read_by_all_and_written_by_nobody(void **state)
{
    (void)state;
    assert_int_equal(put("a.out", "ELF", 0700), 0);
    assert_int_equal(put("lib/deep/data", "x", 0666), 0);
    assert_int_equal(put("suid", "x", 04755), 0);
    assert_int_equal(mode_of("a.out"), 0555);
    assert_int_equal(mode_of("suid"), 0555);
    assert_int_equal(mode_of("lib"), 0755);
    assert_int_equal(mode_of("lib/deep"), 0755);
    assert_int_equal(mode_of("lib/deep/data"), 0444);
    assert_int_equal(mode_of("."), 0755);
    /* The folder above keeps all other users out. */
    struct stat st;
    assert_int_equal(stat(store.outer, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
}

static void the_first_of_two_stays(void **state)
{
    (void)state;
    char text[8] = "";
    assert_int_equal(put("a", "one", 0644), 0);
    assert_int_equal(put("a", "two", 0644), 0);
    int fd = openat(store.folder, "a", O_RDONLY | O_CLOEXEC);
    assert_int_equal(read(fd, text, sizeof text), 3);
    assert_string_equal(text, "one");
    close(fd);
}

static void nothing_leaves_the_store(void **state)
{
    (void)state;
    struct stat st;
    char above[PATH_MAX + 8];
    assert_true(put("../x", "x", 0644) < 0);
    assert_true(put("a/../../x", "x", 0644) < 0);
    assert_true(put("/etc/x", "x", 0644) < 0);
    snprintf(above, sizeof above, "%s/x", store.outer);
    assert_int_equal(stat(above, &st), -1);
    /* Not even through a link, should one ever stand there. */
    assert_int_equal(symlinkat("..", store.folder, "link"), 0);
    assert_true(put("link/x", "x", 0644) < 0);
    assert_int_equal(stat(above, &st), -1);
}

static void a_name_that_is_too_long(void **state)
{
    (void)state;
    char name[600];
    memset(name, 'n', sizeof name);
    strcpy(name + 300, "/x");
    assert_int_equal(put(name, "x", 0644), -ENAMETOOLONG);
}

/* A killed judge's store goes with the next one; a living one's stays. */
static void what_a_killed_judge_left(void **state)
{
    (void)state;
    char disk[] = "/tmp/snapcell-store-XXXXXX";
    struct sc_store first, second;
    struct stat st;
    int status;
    assert_non_null(mkdtemp(disk));
    setenv("SNAPCELL_DISK_DIR", disk, 1);
    assert_int_equal(sc_store_open(&first, &err), 0);
    pid_t pid = fork();
    if (pid == 0) {
        /* The parent's store is the parent's: its lock is shared by inheritance, and held all the same. */
        _exit(sc_store_open(&second, &err) == 0 && stat(first.outer, &st) == 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(entries(disk), 2);
    assert_int_equal(sc_store_open(&second, &err), 0);
    assert_int_equal(entries(disk), 2); /* both of ours, not the child's */
    assert_int_equal(stat(first.outer, &st), 0);
    sc_store_close(&first);
    sc_store_close(&second);
    assert_int_equal(entries(disk), 0);
    unsetenv("SNAPCELL_DISK_DIR");
    assert_int_equal(rmdir(disk), 0);
}

static void a_place_that_is_not_there(void **state)
{
    (void)state;
    struct sc_store other;
    setenv("SNAPCELL_DISK_DIR", "/nowhere", 1);
    assert_int_equal(sc_store_open(&other, &err), -ENOENT);
    assert_non_null(strstr(err.message, "/nowhere (SNAPCELL_DISK_DIR)"));
    unsetenv("SNAPCELL_DISK_DIR");
    assert_int_equal(other.folder, -1);
    sc_store_close(&other);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(files_can_be_read_by_all_and_written_by_nobody),
        TEST(the_first_of_two_stays),
        TEST(nothing_leaves_the_store),
        TEST(a_name_that_is_too_long),
        TEST(a_place_that_is_not_there),
        TEST(what_a_killed_judge_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
