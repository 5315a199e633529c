/* File operations: what each does, how errors are told apart, and what a hostile path, FIFO or archive cannot
 * do. The agent is not sealed here; test_live_cell.c tries the same through whole cells. */
#include "talk.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/tar.h"

struct answer {
    struct sc_msg_file_done done;
    char out[1 << 16];
    size_t len;
    uint64_t credit; /* given back */
    bool is_done;
};

static struct answer answer;

static int before(void **state)
{
    (void)state;
    prepare_talk();
    return 0;
}

/* A path below the work folder, seen from here. Two live at a time. */
static const char *here(const struct talk *t, const char *path)
{
    static char rooms[2][5000];
    static unsigned n;
    char *room = rooms[n++ % 2];
    snprintf(room, sizeof rooms[0], "%s/%s", t->folder, path);
    return room;
}

static void put_file(const struct talk *t, const char *path, const char *text)
{
    int fd = open(here(t, path), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static void expect_file(const struct talk *t, const char *path, const char *text)
{
    char room[4096];
    int fd = open(here(t, path), O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        fail_msg("%s is not there", path);
    ssize_t n = read(fd, room, sizeof room - 1);
    assert_true(n >= 0);
    room[n] = '\0';
    assert_string_equal(room, text);
    close(fd);
}

static void ask(struct talk *t, struct sc_msg_file_op order, const char *path, const char *to)
{
    char payload[sizeof order + 8192 + 2];
    size_t len = sizeof order;
    if (!order.credit)
        order.credit = 1 << 20;
    memcpy(payload, &order, sizeof order);
    memcpy(payload + len, path, strlen(path) + 1);
    len += strlen(path) + 1;
    if (to) {
        memcpy(payload + len, to, strlen(to) + 1);
        len += strlen(to) + 1;
    }
    memset(&answer, 0, sizeof answer);
    say_on(t, 1, SC_MSG_FILE_OP, payload, len);
}

/* Takes a frame; its type. */
static int follow(struct talk *t)
{
    static char bytes[SC_FRAME_MAX];
    size_t len;
    int type = next_frame(t, bytes, sizeof bytes, &len);
    if (type == SC_MSG_OUTPUT) {
        assert_true(answer.len + len < sizeof answer.out);
        memcpy(answer.out + answer.len, bytes, len);
        answer.len += len;
    } else if (type == SC_MSG_FILE_DONE) {
        memcpy(&answer.done, bytes, sizeof answer.done);
        answer.is_done = true;
    } else if (type == SC_MSG_INPUT_CREDIT) {
        answer.credit += ((struct sc_msg_credit *)bytes)->bytes;
    } else if (type == SC_MSG_FAILED || type == SC_MSG_COMMAND_FAILED || type == 0) {
        fail_msg("%d: %s %s", type, ((struct sc_msg_failed *)bytes)->stage,
                 ((struct sc_msg_failed *)bytes)->object);
    }
    return type;
}

static int finish(struct talk *t)
{
    while (!answer.is_done)
        follow(t);
    return answer.done.code;
}

static void give(struct talk *t, const void *data, size_t len)
{
    for (size_t at = 0; at < len && !answer.is_done;) {
        size_t room = SC_INPUT_CREDIT - (size_t)(at - answer.credit), n = len - at < room ? len - at : room;
        if (n > 0)
            say_on(t, 1, SC_MSG_INPUT, (const char *)data + at, n);
        at += n;
        if (at < len)
            follow(t);
    }
    say_on(t, 1, SC_MSG_INPUT_END, NULL, 0);
}

static int with_input(struct talk *t, struct sc_msg_file_op order, const char *path, const void *data,
                      size_t len)
{
    ask(t, order, path, NULL);
    give(t, data, len);
    return finish(t);
}

static int plain(struct talk *t, uint32_t kind, const char *path)
{
    ask(t, (struct sc_msg_file_op){.kind = kind}, path, NULL);
    return finish(t);
}

#define OP(kind_, ...) ((struct sc_msg_file_op){.kind = kind_, ##__VA_ARGS__})

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

static unsigned count(const struct talk *t)
{
    char line[5000];
    snprintf(line, sizeof line, "ls -A %s | wc -l", t->folder);
    FILE *pipe = popen(line, "r");
    unsigned n = 0;
    assert_non_null(pipe);
    assert_int_equal(fscanf(pipe, "%u", &n), 1);
    pclose(pipe);
    return n;
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
    assert_int_equal(count(&t), 1); /* the temporary file is gone */
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

/* Deeper than any path, and than the table of descriptors; a link in it is removed, not followed. */
static void removing_what_is_deep(void **state)
{
    (void)state;
    struct talk t;
    char *beside = make_folder();
    open_talk(&t);
    int fd = open(t.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < 3000; i++) {
        assert_int_equal(mkdirat(fd, "deep", 0755), 0);
        int next = openat(fd, "deep", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(next >= 0);
        if (i % 100 == 0)
            assert_int_equal(symlinkat(beside, fd, "link"), 0);
        close(fd);
        fd = next;
    }
    close(fd);
    ask(&t, OP(SC_FILE_REMOVE, .flags = SC_FILE_RECURSIVE), "deep", NULL);
    assert_int_equal(finish(&t), 0);
    assert_int_equal(count(&t), 1); /* the first link */
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

/* ---- archives ---- */

static char stream[64 * 1024];
static size_t stream_len;

static void member(char type, const char *name, const char *link, const char *content)
{
    struct sc_tar_header head = {.type = type};
    size_t len = strlen(content);
    memcpy(head.name, name, strnlen(name, sizeof head.name));
    memcpy(head.link, link, strnlen(link, sizeof head.link));
    memcpy(head.mode, "0004755", 8);
    snprintf(head.size, sizeof head.size, "%011o", (unsigned)len);
    memcpy(head.mtime, "00000000001", 12);
    memcpy(head.magic, "ustar\00000", 8);
    snprintf(head.checksum, sizeof head.checksum, "%06o", sc_tar_checksum(&head));
    memcpy(stream + stream_len, &head, sizeof head);
    memcpy(stream + stream_len + sizeof head, content, len);
    stream_len += sizeof head + (len + 511) / 512 * 512;
}

static void start_archive(void)
{
    memset(stream, 0, sizeof stream);
    stream_len = 0;
}

static int unpack(struct talk *t, const char *folder)
{
    return with_input(t, OP(SC_FILE_TAR_IN, .flags = SC_FILE_PARENTS), folder, stream, stream_len + 1024);
}

static void honest_archives(void **state)
{
    (void)state;
    struct talk t;
    struct stat st;
    char target[64] = "";
    open_talk(&t);
    start_archive();
    member('5', "./d/", "", "");
    member('0', "d/f", "", "content");
    member('2', "d/up", "../g", "");
    member('1', "h", "d/f", "");
    member('0', "deep/er/than/made", "", "x");
    member('0', "d/f", "", "again"); /* a later one replaces */
    assert_int_equal(unpack(&t, "in"), 0);
    assert_int_equal(answer.done.files, 6);
    expect_file(&t, "in/d/f", "again");
    expect_file(&t, "in/h", "content");
    expect_file(&t, "in/deep/er/than/made", "x");
    assert_int_equal(stat(here(&t, "in/d/f"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0755); /* no set-id bits */
    assert_int_equal(st.st_mtime, 1);
    assert_int_equal(readlink(here(&t, "in/d/up"), target, sizeof target), 4);
    assert_int_equal(with_input(&t, OP(SC_FILE_TAR_IN), "nowhere", stream, 1024), -ENOENT);
    assert_int_equal(with_input(&t, OP(SC_FILE_TAR_IN), ".", "", 0), 0);
    close_talk(&t);
}

/* Each is refused with the member's name, and nothing lands outside. */
static void hostile_archives(void **state)
{
    (void)state;
    static const struct {
        char type;
        const char *name, *link;
        int code;
    } cases[] = {
        {'0', "/abs", "", -EPERM},       {'0', "../up", "", -EPERM},        {'0', "a/../../up", "", -EPERM},
        {'5', "..", "", -EPERM},         {'0', "a/..", "", -EPERM},         {'2', "l", "/etc", -EPERM},
        {'2', "l", "..", -EPERM},        {'2', "a/l", "../../x", -EPERM},   {'2', "l", "", -EPERM},
        {'1', "l", "../there", -EPERM},  {'1', "l", "/etc/passwd", -EPERM}, {'1', "l", "none", -ENOENT},
        {'1', "l", "out/there", -ELOOP}, {'1', "l", "out", -EPERM},         {'0', "out/f", "", -ELOOP},
        {'0', "out/a/f", "", -ELOOP},    {'5', "out", "", -ENOTDIR},        {'0', "folder", "", -EISDIR},
        {'0', "", "", -EISDIR},          {'3', "dev", "", -EPERM},          {'4', "dev", "", -EPERM},
        {'6', "fifo", "", -EPERM},       {'S', "sparse", "", -EINVAL},      {'?', "what", "", -EINVAL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct talk t;
        char *beside = make_folder();
        open_talk(&t);
        assert_int_equal(mkdir(here(&t, "in"), 0755), 0);
        assert_int_equal(mkdir(here(&t, "in/folder"), 0755), 0);
        assert_int_equal(symlink(beside, here(&t, "in/out")), 0);
        put_file(&t, "there", "mine");
        start_archive();
        member(cases[i].type, cases[i].name, cases[i].link, "");
        member('0', "after", "", "x");
        int code = unpack(&t, "in");
        if (code != cases[i].code || strcmp(answer.done.object, *cases[i].name ? cases[i].name : "in") != 0)
            fail_msg("case %zu: %d %s", i, code, answer.done.object);
        assert_int_equal(access(here(&t, "in/after"), F_OK), -1);
        expect_file(&t, "there", "mine");
        assert_int_equal(count(&t), 2);
        assert_int_equal(rmdir(beside), 0);
        free(beside);
        close_talk(&t);
    }
}

static void broken_archives(void **state)
{
    (void)state;
    struct talk t;
    open_talk(&t);
    start_archive();
    member('0', "f", "", "content");
    assert_int_equal(with_input(&t, OP(SC_FILE_TAR_IN), ".", stream, 100), -EBADMSG);
    assert_int_equal(with_input(&t, OP(SC_FILE_TAR_IN), ".", stream, 512), -EBADMSG);
    stream[3] ^= 1; /* the checksum no longer holds */
    assert_int_equal(unpack(&t, "."), -EBADMSG);
    static const char *const records[] = {"x",
                                          "5 a\n",
                                          "9999 path=a\n",
                                          "10 path=a",
                                          "0 path=a\n",
                                          "12 path=a\n",
                                          "99999999999999999999 path=a\n"};
    for (size_t i = 0; i < sizeof records / sizeof records[0]; i++) {
        start_archive();
        member('x', "pax", "", records[i]);
        member('0', "f", "", "");
        if (unpack(&t, ".") != -EBADMSG)
            fail_msg("record %zu: %d", i, answer.done.code);
    }
    start_archive();
    member('x', "pax", "", "12 path=../a\n" + 0);
    member('0', "f", "", "");
    assert_int_equal(unpack(&t, "."), -EBADMSG); /* its length is wrong by one */
    start_archive();
    member('x', "pax", "", "13 path=../a\n");
    member('0', "f", "", "");
    assert_int_equal(unpack(&t, "."), -EPERM);
    start_archive();
    member('x', "pax", "", "22 GNU.sparse.major=1\n");
    member('0', "f", "", "");
    assert_int_equal(unpack(&t, "."), -EINVAL);
    start_archive();
    member('g', "pax", "", "13 path=every\n" + 0);
    member('0', "f", "", "");
    assert_int_equal(unpack(&t, "."), -EBADMSG);
    start_archive();
    member('L', "././@LongLink", "", "../long");
    member('0', "f", "", "");
    assert_int_equal(unpack(&t, "."), -EPERM);
    close_talk(&t);
}

/* ---- what is refused ---- */

static void out_of_place(void **state)
{
    (void)state;
    static const struct sc_msg_file_op read = {.kind = SC_FILE_READ}, beyond = {.kind = SC_FILE_KINDS},
                                       rename = {.kind = SC_FILE_RENAME}, flag = {.kind = 0, .flags = 4};
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
        cmocka_unit_test_setup(honest_archives, before),
        cmocka_unit_test_setup(hostile_archives, before),
        cmocka_unit_test_setup(broken_archives, before),
        cmocka_unit_test_setup(out_of_place, before),
    };
    return RUN_AS_BOTH(tests);
}
