#include "snap/inside.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define FORMS_MAX 32
#define MEDIA_TYPE_MAX 128
#define FORM_BYTES_MAX (8u << 20)
#define LOCALS_MAX 4096
#define LOCAL_BYTES_MAX (32u << 10) /* 4,096 characters of up to four bytes, and some room */
#define ERROR_NAME_MAX 256
#define ERROR_MESSAGE_MAX (64u << 10)
#define TRACEBACK_MAX (256u << 10)

const char SC_INSIDE_NO_MEMORY[] = "out of memory";

static bool ends_with(const char *text, const char *end)
{
    size_t len = strlen(text), n = strlen(end);
    return len >= n && !strcmp(text + len - n, end);
}

static bool is_json_type(const char *type)
{
    return !strcmp(type, "application/json") || ends_with(type, "+json");
}

/* "image/png": one slash, and none but the characters that media types are made of. */
static bool is_media_type(const char *type)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/+-._";
    const char *slash = strchr(type, '/');
    size_t len = strlen(type);
    return slash && slash > type && slash[1] && !strchr(slash + 1, '/') && len <= MEDIA_TYPE_MAX &&
           strspn(type, allowed) == len;
}

static const char *check_form(const char *type, const json_t *form)
{
    if (!is_media_type(type))
        return "a form's name is no media type";
    if (is_json_type(type))
        return NULL;
    if (!json_is_string(form))
        return "a form is no text";
    return json_string_length(form) > FORM_BYTES_MAX ? "a form is too large" : NULL;
}

const char *sc_inside_check_forms(const json_t *value)
{
    const char *type;
    json_t *form;
    if (!json_is_object(value))
        return "forms are no object";
    if (json_object_size(value) > FORMS_MAX)
        return "too many forms";
    if (!json_object_get(value, "text/plain"))
        return "text/plain is missing";
    json_object_foreach((json_t *)value, type, form)
    {
        const char *wrong = check_form(type, form);
        if (wrong)
            return wrong;
    }
    return NULL;
}

const char *sc_inside_check_locals(const json_t *value)
{
    const char *name;
    json_t *text;
    if (!json_is_object(value))
        return "locals are no object";
    if (json_object_size(value) > LOCALS_MAX)
        return "too many locals";
    json_object_foreach((json_t *)value, name, text)
    {
        if (!json_is_string(text))
            return "a local is no text";
        if (json_string_length(text) > LOCAL_BYTES_MAX)
            return "a local's text is too long";
    }
    return NULL;
}

/* A new text of at most `max` bytes, cut before a character. NULL when memory ran out. */
static json_t *cut_text(const json_t *text, size_t max)
{
    static const char mark[] = "…";
    const char *bytes = json_string_value(text);
    size_t len = json_string_length(text);
    if (len <= max)
        return json_stringn(bytes, len);
    for (len = max - strlen(mark); len > 0 && ((unsigned char)bytes[len] & 0xc0) == 0x80; len--)
        ;
    return json_pack("s%+", bytes, len, mark);
}

static json_t *take_line(const json_t *line)
{
    double number = json_number_value(line);
    return number >= 1 && number <= 1e9 ? json_integer((json_int_t)number) : json_null();
}

const char *sc_inside_take_error(const json_t *value, json_t **ret_error)
{
    static const struct {
        const char *name;
        size_t max;
    } TEXTS[] = {{"name", ERROR_NAME_MAX}, {"message", ERROR_MESSAGE_MAX}, {"traceback", TRACEBACK_MAX}};
    const json_t *line = json_object_get(value, "line");
    if (!value || json_is_null(value)) {
        *ret_error = NULL;
        return NULL;
    }
    if (!json_is_object(value) || (line && !json_is_null(line) && !json_is_number(line)))
        return "an error of the wrong form";
    json_t *error = json_object();
    for (size_t i = 0; i < sizeof TEXTS / sizeof TEXTS[0]; i++) {
        const json_t *text = json_object_get(value, TEXTS[i].name);
        if (!json_is_string(text)) {
            json_decref(error);
            return "an error's texts are missing";
        }
        if (json_object_set_new(error, TEXTS[i].name, cut_text(text, TEXTS[i].max)) < 0)
            goto no_memory;
    }
    if (json_object_set_new(error, "line", take_line(line)) < 0)
        goto no_memory;
    *ret_error = error;
    return NULL;
no_memory:
    json_decref(error);
    return SC_INSIDE_NO_MEMORY;
}
