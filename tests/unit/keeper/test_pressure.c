/* keeper/pressure.h: what is read from a made-up /proc, and what is beyond its bound. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "keeper/pressure.h"

static char folder[] = "/tmp/snapcell-pressure-XXXXXX";
static const struct sc_pressure_bounds BOUNDS = {
    .memory_full = 100, .io_full = 600, .load = 16000, .free = 50};

static void put(const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    unlink(path);
    if (!text)
        return;
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(sc_write_all(fd, text, strlen(text)), 0);
    close(fd);
}

static struct sc_pressure look(void)
{
    struct sc_pressure pressure;
    sc_pressure_read(folder, &pressure);
    return pressure;
}

static int make(void **state)
{
    char path[128];
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/pressure", folder);
    return mkdir(path, 0700);
}

static int remove_all(void **state)
{
    char path[128];
    (void)state;
    for (size_t i = 0; i < 4; i++)
        put((const char *[]){"pressure/memory", "pressure/io", "loadavg", "meminfo"}[i], NULL);
    snprintf(path, sizeof path, "%s/pressure", folder);
    return rmdir(path) < 0 || rmdir(folder) < 0 ? -1 : 0;
}

static void nothing_told_is_no_pressure(void **state)
{
    (void)state;
    struct sc_pressure pressure = look();
    assert_true(pressure.memory_full == SC_PRESSURE_NONE && pressure.io_full == SC_PRESSURE_NONE);
    assert_true(pressure.load == SC_PRESSURE_NONE && pressure.free == SC_PRESSURE_NONE);
    assert_null(sc_pressure_beyond(&pressure, &BOUNDS));
}

static void stalls(void **state)
{
    (void)state;
    put("pressure/memory",
        "some avg10=99.00 avg60=0.00 avg300=0.00 total=0\nfull avg10=10.00 avg60=1 avg300=1 total=1\n");
    put("pressure/io",
        "some avg10=99.00 avg60=0.00 avg300=0.00 total=0\nfull avg10=60.00 avg60=1 avg300=1 total=1\n");
    put("loadavg", "1000000 1 1 1/1 1\n");
    struct sc_pressure pressure = look();
    assert_int_equal(pressure.memory_full, 100);
    assert_int_equal(pressure.io_full, 600);
    assert_null(sc_pressure_beyond(&pressure, &BOUNDS)); /* the load is not looked at */
    put("pressure/io", "full avg10=60.10 avg60=1 avg300=1 total=1\n");
    pressure = look();
    assert_string_equal(sc_pressure_beyond(&pressure, &BOUNDS), "disks");
    put("pressure/memory", "full avg10=10.10 avg60=1 avg300=1 total=1\n");
    pressure = look();
    assert_string_equal(sc_pressure_beyond(&pressure, &BOUNDS), "memory");
    put("pressure/memory", "full avg10=-3\n");
    pressure = look();
    assert_true(pressure.memory_full == SC_PRESSURE_NONE);
}

static void load_where_no_stalls_are_told(void **state)
{
    (void)state;
    char text[64];
    put("pressure/memory", NULL);
    put("pressure/io", NULL);
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    snprintf(text, sizeof text, "%ld.00 0.00 0.00 1/1 1\n", 16 * processors);
    put("loadavg", text);
    struct sc_pressure pressure = look();
    assert_int_equal(pressure.load, 16000);
    assert_null(sc_pressure_beyond(&pressure, &BOUNDS));
    snprintf(text, sizeof text, "%ld.00 0.00 0.00 1/1 1\n", 17 * processors);
    put("loadavg", text);
    pressure = look();
    assert_string_equal(sc_pressure_beyond(&pressure, &BOUNDS), "load");
    put("loadavg", NULL);
}

static void free_memory(void **state)
{
    (void)state;
    put("meminfo", "MemTotal:        1000 kB\nMemFree:  1 kB\nMemAvailable:     50 kB\n");
    struct sc_pressure pressure = look();
    assert_int_equal(pressure.free, 50);
    assert_null(sc_pressure_beyond(&pressure, &BOUNDS));
    put("meminfo", "MemTotal:        1000 kB\nMemFree:  1 kB\nMemAvailable:     49 kB\n");
    pressure = look();
    assert_string_equal(sc_pressure_beyond(&pressure, &BOUNDS), "free memory");
    put("meminfo", "MemTotal:        0 kB\nMemAvailable:     49 kB\n");
    pressure = look();
    assert_true(pressure.free == SC_PRESSURE_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_told_is_no_pressure),
        cmocka_unit_test(stalls),
        cmocka_unit_test(load_where_no_stalls_are_told),
        cmocka_unit_test(free_memory),
    };
    return cmocka_run_group_tests(tests, make, remove_all);
}
