/* The rules single texts and numbers must follow, whatever front they came through. */
#include "spec/json_read.h"
#include "spec/spec_internal.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/text.h"
#include "spec/lang.h"

static void range_text(const struct sc_limit_row *row, uint64_t value, bool json, char *ret_text, size_t size)
{
    if (!json || row->kind == SC_LIMIT_MILLI)
        sc_limit_format(row, value, ret_text, size);
    else
        snprintf(ret_text, size, "%llu",
                 (unsigned long long)(row->kind == SC_LIMIT_DURATION ? value / SC_NS_PER_MS : value));
}

int sc_spec_limit_range(const struct sc_limit_row *row, uint64_t value, const char *field, const char *shown,
                        bool json, struct sc_err *err)
{
    if (value >= row->min && value <= row->max)
        return 0;
    char min[32], max[32];
    range_text(row, row->min, json, min, sizeof min);
    range_text(row, row->max, json, max, sizeof max);
    return sc_spec_bad(err, field, shown, "allowed %s to %s", min, max);
}

int sc_spec_text_ok(const char *field, const char *text, size_t max, struct sc_err *err)
{
    size_t len = strnlen(text, max + 1);
    if (len > max)
        return sc_spec_bad(err, field, text, "longer than the %zu bytes allowed", max);
    if (!sc_utf8_valid(text, len))
        return sc_spec_bad(err, field, text, "not UTF-8: only UTF-8 text is allowed");
    return 0;
}

int sc_spec_host_path_ok(const char *field, const char *path, struct sc_err *err)
{
    if (!*path)
        return sc_spec_bad(err, field, path, "empty: a path on the host is needed");
    return sc_spec_text_ok(field, path, SC_SPEC_PATH_MAX, err);
}

static int components_ok(const char *field, const char *whole, const char *at, struct sc_err *err)
{
    for (;;) {
        size_t len = strcspn(at, "/");
        if (len == 0)
            return sc_spec_bad(err, field, whole,
                               "empty part of a path: no \"//\" or \"/\" at the end allowed");
        if ((len == 1 && at[0] == '.') || (len == 2 && at[0] == '.' && at[1] == '.'))
            return sc_spec_bad(err, field, whole, "no \".\" or \"..\" in the path allowed");
        if (len > SC_SPEC_NAME_MAX)
            return sc_spec_bad(err, field, whole, "part of a path longer than the %d bytes allowed",
                               SC_SPEC_NAME_MAX);
        if (!at[len])
            return 0;
        at += len + 1;
    }
}

int sc_spec_inner_path_ok(const char *field, const char *path, struct sc_err *err)
{
    int r = sc_spec_text_ok(field, path, SC_SPEC_PATH_MAX, err);
    if (r < 0)
        return r;
    if (!*path || *path == '/')
        return sc_spec_bad(err, field, path, "must be relative to the work folder");
    return components_ok(field, path, path, err);
}

int sc_spec_absolute_path_ok(const char *field, const char *path, struct sc_err *err)
{
    int r = sc_spec_text_ok(field, path, SC_SPEC_PATH_MAX, err);
    if (r < 0)
        return r;
    if (*path != '/')
        return sc_spec_bad(err, field, path, "must be absolute: start with \"/\"");
    return path[1] ? components_ok(field, path, path + 1, err) : 0;
}

/* `path` is `folder` or lies below it. */
static bool is_below(const char *path, const char *folder)
{
    size_t len = strlen(folder);
    return !strncmp(path, folder, len) && (path[len] == '\0' || path[len] == '/');
}

int sc_spec_mount_path_ok(const char *field, const char *path, struct sc_err *err)
{
    /* Made anew for each cell, over the template: what were mounted below them could not be seen, and what
     * were mounted above them would hide them. */
    static const char *const own[] = {"/proc", "/dev", "/sys", "/tmp", "/home/user"};
    int r = sc_spec_absolute_path_ok(field, path, err);
    if (r < 0)
        return r;
    if (!path[1])
        return sc_spec_bad(err, field, path, "the root itself cannot be mounted over");
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (is_below(path, own[i]) || is_below(own[i], path))
            return sc_spec_bad(
                err, field, path,
                "no mount allowed there: every cell has %s of its own (also /proc, /dev, /sys, /tmp, "
                "/home/user)",
                own[i]);
    return 0;
}

int sc_spec_env_name_ok(const char *field, const char *name, size_t len, struct sc_err *err)
{
    bool ok = len > 0 && (name[0] < '0' || name[0] > '9');
    for (size_t i = 0; i < len; i++) {
        char c = name[i];
        ok = ok && ((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_');
    }
    if (ok)
        return 0;
    char shown[100];
    sc_text_show(shown, sizeof shown, name, len);
    return sc_err_usage(err, field,
                        "%s: %s: not a variable name: letters, digits and _ allowed, no digit first", field,
                        *shown ? shown : "\"\"");
}

static bool read_cpu(const char **at, uint32_t *ret_cpu)
{
    uint32_t cpu = 0;
    if (**at < '0' || **at > '9')
        return false;
    for (; **at >= '0' && **at <= '9'; (*at)++) {
        cpu = cpu * 10 + (uint32_t)(**at - '0');
        if (cpu >= CPU_SETSIZE)
            return false;
    }
    *ret_cpu = cpu;
    return true;
}

int sc_spec_template_ok(const char *field, const char *text, struct sc_err *err)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-_.";
    size_t len = strspn(text, letters);
    if (len > 0 && !text[len] && len <= SC_SPEC_TEMPLATE_NAME_MAX && text[0] >= '0' && text[0] != '_')
        return 0;
    return sc_spec_bad(err, field, text,
                       "allowed are names of at most %d of a-z 0-9 - _ . that begin with a letter or digit",
                       SC_SPEC_TEMPLATE_NAME_MAX);
}

int sc_spec_import_ok(const char *field, const char *text, struct sc_err *err)
{
    size_t len = strlen(text);
    bool fits = len > 0 && len <= SC_SPEC_NAME_MAX && *text != '-';
    for (size_t i = 0; i < len && fits; i++)
        fits = (unsigned char)text[i] > ' ' && text[i] != 0x7f;
    return fits ? 0 : sc_spec_bad(err, field, text, "must be the name of a module, like numpy");
}

int sc_spec_add_import(struct sc_strv *imports, const char *field, const char *text, struct sc_err *err)
{
    int r = sc_spec_import_ok(field, text, err);
    if (r < 0)
        return r;
    if (imports->n >= SC_SPEC_IMPORTS_MAX)
        return sc_err_usage(err, field, "%s: more than the %d entries allowed", field, SC_SPEC_IMPORTS_MAX);
    return sc_strv_add(imports, text) < 0 ? sc_spec_no_memory(err) : 0;
}

int sc_spec_pin_ok(const char *field, const char *text, struct sc_err *err)
{
    const char *at = text;
    bool ok = strnlen(text, SC_SPEC_PATH_MAX + 1) <= SC_SPEC_PATH_MAX;
    while (ok) {
        uint32_t first = 0, last = 0;
        ok = read_cpu(&at, &first);
        if (ok && *at == '-') {
            at++;
            ok = read_cpu(&at, &last) && last >= first;
        }
        if (ok && !*at)
            return 0;
        ok = ok && *at++ == ',';
    }
    return sc_spec_bad(err, field, text,
                       "not a list of processors: allowed are numbers and ranges below %d, like 0 or 0,2-3",
                       CPU_SETSIZE);
}

int sc_spec_word(const struct sc_spec_word *words, const char *field, const char *text, int *ret_value,
                 struct sc_err *err)
{
    char allowed[128] = "";
    size_t n = 0;
    for (const struct sc_spec_word *word = words; word->name; word++) {
        if (!strcmp(word->name, text)) {
            *ret_value = word->value;
            return 0;
        }
        n += (size_t)snprintf(allowed + n, sizeof allowed - n, "%s%s", n ? ", " : "", word->name);
    }
    return sc_spec_bad(err, field, text, "allowed: %s", allowed);
}

int sc_spec_lang(const char *field, const char *text, enum sc_lang *ret_lang, struct sc_err *err)
{
    if (sc_lang_by_name(text, ret_lang) == 0)
        return 0;
    return sc_spec_bad(err, field, text, "allowed: python, node, bash, java, native");
}

/* "open-files" is the same word as "open_files". */
static bool same_word(const char *name, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (name[i] != text[i] && !(name[i] == '_' && text[i] == '-'))
            return false;
    return name[len] == '\0';
}

int sc_spec_degrade(const char *field, const char *text, size_t len, uint32_t *bits, struct sc_err *err)
{
    for (unsigned bit = 0; SC_DEGRADE_NAMES[bit]; bit++)
        if (same_word(SC_DEGRADE_NAMES[bit], text, len)) {
            *bits |= 1u << bit;
            return 0;
        }
    char shown[100];
    sc_text_show(shown, sizeof shown, text, len);
    return sc_err_usage(err, field,
                        "%s: %s: allowed: memory, cpu, cpus, io, disk, landlock, open_files, apparmor", field,
                        *shown ? shown : "\"\"");
}
