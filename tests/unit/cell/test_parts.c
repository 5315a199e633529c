/* What cells are made of: the packed plan, host ids, templates and spaces. */
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/image.h"
#include "base/fd.h"
#include "cell/image_pack.h"
#include "cell/run.h"
#include "cell/tool.h"

static void make_plan(struct world *w)
{
    if (sc_spec_check(&w->spec, the_host()->memory_bytes, &w->err) < 0 ||
        sc_plan_make(&w->spec, the_host(), &w->plan, &w->err) < 0)
        fail_msg("%s", w->err.message);
}

static void same_list(const struct sc_image *image, uint32_t at, uint32_t count, const struct sc_strv *list)
{
    const uint32_t *places = (const uint32_t *)sc_image_text(image, at);
    assert_int_equal(count, list->n);
    assert_int_equal(at % sizeof *places, 0);
    for (uint32_t i = 0; i < count; i++)
        assert_string_equal(sc_image_text(image, places[i]), list->v[i]);
}

static void same_mounts(const struct sc_image *image, const struct sc_plan *plan)
{
    assert_int_equal(image->n_fresh, plan->n_fresh);
    for (size_t i = 0; i < plan->n_fresh; i++) {
        assert_string_equal(sc_image_text(image, image->fresh[i].path), plan->fresh[i].path);
        assert_int_equal(image->fresh[i].bytes, plan->fresh[i].bytes);
        assert_int_equal(image->fresh[i].inodes, plan->fresh[i].inodes);
        assert_int_equal(image->fresh[i].mode, plan->fresh[i].mode);
        assert_int_equal(image->fresh[i].owned, plan->fresh[i].owned);
    }
    assert_int_equal(image->n_masks, plan->n_masks);
    for (size_t i = 0; i < plan->n_masks; i++) {
        assert_string_equal(sc_image_text(image, image->masks[i].path), plan->masks[i].path);
        assert_string_equal(sc_image_text(image, image->masks[i].with), plan->masks[i].with);
    }
    assert_int_equal(image->n_locks, plan->n_locks);
    for (size_t i = 0; i < plan->n_locks; i++) {
        assert_string_equal(sc_image_text(image, image->locks[i].path), plan->locks[i].path);
        assert_int_equal(image->locks[i].access, plan->locks[i].access);
    }
    assert_int_equal(image->landlock_fs, plan->landlock_handled_fs);
}

static void image_holds_the_plan(void **state)
{
    (void)state;
    struct world w;
    struct stat st;
    begin(&w, "say", "two words", "env", "A=\xc3\xa9", "pin", "0", "cwd", "/tmp", NULL);
    make_plan(&w);
    int fd = sc_image_pack(w.plan, &w.err);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &st), 0);
    const struct sc_image *image = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    assert_ptr_not_equal(image, MAP_FAILED);
    assert_int_equal(image->magic, SC_IMAGE_MAGIC);
    assert_int_equal(image->version, SC_IMAGE_VERSION);
    assert_int_equal(image->size, st.st_size);
    same_list(image, image->argv, image->argc, &w.plan->argv);
    same_list(image, image->env, image->envc, &w.plan->env);
    same_mounts(image, w.plan);
    assert_string_equal(sc_image_text(image, image->cwd), "/tmp");
    assert_string_equal(sc_image_text(image, image->hostname), "cell");
    assert_int_equal(image->n_rlimits, w.plan->n_rlimits);
    for (size_t i = 0; i < w.plan->n_rlimits; i++) {
        assert_int_equal(image->rlimits[i].resource, w.plan->rlimits[i].resource);
        assert_int_equal(image->rlimits[i].value, w.plan->rlimits[i].value);
    }
    assert_int_equal(image->n_insns, w.plan->filter->n_insns);
    assert_memory_equal(sc_image_text(image, image->filter), w.plan->filter->insns,
                        image->n_insns * sizeof *w.plan->filter->insns);
    cpu_set_t expected;
    CPU_ZERO(&expected);
    CPU_SET(0, &expected);
    assert_int_equal(image->n_pin, sizeof expected);
    assert_memory_equal(sc_image_text(image, image->pin), &expected, sizeof expected);
    assert_int_equal(!!(image->flags & SC_IMAGE_ROOTLESS), w.plan->rootless);
    assert_int_equal(image->program_uid, SC_CELL_UID);
    munmap((void *)image, (size_t)st.st_size);
    /* Nobody can change it, whoever gets hold of it. */
    assert_int_equal(write(fd, "x", 1), -1);
    assert_int_equal(ftruncate(fd, 0), -1);
    close(fd);
    end(&w);
}

static void ids_differ(void **state)
{
    (void)state;
    uint32_t uids[64];
    int locks[64];
    need_root();
    for (int i = 0; i < 64; i++) {
        locks[i] = sc_ids_take(the_host(), 1, &uids[i], NULL);
        assert_true(locks[i] >= 0);
        assert_true(uids[i] >= the_host()->cell_uid_base);
        assert_true(uids[i] + 1 < the_host()->cell_uid_base + the_host()->cell_uid_count);
        assert_true(uids[i] != 0);
        for (int j = 0; j < i; j++)
            assert_true(uids[i] > uids[j] + 1 || uids[i] + 1 < uids[j]); /* the agent's is one above */
    }
    for (int i = 0; i < 64; i++)
        close(locks[i]);
}

/* A range of two pairs: what is taken is not given again, here or in another process, until its last holder
 * is gone. */
static void ids_are_held_by_their_descriptors(void **state)
{
    (void)state;
    need_root();
    struct sc_host host = *the_host();
    struct sc_err err = {0};
    uint32_t a, b, c = 77;
    int go[2], status;
    /* Away from the range of real cells, whose locks lie at the same bytes: these are at its first two. */
    host.cell_uid_count = 4;
    int first = sc_ids_take(&host, 1, &a, NULL), second = sc_ids_take(&host, 1, &b, NULL);
    assert_true(first >= 0 && second >= 0);
    assert_int_not_equal(a, b);
    assert_int_equal(sc_ids_take(&host, 1, &c, &err), -EAGAIN);
    assert_int_equal(c, 77);
    assert_int_equal(err.kind, SC_ERR_HOST);
    assert_string_equal(err.message, "no free host id for a cell: 2 of them are in use");
    /* A child that inherited the first keeps it after we let it go. */
    assert_int_equal(pipe(go), 0);
    pid_t pid = fork();
    if (pid == 0) {
        char byte;
        close(go[1]);
        close(second);
        int taken = sc_ids_take(&host, 1, &c, NULL);
        _exit(read(go[0], &byte, 1) == 0 && taken == -EAGAIN ? 0 : 1);
    }
    close(go[0]);
    close(first);
    assert_int_equal(sc_ids_take(&host, 1, &c, NULL), -EAGAIN);
    close(go[1]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    int third = sc_ids_take(&host, 1, &c, NULL);
    assert_true(third >= 0);
    assert_int_equal(c, a);
    close(second);
    close(third);
    host.cell_uid_count = 1;
    assert_int_equal(sc_ids_take(&host, 1, &c, &err), -ENOSPC);
}

static int open_template(struct world *w, struct sc_template *ret_template)
{
    int r = sc_template_start(w->plan, ret_template, &w->err);
    return r == 0 ? sc_template_finish(ret_template, &w->err) : r;
}

static void templates_leave_nothing(void **state)
{
    (void)state;
    struct world w;
    begin(&w, "exit", "0", NULL);
    make_plan(&w);
    for (int i = 0; i < 5; i++) {
        struct sc_template tmpl;
        if (open_template(&w, &tmpl) < 0)
            fail_msg("%s", w.err.message);
        assert_true(tmpl.mount_ns >= 0 && tmpl.vacant_ns >= 0);
        sc_template_close(&tmpl);
        sc_template_close(&tmpl); /* twice does no harm */
        assert_int_equal(sc_template_start(w.plan, &tmpl, NULL), 0);
        sc_template_close(&tmpl); /* half made */
    }
    end(&w);
}

static void spaces_leave_nothing(void **state)
{
    (void)state;
    struct world w;
    struct sc_template tmpl;
    struct sc_space spaces[6], none = SC_SPACE_NONE;
    begin(&w, "exit", "0", NULL);
    make_plan(&w);
    assert_int_equal(open_template(&w, &tmpl), 0);
    for (int i = 0; i < 6; i++)
        if (sc_space_open(w.plan, &tmpl, &(struct sc_buf){0}, &spaces[i], &w.err) < 0)
            fail_msg("%s", w.err.message);
    for (int i = 0; i < 6; i++)
        assert_int_equal(sc_space_close(&spaces[i]), 0);
    assert_int_equal(sc_space_close(&none), 0);
    sc_template_close(&tmpl);
    end(&w);
}

/* A template that cannot be laid says what, and leaves as little. */
static void a_template_that_fails(void **state)
{
    (void)state;
    struct world w;
    struct sc_template tmpl = SC_TEMPLATE_NONE;
    char *folder = make_folder(), option[300];
    snprintf(option, sizeof option, "%s:/data:ro", folder);
    begin(&w, "exit", "0", "dir", option, NULL);
    make_plan(&w);
    remove_folder(folder); /* after the check */
    assert_int_equal(open_template(&w, &tmpl), -ENOENT);
    assert_non_null(strstr(w.err.message, "/data"));
    assert_int_equal(tmpl.mount_ns, -1);
    sc_template_close(&tmpl);
    for (int i = 0; i < 2; i++) { /* every run says so */
        assert_true(run(&w, NULL) < 0);
        assert_int_equal(w.err.kind, SC_ERR_SANDBOX);
    }
    end(&w);
}

static void put_link(const char *folder, const char *name, const char *target)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(symlink(target, path), 0);
}

/* A root that a stranger made: its links must not be followed out here, neither to read nor to make folders.
 */
static void links_of_a_hostile_root(void **state)
{
    (void)state;
    struct world w;
    char *root = make_folder(), *victim = make_folder(), *data = make_folder(), option[600], path[300];
    snprintf(path, sizeof path, "%s/usr", root);
    assert_int_equal(mkdir(path, 0755), 0);
    put_link(root, "absolute", victim);
    snprintf(path, sizeof path, "../../../../../..%s", victim);
    put_link(root, "climbing", path);
    put_link(root, "etc", victim);
    static const char *const places[] = {"absolute/planted/deep", "climbing/planted"};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        snprintf(option, sizeof option, "%s:/%s:ro", data, places[i]);
        begin(&w, "exit", "0", "root", root, "dir", option, NULL);
        make_plan(&w);
        struct sc_template tmpl = {-1, -1, -1, -1};
        open_template(&w, &tmpl); /* may be refused: what counts is what did not happen */
        sc_template_close(&tmpl);
        end(&w);
    }
    assert_int_equal(rmdir(victim), 0); /* still empty */
    free(victim);
    remove_folder(root);
    remove_folder(data);
}

static void tools(void **state)
{
    (void)state;
    struct sigaction old, ignored = {.sa_handler = SIG_IGN};
    assert_int_equal(sc_tool_run((char *const[]){(char *)"true", NULL}), 0);
    assert_int_equal(sc_tool_run((char *const[]){(char *)"false", NULL}), -EIO);
    assert_int_equal(sc_tool_run((char *const[]){(char *)"no-such-tool-anywhere", NULL}), -ENOENT);
    /* A host program that does not want to hear of its children. */
    assert_int_equal(sigaction(SIGCHLD, &ignored, &old), 0);
    assert_int_equal(sc_tool_run((char *const[]){(char *)"true", NULL}), 0);
    assert_int_equal(sc_tool_run((char *const[]){(char *)"false", NULL}), -EIO);
    sigaction(SIGCHLD, &old, NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, note_traces, expect_no_traces)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(image_holds_the_plan),
        TEST(ids_differ),
        TEST(ids_are_held_by_their_descriptors),
        TEST(templates_leave_nothing),
        TEST(spaces_leave_nothing),
        TEST(a_template_that_fails),
        TEST(links_of_a_hostile_root),
        TEST(tools),
    };
    return RUN_AS_BOTH(tests);
}
