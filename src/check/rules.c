#include "check/rules.h"

#include <errno.h>
#include <regex.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/rules_query.h"

struct line {
    const char *text;
    size_t len;
};

/* The next line from *at on, without its end. */
static bool next_line(const char *text, size_t len, size_t *at, struct line *ret_line)
{
    if (*at >= len)
        return false;
    const char *end = memchr(text + *at, '\n', len - *at);
    size_t stop = end ? (size_t)(end - text) : len;
    *ret_line = (struct line){text + *at, stop - *at};
    *at = stop + 1;
    return true;
}

/* "; key: value" → value; else false. */
static bool header(struct line line, const char *key, struct line *ret_value)
{
    size_t key_len = strlen(key);
    if (line.len < key_len + 3 || memcmp(line.text, "; ", 2) != 0 ||
        memcmp(line.text + 2, key, key_len) != 0 || line.text[2 + key_len] != ':')
        return false;
    size_t from = key_len + 3;
    while (from < line.len && line.text[from] == ' ')
        from++;
    *ret_value = (struct line){line.text + from, line.len - from};
    while (ret_value->len && ret_value->text[ret_value->len - 1] == ' ')
        ret_value->len--;
    return true;
}

/* ";     more" goes on with the header before it. */
static bool continued(struct line line, struct line *ret_value)
{
    if (line.len < 4 || memcmp(line.text, ";   ", 4) != 0)
        return false;
    *ret_value = (struct line){line.text + 4, line.len - 4};
    return true;
}

static bool same(struct line line, const char *word)
{
    return line.len == strlen(word) && !memcmp(line.text, word, line.len);
}

__attribute__((format(printf, 2, 3))) static bool fail(struct sc_rule_error *error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(error->message, sizeof error->message, format, args);
    va_end(args);
    return false;
}

int sc_rules_language(const char *text, size_t len, enum sc_grammar *ret_grammar)
{
    static const struct {
        const char *name;
        enum sc_grammar grammar;
    } known[] = {{"python", SC_GRAMMAR_PYTHON}, {"node", SC_GRAMMAR_JAVASCRIPT}, {"bash", SC_GRAMMAR_BASH}};
    struct line line, value;
    size_t at = 0;
    while (next_line(text, len, &at, &line)) {
        if (!header(line, "language", &value))
            continue;
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
            if (same(value, known[i].name)) {
                *ret_grammar = known[i].grammar;
                return 0;
            }
        return -EINVAL;
    }
    return -EINVAL;
}

/* What a file is being read into. */
struct reader {
    struct sc_rule_set *set;
    struct sc_rule_error *error;
    const char *name;
    unsigned line;
    const char *last; /* key of the header before, for continued ones */
};

static bool add_names(struct reader *reader, struct line value)
{
    size_t at = 0;
    while (at < value.len) {
        size_t from = at;
        while (at < value.len && value.text[at] != ' ')
            at++;
        if (at > from) {
            const char *name = sc_pool_text(&reader->set->pool, value.text + from, at - from);
            sc_names_add(&reader->set->names, name, (uint32_t)reader->set->n_rules - 1);
        }
        at++;
    }
    return true;
}

static bool begin_rule(struct reader *reader, struct line id)
{
    struct sc_rule_set *set = reader->set;
    if (set->n_rules == SC_RULES_MAX)
        return fail(reader->error, "%s line %u: more than %d rules", reader->name, reader->line,
                    SC_RULES_MAX);
    if (!id.len)
        return fail(reader->error, "%s line %u: a rule needs a name", reader->name, reader->line);
    set->rules = sc_check_realloc(set->rules, set->n_rules + 1, sizeof *set->rules);
    set->rules[set->n_rules++] = (struct sc_rule){
        .id = sc_pool_text(&set->pool, id.text, id.len),
        .message = "",
        .severity = SC_SEVERITY_ERROR,
    };
    return true;
}

static bool set_severity(struct reader *reader, struct sc_rule *rule, struct line value)
{
    for (int i = 0; SC_SEVERITY_NAMES[i]; i++)
        if (same(value, SC_SEVERITY_NAMES[i])) {
            rule->severity = (enum sc_severity)i;
            return true;
        }
    return fail(reader->error, "%s line %u: severity \"%.*s\": allowed are error, warning, note",
                reader->name, reader->line, (int)value.len, value.text);
}

/* Sentences that go on in the next line are joined by a blank. */
static const char *joined(struct sc_pool *pool, const char *before, struct line more)
{
    return before && *before ? sc_pool_printf(pool, "%s %.*s", before, (int)more.len, more.text)
                             : sc_pool_text(pool, more.text, more.len);
}

static bool take_header(struct reader *reader, const char *key, struct line value)
{
    struct sc_rule_set *set = reader->set;
    reader->last = key;
    if (!strcmp(key, "rule"))
        return begin_rule(reader, value);
    if (!set->n_rules)
        return fail(reader->error, "%s line %u: \"%s\" stands before the first rule", reader->name,
                    reader->line, key);
    struct sc_rule *rule = &set->rules[set->n_rules - 1];
    if (!strcmp(key, "severity"))
        return set_severity(reader, rule, value);
    if (!strcmp(key, "message"))
        rule->message = joined(&set->pool, rule->message, value);
    else if (!strcmp(key, "advice"))
        rule->advice = joined(&set->pool, rule->advice, value);
    else
        return add_names(reader, value);
    return true;
}

static bool read_headers(struct reader *reader, const char *text, size_t len)
{
    static const char *const keys[] = {"rule", "severity", "message", "advice", "names", NULL};
    struct line line, value;
    size_t at = 0, begin = 0;
    while (next_line(text, len, &at, &line)) {
        reader->line++;
        bool taken = false;
        for (int i = 0; keys[i] && !taken; i++)
            if (header(line, keys[i], &value)) {
                if (!take_header(reader, keys[i], value))
                    return false;
                taken = true;
                if (i == 0)
                    reader->set->rules[reader->set->n_rules - 1].query_start = (uint32_t)begin;
            }
        if (!taken && reader->last && continued(line, &value)) {
            if (!take_header(reader, reader->last, value))
                return false;
        } else if (!taken) {
            reader->last = NULL;
        }
        begin = at;
    }
    if (!reader->set->n_rules)
        return fail(reader->error, "%s: holds no rule", reader->name);
    return true;
}

struct sc_rule_set *sc_rules_compile(const char *name, const char *text, size_t len, enum sc_grammar grammar,
                                     struct sc_rule_error *ret_error)
{
    struct sc_rule_set *set = sc_check_realloc(NULL, 1, sizeof *set);
    *set = (struct sc_rule_set){0};
    sc_pool_init(&set->pool);
    struct reader reader = {.set = set, .error = ret_error, .name = name};
    bool good =
        len <= SC_RULE_FILE_MAX && !memchr(text, '\0', len)
            ? read_headers(&reader, text, len) && sc_rules_query(set, name, text, len, grammar, ret_error)
            : fail(ret_error, "%s: larger than %d bytes, or no text", name, SC_RULE_FILE_MAX);
    if (good)
        return set;
    sc_rules_free(set);
    return NULL;
}

void sc_rules_free(struct sc_rule_set *set)
{
    if (!set)
        return;
    for (size_t i = 0; i < set->n_predicates; i++)
        if (set->predicates[i].regex) {
            regfree(set->predicates[i].regex);
            free(set->predicates[i].regex);
        }
    free(set->predicates);
    if (set->query)
        ts_query_delete(set->query);
    free(set->rules);
    sc_names_fini(&set->names);
    sc_names_fini(&set->query_names);
    sc_pool_fini(&set->pool);
    free(set);
}

const struct sc_rule *sc_rules_of_pattern(const struct sc_rule_set *set, uint32_t pattern)
{
    uint32_t at = ts_query_start_byte_for_pattern(set->query, pattern);
    size_t i = set->n_rules - 1;
    while (i > 0 && set->rules[i].query_start > at)
        i--;
    return &set->rules[i];
}
