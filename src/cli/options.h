/* The options: one table, from which parsing, help, manual and completion come. Limits are not in it: they
 * are rows of src/spec/limits.def and join by themselves. */
#ifndef SC_CLI_OPTIONS_H
#define SC_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "cli/cli.h"

enum sc_cli_option_kind {
    SC_OPTION_SET,      /* sc_spec_set(name, value): the last one counts */
    SC_OPTION_ADD,      /* sc_spec_add(name, value): each one counts */
    SC_OPTION_LANGUAGE, /* no value: sc_spec_set("language", name) */
    SC_OPTION_FLAG,     /* no value: sets a bit of sc_cli_args.flags */
    SC_OPTION_TEXT,     /* sc_cli_args.texts[which]: the last one counts */
};

enum sc_cli_flag {
    SC_FLAG_JSON = 1 << 0,
    SC_FLAG_VERBOSE = 1 << 1,
    SC_FLAG_RAW = 1 << 2,
    SC_FLAG_HELP = 1 << 3,
    SC_FLAG_PTY = 1 << 4,
    SC_FLAG_BACKGROUND = 1 << 5,
    SC_FLAG_UNPACK = 1 << 6,
    SC_FLAG_PARENTS = 1 << 7,
    SC_FLAG_RECURSIVE = 1 << 8,
    SC_FLAG_DETACH = 1 << 9,
    SC_FLAG_WARM = 1 << 10,
    SC_FLAG_DEV = 1 << 11,
    SC_FLAG_AUDIT_STRICT = 1 << 12,
    SC_FLAG_MEMORY = 1 << 13,
    SC_FLAG_SAME_ONCE = 1 << 14,
    SC_FLAG_STOP_FIRST = 1 << 15,
    SC_FLAG_NO_ZYGOTES = 1 << 16,
    SC_FLAG_FORKABLE = 1 << 17,
    SC_FLAG_E2B = 1 << 18,
    SC_FLAG_INHERIT_SECRETS = 1 << 19,
    SC_FLAG_E2B_DEBUG = 1 << 20,
};

enum sc_cli_text {
    SC_TEXT_CODE,
    SC_TEXT_STDIN,
    SC_TEXT_SPEC,
    SC_TEXT_JOBS,
    SC_TEXT_SOCKET,
    SC_TEXT_IDLE,
    SC_TEXT_TOTAL,
    SC_TEXT_NAME,
    SC_TEXT_FROM,
    SC_TEXT_COPIES,
    SC_TEXT_CONTEXT,
    SC_TEXT_SIGNAL,
    SC_TEXT_SESSIONS,
    SC_TEXT_POOL,
    SC_TEXT_IDLE_EXIT,
    SC_TEXT_EXPECT,
    SC_TEXT_OUTPUT,
    SC_TEXT_AUDIT_SIZE,
    SC_TEXT_RUNNING,
    SC_TEXT_QUEUE,
    SC_TEXT_MIN_FREE,
    SC_TEXT_MAX_LOAD,
    SC_TEXT_GATE_FD,
    SC_TEXT_STATE,
    SC_TEXT_TENANT,
    SC_TEXT_NOTE,
    SC_TEXT_EXPIRES,
    SC_TEXT_CONFIG,
    SC_TEXT_HTTP_SOCKET,
    SC_TEXT_LISTEN,
    SC_TEXT_HOST,
    SC_TEXT_CLIENTS,
    SC_TEXT_DRAIN,
    SC_TEXT_E2B_DEGRADED,
    SC_TEXT_URL,
    SC_TEXT_KEY_FILE,
    SC_CLI_TEXTS
};

struct sc_cli_option {
    const char *name;    /* without dashes */
    char letter;         /* short form, or 0 */
    const char *metavar; /* NULL: takes no value; beginning with '=': may have one, in the same word */
    const char *group;   /* heading it stands under in help */
    uint64_t verbs;      /* enum sc_cli_verb_bit */
    enum sc_cli_option_kind kind;
    unsigned which; /* enum sc_cli_flag or enum sc_cli_text */
    const char *help;
};

bool sc_cli_value_is_optional(const char *metavar);
/* "name", "name VALUE" or "name[=VALUE]"; 64 bytes are enough. */
void sc_cli_option_form(const struct sc_cli_option *option, char *ret_text, size_t size);

/* Verbs that take every limit as an option. */
#define SC_CLI_LIMIT_VERBS                                                                                   \
    (SC_CLI_RUN | SC_CLI_PLAN | SC_CLI_SHELL | SC_CLI_SESSION_START | SC_CLI_TEMPLATE | SC_CLI_MCP)
/* Verbs that take those of one run. */
#define SC_CLI_RUN_LIMIT_VERBS (SC_CLI_SESSION_RUN | SC_CLI_SESSION_EXEC)

/* Verbs whose options may also stand behind their operands: these are no program's own words. */
#define SC_CLI_MIXED_VERBS (SC_CLI_JUDGE | SC_CLI_TEMPLATE | SC_CLI_KEY | SC_CLI_AUDIT | SC_CLI_BATCH)

/* One option as it was given. Everything is borrowed from argv and the tables. */
struct sc_cli_given {
    enum sc_cli_option_kind kind;
    const char *name;
    const char *value;
};

struct sc_cli_args {
    const struct sc_cli_verb *verb;
    uint32_t flags;
    const char *texts[SC_CLI_TEXTS];
    struct sc_cli_given *given; /* SET, ADD and LANGUAGE, in order */
    size_t n_given;
    bool dashes;     /* the operands stood behind "--" */
    char **operands; /* rest of argv, NULL-terminated */
    size_t n_operands;
};

/* Parses what follows the verb. Options end at the first operand or at "--"; all that follows is the
 * program's. Of SC_CLI_MIXED_VERBS they end only at "--"; argv is then put in order, operands last. A usage
 * error names option, value and what is allowed. */
int sc_cli_args_parse(struct sc_cli_args *args, const struct sc_cli_verb *verb, char **argv,
                      struct sc_err *err);
/* Takes the first operand into *ret_first and parses on behind it: for verbs that name a thing first. Without
 * one, or when it stands behind "--", nothing happens. */
int sc_cli_args_shift(struct sc_cli_args *args, const char **ret_first, struct sc_err *err);
void sc_cli_args_fini(struct sc_cli_args *args);

/* Visits the options of the verbs in `verbs` in the order of help, groups together, limits as rows like any
 * other. The row is valid during the call only. */
void sc_cli_options_each(uint64_t verbs, void (*visit)(void *userdata, const struct sc_cli_option *option),
                         void *userdata);

/* Is this the name of an option of any verb, limits included? */
bool sc_cli_is_option(const char *name);

#endif
