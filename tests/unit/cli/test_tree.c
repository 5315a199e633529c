/* cli/tree.h: folders come out as they went in, and an archive from inside a cell does no harm on the host.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/tar.h"
#include "base/fd.h"
#include "cli/tree.h"
#include "cli/tree_parts.h"

static char place[64];
static int target = -1, quiet = -1, saved_stderr = -1;

static void make_file(const char *name, const char *text, mode_t mode)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%s", place, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    assert_true(fd >= 0);
    assert_int_equal(sc_write_all(fd, text, strlen(text)), 0);
    close(fd);
}

static void make_folder(const char *name)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%s", place, name);
    assert_int_equal(mkdir(path, 0755), 0);
}

static const char *text_of(const char *name)
{
    static char text[200];
    char path[400];
    snprintf(path, sizeof path, "%s/%s", place, name);
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[n < 0 ? 0 : n] = '\0';
    return n < 0 ? NULL : text;
}

static bool exists(const char *name)
{
    struct stat st;
    char path[400];
    snprintf(path, sizeof path, "%s/%s", place, name);
    return lstat(path, &st) == 0;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

/* place/source, place/target, and place/beside, which nobody may touch. What is told goes nowhere. */
static int begin(void **state)
{
    char path[100];
    (void)state;
    snprintf(place, sizeof place, "/tmp/tree-XXXXXX");
    if (!mkdtemp(place))
        return -1;
    make_folder("source");
    make_folder("target");
    make_folder("beside");
    snprintf(path, sizeof path, "%s/target", place);
    target = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    quiet = open("/dev/null", O_WRONLY | O_CLOEXEC);
    saved_stderr = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    return target < 0 || dup2(quiet, STDERR_FILENO) < 0 ? -1 : 0;
}

static int end(void **state)
{
    (void)state;
    dup2(saved_stderr, STDERR_FILENO);
    sc_close(&saved_stderr);
    sc_close(&quiet);
    sc_close(&target);
    return nftw(place, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* ---- there and back ---- */

static void a_folder_comes_back(void **state)
{
    char path[100], name[300], link[300];
    struct sc_cli_tree from, to;
    (void)state;
    make_file("source/a", "text", 0640);
    make_file("source/empty", "", 0755);
    make_folder("source/sub");
    snprintf(name, sizeof name, "source/sub/%0200d", 7);
    make_file(name, "long", 0644);
    snprintf(link, sizeof link, "%s/source/link", place);
    assert_int_equal(symlink("/etc/passwd", link), 0);
    snprintf(path, sizeof path, "%s/source", place);
    assert_int_equal(sc_cli_tree_send(&from, path, NULL), 0);
    assert_int_equal(sc_cli_tree_take(&to, target, NULL), 0);
    char bytes[4096];
    ssize_t n;
    while ((n = read(from.pipe, bytes, sizeof bytes)) > 0)
        assert_int_equal(sc_write_all(to.pipe, bytes, (size_t)n), 0);
    assert_true(sc_cli_tree_finish(&from));
    assert_true(sc_cli_tree_finish(&to));
    assert_string_equal(text_of("target/a"), "text");
    assert_string_equal(text_of("target/empty"), "");
    snprintf(name, sizeof name, "target/sub/%0200d", 7);
    assert_string_equal(text_of(name), "long");
    assert_false(exists("target/link"));
    struct stat st;
    assert_int_equal(fstatat(target, "empty", &st, 0), 0);
    assert_int_equal(st.st_mode & 0100, 0100);
}

static void what_cannot_be_read_is_a_failure(void **state)
{
    struct sc_cli_tree tree;
    (void)state;
    assert_int_equal(sc_cli_tree_send(&tree, "/tmp/tree-that-is-not-there", NULL), 0);
    assert_false(sc_cli_tree_finish(&tree));
}

/* ---- archives from inside ---- */

struct archive {
    char bytes[64 * 1024];
    size_t len;
};

static void octal(char *field, size_t size, uint64_t value)
{
    for (size_t i = size - 1; i-- > 0; value >>= 3)
        field[i] = (char)('0' + (value & 7));
}

static void add(struct archive *archive, char type, const char *name, const char *link, uint64_t size,
                const char *content)
{
    struct sc_tar_header header = {.type = type};
    snprintf(header.name, sizeof header.name, "%s", name);
    snprintf(header.link, sizeof header.link, "%s", link);
    memcpy(header.magic, "ustar\00000", sizeof header.magic);
    octal(header.mode, sizeof header.mode, 06777);
    octal(header.size, sizeof header.size, size);
    octal(header.checksum, sizeof header.checksum, sc_tar_checksum(&header));
    memcpy(archive->bytes + archive->len, &header, sizeof header);
    archive->len += sizeof header;
    if (content) {
        memcpy(archive->bytes + archive->len, content, strlen(content));
        archive->len += SC_TAR_BLOCK;
    }
}

static void add_file(struct archive *archive, const char *name)
{
    add(archive, SC_TAR_FILE, name, "", 4, "evil");
}

static int unpack_with(struct archive *archive, bool links)
{
    int from, to;
    assert_int_equal(sc_pipe(&from, &to), 0);
    assert_int_equal(sc_write_all(to, archive->bytes, archive->len), 0);
    close(to);
    int r = sc_cli_tree_unpack(from, target, links);
    close(from);
    return r;
}

static int unpack(struct archive *archive)
{
    return unpack_with(archive, false);
}

static void names_stay_inside(void **state)
{
    static const char *const names[] = {
        "../beside/x", "/tmp/tree-x", "a/../../beside/x", "..", "a//b", "a/./b", "./../x", "a/..", "/", "."};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct archive archive = {0};
        add_file(&archive, names[i]);
        assert_true(unpack(&archive) < 0);
    }
    assert_false(exists("beside/x"));
    assert_false(exists("x"));
    assert_int_equal(access("/tmp/tree-x", F_OK), -1);
}

static void links_and_devices_are_left_out(void **state)
{
    static struct archive archive;
    (void)state;
    archive.len = 0;
    add(&archive, SC_TAR_SYMLINK, "link", "../beside", 0, NULL);
    add(&archive, SC_TAR_HARD_LINK, "hard", "/etc/passwd", 0, NULL);
    add(&archive, SC_TAR_CHAR, "device", "", 0, NULL);
    add(&archive, SC_TAR_FIFO, "fifo", "", 0, NULL);
    add_file(&archive, "link/x");
    add_file(&archive, "after");
    assert_int_equal(unpack(&archive), 0);
    assert_false(exists("beside/x"));
    assert_string_equal(text_of("target/link/x"), "evil"); /* a folder of its own */
    assert_string_equal(text_of("target/after"), "evil");
    assert_false(exists("target/hard") || exists("target/device") || exists("target/fifo"));
}

/* ---- root file systems ---- */

static void a_root_has_its_links(void **state)
{
    static struct archive archive;
    char text[100] = "";
    struct stat a, b;
    (void)state;
    archive.len = 0;
    add(&archive, SC_TAR_FOLDER, "usr/", "", 0, NULL);
    add_file(&archive, "usr/a");
    add(&archive, SC_TAR_HARD_LINK, "usr/b", "./usr/a", 0, NULL);
    add(&archive, SC_TAR_SYMLINK, "bin", "/../../etc/passwd", 0, NULL);
    add(&archive, SC_TAR_CHAR, "null", "", 0, NULL);
    assert_int_equal(unpack_with(&archive, true), 0);
    assert_int_equal(fstatat(target, "usr/a", &a, 0), 0);
    assert_int_equal(fstatat(target, "usr/b", &b, 0), 0);
    assert_int_equal(a.st_ino, b.st_ino);
    assert_int_equal(a.st_mode & 07000, 0);
    assert_true(readlinkat(target, "bin", text, sizeof text - 1) > 0);
    assert_string_equal(text, "/../../etc/passwd");
    assert_false(exists("target/null"));
}

/* One hostile member behind a link of each kind. */
static void links_of_a_root_are_never_followed(void **state)
{
    static const struct {
        char type;
        const char *name, *link;
    } hostile[] = {
        {SC_TAR_FILE, "out/x", ""},
        {SC_TAR_FILE, "out", ""},
        {SC_TAR_FOLDER, "out/new/", ""},
        {SC_TAR_FOLDER, "out", ""},
        {SC_TAR_SYMLINK, "out/x", "y"},
        {SC_TAR_HARD_LINK, "hard", "out/secret"},
        {SC_TAR_HARD_LINK, "hard", "out"},
        {SC_TAR_HARD_LINK, "hard", "/etc/passwd"},
        {SC_TAR_HARD_LINK, "hard", "../beside/secret"},
        {SC_TAR_HARD_LINK, "hard", "missing"},
        {SC_TAR_HARD_LINK, "hard", "folder"},
        {SC_TAR_HARD_LINK, "out/x", "file"},
        {SC_TAR_SYMLINK, "empty", ""},
        {SC_TAR_SYMLINK, "../x", "y"},
    };
    (void)state;
    make_file("beside/secret", "secret", 0644);
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        char inner[100];
        struct archive archive = {0};
        snprintf(inner, sizeof inner, "%s/target/%zu", place, i);
        assert_int_equal(mkdir(inner, 0755), 0);
        int folder = open(inner, O_RDONLY | O_DIRECTORY | O_CLOEXEC), whole = target;
        target = folder;
        add(&archive, SC_TAR_SYMLINK, "out", "../../beside", 0, NULL);
        add_file(&archive, "file");
        add(&archive, SC_TAR_FOLDER, "folder", "", 0, NULL);
        assert_int_equal(unpack_with(&archive, true), 0);
        archive.len = 0;
        add(&archive, hostile[i].type, hostile[i].name, hostile[i].link, 0, NULL);
        assert_true(unpack_with(&archive, true) < 0);
        assert_int_equal(faccessat(folder, "hard", F_OK, AT_SYMLINK_NOFOLLOW), -1);
        close(folder);
        target = whole;
    }
    assert_false(exists("beside/x") || exists("beside/new") || exists("x"));
}

static void a_link_that_is_there_is_not_followed(void **state)
{
    char link[100];
    struct archive archive = {0};
    (void)state;
    snprintf(link, sizeof link, "%s/target/link", place);
    assert_int_equal(symlink("../beside", link), 0);
    add_file(&archive, "link/x");
    assert_true(unpack(&archive) < 0);
    archive.len = 0;
    add_file(&archive, "link");
    assert_int_equal(unpack(&archive), -EEXIST);
    archive.len = 0;
    add(&archive, SC_TAR_FOLDER, "link/", "", 0, NULL);
    assert_int_equal(unpack(&archive), -EEXIST);
    assert_false(exists("beside/x"));
}

static void nothing_is_replaced_and_no_special_bit_is_set(void **state)
{
    struct archive archive = {0};
    struct stat st;
    (void)state;
    add_file(&archive, "a");
    add_file(&archive, "a");
    assert_int_equal(unpack(&archive), -EEXIST);
    assert_int_equal(fstatat(target, "a", &st, 0), 0);
    assert_int_equal(st.st_mode & 07000, 0);
    archive.len = 0;
    add(&archive, SC_TAR_FOLDER, "d", "", 0, NULL);
    add(&archive, SC_TAR_FOLDER, "d", "", 0, NULL);
    assert_int_equal(unpack(&archive), 0);
    assert_int_equal(fstatat(target, "d", &st, 0), 0);
    assert_int_equal(st.st_mode & 07000, 0);
}

static void bounds(void **state)
{
    struct archive archive = {0};
    char deep[100] = "";
    (void)state;
    for (size_t i = 0; i < 49; i++)
        strncat(deep, "a/", sizeof deep - strlen(deep) - 1);
    strncat(deep, "x", sizeof deep - strlen(deep) - 1);
    add_file(&archive, deep); /* folders that the archive does not name */
    assert_int_equal(unpack(&archive), 0);
    archive.len = 0;
    add(&archive, SC_TAR_FILE, "huge", "", SC_CLI_TREE_BYTES_MAX, NULL);
    memset(archive.bytes + 124, 0, 12); /* the size as bytes, for it has too many digits */
    archive.bytes[124] = (char)0x80;
    archive.bytes[131] = 0x20;
    octal(archive.bytes + 148, 8, sc_tar_checksum((struct sc_tar_header *)archive.bytes));
    assert_int_equal(unpack(&archive), -EFBIG);
    archive.len = 0;
    add(&archive, SC_TAR_FILE, "cut", "", 4000, "only this");
    assert_int_equal(unpack(&archive), -EBADMSG);
    archive.len = sizeof archive.bytes;
    memset(archive.bytes, 'x', sizeof archive.bytes);
    assert_int_equal(unpack(&archive), -EBADMSG);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(a_folder_comes_back),
        TEST(what_cannot_be_read_is_a_failure),
        TEST(names_stay_inside),
        TEST(links_and_devices_are_left_out),
        TEST(a_root_has_its_links),
        TEST(links_of_a_root_are_never_followed),
        TEST(a_link_that_is_there_is_not_followed),
        TEST(nothing_is_replaced_and_no_special_bit_is_set),
        TEST(bounds),
    };
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
