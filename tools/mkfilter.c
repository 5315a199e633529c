/* mkfilter ARCH OUTPUT POLICY…: compiles system-call policies into C when Snapcell is built. The first policy
 * is the base that the others may be within. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "mkfilter_calls.h"
#include "plan/filter_compile.h"
#include "plan/filter_parse.h"

#define POLICIES_MAX 8

static void write_insns(FILE *out, const char *name, const struct sc_filter_program *program)
{
    fprintf(out, "static const struct sock_filter %s_insns[] = {\n", name);
    for (unsigned i = 0; i < program->n_insns; i++) {
        const struct sock_filter *insn = &program->insns[i];
        fprintf(out, "    {0x%02x, %u, %u, 0x%08x},\n", insn->code, insn->jt, insn->jf, insn->k);
    }
    fputs("};\n\n", out);
}

static void write_conds(FILE *out, const char *name, size_t index, const struct sc_filter_rule *rule)
{
    for (size_t i = 0; i < rule->n_conds; i++) {
        fprintf(out, "static const uint64_t %s_values_%zu_%zu[] = {", name, index, i);
        for (size_t k = 0; k < rule->conds[i].n_values; k++)
            fprintf(out, "%s0x%llx", k ? ", " : "", (unsigned long long)rule->conds[i].values[k]);
        fputs("};\n", out);
    }
    if (rule->n_conds == 0)
        return;
    fprintf(out, "static const struct sc_filter_cond %s_conds_%zu[] = {\n", name, index);
    for (size_t i = 0; i < rule->n_conds; i++) {
        const struct sc_filter_cond *cond = &rule->conds[i];
        fprintf(out, "    {%u, %s, %s, 0x%llx, %s_values_%zu_%zu, %zu},\n", cond->arg,
                cond->wide ? "true" : "false", cond->negated ? "true" : "false",
                (unsigned long long)cond->mask, name, index, i, cond->n_values);
    }
    fputs("};\n", out);
}

static void write_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '\\' || *text == '"')
            fputc('\\', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

static bool is_notice(const struct sc_filter_rule *rule)
{
    return rule->verdict == SC_FILTER_NOTIFY || rule->verdict == SC_FILTER_ONCE ||
           rule->verdict == SC_FILTER_ANSWER;
}

static const char *kind_of(const struct sc_filter_rule *rule)
{
    if (rule->verdict == SC_FILTER_ANSWER)
        return "SC_NOTICE_ANSWER";
    return rule->verdict == SC_FILTER_ONCE ? "SC_NOTICE_ONCE" : "SC_NOTICE_REFUSE";
}

static void write_notice(FILE *out, const struct sc_filter_policy *policy, size_t index)
{
    const struct sc_filter_rule *rule = &policy->rules[index];
    const struct sc_filter_section *section = &policy->sections[rule->section];

    fprintf(out, "    {%d, \"%s\", \"%s:%s\", ", rule->nr, rule->call, policy->name, section->name);
    write_text(out, section->hint);
    fprintf(out, ", %s, %d, ", kind_of(rule), rule->error);
    if (rule->n_conds)
        fprintf(out, "%s_conds_%zu, %zu},\n", policy->name, index, rule->n_conds);
    else
        fputs("NULL, 0},\n", out);
}

static void write_notices(FILE *out, const struct sc_filter_policy *policy, int highest)
{
    for (size_t i = 0; i < policy->n_rules; i++)
        if (is_notice(&policy->rules[i]))
            write_conds(out, policy->name, i, &policy->rules[i]);
    fprintf(out, "\nstatic const struct sc_filter_notice %s_notices[] = {\n", policy->name);
    for (int nr = 0; nr <= highest; nr++)
        for (size_t i = 0; i < policy->n_rules; i++)
            if (policy->rules[i].nr == nr && is_notice(&policy->rules[i]))
                write_notice(out, policy, i);
    fputs("};\n\n", out);
}

static void write_table(FILE *out, struct sc_filter_policy *const *policies, size_t n)
{
    fputs("const struct sc_filter sc_filters_built[] = {\n", out);
    for (size_t i = 0; i < n; i++) {
        const char *name = policies[i]->name;
        fprintf(out, "    {\"%s\", %s_insns, sizeof %s_insns / sizeof *%s_insns, %s_notices,\n", name, name,
                name, name, name);
        fprintf(out, "     sizeof %s_notices / sizeof *%s_notices},\n", name, name);
    }
    fputs("};\nconst size_t sc_filters_built_n = sizeof sc_filters_built / sizeof *sc_filters_built;\n", out);
}

static int read_policy(const char *path, const struct sc_filter_arch *arch,
                       const struct sc_filter_policy *base, struct sc_filter_policy **ret_policy,
                       struct sc_err *err)
{
    const char *slash = strrchr(path, '/');
    struct sc_buf text;
    int r;

    sc_buf_init(&text, SC_FILTER_POLICY_MAX);
    r = sc_buf_read_file(&text, AT_FDCWD, path);
    if (r < 0)
        sc_err_sys(err, r, "%s", path);
    else if (strlen((const char *)text.data) != text.len)
        r = sc_err_set(err, SC_ERR_USAGE, -EINVAL, "%s: a zero byte in a text file", path);
    else
        r = sc_filter_parse(slash ? slash + 1 : path, (const char *)text.data, arch, base, ret_policy, err);
    sc_buf_fini(&text);
    return r;
}

static int make(const struct sc_filter_arch *arch, FILE *out, char **paths, int n, struct sc_err *err)
{
    struct sc_filter_policy *policies[POLICIES_MAX] = {0};
    static struct sc_filter_program program;
    int r = 0, i;

    fprintf(out, "/* Written by mkfilter for %s from policy/syscalls/. Do not edit. */\n", arch->name);
    fputs("#include \"plan/filter_built.h\"\n\n", out);
    for (i = 0; r == 0 && i < n; i++) {
        r = read_policy(paths[i], arch, policies[0], &policies[i], err);
        if (r == 0)
            r = sc_filter_compile(policies[i], arch, &program, err);
        if (r < 0)
            break;
        write_insns(out, policies[i]->name, &program);
        write_notices(out, policies[i], sc_filter_arch_highest(arch));
    }
    if (r == 0)
        write_table(out, policies, (size_t)n);
    while (n-- > 0)
        sc_filter_policy_free(policies[n]);
    return r;
}

int main(int argc, char **argv)
{
    struct sc_filter_arch arch;
    struct sc_err err = {0};
    FILE *out;
    int r;

    if (argc < 4 || argc - 3 > POLICIES_MAX) {
        fprintf(stderr, "usage: mkfilter ARCH OUTPUT POLICY… (at most %d)\n", POLICIES_MAX);
        return 2;
    }
    r = sc_mkfilter_arch_init(argv[1], &arch);
    if (r < 0) {
        fprintf(stderr, "mkfilter: no table of system calls for '%s' yet\n", argv[1]);
        return 1;
    }
    out = fopen(argv[2], "we");
    if (!out) {
        fprintf(stderr, "mkfilter: %s: %s\n", argv[2], strerror(errno));
        sc_mkfilter_arch_fini(&arch);
        return 1;
    }
    r = make(&arch, out, argv + 3, argc - 3, &err);
    if (r < 0)
        fprintf(stderr, "mkfilter: %s\n", err.message);
    if (fclose(out) != 0 && r == 0) {
        r = -errno;
        fprintf(stderr, "mkfilter: %s: %s\n", argv[2], strerror(-r));
    }
    if (r < 0)
        remove(argv[2]);
    sc_mkfilter_arch_fini(&arch);
    return r < 0;
}
