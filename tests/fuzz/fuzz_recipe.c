/* A template's file, or its requirements.txt: either is refused by one line, or understood. What pip is given
 * names nothing of the host but wheels. Built by tests/fuzz/run. */
#include <fcntl.h>
#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "snap/recipe.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_error(const struct sc_err *err)
{
    if (err->kind == SC_ERR_NONE || !*err->message || strchr(err->message, '\n'))
        abort();
}

static void read_recipe(const char *text, size_t len)
{
    struct sc_recipe recipe;
    struct sc_err err = {0};
    sc_recipe_init(&recipe);
    if (sc_recipe_from_json(&recipe, "x", "/t/x.json", text, len, &err) == 0) {
        json_t *told = sc_recipe_to_json(&recipe);
        if (!told)
            abort();
        json_decref(told);
    } else {
        check_error(&err);
    }
    sc_recipe_fini(&recipe);
}

static int see_wheel(void *userdata, const char *path, struct sc_err *err)
{
    size_t len = strlen(path);
    (void)userdata, (void)err;
    if (len < 5 || strcmp(path + len - 4, ".whl"))
        abort();
    return 0;
}

static void check_lines(char *text)
{
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        bool is_option = *line == '-';
        if (is_option && (line[1] == 'e' || line[1] == 'r' || line[1] == 'c' || line[1] == 'f'))
            abort();
        if (!is_option && (strstr(line, "://") || (strchr(line, '/') && strncmp(line, "./", 2) &&
                                                   strchr(line, '/') < line + strcspn(line, " \t;"))))
            abort();
    }
}

static void read_requirements(const uint8_t *data, size_t size)
{
    static int file = -1;
    char path[40];
    struct sc_buf out;
    struct sc_err err = {0};
    if (file < 0)
        file = memfd_create("requirements", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, 0) < 0 || pwrite(file, data, size, 0) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    sc_buf_init(&out, 2 * SC_RECIPE_BYTES_MAX);
    if (sc_recipe_requirements(path, &out, see_wheel, NULL, &err) < 0)
        check_error(&err);
    else if (out.len)
        check_lines((char *)out.data);
    sc_buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    if (data[0] & 1)
        read_requirements(data + 1, size - 1);
    else
        read_recipe((const char *)data + 1, size - 1);
    return 0;
}
