/* The limits table: every row's bounds through every front, text forms, derived values. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "spec/spec.h"

#define FOR_ROWS(row) for (const struct sc_limit_row *row = SC_LIMIT_ROWS; row->option; row++)

static void rows_are_sound(void **state)
{
    (void)state;
    size_t n = 0;
    FOR_ROWS(row)
    {
        n++;
        assert_null(strchr(row->option, '_'));
        assert_true(strlen(row->description) > 10);
        assert_true(row->min < row->max);
        assert_true(row->max < SC_DERIVED);
        assert_true(row->standard == SC_DERIVED || row->standard == SC_UNSET ||
                    (row->standard >= row->min && row->standard <= row->max));
        assert_ptr_equal(sc_limit_row_by_option(row->option, strlen(row->option)), row);
        for (const struct sc_limit_row *other = row + 1; other->option; other++) {
            assert_string_not_equal(row->option, other->option);
            assert_string_not_equal(row->json, other->json);
            assert_true(row->offset != other->offset);
        }
    }
    assert_int_equal(n * sizeof(uint64_t), sizeof(struct sc_limits));
    assert_null(sc_limit_row_by_option("wal", 3));
    assert_null(sc_limit_row_by_option("walls", 5));
    assert_null(sc_limit_row_by_option("open_files", 10));
    assert_non_null(sc_limit_row_by_option("open-files=3", 10));
    assert_string_equal(sc_limit_row_by_option("artifacts-count", 15)->json, "artifacts_count");
}

static void standards(void **state)
{
    (void)state;
    struct sc_limits limits;
    sc_limits_init(&limits);
    assert_true(limits.wall == 5 * SC_NS_PER_S);
    assert_true(limits.memory == 512 * SC_MIB);
    assert_true(limits.cpus == 1000);
    assert_true(limits.tasks == 128);
    assert_true(limits.stdout == SC_MIB && limits.stderr == SC_MIB);
    assert_true(limits.cpu == SC_DERIVED && limits.disk == SC_DERIVED);
    assert_true(limits.io_read == SC_UNSET);
    FOR_ROWS(row) assert_true(*sc_limit_value(&limits, row) == row->standard);
}

/* One text through sc_spec_set. On refusal nothing has changed, and the message names all there is to know.
 */
static int set_text(const struct sc_limit_row *row, const char *text, uint64_t *ret_value)
{
    struct sc_spec spec;
    struct sc_err err = {0};
    char min[32], max[32];
    sc_spec_init(&spec);
    int r = sc_spec_set(&spec, row->option, text, &err);
    *ret_value = *sc_limit_value(&spec.limits, row);
    if (r < 0) {
        sc_limit_format(row, row->min, min, sizeof min);
        sc_limit_format(row, row->max, max, sizeof max);
        assert_int_equal(r, -EINVAL);
        assert_int_equal(err.kind, SC_ERR_USAGE);
        assert_string_equal(err.field, row->option);
        assert_non_null(strstr(err.message, row->option));
        assert_non_null(strstr(err.message, min));
        assert_non_null(strstr(err.message, max));
        assert_true(*ret_value == row->standard);
    }
    sc_spec_fini(&spec);
    return r;
}

static void bounds_as_text(void **state)
{
    (void)state;
    FOR_ROWS(row)
    {
        const struct {
            uint64_t value;
            int r;
        } tries[] = {{row->min - 1, -EINVAL}, {row->min, 0}, {row->min + 1, 0},
                     {row->max - 1, 0},       {row->max, 0}, {row->max + 1, -EINVAL}};
        for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
            char text[32];
            uint64_t value = 0;
            sc_limit_format(row, tries[i].value, text, sizeof text);
            if (set_text(row, text, &value) != tries[i].r)
                fail_msg("%s %s: expected %d", row->option, text, tries[i].r);
            if (tries[i].r == 0)
                assert_true(value == tries[i].value);
        }
    }
}

static void nonsense_as_text(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        " ",
                                        "-1",
                                        "+5",
                                        "1e9",
                                        "0x10",
                                        "unset",
                                        "derived",
                                        "max",
                                        "∞",
                                        "nan",
                                        "inf",
                                        "1,5",
                                        "1..5",
                                        "5\n",
                                        "5 ",
                                        "\xFF",
                                        "1.5.2",
                                        "0",
                                        "18446744073709551615",
                                        "18446744073709551614",
                                        "99999999999999999999999"};
    FOR_ROWS(row)
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        uint64_t value;
        if (set_text(row, texts[i], &value) == 0)
            fail_msg("%s \"%s\" was taken", row->option, texts[i]);
    }
}

/* The value as JSON writes it, or as near below or above as JSON can say it. */
static int set_json(const struct sc_limit_row *row, const char *number, uint64_t *ret_value,
                    struct sc_err *err)
{
    struct sc_spec spec;
    char text[160];
    sc_spec_init(&spec);
    snprintf(text, sizeof text, "{\"limits\":{\"%s\":%s}}", row->json, number);
    int r = sc_spec_from_json(&spec, text, strlen(text), err);
    *ret_value = *sc_limit_value(&spec.limits, row);
    sc_spec_fini(&spec);
    return r;
}

static void json_number(const struct sc_limit_row *row, uint64_t value, char *ret_text, size_t size)
{
    uint64_t scale = row->kind == SC_LIMIT_DURATION ? SC_NS_PER_MS : row->kind == SC_LIMIT_MILLI ? 1000 : 1;
    int digits = row->kind == SC_LIMIT_DURATION ? 6 : 3;
    if (scale == 1)
        snprintf(ret_text, size, "%" PRIu64, value);
    else
        snprintf(ret_text, size, "%" PRIu64 ".%0*" PRIu64, value / scale, digits, value % scale);
}

static void bounds_as_json(void **state)
{
    (void)state;
    FOR_ROWS(row)
    {
        const struct {
            uint64_t value;
            int r;
        } tries[] = {{row->min - 1, -EINVAL}, {row->min, 0}, {row->max, 0}, {row->max + 1, -EINVAL}};
        for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
            char number[48], field[64];
            uint64_t value = 0;
            struct sc_err err = {0};
            json_number(row, tries[i].value, number, sizeof number);
            /* A nanosecond above a day is less than a double can tell from a day. */
            if (row->kind == SC_LIMIT_DURATION && tries[i].value == row->max + 1)
                snprintf(number, sizeof number, "86400000.001");
            if (set_json(row, number, &value, &err) != tries[i].r)
                fail_msg("%s %s: %s", row->json, number, err.message);
            snprintf(field, sizeof field, "limits.%s", row->json);
            if (tries[i].r == 0)
                assert_true(value == tries[i].value);
            else {
                assert_string_equal(err.field, field);
                assert_non_null(strstr(err.message, "allowed "));
                assert_true(value == row->standard);
            }
        }
    }
}

static void nonsense_as_json(void **state)
{
    (void)state;
    static const char *const numbers[] = {"-1",
                                          "-0.5",
                                          "1e300",
                                          "\"5s\"",
                                          "true",
                                          "[]",
                                          "{}",
                                          "18446744073709551615",
                                          "9223372036854775807",
                                          "0",
                                          "-9223372036854775808",
                                          "1e16"};
    FOR_ROWS(row)
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        uint64_t value;
        struct sc_err err = {0};
        if (set_json(row, numbers[i], &value, &err) != -EINVAL)
            fail_msg("%s %s was taken", row->json, numbers[i]);
        assert_int_equal(err.kind, SC_ERR_USAGE);
    }
    uint64_t value;
    struct sc_err err = {0};
    const struct sc_limit_row *tasks = sc_limit_row_by_option("tasks", 5),
                              *cpus = sc_limit_row_by_option("cpus", 4);
    assert_int_equal(set_json(tasks, "10.5", &value, &err), -EINVAL);
    assert_non_null(strstr(err.message, "whole number"));
    assert_int_equal(set_json(tasks, "1e2", &value, &err), 0);
    assert_int_equal(value, 100);
    assert_int_equal(set_json(tasks, "null", &value, &err), 0);
    assert_int_equal(value, 128);
    assert_int_equal(set_json(cpus, "1.9999", &value, &err), 0);
    assert_int_equal(value, 1999);
    assert_int_equal(set_json(cpus, "0.29", &value, &err), 0);
    assert_int_equal(value, 290);
}

/* Bounds met by a spec that was filled by hand: the check is the last to see them. */
static void bounds_in_the_check(void **state)
{
    (void)state;
    FOR_ROWS(row)
    for (int above = 0; above <= 1; above++) {
        struct sc_spec spec;
        struct sc_err err = {0};
        sc_spec_init(&spec);
        *sc_limit_value(&spec.limits, row) = above ? row->max + 1 : row->min - 1;
        assert_int_equal(sc_spec_check(&spec, 0, &err), -EINVAL);
        assert_string_equal(err.field, row->option);
        /* "Unset" and "derived" are values only where the row says so. */
        *sc_limit_value(&spec.limits, row) = row->standard == SC_UNSET ? SC_DERIVED : SC_UNSET;
        assert_int_equal(sc_spec_check(&spec, 0, &err), -EINVAL);
        assert_string_equal(err.field, row->option);
        sc_spec_fini(&spec);
    }
}

static void text_round_trips(void **state)
{
    (void)state;
    srandom(5);
    FOR_ROWS(row)
    for (int i = 0; i < 500; i++) {
        char text[32];
        uint64_t random_bits = (uint64_t)random() << 31 ^ (uint64_t)random();
        uint64_t value = row->min + random_bits % (row->max - row->min + 1), back = 0;
        sc_limit_format(row, value, text, sizeof text);
        assert_int_equal(sc_limit_parse(row, text, &back), 0);
        assert_true(back == value);
    }
    char text[32];
    sc_limit_format(SC_LIMIT_ROWS, SC_UNSET, text, sizeof text);
    assert_string_equal(text, "unset");
    sc_limit_format(SC_LIMIT_ROWS, SC_DERIVED, text, sizeof text);
    assert_string_equal(text, "derived");
}

/* ---- derived values ---- */

static struct sc_limits derived(uint64_t memory, enum sc_disk_backing *backing)
{
    struct sc_limits limits;
    struct sc_err err = {0};
    sc_limits_init(&limits);
    limits.memory = memory;
    if (sc_limits_derive(&limits, backing, &err) < 0)
        fail_msg("%s", err.message);
    return limits;
}

static void standard_sizes(void **state)
{
    (void)state;
    enum sc_disk_backing backing = SC_DISK_AUTO;
    struct sc_limits l = derived(512 * SC_MIB, &backing);
    assert_int_equal(backing, SC_DISK_MEMORY);
    assert_true(l.disk == 128 * SC_MIB && l.tmp == 64 * SC_MIB && l.shm == 64 * SC_MIB);
    assert_true(l.file_size == 128 * SC_MIB);
    assert_true(l.cpu == 5 * SC_NS_PER_S);
    l = derived(16ull << 40, &backing);
    assert_true(l.disk == 128 * SC_MIB && l.tmp == 64 * SC_MIB && l.shm == 64 * SC_MIB);
    l = derived(512 * SC_MIB - 1, &backing);
    assert_true(l.disk == 128 * SC_MIB - 4096 && l.tmp == 64 * SC_MIB - 4096 && l.shm == l.tmp);
    l = derived(16 * SC_MIB, &backing);
    assert_true(l.disk == 4 * SC_MIB && l.tmp == 2 * SC_MIB && l.shm == 2 * SC_MIB);
    backing = SC_DISK_IMAGE;
    l = derived(16 * SC_MIB, &backing);
    assert_int_equal(backing, SC_DISK_IMAGE);
    assert_true(l.disk == 128 * SC_MIB && l.tmp == 2 * SC_MIB);
}

static uint64_t cpu_of(uint64_t wall, uint64_t cpus)
{
    struct sc_limits limits;
    enum sc_disk_backing backing = SC_DISK_AUTO;
    sc_limits_init(&limits);
    limits.wall = wall;
    limits.cpus = cpus;
    assert_int_equal(sc_limits_derive(&limits, &backing, NULL), 0);
    return limits.cpu;
}

static void processor_time(void **state)
{
    (void)state;
    assert_true(cpu_of(SC_NS_PER_S, 2500) == 2500 * SC_NS_PER_MS);
    assert_true(cpu_of(SC_NS_PER_S + 1, 500) == 500 * SC_NS_PER_MS + 1); /* rounded up */
    assert_true(cpu_of(10 * SC_NS_PER_MS, 10) == 10 * SC_NS_PER_MS);     /* not below its own minimum */
    assert_true(cpu_of(24 * 3600 * SC_NS_PER_S, 1024000) == 24 * 3600 * SC_NS_PER_S);
}

struct sizes {
    uint64_t memory, disk, tmp, shm;
    enum sc_disk_backing backing;
};

static int derive(struct sizes *s, struct sc_err *err)
{
    struct sc_limits limits;
    sc_limits_init(&limits);
    limits.memory = s->memory;
    limits.disk = s->disk;
    limits.tmp = s->tmp;
    limits.shm = s->shm;
    int r = sc_limits_derive(&limits, &s->backing, err);
    if (r == 0)
        *s = (struct sizes){limits.memory, limits.disk, limits.tmp, limits.shm, s->backing};
    return r;
}
#define D SC_DERIVED

static void derived_sizes_give_way(void **state)
{
    (void)state;
    /* 384 MiB fit: 284 for disk leave 100 for tmp and shm, evenly. */
    struct sizes s = {512 * SC_MIB, 284 * SC_MIB, D, D, SC_DISK_AUTO};
    assert_int_equal(derive(&s, NULL), 0);
    assert_int_equal(s.backing, SC_DISK_MEMORY);
    assert_true(s.disk == 284 * SC_MIB && s.tmp == 50 * SC_MIB && s.shm == 50 * SC_MIB);
    /* The most that fits in memory; a byte more goes to an image, and the others have their room again. */
    s = (struct sizes){512 * SC_MIB, 352 * SC_MIB, D, D, SC_DISK_AUTO};
    assert_int_equal(derive(&s, NULL), 0);
    assert_int_equal(s.backing, SC_DISK_MEMORY);
    assert_true(s.tmp == 16 * SC_MIB && s.shm == 16 * SC_MIB);
    s = (struct sizes){512 * SC_MIB, 352 * SC_MIB + 1, D, D, SC_DISK_AUTO};
    assert_int_equal(derive(&s, NULL), 0);
    assert_int_equal(s.backing, SC_DISK_IMAGE);
    assert_true(s.disk == 352 * SC_MIB + 1 && s.tmp == 64 * SC_MIB && s.shm == 64 * SC_MIB);
    /* All three given: their sum counts. */
    s = (struct sizes){512 * SC_MIB, 128 * SC_MIB, 128 * SC_MIB, 128 * SC_MIB, SC_DISK_AUTO};
    assert_int_equal(derive(&s, NULL), 0);
    assert_int_equal(s.backing, SC_DISK_MEMORY);
}

static void refusals(void **state)
{
    (void)state;
    struct sc_err err = {0};
    struct sizes s = {512 * SC_MIB, 352 * SC_MIB + 1, D, D, SC_DISK_MEMORY};
    assert_int_equal(derive(&s, &err), -EINVAL);
    assert_string_equal(err.field, "disk");
    assert_non_null(strstr(err.message, "at most 352M fits"));
    assert_non_null(strstr(err.message, "three quarters of the memory limit 512M"));
    assert_int_equal(s.backing, SC_DISK_MEMORY);
    assert_true(s.tmp == D);
    s = (struct sizes){512 * SC_MIB, D, 1024 * SC_MIB, D, SC_DISK_AUTO};
    assert_int_equal(derive(&s, &err), -EINVAL);
    assert_string_equal(err.field, "tmp");
    assert_non_null(strstr(err.message, "at most 352M fits"));
    s = (struct sizes){512 * SC_MIB, D, 300 * SC_MIB, 400 * SC_MIB, SC_DISK_IMAGE};
    assert_int_equal(derive(&s, &err), -EINVAL);
    assert_string_equal(err.field, "shm");
    assert_null(strstr(err.message, "disk"));
    assert_non_null(strstr(err.message, "700M together"));
    /* Nothing that one size could be made would help here. */
    s = (struct sizes){512 * SC_MIB, D, 400 * SC_MIB, 400 * SC_MIB, SC_DISK_IMAGE};
    assert_int_equal(derive(&s, &err), -EINVAL);
    assert_null(strstr(err.message, "fits"));
}

/* For any memory and any given sizes: what is taken fits, is within its rows, and given sizes stand. */
static void whatever_is_taken_fits(void **state)
{
    (void)state;
    srandom(9);
    int taken = 0;
    for (int i = 0; i < 20000; i++) {
        uint64_t memory = 16 * SC_MIB + (uint64_t)random() % (2048 * SC_MIB);
        uint64_t given[3];
        for (int k = 0; k < 3; k++)
            given[k] = random() % 2 ? D : 65536 + (uint64_t)random() % memory;
        struct sizes s = {memory, given[0], given[1], given[2], (enum sc_disk_backing)(random() % 3)};
        enum sc_disk_backing asked = s.backing;
        if (derive(&s, NULL) < 0)
            continue;
        taken++;
        assert_true(s.backing != SC_DISK_AUTO && (asked == SC_DISK_AUTO || asked == s.backing));
        assert_true((s.backing == SC_DISK_MEMORY ? s.disk : 0) + s.tmp + s.shm <= memory / 4 * 3);
        assert_true(s.disk >= 65536 && s.tmp >= 65536 && s.shm >= 65536);
        assert_true(given[0] == D || s.disk == given[0]);
        assert_true(given[1] == D || s.tmp == given[1]);
        assert_true(given[2] == D || s.shm == given[2]);
        /* A second time changes nothing. */
        struct sizes again = s;
        assert_int_equal(derive(&again, NULL), 0);
        assert_memory_equal(&again, &s, sizeof s);
    }
    assert_true(taken > 2000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_sound),         cmocka_unit_test(standards),
        cmocka_unit_test(bounds_as_text),         cmocka_unit_test(nonsense_as_text),
        cmocka_unit_test(bounds_as_json),         cmocka_unit_test(nonsense_as_json),
        cmocka_unit_test(bounds_in_the_check),    cmocka_unit_test(text_round_trips),
        cmocka_unit_test(standard_sizes),         cmocka_unit_test(processor_time),
        cmocka_unit_test(derived_sizes_give_way), cmocka_unit_test(refusals),
        cmocka_unit_test(whatever_is_taken_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
