/* libFuzzer target: any bytes as source in one of the languages, or as a file of rules. A reading ends with
 * findings that lie in the source, or says what is wrong with the rules. Built by tests/fuzz/run. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check/check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char RULES[] = "; language: python\n; rule: a\n((call function: (_) @f arguments: (_) @at) "
                            "(#not-name? @f \"os.*\") (#path-outside-work? @f))";

static json_t *header_for(uint8_t choice, const char *text, size_t len)
{
    static const char *const languages[] = {"python", "node", "bash"};
    static const char *const names[] = {"a", "a.ts", "a.tsx"};
    static const char *const sets[] = {"default", "strict"};
    return json_pack("{s:s, s:s, s:[s], s:[{s:s, s:s%}], s:[s, s], s:[s, s]}", "language",
                     languages[choice % 3], "name", names[choice / 3 % 3], "sets", sets[choice / 9 % 2],
                     "files", "name", "own.scm", "text", text, len, "deny_modules", "os", "fs", "deny_calls",
                     "eval", "os.system");
}

static size_t lines_of(const uint8_t *data, size_t size)
{
    size_t lines = 1;
    for (size_t i = 0; i < size; i++)
        lines += data[i] == '\n' || data[i] == '\r';
    return lines;
}

static void look_at(const json_t *report, const uint8_t *data, size_t size)
{
    size_t i;
    json_t *finding;
    const json_t *findings = json_object_get(report, "findings");
    if (!json_is_array(findings) &&
        !json_is_string(json_object_get(json_object_get(report, "error"), "message")))
        abort();
    json_array_foreach(findings, i, finding)
    {
        json_int_t line = json_integer_value(json_object_get(finding, "line"));
        const char *snippet = json_string_value(json_object_get(finding, "snippet"));
        if (line < 1 || (size_t)line > lines_of(data, size) || !snippet || strchr(snippet, '\n'))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1 || size > 4096)
        return 0;
    bool as_rules = data[0] & 0x80;
    const char *rest = (const char *)data + 1;
    /* A regular expression may ask for any amount of memory; rules are their user's own. */
    if (as_rules && memmem(rest, size - 1, "match", 5))
        return 0;
    json_t *header =
        header_for(data[0] & 0x7f, as_rules ? rest : RULES, as_rules ? size - 1 : sizeof RULES - 1);
    if (!header)
        return 0; /* rules that are no UTF-8 */
    const char *source = as_rules ? "import os\nos.system(f(1))\n" : rest;
    size_t len = as_rules ? strlen(source) : size - 1;
    json_t *report = sc_check_source(header, source, len);
    look_at(report, (const uint8_t *)source, len);
    json_decref(report);
    json_decref(header);
    return 0;
}
