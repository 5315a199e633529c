/* keeper/entries.h: listings and changes from inside a cell, in any pieces and of any content. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "keeper/entries.h"

struct records {
    uint8_t bytes[4096];
    size_t len;
};

static void add(struct records *records, const void *data, size_t len)
{
    memcpy(records->bytes + records->len, data, len);
    records->len += len;
}

static void add_entry(struct records *records, const char *name, uint32_t mode, const char *target)
{
    const struct sc_entry entry = {.size = 5,
                                   .mtime_ns = -1,
                                   .mode = mode,
                                   .name_len = (uint16_t)strlen(name),
                                   .target_len = (uint16_t)strlen(target)};
    add(records, &entry, sizeof entry);
    add(records, name, strlen(name));
    add(records, target, strlen(target));
}

static void add_change(struct records *records, uint16_t kind, const char *name)
{
    const struct sc_change change = {.kind = kind, .is_folder = 1, .name_len = (uint32_t)strlen(name)};
    add(records, &change, sizeof change);
    add(records, name, strlen(name));
}

/* The lines of `records`, given in pieces of `step` bytes. */
static char *lines_of(enum sc_file_kind kind, const struct records *records, size_t step)
{
    struct sc_keeper_entries *entries = calloc(1, sizeof *entries);
    struct sc_buf out;
    assert_non_null(entries);
    entries->kind = kind;
    sc_buf_init(&out, 65536);
    for (size_t at = 0; at < records->len; at += step) {
        size_t piece = records->len - at < step ? records->len - at : step;
        assert_int_equal(sc_keeper_entries_add(entries, records->bytes + at, piece, &out), 0);
    }
    free(entries);
    return sc_buf_steal(&out, NULL);
}

static void entries_in_any_pieces(void **state)
{
    (void)state;
    struct records records = {0};
    add_entry(&records, "a", S_IFREG | 0644, "");
    add_entry(&records, "sub", S_IFDIR | 01755, "");
    add_entry(&records, "l\xff", S_IFLNK | 0777, "../t");
    add_entry(&records, "p", S_IFIFO | 0600, "");
    const char *wanted =
        "{\"name\":\"a\",\"type\":\"file\",\"size\":5,\"mtime_ns\":-1,\"mode\":\"0644\"}\n"
        "{\"name\":\"sub\",\"type\":\"folder\",\"size\":5,\"mtime_ns\":-1,\"mode\":\"1755\"}\n"
        "{\"name\":\"l\xef\xbf\xbd\",\"name_b64\":\"bP8=\",\"type\":\"link\",\"size\":5,\"mtime_ns\":-1,"
        "\"mode\":"
        "\"0777\",\"target\":\"../t\"}\n"
        "{\"name\":\"p\",\"type\":\"special\",\"size\":5,\"mtime_ns\":-1,\"mode\":\"0600\"}\n";
    for (size_t step = 1; step <= records.len; step++) {
        char *lines = lines_of(SC_FILE_LIST, &records, step);
        assert_string_equal(lines, wanted);
        free(lines);
    }
}

static void changes_in_any_pieces(void **state)
{
    (void)state;
    struct records records = {0};
    add_change(&records, SC_CHANGE_MADE, "a/b");
    add_change(&records, SC_CHANGE_LOST, "");
    const char *wanted = "{\"change\":\"made\",\"path\":\"a/b\",\"folder\":true}\n"
                         "{\"change\":\"lost\",\"path\":\"\",\"folder\":true}\n";
    for (size_t step = 1; step <= records.len; step++) {
        char *lines = lines_of(SC_FILE_WATCH, &records, step);
        assert_string_equal(lines, wanted);
        free(lines);
    }
}

static int judge(enum sc_file_kind kind, const void *data, size_t len)
{
    struct sc_keeper_entries *entries = calloc(1, sizeof *entries);
    struct sc_buf out;
    assert_non_null(entries);
    entries->kind = kind;
    sc_buf_init(&out, 64);
    int r = sc_keeper_entries_add(entries, data, len, &out);
    sc_buf_fini(&out);
    free(entries);
    return r;
}

static void hostile_records(void **state)
{
    (void)state;
    const struct sc_entry long_entry = {.name_len = UINT16_MAX};
    const struct sc_change long_change = {.kind = SC_CHANGE_MADE, .name_len = UINT32_MAX};
    const struct sc_change overflowing = {.kind = SC_CHANGE_MADE,
                                          .name_len = UINT32_MAX - sizeof overflowing + 1};
    const struct sc_change no_kind = {.kind = 0}, high_kind = {.kind = UINT16_MAX};
    assert_int_equal(judge(SC_FILE_LIST, &long_entry, sizeof long_entry), -EPROTO);
    assert_int_equal(judge(SC_FILE_WATCH, &long_change, sizeof long_change), -EPROTO);
    assert_int_equal(judge(SC_FILE_WATCH, &overflowing, sizeof overflowing), -EPROTO);
    assert_int_equal(judge(SC_FILE_WATCH, &no_kind, sizeof no_kind), -EPROTO);
    assert_int_equal(judge(SC_FILE_WATCH, &high_kind, sizeof high_kind), -EPROTO);
}

static void no_room_is_told(void **state)
{
    (void)state;
    struct records records = {0};
    add_entry(&records, "a-name-that-makes-a-line-of-more-than-64-bytes", S_IFREG, "");
    assert_int_equal(judge(SC_FILE_STAT, records.bytes, records.len), -EMSGSIZE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_in_any_pieces),
        cmocka_unit_test(changes_in_any_pieces),
        cmocka_unit_test(hostile_records),
        cmocka_unit_test(no_room_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
