/* Reading the audit stream: file by file, line by line. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/json.h"
#include "keeper/audit.h"
#include "keeper/audit_parts.h"

static bool is_rotated(const char *name)
{
    static const char begin[] = "audit-", end[] = ".jsonl";
    size_t digits = strspn(name + (strncmp(name, begin, strlen(begin)) ? 0 : strlen(begin)), "0123456789");
    return !strncmp(name, begin, strlen(begin)) && digits == 20 && !strcmp(name + strlen(begin) + 20, end);
}

static int is_wanted(const struct dirent *entry)
{
    return is_rotated(entry->d_name);
}

int audit_rotated(int folder, char ***ret_names)
{
    struct dirent **entries = NULL;
    int n = scandirat(folder, ".", &entries, is_wanted, alphasort);
    if (n < 0)
        return -errno;
    char **names = calloc((size_t)n + 1, sizeof *names);
    int r = names ? 0 : -ENOMEM;
    for (int i = 0; i < n; i++) {
        if (r == 0 && !(names[i] = strdup(entries[i]->d_name)))
            r = -ENOMEM;
        free(entries[i]);
    }
    free(entries);
    for (int i = 0; r < 0 && names && i < n; i++)
        free(names[i]);
    if (r < 0)
        free(names);
    else
        *ret_names = names;
    return r;
}

int audit_last_rotated(int folder, char ret_name[AUDIT_NAME_MAX])
{
    char **names = NULL;
    int r = audit_rotated(folder, &names), found = 0;
    if (r < 0)
        return r;
    for (size_t i = 0; names[i]; i++) {
        snprintf(ret_name, AUDIT_NAME_MAX, "%.*s", AUDIT_NAME_MAX - 1, names[i]);
        free(names[i]);
        found = 1;
    }
    free(names);
    return found;
}

/* ---- the chain ---- */

struct chain {
    struct sc_audit_report *report;
    uint64_t seq; /* asked for; 0: none */
    const char *hash;
};

static int broken(const struct chain *chain, const char *file, size_t line, const char *why)
{
    snprintf(chain->report->broken, sizeof chain->report->broken, "%s, line %zu: %s", file, line, why);
    return -EBADMSG;
}

static int take_record(const struct chain *chain, const json_t *record, const char *file, size_t line)
{
    struct sc_audit_report *report = chain->report;
    const json_t *seq = json_object_get(record, "seq"), *lost = json_object_get(record, "lost");
    const char *prev = json_string_value(json_object_get(record, "prev"));
    uint64_t number = json_is_integer(seq) ? (uint64_t)json_integer_value(seq) : 0;
    if (!number || !prev)
        return broken(chain, file, line, "no record: seq or prev is missing");
    if (report->records && number != report->last + 1)
        return broken(chain, file, line, "its number does not follow the one before: records are missing");
    if (report->records && strcmp(prev, report->head) != 0)
        return broken(chain, file, line,
                      "its prev is not the hash of the record before: that one was changed");
    if (!report->records && number == 1 && strspn(prev, "0") != SC_SHA256_TEXT - 1)
        return broken(chain, file, line, "the first record's prev is not zero");
    report->first = report->records ? report->first : number;
    report->last = number;
    report->records++;
    report->lost += json_is_integer(lost) ? (uint64_t)json_integer_value(lost) : 0;
    return 0;
}

static int take_line(const struct chain *chain, const char *text, size_t len, const char *file, size_t line)
{
    struct sc_audit_report *report = chain->report;
    json_t *record = NULL;
    json_error_t where;
    int r = sc_json_load(text, len, JSON_REJECT_DUPLICATES, &record, &where);
    if (r == -ENOMEM)
        return r;
    if (r < 0)
        return broken(chain, file, line, "no JSON");
    r = take_record(chain, record, file, line);
    json_decref(record);
    if (r < 0)
        return r;
    audit_hash(text, len, report->head);
    if (report->last == chain->seq)
        report->met = !strcmp(report->head, chain->hash);
    return 0;
}

static int take_file(const struct chain *chain, int folder, const char *name, struct sc_err *err)
{
    struct sc_buf text;
    size_t line = 0;
    sc_buf_init(&text, AUDIT_READ_MAX);
    int r = sc_buf_read_file(&text, folder, name);
    const char *at = text.data ? (const char *)text.data : "", *end = at + text.len;
    if (r < 0 && r != -ENOENT)
        sc_err_sys(err, r, "audit: %s", name);
    while (r == 0 && at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        line++;
        if (!stop)
            r = broken(chain, name, line, "half a line");
        else
            r = take_line(chain, at, (size_t)(stop - at), name, line);
        at = stop ? stop + 1 : end;
    }
    sc_buf_fini(&text);
    return r;
}

int sc_audit_verify(int state, uint64_t seq, const char *hash, struct sc_audit_report *ret_report,
                    struct sc_err *err)
{
    const struct chain chain = {.report = ret_report, .seq = seq, .hash = hash};
    char **names = NULL;
    *ret_report = (struct sc_audit_report){0};
    int folder = audit_open_folder(state, false, err);
    if (folder < 0)
        return folder;
    int r = audit_rotated(folder, &names);
    if (r < 0) {
        close(folder);
        return sc_err_sys(err, r, "audit");
    }
    for (size_t i = 0; names && names[i]; i++) {
        if (r == 0)
            r = take_file(&chain, folder, names[i], err);
        free(names[i]);
    }
    free(names);
    if (r == 0)
        r = take_file(&chain, folder, AUDIT_FILE, err);
    close(folder);
    return r == -ENOENT || r == -EBADMSG ? 0 : r;
}
