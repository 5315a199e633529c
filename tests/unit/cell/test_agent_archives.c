/* Archives as they come from strangers: what is honest is unpacked below the folder, anything else is refused
 * by its name, and nothing lands outside. */
#include "talk_files.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/tar.h"

static int before(void **state)
{
    (void)state;
    prepare_talk();
    return 0;
}

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
        assert_int_equal(count_names(&t), 2);
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
    member('x', "pax", "", "12 path=../a\n");
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
    member('g', "pax", "", "13 path=every\n");
    member('0', "f", "", "");
    assert_int_equal(unpack(&t, "."), -EBADMSG);
    start_archive();
    member('L', "././@LongLink", "", "../long");
    member('0', "f", "", "");
    assert_int_equal(unpack(&t, "."), -EPERM);
    close_talk(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(honest_archives, before),
        cmocka_unit_test_setup(hostile_archives, before),
        cmocka_unit_test_setup(broken_archives, before),
    };
    return RUN_AS_BOTH(tests);
}
