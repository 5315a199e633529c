#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 4, 0))) static void set_va(struct sc_err *err, enum sc_err_kind kind, int code,
                                                         const char *format, va_list ap)
{
    err->kind = kind;
    err->code = code;
    err->field[0] = '\0';
    vsnprintf(err->message, sizeof err->message, format, ap);
}

int sc_err_set(struct sc_err *err, enum sc_err_kind kind, int code, const char *format, ...)
{
    if (!err)
        return code;
    va_list ap;
    va_start(ap, format);
    set_va(err, kind, code, format, ap);
    va_end(ap);
    return code;
}

int sc_err_usage(struct sc_err *err, const char *field, const char *format, ...)
{
    if (!err)
        return -22; /* EINVAL */
    va_list ap;
    va_start(ap, format);
    set_va(err, SC_ERR_USAGE, -22, format, ap);
    va_end(ap);
    snprintf(err->field, sizeof err->field, "%s", field ? field : "");
    return -22;
}

int sc_err_sys(struct sc_err *err, int code, const char *format, ...)
{
    if (!err)
        return code;
    va_list ap;
    va_start(ap, format);
    set_va(err, SC_ERR_SANDBOX, code, format, ap);
    va_end(ap);
    size_t n = strlen(err->message);
    snprintf(err->message + n, sizeof err->message - n, ": %s", strerror(-code));
    return code;
}

int sc_err_wrap(struct sc_err *err, int code, const char *format, ...)
{
    if (!err)
        return code;
    char inner[SC_ERR_MESSAGE_MAX];
    memcpy(inner, err->message, sizeof inner);
    va_list ap;
    va_start(ap, format);
    vsnprintf(err->message, sizeof err->message, format, ap);
    va_end(ap);
    size_t n = strlen(err->message);
    snprintf(err->message + n, sizeof err->message - n, ": %s", inner);
    if (err->kind == SC_ERR_NONE)
        err->kind = SC_ERR_SANDBOX;
    err->code = code;
    return code;
}

void sc_err_below(struct sc_err *err, const char *part)
{
    if (!err || err->kind != SC_ERR_USAGE)
        return;
    const struct sc_err was = *err;
    int len = (int)strlen(part);
    if (len >= SC_ERR_FIELD_MAX)
        return;
    snprintf(err->field, sizeof err->field, "%s%s%.*s", part, *was.field ? "." : "",
             SC_ERR_FIELD_MAX - 2 - len, was.field);
    snprintf(err->message, sizeof err->message, "%s%s%.*s", part, *was.field ? "." : ": ",
             SC_ERR_MESSAGE_MAX - 3 - len, was.message);
}

void sc_err_clear(struct sc_err *err)
{
    if (err)
        memset(err, 0, sizeof *err);
}
