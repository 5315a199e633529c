/* File operations of real living cells: large files, whole trees as tar streams, and refusals told apart. As
 * root and as an ordinary user. */
#include "live_cell.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB (1024u * 1024u)

/* 64 MiB in, seen from inside, and out again. */
static void a_large_file(void **state)
{
    (void)state;
    const size_t size = 64 * MIB;
    struct living cell;
    struct operation op = {0};
    char *content = malloc(size), expected[128];
    uint64_t sum = 0;
    assert_non_null(content);
    for (size_t i = 0; i < size; i++)
        content[i] = (char)(i * 31 >> 3);
    for (size_t i = 0; i < size; i += 4093)
        sum += (uint8_t)content[i];
    begin_living(&cell, "memory", "512M", "disk", "128M", NULL);
    op.input = content;
    op.input_len = size;
    assert_int_equal(file_op(&cell, &op, &(struct sc_file_op){.kind = SC_FILE_WRITE, .path = "large"}), 0);
    assert_true(op.done.bytes == size);
    forget(&op);
    shell(
        &cell, &op,
        "python3 -c \"b = open('large', 'rb').read(); print(len(b), sum(b[::4093]))\"; stat -c %a large; ls");
    snprintf(expected, sizeof expected, "%zu %llu\n644\nlarge\n", size, (unsigned long long)sum);
    assert_string_equal(op.out.data, expected);
    forget(&op);
    op.hold = false;
    assert_int_equal(file_op(&cell, &op, &(struct sc_file_op){.kind = SC_FILE_READ, .path = "large"}), 0);
    assert_int_equal(op.out.len, size);
    assert_memory_equal(op.out.data, content, size);
    forget(&op);
    struct sc_usage usage;
    sc_live_usage(cell.live, &usage);
    assert_true(usage.disk_bytes >= size);
    end_living(&cell);
    free(content);
}

static void refusals(void **state)
{
    (void)state;
    static const struct {
        struct sc_file_op op;
        int code;
    } cases[] = {
        {{.kind = SC_FILE_READ, .path = "missing"}, -ENOENT},
        {{.kind = SC_FILE_READ, .path = "folder"}, -EISDIR},
        {{.kind = SC_FILE_WRITE, .path = "folder"}, -EISDIR},
        {{.kind = SC_FILE_WRITE, .path = "missing/file"}, -ENOENT},
        {{.kind = SC_FILE_READ, .path = "secret"}, -EACCES},
        {{.kind = SC_FILE_LIST, .path = "file"}, -ENOTDIR},
        {{.kind = SC_FILE_REMOVE, .path = "folder"}, -ENOTEMPTY},
        {{.kind = SC_FILE_MKDIR, .path = "folder"}, -EEXIST},
        {{.kind = SC_FILE_PORT, .path = "8080"}, -ECONNREFUSED},
        {{.kind = SC_FILE_PORT, .path = "0"}, -EINVAL},
        {{.kind = SC_FILE_PORT, .path = "65536"}, -EINVAL},
        {{.kind = SC_FILE_PORT, .path = "80a"}, -EINVAL},
    };
    struct living cell;
    struct operation op = {0};
    begin_living(&cell, NULL);
    shell(&cell, &op, "mkdir folder; echo x >folder/in; echo x >file; echo x >secret; chmod 0 secret");
    forget(&op);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        op.input = cases[i].op.kind == SC_FILE_WRITE ? "x" : NULL;
        op.input_len = 1;
        int code = file_op(&cell, &op, &cases[i].op);
        if (code != cases[i].code)
            fail_msg("%s: %s", cases[i].op.path, strerror(-code));
        forget(&op);
    }
    end_living(&cell);
}

/* What does not fit is told as that, and leaves nothing of itself. */
static void no_space(void **state)
{
    (void)state;
    struct living cell;
    char *content = calloc(1, 3 * MIB);
    struct operation op = {.input = content, .input_len = 3 * MIB};
    begin_living(&cell, "disk", "1M", NULL);
    assert_int_equal(file_op(&cell, &op, &(struct sc_file_op){.kind = SC_FILE_WRITE, .path = "large"}),
                     -ENOSPC);
    forget(&op);
    shell(&cell, &op, "ls -A");
    assert_int_equal(op.out.len, 0);
    forget(&op);
    end_living(&cell);
    free(content);
}

/* 2,600 small files out as one stream, and in again at another place. */
static void trees_as_tar(void **state)
{
    (void)state;
    static const char script[] = "import os, hashlib\n"
                                 "def tell(top):\n"
                                 "    n, h = 0, hashlib.sha256()\n"
                                 "    for root, dirs, files in sorted(os.walk(top)):\n"
                                 "        for f in sorted(files):\n"
                                 "            p = os.path.join(root, f)\n"
                                 "            h.update(os.path.relpath(p, top).encode() + open(p, "
                                 "'rb').read() + b'%o' % os.stat(p).st_mode)\n"
                                 "            n += 1\n"
                                 "    return '%d %s' % (n, h.hexdigest())\n";
    struct living cell;
    struct operation op = {0}, tar = {0};
    begin_living(&cell, "disk-inodes", "8000", NULL);
    op.input = script;
    op.input_len = strlen(script);
    assert_int_equal(file_op(&cell, &op, &(struct sc_file_op){.kind = SC_FILE_WRITE, .path = "tell.py"}), 0);
    forget(&op);
    shell(&cell, &op,
          "python3 -c \"import os\nfor i in range(2600):\n d = 'from/%d' % (i % 26); os.makedirs(d, "
          "exist_ok=True); "
          "f = open(d + '/file%d' % i, 'w'); f.write('content %d' % i * (i % 50)); f.close()\"; mkdir to");
    assert_exit(&op, 0);
    forget(&op);
    assert_int_equal(file_op(&cell, &tar, &(struct sc_file_op){.kind = SC_FILE_TAR_OUT, .path = "from"}), 0);
    assert_true(tar.out.len > 2600 * 1024);
    char *stream = malloc(tar.out.len);
    size_t len = tar.out.len;
    memcpy(stream, tar.out.data, len);
    forget(&tar);
    tar.input = stream;
    tar.input_len = len;
    assert_int_equal(file_op(&cell, &tar, &(struct sc_file_op){.kind = SC_FILE_TAR_IN, .path = "to"}), 0);
    assert_true(tar.done.files >= 2600);
    forget(&tar);
    shell(&cell, &op,
          "python3 -c \"from tell import tell; import os\n"
          "top = 'to/from' if os.path.isdir('to/from') else 'to'\n"
          "assert tell('from') == tell(top) and tell(top).startswith('2600 '), (tell('from'), tell(top))\"");
    assert_exit(&op, 0);
    forget(&op);
    end_living(&cell);
    free(stream);
}

/* How many changes of this kind were told. */
static unsigned changes(const struct operation *watch, uint16_t kind)
{
    unsigned n = 0;
    for (size_t at = 0; at < watch->out.len;) {
        struct sc_change change;
        assert_true(watch->out.len - at >= sizeof change);
        memcpy(&change, watch->out.data + at, sizeof change);
        at += sizeof change + change.name_len;
        n += change.kind == kind;
    }
    return n;
}

/* Changes are told while it watches, and a signal ends it. */
static void watching(void **state)
{
    (void)state;
    struct living cell;
    struct operation watch = {0}, op = {0};
    begin_living(&cell, NULL);
    give_file_op(&cell, &watch, &(struct sc_file_op){.kind = SC_FILE_WATCH, .path = "."});
    step_until(&cell, &watch.started);
    shell(&cell, &op, "echo x >new; mv new newer; rm newer");
    forget(&op);
    while (!changes(&watch, SC_CHANGE_REMOVED))
        step_once(&cell);
    assert_true(changes(&watch, SC_CHANGE_MADE) >= 1);
    assert_true(changes(&watch, SC_CHANGE_RENAMED) >= 1);
    assert_int_equal(sc_live_signal(cell.live, watch.id, 15, SC_SIGNAL_TREE), 0);
    step_until(&cell, &watch.is_over);
    forget(&watch);
    end_living(&cell);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, note_traces, expect_no_traces)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_large_file), TEST(refusals), TEST(no_space), TEST(trees_as_tar), TEST(watching),
    };
    return RUN_AS_BOTH(tests);
}
