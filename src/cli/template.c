/* `snapcell template`: lists, shows, builds, imports, removes and tests templates. */
#include "cli/template.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/say.h"
#include "cli/signals.h"
#include "snap/shelf.h"
#include "spec/json_read.h"

#define EXIT_BROKEN 1

enum state { READY, NOT_BUILT, BROKEN };
static const char *const STATES[] = {"ready", "not built", "broken"};

static int usage(const struct sc_cli_args *args, const char *what)
{
    struct sc_err err = {0};
    sc_err_usage(&err, "", "template %s: %s", args->operands[0], what);
    return sc_cli_fail(&err);
}

/* ---- ls, show ---- */

/* `why` is told of a broken one. The recipe is loaded unless it is that which is broken. */
static enum state look(const char *name, struct sc_recipe *recipe, char why[SC_ERR_MESSAGE_MAX])
{
    char hash[SC_SHA256_TEXT], path[PATH_MAX], note[SC_SHELF_NOTE_MAX];
    struct sc_err err = {0};
    struct stat st;
    *why = '\0';
    if (sc_recipe_load(name, recipe, &err) < 0) {
        snprintf(why, SC_ERR_MESSAGE_MAX, "%s", err.message);
        return BROKEN;
    }
    if (recipe->root == SC_RECIPE_DIRECTORY && (stat(recipe->path, &st) < 0 || !S_ISDIR(st.st_mode))) {
        snprintf(why, SC_ERR_MESSAGE_MAX, "root.path: %.900s: not a folder", recipe->path);
        return BROKEN;
    }
    if (sc_recipe_is_built(recipe) && sc_shelf_current(name, hash, path) < 0)
        return NOT_BUILT;
    if (!sc_shelf_noted(name, note))
        return READY;
    snprintf(why, SC_ERR_MESSAGE_MAX, "%s", note);
    return BROKEN;
}

static json_t *entry_of(const char *name)
{
    char why[SC_ERR_MESSAGE_MAX];
    struct sc_recipe recipe;
    enum state state = look(name, &recipe, why);
    json_t *entry = json_pack("{s:s, s:s, s:s*, s:s, s:s*}", "name", name, "state", STATES[state], "reason",
                              *why ? why : NULL, "source", recipe.name && !recipe.file ? "built in" : "user",
                              "description", recipe.description);
    if (recipe.defaults.lang != SC_LANG_AUTO)
        json_object_set_new(entry, "language", json_string(sc_lang_name(recipe.defaults.lang)));
    sc_recipe_fini(&recipe);
    return entry;
}

static const char *member(const json_t *entry, const char *name)
{
    const char *text = json_string_value(json_object_get(entry, name));
    return text ? text : "-";
}

static int add_line(struct sc_buf *text, const json_t *entry)
{
    char shown[300];
    const char *more =
        json_object_get(entry, "reason") ? member(entry, "reason") : member(entry, "description");
    sc_text_show(shown, sizeof shown, more, strlen(more));
    return sc_buf_printf(text, "%-16s %-10s %-9s %-9s %s\n", member(entry, "name"), member(entry, "state"),
                         member(entry, "language"), member(entry, "source"), shown);
}

static int print_table(const json_t *entries)
{
    struct sc_buf text;
    size_t i;
    const json_t *entry;
    sc_buf_init(&text, 16 * SC_MIB);
    int r = sc_buf_printf(&text, "%-16s %-10s %-9s %-9s %s\n", "NAME", "STATE", "LANGUAGE", "SOURCE",
                          "DESCRIPTION");
    json_array_foreach((json_t *)entries, i, entry)
    {
        if (r == 0)
            r = add_line(&text, entry);
    }
    char *all = r < 0 ? NULL : sc_buf_steal(&text, NULL);
    sc_buf_fini(&text);
    return sc_cli_print(all);
}

static int list(const struct sc_cli_args *args)
{
    struct sc_strv names = {0};
    struct sc_err err = {0};
    if (args->n_operands != 1)
        return usage(args, "takes no operands");
    if (sc_recipe_names(&names, &err) < 0) {
        sc_strv_fini(&names);
        return sc_cli_fail(&err);
    }
    json_t *entries = json_array();
    for (size_t i = 0; i < names.n; i++)
        json_array_append_new(entries, entry_of(names.v[i]));
    sc_strv_fini(&names);
    int status = args->flags & SC_FLAG_JSON ? sc_cli_print_json(sc_json_dump(entries, JSON_INDENT(2)))
                                            : print_table(entries);
    json_decref(entries);
    return status;
}

/* The template as it was understood, and what became of it. */
static int show(const struct sc_cli_args *args, const struct sc_recipe *recipe)
{
    char hash[SC_SHA256_TEXT], now[SC_SHA256_TEXT], path[PATH_MAX], why[SC_ERR_MESSAGE_MAX];
    struct sc_recipe again;
    enum state state = look(recipe->name, &again, why);
    json_t *object = sc_recipe_to_json(recipe);
    (void)args;
    sc_recipe_fini(&again);
    json_object_set_new(object, "source", json_string(recipe->file ? recipe->file : "built in"));
    json_object_set_new(object, "state", json_string(STATES[state]));
    if (*why)
        json_object_set_new(object, "reason", json_string(why));
    if (sc_recipe_is_built(recipe) && sc_shelf_current(recipe->name, hash, path) == 0) {
        bool same = sc_recipe_hash(recipe, now, NULL) == 0 && !strcmp(hash, now);
        json_object_set_new(object, "built", json_string(path));
        json_object_set_new(object, "up_to_date", json_boolean(same));
    }
    int status = sc_cli_print_json(object ? sc_json_dump(object, JSON_INDENT(2)) : NULL);
    json_decref(object);
    return status;
}

/* ---- build, test ---- */

static int build(const struct sc_cli_args *args, const struct sc_recipe *recipe)
{
    struct sc_err err = {0};
    int signal_fd = -1;
    if (!sc_recipe_is_built(recipe)) {
        sc_cli_say("template %s: names nothing that has to be built", recipe->name);
        return SC_CLI_EXIT_OK;
    }
    int r = sc_cli_signals_open(&signal_fd, &err);
    if (r == 0)
        r = sc_cli_template_make(recipe, args, signal_fd, &err);
    sc_close(&signal_fd);
    if (r < 0)
        return sc_cli_fail(&err);
    sc_cli_say("template %s: %s", recipe->name, r ? "is built already" : "built");
    return SC_CLI_EXIT_OK;
}

/* The note's one line: the last of a traceback is what it says. */
static void first_words(const char *why, char ret_note[SC_SHELF_NOTE_MAX])
{
    size_t len = strlen(why);
    while (len > 0 && why[len - 1] == '\n')
        len--;
    const char *end = why + len, *from = end;
    while (from > why && from[-1] != '\n')
        from--;
    const char *head_end = strchr(why, '\n');
    if (head_end && head_end < from)
        snprintf(ret_note, SC_SHELF_NOTE_MAX, "%.*s %.*s", (int)(head_end - why < 150 ? head_end - why : 150),
                 why, (int)(end - from < 240 ? end - from : 240), from);
    else
        snprintf(ret_note, SC_SHELF_NOTE_MAX, "%.*s", (int)(end - from < 390 ? end - from : 390), from);
}

static void note(const char *name, const char *why)
{
    char text[SC_SHELF_NOTE_MAX] = "", shown[SC_SHELF_NOTE_MAX];
    struct sc_err err = {0};
    if (!why && !sc_shelf_noted(name, text))
        return;
    if (why)
        first_words(why, text);
    if (sc_shelf_note(name, why ? sc_text_show(shown, sizeof shown, text, strlen(text)) : NULL, &err) < 0)
        sc_cli_say("%s", err.message);
}

static int tell_test(const struct sc_cli_args *args, const char *name, const char *why)
{
    if (args->flags & SC_FLAG_JSON) {
        json_t *told = json_pack("{s:s, s:b, s:s*}", "name", name, "ok", !why, "reason", why);
        int status = sc_cli_print_json(sc_json_dump(told, JSON_INDENT(2)));
        json_decref(told);
        return status != SC_CLI_EXIT_OK ? status : why ? EXIT_BROKEN : SC_CLI_EXIT_OK;
    }
    sc_cli_say("template %s: %s", name, why ? "is broken" : "works");
    if (why)
        sc_cli_tell(why, strlen(why));
    return why ? EXIT_BROKEN : SC_CLI_EXIT_OK;
}

static int test(const struct sc_cli_args *args, const struct sc_recipe *recipe)
{
    struct sc_err err = {0};
    char *why = NULL;
    int signal_fd = -1;
    int r = sc_cli_signals_open(&signal_fd, &err);
    if (r == 0)
        r = sc_cli_template_try(recipe, args, signal_fd, &why, &err);
    sc_close(&signal_fd);
    if (r < 0)
        return sc_cli_fail(&err);
    note(recipe->name, why);
    int status = tell_test(args, recipe->name, why);
    free(why);
    return status;
}

/* ---- import, rm ---- */

static int write_recipe(const char *folder, const char *name, const char *text, struct sc_err *err)
{
    char file[SC_SPEC_TEMPLATE_NAME_MAX + 16];
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = fd < 0 ? -errno : 0;
    snprintf(file, sizeof file, "%s.json", name);
    int to = r < 0 ? -1 : openat(fd, file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (r == 0 && to < 0)
        r = -errno;
    if (r == 0)
        r = sc_write_all(to, text, strlen(text));
    if (r == 0 && fsync(to) < 0)
        r = -errno;
    if (r < 0 && to >= 0)
        unlinkat(fd, file, 0);
    sc_close(&to);
    sc_close(&fd);
    return r < 0 ? sc_err_sys(err, r, "template: %s/%s", folder, file) : 0;
}

static int make_import(const struct sc_cli_args *args, const char *name, const char *source,
                       struct sc_err *err)
{
    char folder[PATH_MAX], file[PATH_MAX + 128];
    struct sc_recipe recipe;
    int signal_fd = -1;
    int r = sc_recipe_folder(folder, err);
    if (r == 0)
        r = sc_shelf_make_folders(folder, err);
    if (r < 0)
        return r;
    snprintf(file, sizeof file, "%s/%s.json", folder, name);
    json_t *object = json_pack("{s:s, s:s, s:{s:s, s:s}}", "name", name, "description", "An imported image.",
                               "root", "kind", "image", "from", source);
    char *text = object ? sc_json_dump(object, JSON_INDENT(2)) : NULL;
    json_decref(object);
    sc_recipe_init(&recipe);
    r = text ? sc_recipe_from_json(&recipe, name, file, text, strlen(text), err)
             : sc_err_sys(err, -EINVAL, "template: %s is no UTF-8", "SOURCE");
    if (r == 0)
        r = sc_cli_signals_open(&signal_fd, err);
    if (r == 0)
        r = sc_cli_template_make(&recipe, args, signal_fd, err);
    if (r >= 0)
        r = write_recipe(folder, name, text, err);
    sc_close(&signal_fd);
    sc_recipe_fini(&recipe);
    free(text);
    return r;
}

static int import(const struct sc_cli_args *args)
{
    char source[PATH_MAX];
    struct sc_err err = {0};
    struct sc_recipe recipe;
    if (args->n_operands != 3)
        return usage(args, "needs a NAME and the SOURCE of an image");
    const char *name = args->operands[1];
    if (sc_spec_template_ok("template", name, &err) < 0)
        return sc_cli_fail(&err);
    int r = sc_recipe_load(name, &recipe, NULL);
    if (r == 0)
        sc_recipe_fini(&recipe);
    if (r != -ENOENT)
        return usage(args, "a template of that NAME is there already");
    if (!realpath(args->operands[2], source)) {
        sc_err_usage(&err, "", "template import: %s: %s", args->operands[2], strerror(errno));
        return sc_cli_fail(&err);
    }
    if (make_import(args, name, source, &err) < 0)
        return sc_cli_fail(&err);
    sc_cli_say("template %s: imported", name);
    return SC_CLI_EXIT_OK;
}

/* A recipe that cannot be read is removed like any other. */
static int remove_one(const struct sc_cli_args *args)
{
    char folder[PATH_MAX], file[PATH_MAX + 128];
    struct sc_err err = {0};
    if (args->n_operands != 2)
        return usage(args, "needs one NAME");
    const char *name = args->operands[1];
    int r = sc_spec_template_ok("template", name, &err);
    if (r == 0)
        r = sc_recipe_folder(folder, &err);
    if (r < 0)
        return sc_cli_fail(&err);
    snprintf(file, sizeof file, "%s/%s.json", folder, name);
    bool had_file = unlink(file) == 0;
    if (!had_file && errno != ENOENT) {
        sc_err_sys(&err, -errno, "template: %s", file);
        return sc_cli_fail(&err);
    }
    r = sc_shelf_remove(name, &err);
    if (r < 0)
        return sc_cli_fail(&err);
    note(name, NULL);
    if (had_file || r > 0)
        return SC_CLI_EXIT_OK;
    return usage(args, "there is no template of yours, and nothing built, of that NAME");
}

/* ---- the words ---- */

/* A word about one template that must be readable. */
static int with_recipe(const struct sc_cli_args *args,
                       int (*word)(const struct sc_cli_args *args, const struct sc_recipe *recipe))
{
    struct sc_recipe recipe;
    struct sc_err err = {0};
    if (args->n_operands != 2)
        return usage(args, "needs one NAME; `snapcell template ls` lists them");
    if (sc_recipe_load(args->operands[1], &recipe, &err) < 0)
        return sc_cli_fail(&err);
    int status = word(args, &recipe);
    sc_recipe_fini(&recipe);
    return status;
}

int sc_cli_template(const struct sc_cli_args *args)
{
    static const struct {
        const char *name;
        int (*word)(const struct sc_cli_args *args);
        int (*of_recipe)(const struct sc_cli_args *args, const struct sc_recipe *recipe);
    } words[] = {{"ls", list, NULL},       {"show", NULL, show}, {"build", NULL, build},
                 {"import", import, NULL}, {"test", NULL, test}, {"rm", remove_one, NULL}};
    struct sc_err err = {0};
    char shown[64] = "needs a word";
    for (size_t i = 0; args->n_operands && i < sizeof words / sizeof *words; i++)
        if (!strcmp(args->operands[0], words[i].name))
            return words[i].word ? words[i].word(args) : with_recipe(args, words[i].of_recipe);
    if (args->n_operands)
        sc_text_show(shown, sizeof shown, args->operands[0], strlen(args->operands[0]));
    sc_err_usage(&err, "", "template: %s: allowed are ls, show, build, import, rm, test", shown);
    return sc_cli_fail(&err);
}
