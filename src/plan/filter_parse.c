/* Reads a policy: one statement a line, each with its reason. What a line means is checked here too, so that
 * a rule that could never apply, or a profile that left its base, is an error of the build. */
#include "plan/filter_parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plan/filter_token.h"

#define LINE_MAX_BYTES 1024
#define CALLS_MAX 64

struct parser {
    struct sc_filter_reader in;
    const struct sc_filter_arch *arch;
    const struct sc_filter_policy *base;
    struct sc_filter_policy *policy;
    bool within; /* the profile is bound to `base` */
    bool over;   /* it is all of `base` behind its own rules */
};

#define bad(p, ...) sc_filter_bad(&(p)->in, __VA_ARGS__)

static int advance(struct parser *p)
{
    return sc_filter_advance(&p->in);
}

static bool token_is(const struct parser *p, const char *text)
{
    return sc_filter_token_is(&p->in, text);
}

static const char *token_name(const struct parser *p)
{
    return sc_filter_token_name(&p->in);
}

static int no_memory(struct parser *p)
{
    return sc_err_sys(p->in.err, -ENOMEM, "%s:%u", p->in.file, p->in.line);
}

/* Makes room for one more element of a growing array; it is zero. NULL: out of memory. */
static void *grow(void *array, size_t n, size_t size)
{
    char *more = reallocarray(array, n + 1, size);

    if (more)
        memset(more + n * size, 0, size);
    return more;
}

/* Takes a name of a profile or section. */
static int parse_name(struct parser *p, const char *what, char *ret_name, size_t size)
{
    if (p->in.kind != SC_TOKEN_WORD)
        return bad(p, "%s where a %s's name is expected", token_name(p), what);
    if (strlen(p->in.token) >= size)
        return bad(p, "%s name '%s' is too long: at most %zu bytes", what, p->in.token, size - 1);
    memcpy(ret_name, p->in.token, strlen(p->in.token) + 1);
    return advance(p);
}

/* --- conditions --- */

/* argN.32 or argN.64 */
static int parse_arg(struct parser *p, struct sc_filter_cond *cond)
{
    const char *t = p->in.token;

    if (p->in.kind != SC_TOKEN_WORD || strncmp(t, "arg", 3) != 0 || strlen(t) != 7 || t[3] < '0' ||
        t[3] > '5' || (strcmp(t + 4, ".32") != 0 && strcmp(t + 4, ".64") != 0))
        return bad(p, "'%s' is no argument: arg0 to arg5 with .32 (low word) or .64 (all bits)",
                   token_name(p));
    cond->arg = (uint8_t)(t[3] - '0');
    cond->wide = strcmp(t + 4, ".64") == 0;
    return advance(p);
}

static int keep_values(struct parser *p, struct sc_filter_cond *cond, const uint64_t *values, size_t n)
{
    struct sc_filter_policy *policy = p->policy;
    uint64_t **lists = grow(policy->value_lists, policy->n_value_lists, sizeof *lists);

    if (!lists)
        return no_memory(p);
    policy->value_lists = lists;
    lists[policy->n_value_lists] = calloc(n, sizeof *values);
    if (!lists[policy->n_value_lists])
        return no_memory(p);
    memcpy(lists[policy->n_value_lists], values, n * sizeof *values);
    cond->values = lists[policy->n_value_lists++];
    cond->n_values = n;
    return 0;
}

/* "==", "!=", "in", "not in": tells whether it is negated and whether a list may follow. */
static int parse_operator(struct parser *p, struct sc_filter_cond *cond, bool *ret_list)
{
    int r;

    cond->negated = token_is(p, "!=") || token_is(p, "not");
    *ret_list = token_is(p, "not") || token_is(p, "in");
    if (token_is(p, "not")) {
        r = advance(p);
        if (r < 0)
            return r;
        if (!token_is(p, "in"))
            return bad(p, "%s after 'not': 'not in' is allowed", token_name(p));
    } else if (!*ret_list && !cond->negated && !token_is(p, "==")) {
        return bad(p, "'%s' is no comparison: '==', '!=', 'in' and 'not in' are allowed", token_name(p));
    }
    return advance(p);
}

static int parse_cond(struct parser *p, struct sc_filter_cond *cond)
{
    uint64_t values[SC_FILTER_VALUES_MAX];
    size_t n = 0;
    bool list;
    int r = parse_arg(p, cond);

    if (r < 0)
        return r;
    cond->mask = cond->wide ? UINT64_MAX : UINT32_MAX;
    if (token_is(p, "&")) {
        r = advance(p);
        if (r == 0)
            r = sc_filter_take_value(&p->in, cond->mask, &cond->mask);
        if (r < 0)
            return r;
        if (cond->mask == 0)
            return bad(p, "a mask of 0 looks at nothing");
    }
    r = parse_operator(p, cond, &list);
    while (r == 0) {
        if (n == SC_FILTER_VALUES_MAX)
            return bad(p, "more than %d values: split the rule", SC_FILTER_VALUES_MAX);
        r = sc_filter_take_value(&p->in, cond->mask, &values[n++]);
        if (r < 0 || !list || !token_is(p, ","))
            break;
        r = advance(p);
    }
    return r < 0 ? r : keep_values(p, cond, values, n);
}

static int parse_conds(struct parser *p, struct sc_filter_rule *rule)
{
    int r;

    if (p->in.kind == SC_TOKEN_END)
        return 0;
    if (!token_is(p, "if"))
        return bad(p, "'%s' after the call: ',' or 'if' are allowed", token_name(p));
    do {
        r = advance(p);
        if (r < 0)
            return r;
        if (rule->n_conds == SC_FILTER_CONDS_MAX)
            return bad(p, "more than %d conditions", SC_FILTER_CONDS_MAX);
        r = parse_cond(p, &rule->conds[rule->n_conds]);
        if (r < 0)
            return r;
        rule->n_conds++;
    } while (token_is(p, "and"));
    return 0;
}

/* --- rules --- */

static int add_rule(struct parser *p, const struct sc_filter_rule *rule)
{
    struct sc_filter_policy *policy = p->policy;
    struct sc_filter_rule *rules;

    for (size_t i = 0; i < policy->n_rules; i++)
        if (policy->rules[i].nr == rule->nr && policy->rules[i].n_conds == 0)
            return bad(p, "'%s' is never asked here: line %u has decided it", rule->call,
                       policy->rules[i].line);
    rules = grow(policy->rules, policy->n_rules, sizeof *rules);
    if (!rules)
        return no_memory(p);
    policy->rules = rules;
    rules[policy->n_rules++] = *rule;
    return 0;
}

/* The first rule of `nr` in `policy`, or NULL. */
static const struct sc_filter_rule *first_rule(const struct sc_filter_policy *policy, int nr)
{
    for (size_t i = 0; i < policy->n_rules; i++)
        if (policy->rules[i].nr == nr)
            return &policy->rules[i];
    return NULL;
}

/* Inside another profile, rules of one's own may only refuse; `once` lets through what the base lets through.
 */
static int check_within(struct parser *p, const struct sc_filter_rule *rule)
{
    const struct sc_filter_rule *base;

    if ((rule->verdict == SC_FILTER_ALLOW || rule->verdict == SC_FILTER_ANSWER) && p->within)
        return bad(p, "'%s' in a profile within '%s': it may only take sections and refuse",
                   rule->verdict == SC_FILTER_ALLOW ? "allow" : "answer", p->base->name);
    if (rule->verdict != SC_FILTER_ONCE)
        return 0;
    base = p->within ? first_rule(p->base, rule->nr) : NULL;
    if (p->within && (!base || base->verdict != SC_FILTER_ALLOW || base->n_conds))
        return bad(p, "'once' for '%s', which '%s' does not allow", rule->call, p->base->name);
    return 0;
}

static int parse_calls(struct parser *p, const struct sc_filter_call **calls, size_t *ret_n)
{
    size_t n = 0;

    for (;;) {
        if (p->in.kind != SC_TOKEN_WORD)
            return bad(p, "%s where a system call is expected", token_name(p));
        if (n == CALLS_MAX)
            return bad(p, "more than %d calls in a line", CALLS_MAX);
        calls[n] = sc_filter_arch_by_name(p->arch, p->in.token);
        if (!calls[n])
            return bad(p, "'%s' is no system call of %s", p->in.token, p->arch->name);
        n++;
        int r = advance(p);
        if (r < 0)
            return r;
        if (!token_is(p, ","))
            break;
        r = advance(p);
        if (r < 0)
            return r;
    }
    *ret_n = n;
    return 0;
}

static int parse_rule(struct parser *p, enum sc_filter_verdict verdict)
{
    const struct sc_filter_call *calls[CALLS_MAX];
    struct sc_filter_rule rule = {.verdict = verdict, .line = p->in.line};
    bool has_error = verdict == SC_FILTER_DENY || verdict == SC_FILTER_NOTIFY;
    size_t n = 0;
    int r;

    if (p->policy->n_sections == 0)
        return bad(p, "a rule before the first 'section'");
    rule.section = p->policy->n_sections - 1;
    rule.error = has_error || verdict == SC_FILTER_ONCE ? EPERM : 0;
    r = advance(p);
    if (r == 0 && p->in.kind == SC_TOKEN_WORD && p->in.token[0] == 'E') {
        if (!has_error)
            return bad(p, "'%s': only 'deny' and 'notify' have an error", p->in.token);
        if (sc_filter_errno(p->in.token, &rule.error) < 0)
            return bad(p, "'%s' is no error that a policy may answer", p->in.token);
        r = advance(p);
    }
    if (r == 0)
        r = parse_calls(p, calls, &n);
    if (r == 0)
        r = parse_conds(p, &rule);
    for (size_t i = 0; r == 0 && i < n; i++) {
        rule.nr = calls[i]->nr;
        rule.call = calls[i]->name;
        if (verdict == SC_FILTER_ANSWER && !sc_filter_answerable(rule.call))
            return bad(p, "'answer' for '%s', which the supervisor cannot answer", rule.call);
        r = check_within(p, &rule);
        if (r == 0)
            r = add_rule(p, &rule);
    }
    return r;
}

/* --- profile, section, take --- */

static int parse_profile(struct parser *p)
{
    int r = advance(p);

    if (r == 0 && p->policy->name[0])
        return bad(p, "a second 'profile'");
    if (r == 0)
        r = parse_name(p, "profile", p->policy->name, sizeof p->policy->name);
    if (r < 0 || p->in.kind == SC_TOKEN_END)
        return r;
    bool over = token_is(p, "over");
    if (!over && !token_is(p, "within"))
        return bad(p, "'%s' after the profile's name: 'within' and 'over' are allowed", token_name(p));
    r = advance(p);
    if (r < 0)
        return r;
    if (!p->base || strcmp(p->in.token, p->base->name) != 0)
        return bad(p, "%s '%s': '%s' is allowed", over ? "over" : "within", token_name(p),
                   p->base ? p->base->name : "(nothing)");
    p->within = !over;
    p->over = over;
    return advance(p);
}

static int find_section(const struct sc_filter_policy *policy, const char *name, size_t *ret_index)
{
    for (size_t i = 0; i < policy->n_sections; i++)
        if (strcmp(policy->sections[i].name, name) == 0) {
            *ret_index = i;
            return 0;
        }
    return -ENOENT;
}

static int add_section(struct parser *p, const struct sc_filter_section *section)
{
    struct sc_filter_policy *policy = p->policy;
    struct sc_filter_section *sections;
    size_t other;

    if (find_section(policy, section->name, &other) == 0)
        return bad(p, "a second section '%s'", section->name);
    sections = grow(policy->sections, policy->n_sections, sizeof *sections);
    if (!sections)
        return no_memory(p);
    policy->sections = sections;
    sections[policy->n_sections++] = *section;
    return 0;
}

static int parse_section(struct parser *p)
{
    struct sc_filter_section section = {0};
    int r = advance(p);

    if (r == 0)
        r = parse_name(p, "section", section.name, sizeof section.name);
    if (r == 0 && p->in.kind == SC_TOKEN_TEXT) {
        memcpy(section.hint, p->in.token, sizeof section.hint);
        r = advance(p);
    }
    return r < 0 ? r : add_section(p, &section);
}

/* Whether a rule of this profile's own decides every use of the call. */
static bool decided_here(const struct sc_filter_policy *policy, int nr)
{
    for (size_t i = 0; i < policy->n_rules; i++)
        if (policy->rules[i].nr == nr && policy->rules[i].n_conds == 0 && !policy->rules[i].taken_from)
            return true;
    return false;
}

static int take_rule(struct parser *p, const struct sc_filter_rule *from, size_t section)
{
    struct sc_filter_rule rule = *from;

    if (decided_here(p->policy, rule.nr))
        return 0;
    rule.section = section;
    rule.line = p->in.line;
    rule.taken_from = from;
    return add_rule(p, &rule);
}

static int parse_take(struct parser *p)
{
    struct sc_filter_section *taken;
    size_t from;
    int r = advance(p);

    if (r < 0)
        return r;
    if (!p->within)
        return bad(p, "'take' in a profile that is not 'within' another");
    if (p->in.kind != SC_TOKEN_WORD || find_section(p->base, p->in.token, &from) < 0)
        return bad(p, "'%s' is no section of '%s'", token_name(p), p->base->name);
    taken = &p->base->sections[from];
    r = add_section(p, taken);
    for (size_t i = 0; r == 0 && i < p->base->n_rules; i++)
        if (p->base->rules[i].section == from)
            r = take_rule(p, &p->base->rules[i], p->policy->n_sections - 1);
    return r < 0 ? r : advance(p);
}

/* --- lines --- */

static int parse_statement(struct parser *p)
{
    int r;

    if (!p->policy->name[0] && !token_is(p, "profile"))
        return bad(p, "'%s' before 'profile NAME'", token_name(p));
    if (token_is(p, "profile"))
        r = parse_profile(p);
    else if (token_is(p, "section"))
        r = parse_section(p);
    else if (token_is(p, "take"))
        r = parse_take(p);
    else if (token_is(p, "allow"))
        r = parse_rule(p, SC_FILTER_ALLOW);
    else if (token_is(p, "deny"))
        r = parse_rule(p, SC_FILTER_DENY);
    else if (token_is(p, "notify"))
        r = parse_rule(p, SC_FILTER_NOTIFY);
    else if (token_is(p, "once"))
        r = parse_rule(p, SC_FILTER_ONCE);
    else if (token_is(p, "answer"))
        r = parse_rule(p, SC_FILTER_ANSWER);
    else
        return bad(p, "'%s' is no statement: allow, deny, notify, once, answer, section, take are allowed",
                   token_name(p));
    if (r == 0 && p->in.kind != SC_TOKEN_END)
        return bad(p, "'%s' is too much in this statement", token_name(p));
    return r;
}

static int parse_line(struct parser *p, char *line)
{
    const char *reason = sc_filter_cut_reason(line);
    int r;

    p->in.at = line;
    r = advance(p);
    if (r < 0 || p->in.kind == SC_TOKEN_END)
        return r;
    while (!reason &&
           p->in.kind != SC_TOKEN_END) { /* a text that is not closed hides the reason: say that first */
        r = advance(p);
        if (r < 0)
            return r;
    }
    if (!reason)
        return bad(p, "no reason: end the line with '# why'");
    return parse_statement(p);
}

static int parse_lines(struct parser *p, const char *text)
{
    char line[LINE_MAX_BYTES];
    int r = 0;

    while (r == 0 && *text) {
        size_t len = strcspn(text, "\n");

        p->in.line++;
        if (len >= sizeof line)
            return bad(p, "a line of %zu bytes: at most %zu", len, sizeof line - 1);
        memcpy(line, text, len);
        line[len] = '\0';
        text += len + (text[len] == '\n');
        r = parse_line(p, line);
    }
    return r;
}

/* All of the base, in its order, behind what the profile says itself. */
static int take_all(struct parser *p)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < p->base->n_sections; i++) {
        r = add_section(p, &p->base->sections[i]);
        for (size_t k = 0; r == 0 && k < p->base->n_rules; k++)
            if (p->base->rules[k].section == i)
                r = take_rule(p, &p->base->rules[k], p->policy->n_sections - 1);
    }
    return r;
}

/* Rule number `k` of the call, counting only taken ones when `taken`; NULL when there are fewer. */
static const struct sc_filter_rule *nth_rule(const struct sc_filter_policy *policy, int nr, size_t k,
                                             bool taken)
{
    for (size_t i = 0; i < policy->n_rules; i++)
        if (policy->rules[i].nr == nr && (!taken || policy->rules[i].taken_from) && k-- == 0)
            return &policy->rules[i];
    return NULL;
}

/* Rules of one call may stand in several sections of the base, and the first that holds decides. Taking some
 * of them, or in another order, could let through what the base refuses. */
static int check_taken_together(struct parser *p)
{
    const struct sc_filter_policy *policy = p->policy;

    for (size_t i = 0; p->within && i < policy->n_rules; i++) {
        const struct sc_filter_rule *rule = &policy->rules[i], *taken, *base;
        size_t k = 0;

        if (!rule->taken_from)
            continue;
        do {
            taken = nth_rule(policy, rule->nr, k, true);
            base = nth_rule(p->base, rule->nr, k, false);
            k++;
        } while (taken && base && taken->taken_from == base);
        if (taken || (base && !decided_here(policy, rule->nr)))
            return bad(p, "'%s' is taken in part or in another order: section '%s' of '%s' speaks of it too",
                       rule->call, base ? p->base->sections[base->section].name : "", p->base->name);
    }
    return 0;
}

int sc_filter_parse(const char *file, const char *text, const struct sc_filter_arch *arch,
                    const struct sc_filter_policy *base, struct sc_filter_policy **ret_policy,
                    struct sc_err *err)
{
    struct parser p = {.in = {.file = file, .err = err}, .arch = arch, .base = base};
    int r;

    p.policy = calloc(1, sizeof *p.policy);
    if (!p.policy)
        return sc_err_sys(err, -ENOMEM, "%s", file);
    r = strlen(text) > SC_FILTER_POLICY_MAX ? bad(&p, "more than %u bytes", SC_FILTER_POLICY_MAX) : 0;
    if (r == 0)
        r = parse_lines(&p, text);
    if (r == 0 && !p.policy->name[0])
        r = bad(&p, "no 'profile NAME'");
    if (r == 0 && p.over)
        r = take_all(&p);
    if (r == 0)
        r = check_taken_together(&p);
    if (r < 0) {
        sc_filter_policy_free(p.policy);
        return r;
    }
    *ret_policy = p.policy;
    return 0;
}

void sc_filter_policy_free(struct sc_filter_policy *policy)
{
    if (!policy)
        return;
    for (size_t i = 0; i < policy->n_value_lists; i++)
        free(policy->value_lists[i]);
    free(policy->value_lists);
    free(policy->sections);
    free(policy->rules);
    free(policy);
}
