/* The command line: it only translates to the library's requests and from its results. A verb a file. */
#ifndef SC_CLI_CLI_H
#define SC_CLI_CLI_H

#include "base/err.h"

struct sc_cli_args;

/* Exit statuses of Snapcell's own; a run's come from sc_result_exit_status. */
enum sc_cli_exit {
    SC_CLI_EXIT_OK = 0,
    SC_CLI_EXIT_BLOCKED_HOST = 1, /* doctor: no cell can be made here */
    SC_CLI_EXIT_FOUND = 1,        /* check: the source has findings, or is none */
    SC_CLI_EXIT_FILE = 1,         /* session: what the cell's own files answered, as "No such file" */
    SC_CLI_EXIT_USAGE = 2,        /* nothing was started */
    SC_CLI_EXIT_FAILED = 125,     /* Snapcell itself failed */
};

/* Bits, so that an option can name the verbs it belongs to. */
enum sc_cli_verb_bit {
    SC_CLI_RUN = 1 << 0,
    SC_CLI_PLAN = 1 << 1,
    SC_CLI_SHELL = 1 << 2,
    SC_CLI_DOCTOR = 1 << 3,
    SC_CLI_VERSION = 1 << 4,
    SC_CLI_HELP = SC_CLI_VERSION, /* neither has an option of its own */
    SC_CLI_AUDIT = 1 << 5,
    SC_CLI_BATCH = 1ull << 37,
    SC_CLI_SESSION = 1 << 6,
    SC_CLI_KEEPER = 1 << 7,
    SC_CLI_CHECK = 1 << 8,
    SC_CLI_JUDGE = 1 << 9,
    /* `session` and the word behind it. */
    SC_CLI_SESSION_START = 1 << 10,
    SC_CLI_SESSION_LS = 1 << 11,
    SC_CLI_SESSION_RUN = 1 << 12,
    SC_CLI_SESSION_EXEC = 1 << 13,
    SC_CLI_SESSION_PUT = 1 << 14,
    SC_CLI_SESSION_GET = 1 << 15,
    SC_CLI_SESSION_RM = 1 << 16,
    SC_CLI_SESSION_MKDIR = 1 << 17,
    SC_CLI_SESSION_MV = 1 << 18,
    SC_CLI_SESSION_WATCH = 1 << 19,
    SC_CLI_SESSION_INFO = 1 << 20,
    SC_CLI_SESSION_PS = 1 << 21,
    SC_CLI_SESSION_KILL = 1 << 22,
    SC_CLI_SESSION_RESTART = 1 << 23,
    SC_CLI_SESSION_INTERRUPT = 1 << 24,
    SC_CLI_SESSION_END = 1 << 25,
    SC_CLI_TEMPLATE = 1 << 26,
    SC_CLI_KEY = 1 << 27,
    SC_CLI_SERVE = 1 << 28,
    SC_CLI_GATE = 1 << 29,
    SC_CLI_MCP = 1 << 30,
    SC_CLI_SESSION_PAUSE = 1u << 31,
    SC_CLI_SESSION_RESUME = 1ull << 32,
    SC_CLI_SESSION_NETWORK = 1ull << 33,
    SC_CLI_SESSION_FORK = 1ull << 34,
    SC_CLI_SESSION_SNAPSHOT = 1ull << 35,
    SC_CLI_SESSION_ROLLBACK = 1ull << 36,
};
#define SC_CLI_SESSIONS                                                                                      \
    ((((1u << 26) - 1) & ~((1u << 10) - 1)) | SC_CLI_SESSION_PAUSE | SC_CLI_SESSION_RESUME |                 \
     SC_CLI_SESSION_NETWORK | SC_CLI_SESSION_FORK | SC_CLI_SESSION_SNAPSHOT |                                \
     SC_CLI_SESSION_ROLLBACK) /* all those words */

#define SC_CLI_ALL (~0ull)

struct sc_cli_verb {
    const char *name; /* two words: the second stands behind the first */
    enum sc_cli_verb_bit bit;
    const char *usage;   /* its command lines, one a line, without the program's name */
    const char *summary; /* one line */
    const char *details; /* paragraphs for `help VERB` and the manual, or "" */
    int (*main)(const struct sc_cli_args *args); /* returns the exit status */
};

/* The table, ended by a row whose name is NULL. */
extern const struct sc_cli_verb SC_CLI_VERBS[];
const struct sc_cli_verb *sc_cli_verb_by_name(const char *name);

int sc_cli_run(const struct sc_cli_args *args);
int sc_cli_run_warm(const struct sc_cli_args *args); /* run --warm */
/* run --url: in a service. */
int sc_cli_run_url(const struct sc_cli_args *args);
int sc_cli_plan(const struct sc_cli_args *args);
int sc_cli_shell(const struct sc_cli_args *args);
int sc_cli_audit(const struct sc_cli_args *args);
int sc_cli_batch(const struct sc_cli_args *args);
int sc_cli_check(const struct sc_cli_args *args);
int sc_cli_doctor(const struct sc_cli_args *args);
int sc_cli_mcp(const struct sc_cli_args *args);
int sc_cli_judge(const struct sc_cli_args *args);
int sc_cli_session(const struct sc_cli_args *args);
int sc_cli_template(const struct sc_cli_args *args);
int sc_cli_key(const struct sc_cli_args *args);
int sc_cli_serve(const struct sc_cli_args *args);
int sc_cli_gate(const struct sc_cli_args *args); /* the service's half without rights; started by serve */
int sc_cli_keeper(const struct sc_cli_args *args);
int sc_cli_version(const struct sc_cli_args *args);
int sc_cli_help(const struct sc_cli_args *args);

#endif
