/* File operations: what each does, how errors are told apart, and what a hostile path or FIFO cannot do. The
 * agent is not sealed here; test_live_agent.c tries the same through whole cells. */
#include "talk_files.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

static int before(void **state)
{
    (void)state;
    prepare_talk();
    return 0;
}

/* ---- single files ---- */

static void reading(void **state)
{
    (void)state;
    struct talk t;
    open_talk(&t);
    put_file(&t, "f", "0123456789");
    assert_int_equal(plain(&t, SC_FILE_READ, "f"), 0);
    assert_int_equal(answer.done.bytes, 10);
    assert_string_equal(answer.out, "0123456789");
    ask(&t, OP(SC_FILE_READ, .offset = 3, .length = 4), here(&t, "f"), NULL);
    assert_int_equal(finish(&t), 0);
    assert_string_equal(answer.out, "3456");
    ask(&t, OP(SC_FILE_READ, .offset = 100), "f", NULL);
    assert_int_equal(finish(&t), 0);
    assert_int_equal(answer.len, 0);
    ask(&t, OP(SC_FILE_READ, .offset = UINT64_MAX), "f", NULL);
    assert_int_equal(finish(&t), -EINVAL);
    assert_int_equal(plain(&t, SC_FILE_READ, "none"), -ENOENT);
    assert_string_equal(answer.done.object, "none");
    assert_int_equal(plain(&t, SC_FILE_READ, "f/x"), -ENOTDIR);
    assert_int_equal(plain(&t, SC_FILE_READ, "."), -EISDIR);
    assert_int_equal(mkfifo(here(&t, "fifo"), 0666), 0);
    assert_int_equal(plain(&t, SC_FILE_READ, "fifo"), -EINVAL);
    assert_int_equal(plain(&t, SC_FILE_READ, "/dev/zero"), -EINVAL);
    close_talk(&t);
}

static void writing(void **state)
{
    (void)state;
    struct talk t;
    struct stat st;
    open_talk(&t);
    assert_int_equal(with_input(&t, OP(SC_FILE_WRITE), "f", "one", 3), 0);
    expect_file(&t, "f", "one");
    assert_int_equal(chmod(here(&t, "f"), 0750), 0);
    assert_int_equal(with_input(&t, OP(SC_FILE_WRITE), "f", "two", 3), 0);
    expect_file(&t, "f", "two");
    assert_int_equal(stat(here(&t, "f"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0750); /* what it had */
    assert_int_equal(with_input(&t, OP(SC_FILE_WRITE, .mode = 04600), "f", "", 0), 0);
    assert_int_equal(stat(here(&t, "f"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(with_input(&t, OP(SC_FILE_APPEND), "f", "abc", 3), 0);
    assert_int_equal(with_input(&t, OP(SC_FILE_APPEND), "f", "def", 3), 0);
    assert_int_equal(with_input(&t, OP(SC_FILE_APPEND, .flags = SC_FILE_PARENTS), "new/g", "x", 1), 0);
    expect_file(&t, "f", "abcdef");
    expect_file(&t, "new/g", "x");
    assert_int_equal(with_input(&t, OP(SC_FILE_WRITE), "no/f", "x", 1), -ENOENT);
    assert_int_equal(with_input(&t, OP(SC_FILE_WRITE, .flags = SC_FILE_PARENTS), "a/b/c/f", "x", 1), 0);
    expect_file(&t, "a/b/c/f", "x");
    assert_int_equal(with_input(&t, OP(SC_FILE_WRITE), "a", "x", 1), -EISDIR);
    assert_int_equal(with_input(&t, OP(SC_FILE_WRITE), "a/", "x", 1), -EISDIR);
    assert_int_equal(with_input(&t, OP(SC_FILE_APPEND), "a", "x", 1), -EISDIR);
    assert_int_equal(mkfifo(here(&t, "fifo"), 0666), 0);
    assert_int_equal(with_input(&t, OP(SC_FILE_WRITE), "fifo", "x", 1), -EINVAL);
    assert_int_equal(with_input(&t, OP(SC_FILE_APPEND), "fifo", "x", 1), -EINVAL);
    assert_int_equal(symlink("f", here(&t, "link")), 0);
    assert_int_equal(with_input(&t, OP(SC_FILE_WRITE), "link", "new", 3), 0);
    expect_file(&t, "f", "abcdef"); /* the name was replaced, not what it pointed to */
    close_talk(&t);
}

static void large_files(void **state)
{
    (void)state;
    static char data[3 << 20];
    struct talk t;
    struct stat st;
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (char)(i * 7 + i / 1000);
    open_talk(&t);
    assert_int_equal(with_input(&t, OP(SC_FILE_WRITE), "big", data, sizeof data), 0);
    assert_int_equal(answer.done.bytes, sizeof data);
    assert_int_equal(stat(here(&t, "big"), &st), 0);
    assert_int_equal(st.st_size, sizeof data);
    ask(&t, OP(SC_FILE_READ, .offset = sizeof data - 60000), "big", NULL);
    assert_int_equal(finish(&t), 0);
    assert_memory_equal(answer.out, data + sizeof data - 60000, 60000);
    close_talk(&t);
}

static void canceled(void **state)
{
    (void)state;
    struct talk t;
    const struct sc_msg_signal term = {SIGTERM, SC_SIGNAL_TREE};
    open_talk(&t);
    put_file(&t, "f", "old");
    ask(&t, OP(SC_FILE_WRITE), "f", NULL);
    say_on(&t, 1, SC_MSG_INPUT, "new", 3);
    while (follow(&t) != SC_MSG_COMMAND_STARTED)
        ;
    say_on(&t, 1, SC_MSG_SIGNAL, &term, sizeof term);
    assert_int_equal(finish(&t), -ECANCELED);
    expect_file(&t, "f", "old");
    assert_int_equal(count_names(&t), 1); /* the temporary file is gone */
    say_on(&t, 1, SC_MSG_INPUT, "late", 4);
    assert_int_equal(plain(&t, SC_FILE_READ, "f"), 0);
    close_talk(&t);
}

/* ---- names ---- */

static const char *entry_name(size_t *at, struct sc_entry *ret_entry)
{
    static char name[512];
    assert_true(*at + sizeof *ret_entry <= answer.len);
    memcpy(ret_entry, answer.out + *at, sizeof *ret_entry);
    *at += sizeof *ret_entry;
    assert_true(*at + ret_entry->name_len + ret_entry->target_len <= answer.len);
    snprintf(name, sizeof name, "%.*s%s%.*s", ret_entry->name_len, answer.out + *at,
             ret_entry->target_len ? " -> " : "", ret_entry->target_len,
             answer.out + *at + ret_entry->name_len);
    *at += ret_entry->name_len + ret_entry->target_len;
    return name;
}

static void listing(void **state)
{
    (void)state;
    struct talk t;
    struct sc_entry entry;
    size_t at = 0;
    open_talk(&t);
    put_file(&t, "b", "12345");
    put_file(&t, ".a", "");
    assert_int_equal(mkdir(here(&t, "c"), 0755), 0);
    assert_int_equal(symlink("nowhere at all", here(&t, "d")), 0);
    assert_int_equal(plain(&t, SC_FILE_LIST, "."), 0);
    assert_int_equal(answer.done.files, 4);
    assert_string_equal(entry_name(&at, &entry), ".a");
    assert_string_equal(entry_name(&at, &entry), "b");
    assert_int_equal(entry.size, 5);
    assert_int_equal(entry.mode, S_IFREG | 0644);
    assert_string_equal(entry_name(&at, &entry), "c");
    assert_true(S_ISDIR(entry.mode));
    assert_string_equal(entry_name(&at, &entry), "d -> nowhere at all");
    assert_int_equal(at, answer.len);
    assert_int_equal(plain(&t, SC_FILE_LIST, "b"), -ENOTDIR);
    assert_int_equal(plain(&t, SC_FILE_STAT, "d"), 0);
    at = 0;
    assert_string_equal(entry_name(&at, &entry), "d -> nowhere at all");
    assert_int_equal(plain(&t, SC_FILE_STAT, "/"), 0);
    assert_int_equal(plain(&t, SC_FILE_STAT, "none"), -ENOENT);
    close_talk(&t);
}

static void names(void **state)
{
    (void)state;
    struct talk t;
    struct stat st;
    open_talk(&t);
    assert_int_equal(plain(&t, SC_FILE_MKDIR, "d"), 0);
    assert_int_equal(plain(&t, SC_FILE_MKDIR, "d"), -EEXIST);
    assert_int_equal(plain(&t, SC_FILE_MKDIR, "e/f"), -ENOENT);
    ask(&t, OP(SC_FILE_MKDIR, .flags = SC_FILE_PARENTS, .mode = 0700), "e/f/g", NULL);
    assert_int_equal(finish(&t), 0);
    assert_int_equal(stat(here(&t, "e/f/g"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    ask(&t, OP(SC_FILE_MKDIR, .flags = SC_FILE_PARENTS), "e/f/g", NULL);
    assert_int_equal(finish(&t), 0);
    put_file(&t, "x", "x");
    put_file(&t, "y", "y");
    ask(&t, OP(SC_FILE_RENAME), "x", "y");
    assert_int_equal(finish(&t), 0);
    expect_file(&t, "y", "x");
    ask(&t, OP(SC_FILE_RENAME), "none", "z");
    assert_int_equal(finish(&t), -ENOENT);
    ask(&t, OP(SC_FILE_RENAME), "y", "d");
    assert_int_equal(finish(&t), -EISDIR);
    ask(&t, OP(SC_FILE_CHMOD, .mode = 0100), "y", NULL);
    assert_int_equal(finish(&t), 0);
    assert_int_equal(stat(here(&t, "y"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0100);
    assert_int_equal(plain(&t, SC_FILE_REMOVE, "y"), 0);
    assert_int_equal(plain(&t, SC_FILE_REMOVE, "y"), -ENOENT);
    assert_int_equal(plain(&t, SC_FILE_REMOVE, "e"), -ENOTEMPTY);
    assert_int_equal(plain(&t, SC_FILE_REMOVE, "d"), 0);
    close_talk(&t);
}

#define DEEP "a-folder-with-a-longer-name"

/* Deeper than any path, and than the table of descriptors; a link in it is removed, not followed. */
static void removing_what_is_deep(void **state)
{
    (void)state;
    struct talk t;
    char *beside = make_folder();
    open_talk(&t);
    int fd = open(t.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < 300; i++) {
        assert_int_equal(mkdirat(fd, DEEP, 0755), 0);
        int next = openat(fd, DEEP, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(next >= 0);
        if (i % 50 == 0)
            assert_int_equal(symlinkat(beside, fd, "link"), 0);
        close(fd);
        fd = next;
    }
    close(fd);
    ask(&t, OP(SC_FILE_REMOVE, .flags = SC_FILE_RECURSIVE), DEEP, NULL);
    assert_int_equal(finish(&t), 0);
    assert_int_equal(count_names(&t), 1); /* the first link */
    assert_int_equal(access(beside, F_OK), 0);
    remove_folder(beside);
    close_talk(&t);
}

/* ---- watching ---- */

#define PROBE "new/probe"

static void expect_change(struct talk *t, size_t *at, int kind, bool is_folder, const char *name)
{
    struct sc_change change;
    while (answer.len < *at + sizeof change)
        follow(t);
    memcpy(&change, answer.out + *at, sizeof change);
    *at += sizeof change;
    if (change.name_len == strlen(PROBE) && !memcmp(answer.out + *at, PROBE, strlen(PROBE)) &&
        strcmp(name, PROBE) != 0) {
        *at += change.name_len; /* may be told twice */
        expect_change(t, at, kind, is_folder, name);
        return;
    }
    if (change.kind != kind || change.is_folder != is_folder || change.name_len != strlen(name) ||
        memcmp(answer.out + *at, name, strlen(name)) != 0)
        fail_msg("%d of %.*s, not %d of %s", change.kind, (int)change.name_len, answer.out + *at, kind, name);
    *at += change.name_len;
}

static void watching(void **state)
{
    (void)state;
    struct talk t;
    size_t at = 0;
    const struct sc_msg_signal term = {SIGTERM, SC_SIGNAL_TREE};
    open_talk(&t);
    assert_int_equal(mkdir(here(&t, "old"), 0755), 0);
    ask(&t, OP(SC_FILE_WATCH, .flags = SC_FILE_RECURSIVE), ".", NULL);
    while (follow(&t) != SC_MSG_COMMAND_STARTED)
        ;
    put_file(&t, "f", "x");
    expect_change(&t, &at, SC_CHANGE_MADE, false, "f");
    expect_change(&t, &at, SC_CHANGE_WRITTEN, false, "f");
    assert_int_equal(chmod(here(&t, "f"), 0600), 0);
    expect_change(&t, &at, SC_CHANGE_MODE, false, "f");
    assert_int_equal(rename(here(&t, "f"), here(&t, "old/g")), 0);
    expect_change(&t, &at, SC_CHANGE_RENAMED, false, "f");
    expect_change(&t, &at, SC_CHANGE_MADE, false, "old/g");
    assert_int_equal(mkdir(here(&t, "new"), 0755), 0);
    expect_change(&t, &at, SC_CHANGE_MADE, true, "new");
    put_file(&t, PROBE, ""); /* when this is told, the new folder is watched */
    expect_change(&t, &at, SC_CHANGE_MADE, false, PROBE);
    assert_int_equal(rename(here(&t, "old"), here(&t, "new/moved")), 0);
    expect_change(&t, &at, SC_CHANGE_RENAMED, true, "old");
    expect_change(&t, &at, SC_CHANGE_MADE, true, "new/moved");
    expect_change(&t, &at, SC_CHANGE_MADE, false, "new/moved/g");
    assert_int_equal(unlink(here(&t, "new/moved/g")), 0);
    expect_change(&t, &at, SC_CHANGE_REMOVED, false, "new/moved/g");
    say_on(&t, 1, SC_MSG_SIGNAL, &term, sizeof term);
    assert_int_equal(finish(&t), 0);
    assert_int_equal(plain(&t, SC_FILE_WATCH, "none"), -ENOENT);
    close_talk(&t);
}

/* Folders in folders, as many as a path can name: no descriptor and no stack is left to follow them all. */
static void watching_the_deep(void **state)
{
    (void)state;
    struct talk t;
    size_t at = 0;
    const struct sc_msg_signal term = {SIGTERM, SC_SIGNAL_TREE};
    open_talk(&t);
    int fd = open(here(&t, "."), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < 1500; i++) {
        assert_int_equal(mkdirat(fd, "d", 0755), 0);
        int next = openat(fd, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(next >= 0);
        close(fd);
        fd = next;
    }
    close(fd);
    ask(&t, OP(SC_FILE_WATCH, .flags = SC_FILE_RECURSIVE), ".", NULL);
    expect_change(&t, &at, SC_CHANGE_LOST, false, "");
    put_file(&t, "d/d/f", "");
    expect_change(&t, &at, SC_CHANGE_MADE, false, "d/d/f");
    say_on(&t, 1, SC_MSG_SIGNAL, &term, sizeof term);
    assert_int_equal(finish(&t), 0);
    ask(&t, OP(SC_FILE_REMOVE, .flags = SC_FILE_RECURSIVE), "d", NULL);
    assert_int_equal(finish(&t), 0);
    close_talk(&t);
}

/* ---- what is refused ---- */

static void out_of_place(void **state)
{
    (void)state;
    static const struct sc_msg_file_op read = {.kind = SC_FILE_READ}, beyond = {.kind = SC_FILE_KINDS},
                                       rename = {.kind = SC_FILE_RENAME}, flag = {.kind = 0, .flags = 8};
    static char longest[4096 + 1];
    memset(longest, 'a', sizeof longest - 1);
    const struct {
        const struct sc_msg_file_op *order;
        const char *paths;
        size_t len;
    } cases[] = {{&read, "", 0},        {&read, "", 1},
                 {&read, "x", 1},       {&read, "x\0y", 4},
                 {&beyond, "x", 2},     {&rename, "x", 2},
                 {&rename, "x\0\0", 3}, {&rename, "x\0y", 3},
                 {&flag, "x", 2},       {&read, longest, sizeof longest}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct talk t;
        char payload[5000];
        open_talk(&t);
        memcpy(payload, cases[i].order, sizeof read);
        memcpy(payload + sizeof read, cases[i].paths, cases[i].len);
        say_on(&t, 1, SC_MSG_FILE_OP, payload, sizeof read + cases[i].len);
        expect_failed(&t, "protocol", -EPROTO);
    }
    struct talk t;
    open_talk(&t);
    say_on(&t, 1, SC_MSG_FILE_OP, &read, sizeof read - 1);
    expect_failed(&t, "protocol", -EPROTO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(reading, before),
        cmocka_unit_test_setup(writing, before),
        cmocka_unit_test_setup(large_files, before),
        cmocka_unit_test_setup(canceled, before),
        cmocka_unit_test_setup(listing, before),
        cmocka_unit_test_setup(names, before),
        cmocka_unit_test_setup(removing_what_is_deep, before),
        cmocka_unit_test_setup(watching, before),
        cmocka_unit_test_setup(watching_the_deep, before),
        cmocka_unit_test_setup(out_of_place, before),
    };
    return RUN_AS_BOTH(tests);
}
