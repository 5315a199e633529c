/* `snapcell template test`: the prelude, in a cell of the template. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "cell/cell.h"
#include "cli/job.h"
#include "cli/template.h"
#include "plan/runners.h"

#define CODE_FILE ".snapcell-prelude"
#define WHY_MAX (64 * 1024)

/* Languages without an interpreter of their own are tested by the shell: their imports are commands. */
static enum sc_lang tester_lang(const struct sc_recipe *recipe)
{
    enum sc_lang lang = recipe->defaults.lang;
    return lang == SC_LANG_PYTHON || lang == SC_LANG_NODE ? lang : SC_LANG_BASH;
}

static const char *tester_code(enum sc_lang lang)
{
    const char *path = lang == SC_LANG_PYTHON ? "/snapcell/prelude/prelude.py"
                       : lang == SC_LANG_NODE ? "/snapcell/prelude/prelude.js"
                                              : "/snapcell/prelude/prelude.bash";
    const struct sc_runner_file *file = SC_RUNNER_FILES;
    while (file->path && strcmp(file->path, path))
        file++;
    return file->content;
}

static int add_code_file(struct sc_spec *spec, const char *code, struct sc_err *err)
{
    struct sc_spec with_file;
    json_t *request = json_pack("{s:[{s:s, s:s}]}", "files", "path", CODE_FILE, "content", code);
    char *text = request ? sc_json_dump(request, 0) : NULL;
    sc_spec_init(&with_file);
    int r =
        text ? sc_spec_from_json(&with_file, text, strlen(text), err) : sc_err_sys(err, -ENOMEM, "template");
    if (r == 0)
        r = sc_spec_fill(spec, &with_file, err);
    sc_spec_fini(&with_file);
    free(text);
    json_decref(request);
    return r;
}

static int set_args(struct sc_spec *spec, const struct sc_recipe *recipe, struct sc_err *err)
{
    struct sc_strv args = {0};
    int r = sc_strv_add(&args, recipe->code ? CODE_FILE : "");
    for (size_t i = 0; i < recipe->imports.n && r == 0; i++)
        r = sc_strv_add(&args, recipe->imports.v[i]);
    r = r < 0 ? sc_err_sys(err, r, "template") : sc_spec_set_args(spec, (const char *const *)args.v, err);
    sc_strv_fini(&args);
    return r;
}

static int fill(struct sc_cli_job *job, const struct sc_recipe *recipe, const struct sc_cli_args *args,
                struct sc_err *err)
{
    struct sc_spec *spec = &job->spec;
    const char *code = tester_code(tester_lang(recipe));
    spec->lang = tester_lang(recipe);
    int r = sc_spec_set_code(spec, code, strlen(code), err);
    if (r == 0)
        r = set_args(spec, recipe, err);
    if (r == 0)
        r = sc_cli_apply(spec, args, err);
    if (r == 0)
        r = sc_cli_cgroup_parent(spec, err);
    if (r == 0)
        r = sc_recipe_apply_to(recipe, spec, err);
    if (r == 0 && recipe->code)
        r = add_code_file(spec, recipe->code, err);
    return r;
}

/* Status and message from outside, then what the prelude itself said. */
static char *why_of(const struct sc_result *result)
{
    struct sc_buf text;
    const struct sc_buf *said = &result->err.kept;
    sc_buf_init(&text, WHY_MAX);
    size_t len = said->len, most = WHY_MAX / 2;
    const char *from = (const char *)said->data;
    if (len > most) {
        from += len - most;
        len = most;
    }
    int r = result->status == SC_STATUS_ERROR ? 0 : sc_buf_printf(&text, "%s\n", result->message);
    if (r == 0 && len)
        r = sc_buf_add(&text, from, len);
    if (r == 0 && text.len == 0)
        r = sc_buf_printf(&text, "%s\n", result->message);
    char *why = r < 0 ? NULL : sc_buf_steal(&text, NULL);
    sc_buf_fini(&text);
    return why;
}

static int run(struct sc_cli_job *job, int signal_fd, char **ret_why, struct sc_err *err)
{
    const struct sc_callbacks callbacks = {.cancel_fd = signal_fd};
    struct sc_works *works = NULL;
    struct sc_result result;
    sc_result_init(&result, job->plan->limits.stdout, job->plan->limits.stderr);
    int r = sc_works_new(job->plan, &works, err);
    if (r == 0)
        r = sc_cell_run(works, &callbacks, 0, &result, err);
    sc_works_free(works);
    if (r == 0 && (result.status == SC_STATUS_SANDBOX_ERROR || result.status == SC_STATUS_CANCELLED))
        r = sc_err_set(err, SC_ERR_SANDBOX, -EIO, "template test: %s", result.message);
    if (r == 0 && result.status != SC_STATUS_OK) {
        *ret_why = why_of(&result);
        r = *ret_why ? 1 : sc_err_sys(err, -ENOMEM, "template test");
    }
    sc_result_fini(&result);
    return r;
}

int sc_cli_template_try(const struct sc_recipe *recipe, const struct sc_cli_args *args, int signal_fd,
                        char **ret_why, struct sc_err *err)
{
    struct sc_cli_job job = {.stdin_fd = -1};
    sc_spec_init(&job.spec);
    int r = fill(&job, recipe, args, err);
    if (r == 0)
        r = sc_cli_job_plan(&job, err);
    if (r == 0)
        r = run(&job, signal_fd, ret_why, err);
    sc_cli_job_fini(&job);
    return r;
}
