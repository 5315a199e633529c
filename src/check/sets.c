#include "check/sets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/policies.h"

#define KEPT_MAX 128

struct kept {
    enum sc_grammar grammar;
    char *text; /* a user's, copied; a built-in's is constant */
    const char *builtin;
    size_t len;
    struct sc_rule_set *set;
};

static struct kept kept[KEPT_MAX];
static size_t n_kept, oldest;

/* TypeScript has its own grammar, and the rules of JavaScript. */
static const char *language_of(enum sc_grammar grammar)
{
    switch (grammar) {
    case SC_GRAMMAR_PYTHON:
        return "python";
    case SC_GRAMMAR_BASH:
        return "bash";
    default:
        return "node";
    }
}

/* The place of the one that came first is used again when there is no other. */
static struct kept *place(void)
{
    struct kept *one = &kept[n_kept < KEPT_MAX ? n_kept++ : oldest++ % KEPT_MAX];
    sc_rules_free(one->set);
    free(one->text);
    *one = (struct kept){0};
    return one;
}

const struct sc_rule_set *sc_sets_builtin(const char *name, enum sc_grammar grammar)
{
    char file[64];
    struct sc_rule_error error;
    snprintf(file, sizeof file, "%s-%s", language_of(grammar), name);
    for (const struct sc_policy *policy = SC_POLICIES; policy->name; policy++) {
        if (strcmp(policy->name, file) != 0)
            continue;
        for (size_t i = 0; i < n_kept; i++)
            if (kept[i].builtin == policy->name && kept[i].grammar == grammar)
                return kept[i].set;
        struct sc_rule_set *set = sc_rules_compile(policy->name, policy->text, policy->len, grammar, &error);
        if (!set) {
            /* Ours, and tests compile every one of them. */
            fprintf(stderr, "checker: %s\n", error.message);
            abort();
        }
        *place() = (struct kept){.grammar = grammar, .builtin = policy->name, .set = set};
        return set;
    }
    return NULL;
}

int sc_sets_file(const char *name, const char *text, size_t len, enum sc_grammar grammar,
                 const struct sc_rule_set **ret_set, struct sc_rule_error *ret_error)
{
    enum sc_grammar meant;
    *ret_set = NULL;
    if (sc_rules_language(text, len, &meant) < 0) {
        snprintf(ret_error->message, sizeof ret_error->message,
                 "%s: must say \"; language: NAME\", where NAME is python, node or bash", name);
        return -1;
    }
    if (strcmp(language_of(meant), language_of(grammar)) != 0)
        return 0;
    for (size_t i = 0; i < n_kept; i++)
        if (kept[i].text && kept[i].grammar == grammar && kept[i].len == len &&
            !memcmp(kept[i].text, text, len)) {
            *ret_set = kept[i].set;
            return 0;
        }
    struct sc_rule_set *set = sc_rules_compile(name, text, len, grammar, ret_error);
    if (!set)
        return -1;
    char *copy = sc_check_realloc(NULL, len + 1, 1);
    memcpy(copy, text, len);
    *place() = (struct kept){.grammar = grammar, .text = copy, .len = len, .set = set};
    *ret_set = set;
    return 0;
}
