/* A request → the message to the checker program (src/check/check.h tells its form). */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "snap/checker_parts.h"

#define RULE_FILE_MAX (256u * 1024)

static const char *language_of(enum sc_lang lang)
{
    return lang == SC_LANG_BASH ? "bash" : lang == SC_LANG_NODE ? "node" : "python";
}

/* With a suffix or a folder it is a file, else the name of a built-in set: as the spec's check sees it. */
static bool is_file(const char *rules)
{
    return strpbrk(rules, "./") != NULL;
}

static int add_file(json_t *out, const char *path, struct sc_err *err)
{
    struct sc_buf text;
    sc_buf_init(&text, RULE_FILE_MAX);
    int r = sc_buf_read_file(&text, AT_FDCWD, path);
    if (r == -EMSGSIZE)
        r = sc_err_usage(err, "rules", "rules: %s: larger than %u bytes", path, RULE_FILE_MAX);
    else if (r < 0)
        r = sc_err_usage(err, "rules", "rules: %s: cannot be read: %s", path, strerror(-r));
    else if (!sc_utf8_valid(text.data, text.len) || (text.len && memchr(text.data, '\0', text.len)))
        r = sc_err_usage(err, "rules", "rules: %s: must be UTF-8 text", path);
    else if (json_array_append_new(out, json_pack("{s:s, s:s%}", "name", path, "text",
                                                  text.len ? (const char *)text.data : "", text.len)) < 0)
        r = sc_err_sys(err, -ENOMEM, "rules");
    sc_buf_fini(&text);
    return r;
}

static int add_set(json_t *sets, const char *name, struct sc_err *err)
{
    return json_array_append_new(sets, json_string(name)) < 0 ? sc_err_sys(err, -ENOMEM, "rules") : 0;
}

static int add_rules(json_t *header, const struct sc_validate *validate, struct sc_err *err)
{
    json_t *sets = json_object_get(header, "sets"), *files = json_object_get(header, "files");
    bool has_list = validate->deny_modules.n || validate->deny_calls.n;
    int r = !validate->rules.n && !has_list ? add_set(sets, "default", err) : 0;
    for (size_t i = 0; i < validate->rules.n && r == 0; i++) {
        const char *rules = validate->rules.v[i];
        r = is_file(rules) ? add_file(files, rules, err) : add_set(sets, rules, err);
    }
    return r;
}

/* NULL when memory ran out: a list that lost an entry would find too little. */
static json_t *list_of(const struct sc_strv *texts)
{
    json_t *list = json_array();
    for (size_t i = 0; i < texts->n; i++)
        if (json_array_append_new(list, json_string(texts->v[i])) < 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

static int write_message(const char *header, const struct sc_check_request *request, struct sc_check_job *job)
{
    size_t header_len = strlen(header);
    job->source_at = 2 * sizeof(uint32_t) + header_len;
    job->message_len = job->source_at + request->len;
    job->message = malloc(job->message_len + 1);
    if (!job->message)
        return -ENOMEM;
    const uint32_t sizes[2] = {htole32((uint32_t)header_len), htole32((uint32_t)request->len)};
    memcpy(job->message, sizes, sizeof sizes);
    memcpy(job->message + sizeof sizes, header, header_len);
    if (request->len)
        memcpy(job->message + job->source_at, request->source, request->len);
    return 0;
}

int sc_check_message(const struct sc_check_request *request, struct sc_check_job *job, struct sc_err *err)
{
    const char *name =
        request->name && sc_utf8_valid(request->name, strlen(request->name)) ? request->name : "";
    if (request->len > SC_SPEC_CODE_MAX)
        return sc_err_usage(err, "code", "code: %zu bytes: at most %llu are allowed", request->len,
                            SC_SPEC_CODE_MAX);
    json_t *header =
        json_pack("{s:s, s:s, s:[], s:[], s:o, s:o}", "language", language_of(request->lang), "name", name,
                  "sets", "files", "deny_modules", list_of(&request->validate->deny_modules), "deny_calls",
                  list_of(&request->validate->deny_calls));
    if (!header)
        return sc_err_sys(err, -ENOMEM, "checker");
    int r = add_rules(header, request->validate, err);
    char *text = r == 0 ? sc_json_dump(header, JSON_COMPACT) : NULL;
    json_decref(header);
    if (text && strlen(text) > SC_HEADER_MAX)
        r = sc_err_usage(err, "rules",
                         "rules: all rule files and lists together: at most %u bytes are allowed",
                         SC_HEADER_MAX);
    if (r == 0)
        r = text ? write_message(text, request, job) : -ENOMEM;
    free(text);
    return r == -ENOMEM ? sc_err_sys(err, r, "checker") : r;
}
