#include "cli/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "spec/spec.h"

#define MAKES_CELLS (SC_CLI_RUN | SC_CLI_PLAN | SC_CLI_SHELL)
#define RUNS_FILES (SC_CLI_RUN | SC_CLI_PLAN)
#define STARTS_SESSION (SC_CLI_SESSION_START | SC_CLI_MCP)
#define STARTS_CELLS (MAKES_CELLS | STARTS_SESSION)
#define RUNS_CODE (RUNS_FILES | SC_CLI_SESSION_RUN)
/* These print what they found. */
#define TELLS (SC_CLI_SESSION_LS | SC_CLI_SESSION_INFO | SC_CLI_SESSION_PS | SC_CLI_SESSION_WATCH)
#define RUNS_SESSION (SC_CLI_SESSION_RUN | SC_CLI_SESSION_EXEC)

static const char WHAT[] = "What runs";
static const char FILES[] = "Files";
static const char AROUND[] = "Surroundings";
static const char OUTPUT[] = "Output";
static const char SESSION[] = "Sessions";
static const char SERVICE[] = "Service";

/* clang-format off */
/* Ended by a row whose name is NULL. Rows of one group stand together. */
static const struct sc_cli_option OPTIONS[] = {
    {"code", 'c', "CODE", WHAT, RUNS_CODE | SC_CLI_CHECK, SC_OPTION_TEXT, SC_TEXT_CODE,
     "Run this source text; needs a language. Operands are its arguments."},
    {"language", 0, "NAME", WHAT, RUNS_CODE | SC_CLI_CHECK, SC_OPTION_SET, 0,
     "python, node, bash, java or native. Default: told from the file's suffix or first line."},
    {"python", 0, NULL, WHAT, RUNS_CODE | SC_CLI_CHECK, SC_OPTION_LANGUAGE, 0, "Same as --language python."},
    {"node", 0, NULL, WHAT, RUNS_CODE | SC_CLI_CHECK, SC_OPTION_LANGUAGE, 0, "Same as --language node."},
    {"bash", 0, NULL, WHAT, RUNS_CODE | SC_CLI_CHECK, SC_OPTION_LANGUAGE, 0, "Same as --language bash."},
    {"java", 0, NULL, WHAT, RUNS_FILES, SC_OPTION_LANGUAGE, 0, "Same as --language java."},
    {"interpreter", 0, "PATH", WHAT, STARTS_CELLS | SC_CLI_CHECK, SC_OPTION_SET, 0,
     "Run with this interpreter of the host; its installation is mounted read-only at the same path."},
    {"venv", 0, "DIR", WHAT, STARTS_CELLS | SC_CLI_CHECK, SC_OPTION_SET, 0,
     "Run with this Python environment of the host, mounted read-only at the same path."},
    {"mode", 0, "NAME", WHAT, RUNS_CODE, SC_OPTION_SET, 0,
     "plain: the program as it is; rich: also the value, the variables and the error of source code (python, node, bash); restricted: the same for a limited Python. Default: plain; in a session rich."},
    {"validate", 0, "WHAT", WHAT, RUNS_CODE | STARTS_SESSION, SC_OPTION_SET, 0,
     "Read the source before it runs, and block it at a finding, or only report findings; off: do not read it. Default: off."},
    {"rules", 0, "SET|FILE", WHAT, RUNS_CODE | STARTS_SESSION | SC_CLI_CHECK, SC_OPTION_ADD, 0,
     "What to look for: a built-in set (default, strict) or a file of rules (.scm). Means --validate block unless that is given. May be given more than once."},
    {"deny-module", 0, "NAME", WHAT, RUNS_CODE | STARTS_SESSION | SC_CLI_CHECK, SC_OPTION_ADD, 0,
     "A use of this module, or of one below it, is a finding. May be given more than once."},
    {"deny-call", 0, "NAME", WHAT, RUNS_CODE | STARTS_SESSION | SC_CLI_CHECK, SC_OPTION_ADD, 0,
     "A call of this function is a finding. May be given more than once."},
    {"import", 0, "NAME", WHAT, SC_CLI_RUN | SC_CLI_PLAN, SC_OPTION_ADD, 0,
     "With --warm: use a cell whose interpreter has loaded this module already, if one waits; the keeper makes some ready from then on. Changes nothing else. May be given more than once."},
    {"spec", 0, "FILE", WHAT, STARTS_CELLS, SC_OPTION_TEXT, SC_TEXT_SPEC,
     "Start from a request in JSON (docs/spec.md); options given beside it count more."},

    {"warm", 0, NULL, WHAT, SC_CLI_RUN, SC_OPTION_FLAG, SC_FLAG_WARM,
     "Let the keeper run it (one is started if none serves), in a cell whose interpreter waits already if there is one. With mode rich or restricted."},

    {"file", 0, "SRC[:DST]", FILES, STARTS_CELLS, SC_OPTION_ADD, 0,
     "Copy a file into the work folder. May be given more than once."},
    {"dir", 0, "SRC[:DST[:ro]]", FILES, STARTS_CELLS, SC_OPTION_ADD, 0,
     "Copy a folder into the work folder, or with :ro mount it read-only at DST. May be given more than once."},
    {"out", 0, "GLOB[:DIR]", FILES, MAKES_CELLS, SC_OPTION_ADD, 0,
     "Save files of the work folder that match to DIR after the run. Default: the current folder, where nothing is ever replaced. May be given more than once."},
    {"stdin", 0, "FILE", FILES, RUNS_FILES | RUNS_SESSION, SC_OPTION_TEXT, SC_TEXT_STDIN,
     "The program's stdin; - is the caller's. Default: the caller's, unless that is a terminal or holds the program; of session run none."},
    {"disk-backing", 0, "KIND", FILES, STARTS_CELLS, SC_OPTION_SET, 0,
     "What holds the work folder: memory, image (a file system image on disk) or auto."},

    {"env", 0, "NAME=VALUE", AROUND, STARTS_CELLS | SC_CLI_SESSION_EXEC, SC_OPTION_ADD, 0,
     "Set an environment variable; nothing of the caller's is passed on. May be given more than once."},
    {"secret", 0, "NAME=FILE", AROUND, SC_CLI_SESSION_START | SC_CLI_SESSION_RESUME, SC_OPTION_ADD, 0,
     "Set an environment variable to the line in FILE (or /dev/fd/3 and the like); it is shown and stored nowhere, and copies have it only with --inherit-secrets. May be given more than once."},
    {"cwd", 0, "DIR", AROUND, STARTS_CELLS | SC_CLI_SESSION_EXEC, SC_OPTION_SET, 0,
     "Folder to start in. Default: the work folder, /home/user."},
    {"template", 0, "NAME", AROUND, STARTS_CELLS, SC_OPTION_SET, 0,
     "Take what is not said from this template: root, environment, limits, files; of -c also the language. `snapcell template ls` lists them."},
    {"root", 0, "DIR", AROUND, STARTS_CELLS | SC_CLI_CHECK, SC_OPTION_SET, 0,
     "Folder to use as root file system, read-only. Default: made from the host's /usr."},
    {"profile", 0, "NAME", AROUND, STARTS_CELLS, SC_OPTION_SET, 0,
     "System calls that are allowed: default, or compute (no sockets, no new programs)."},
    {"network", 0, "MODE", AROUND, STARTS_CELLS | SC_CLI_SESSION_NETWORK, SC_OPTION_SET, 0,
     "none; rules: what --allow says and nothing else; open: every public address that no --deny names. Default: none, with --allow rules."},
    {"allow", 0, "RULE", AROUND, STARTS_CELLS | SC_CLI_SESSION_NETWORK, SC_OPTION_ADD, 0,
     "Let the cell reach NAME[:PORTS], *.NAME, ADDRESS, ADDRESS/BITS or preset:NAME (debian, github, npm, pypi) by TCP; ports 80 and 443 unless said. The first --allow or --deny that fits decides. May be given more than once."},
    {"deny", 0, "RULE", AROUND, STARTS_CELLS | SC_CLI_SESSION_NETWORK, SC_OPTION_ADD, 0,
     "Refuse what fits, on all ports unless said. May be given more than once."},
    {"http", 0, "REQUEST", AROUND, STARTS_CELLS | SC_CLI_SESSION_NETWORK, SC_OPTION_ADD, 0,
     "Of the --allow before it, only such requests: METHOD PATH, as in 'GET /repos/*'. On 443 they come over TLS, which then ends outside the cell (docs/egress.md). May be given more than once."},
    {"credential-header", 0, "NAME=FILE", AROUND, STARTS_CELLS | SC_CLI_SESSION_NETWORK, SC_OPTION_ADD, 0,
     "Put this field into each request of the --allow before it, outside the cell. Its value is the line in FILE (or /dev/fd/3 and the like), which the cell does not see."},
    {"credential-basic", 0, "FILE", AROUND, STARTS_CELLS | SC_CLI_SESSION_NETWORK, SC_OPTION_ADD, 0,
     "The same with USER:PASSWORD, as Authorization."},
    {"internal", 0, "RANGE", AROUND, STARTS_CELLS | SC_CLI_SESSION_NETWORK, SC_OPTION_ADD, 0,
     "Addresses that are not public (ADDRESS/BITS), which a rule may reach all the same: allowed names that lie there work. May be given more than once."},
    {"pin", 0, "LIST", AROUND, STARTS_CELLS, SC_OPTION_SET, 0, "Use only these processors, as in 0,2-3."},
    {"cgroup-parent", 0, "GROUP", AROUND, STARTS_CELLS | SC_CLI_DOCTOR | SC_CLI_JUDGE | SC_CLI_CHECK | SC_CLI_TEMPLATE, SC_OPTION_SET, 0,
     "Control group below which the cell's is made. Default: $SNAPCELL_CGROUP_PARENT, else the caller's own."},
    {"allow-degraded", 0, "LIST", AROUND, STARTS_CELLS | SC_CLI_JUDGE | SC_CLI_CHECK | SC_CLI_TEMPLATE, SC_OPTION_ADD, 0,
     "Accept to go without what this host cannot give: memory, cpu, cpus, io, disk, landlock, open_files, apparmor."},

    {"deterministic", 0, "=SEED", AROUND, STARTS_CELLS, SC_OPTION_SET, 0,
     "Give the same each time, as far as an interpreter can be told (docs/deterministic.md): hash order, random numbers, wall clock, addresses. The seed is 0 to 4294967295; default 0."},
    {"clock-start", 0, "TIME", AROUND, STARTS_CELLS, SC_OPTION_SET, 0,
     "Where the wall clock of a deterministic run begins, in UTC: 2020-01-31, 2020-01-31T12:30:00Z or seconds since 1970. Default: 2020-01-01."},

    {"jobs", 'j', "N", AROUND, SC_CLI_JUDGE | SC_CLI_BATCH, SC_OPTION_TEXT, SC_TEXT_JOBS,
     "Run this many tests, of batch jobs, at once. Default: of judge what the task says, else 1; of batch one for each processor, with --url what the service thinks right."},
    {"output", 'o', "FILE", AROUND, SC_CLI_BATCH, SC_OPTION_TEXT, SC_TEXT_OUTPUT,
     "Where the results go, a line each as they come. Jobs whose results stand there already are not run again."},
    {"same-once", 0, NULL, AROUND, SC_CLI_BATCH, SC_OPTION_FLAG, SC_FLAG_SAME_ONCE,
     "Run jobs of the same content once, and answer the others from that."},
    {"stop-first", 0, NULL, AROUND, SC_CLI_BATCH, SC_OPTION_FLAG, SC_FLAG_STOP_FIRST,
     "Stop at the first job that is not ok."},

    {"json", 0, NULL, OUTPUT, RUNS_FILES | SC_CLI_DOCTOR | SC_CLI_JUDGE | RUNS_SESSION | TELLS | SC_CLI_CHECK | SC_CLI_TEMPLATE | SC_CLI_KEY | SC_CLI_AUDIT | SC_CLI_BATCH, SC_OPTION_FLAG, SC_FLAG_JSON,
     "Print one JSON object on stdout and nothing else."},
    {"overflow", 0, "WHAT", OUTPUT, RUNS_FILES, SC_OPTION_SET, 0,
     "When output passes its limit: cut (drop and count the rest) or end (end the run)."},
    {"raw", 0, NULL, OUTPUT, SC_CLI_RUN | RUNS_SESSION, SC_OPTION_FLAG, SC_FLAG_RAW,
     "Send control bytes to the terminal as they are. Default: they are shown, as in ^[."},
    {"verbose", 'v', NULL, OUTPUT, SC_CLI_RUN | SC_CLI_SHELL, SC_OPTION_FLAG, SC_FLAG_VERBOSE,
     "Tell verdict, usage, refusals and artifacts on stderr after the run."},

    {"name", 0, "NAME", SESSION, SC_CLI_SESSION_START | SC_CLI_SESSION_FORK | SC_CLI_SESSION_SNAPSHOT, SC_OPTION_TEXT, SC_TEXT_NAME,
     "What to call the session or snapshot: letters, digits, -, _ and . Default: 32 random hexadecimal digits. Of several forks: with -1, -2, … behind it."},
    {"forkable", 0, NULL, SESSION, SC_CLI_SESSION_START | SC_CLI_SESSION_FORK, SC_OPTION_FLAG, SC_FLAG_FORKABLE,
     "Make it so that the session can be forked. Its own cell is then somewhat less closed (docs/sessions.md)."},
    {"inherit-secrets", 0, NULL, SESSION, SC_CLI_SESSION_START | SC_CLI_SESSION_FORK | SC_CLI_SESSION_SNAPSHOT | SC_CLI_SESSION_ROLLBACK, SC_OPTION_FLAG, SC_FLAG_INHERIT_SECRETS,
     "Copy a session that was given secrets all the same: the copy has them, too. At start, with --from."},
    {"from", 0, "ID", SESSION, SC_CLI_SESSION_START, SC_OPTION_TEXT, SC_TEXT_FROM,
     "Start as a copy of this snapshot, with its files and its interpreter's state; takes --name, --forkable, --idle and --total beside it."},
    {"copies", 'n', "N", SESSION, SC_CLI_SESSION_FORK, SC_OPTION_TEXT, SC_TEXT_COPIES,
     "Make so many copies, 1 to 64. Default: 1."},
    {"idle", 0, "TIME", SESSION, STARTS_SESSION | SC_CLI_SESSION_RESUME | SC_CLI_SESSION_FORK, SC_OPTION_TEXT, SC_TEXT_IDLE,
     "End the session after so long without a request (1s to 24h; default 5m, of mcp 1h, of resume what it was)."},
    {"total", 0, "TIME", SESSION, STARTS_SESSION | SC_CLI_SESSION_RESUME | SC_CLI_SESSION_FORK, SC_OPTION_TEXT, SC_TEXT_TOTAL,
     "End the session after so long in any case (1s to 168h; default 1h, of mcp 24h, of resume what it was)."},
    {"context", 0, "NAME", SESSION, SC_CLI_SESSION_RUN, SC_OPTION_TEXT, SC_TEXT_CONTEXT,
     "Run in this namespace of the session; it is made at its first run. Default: the language's own."},
    {"pty", 0, NULL, SESSION, SC_CLI_SESSION_EXEC, SC_OPTION_FLAG, SC_FLAG_PTY,
     "Give the command a terminal of the session's own, and relay yours to it."},
    {"background", 0, NULL, SESSION, SC_CLI_SESSION_EXEC, SC_OPTION_FLAG, SC_FLAG_BACKGROUND,
     "Print the command's number and leave it running; its output is dropped."},
    {"with-memory", 0, NULL, SESSION, SC_CLI_SESSION_PAUSE, SC_OPTION_FLAG, SC_FLAG_MEMORY,
     "Keep what processes hold in memory too. Refused: it cannot be had (docs/sessions.md)."},
    {"unpack", 0, NULL, SESSION, SC_CLI_SESSION_PUT, SC_OPTION_FLAG, SC_FLAG_UNPACK,
     "SRC is an archive (.tar, .tar.gz, .tgz, .zip): unpack it inside, into the folder DST."},
    {"parents", 'p', NULL, SESSION, SC_CLI_SESSION_MKDIR, SC_OPTION_FLAG, SC_FLAG_PARENTS,
     "Make the folders above it too; one that is there is fine."},
    {"recursive", 'r', NULL, SESSION, SC_CLI_SESSION_RM, SC_OPTION_FLAG, SC_FLAG_RECURSIVE,
     "Remove folders and all that is in them."},
    {"signal", 's', "NAME", SESSION, SC_CLI_SESSION_KILL, SC_OPTION_TEXT, SC_TEXT_SIGNAL,
     "The signal to send, as in TERM, INT, STOP, CONT. Default: KILL."},
    {"socket", 0, "PATH", SESSION, SC_CLI_SESSIONS | SC_CLI_KEEPER | SC_CLI_RUN | SC_CLI_SERVE | SC_CLI_MCP | SC_CLI_BATCH, SC_OPTION_TEXT, SC_TEXT_SOCKET,
     "The keeper's socket. Default: $SNAPCELL_SOCKET, else /run/snapcell/keeper.sock as root, $XDG_RUNTIME_DIR/snapcell/keeper.sock or /tmp/snapcell-UID/keeper.sock."},
    {"url", 0, "URL", SESSION, SC_CLI_RUN | SC_CLI_BATCH, SC_OPTION_TEXT, SC_TEXT_URL,
     "Run it in a service (docs/http.md): unix:///PATH, or http:// with a loopback address and a port."},
    {"key-file", 0, "FILE", SESSION, SC_CLI_RUN | SC_CLI_BATCH, SC_OPTION_TEXT, SC_TEXT_KEY_FILE,
     "With --url: a file of mode 0600 that holds the key, on one line."},
    {"sessions", 0, "N", SESSION, SC_CLI_KEEPER | SC_CLI_SERVE, SC_OPTION_TEXT, SC_TEXT_SESSIONS,
     "Most sessions at once (1 to 1024; default 64)."},
    {"pool", 0, "N", SESSION, SC_CLI_KEEPER | SC_CLI_SERVE, SC_OPTION_TEXT, SC_TEXT_POOL,
     "Most cells that wait ahead for single runs (0 to 64; default 4)."},
    {"idle-exit", 0, "TIME", SESSION, SC_CLI_KEEPER, SC_OPTION_TEXT, SC_TEXT_IDLE_EXIT,
     "End after so long without sessions and clients. Default: never."},
    {"detach", 0, NULL, SESSION, SC_CLI_KEEPER, SC_OPTION_FLAG, SC_FLAG_DETACH,
     "Leave the terminal's session, and let go of stdout and stderr once clients can connect."},

    {"running", 0, "N", SERVICE, SC_CLI_KEEPER | SC_CLI_SERVE, SC_OPTION_TEXT, SC_TEXT_RUNNING,
     "Most single runs at once for tenants of a service (1 to 1024). Default: 4 for each processor."},
    {"queue", 0, "N", SERVICE, SC_CLI_KEEPER | SC_CLI_SERVE, SC_OPTION_TEXT, SC_TEXT_QUEUE,
     "Most requests of tenants that wait for their turn (0 to 100000; default 1024)."},
    {"min-free", 0, "PERCENT", SERVICE, SC_CLI_KEEPER | SC_CLI_SERVE, SC_OPTION_TEXT, SC_TEXT_MIN_FREE,
     "Start no more cells for tenants while less of the machine's memory is free (0 to 100; default 5)."},
    {"max-load", 0, "LOAD", SERVICE, SC_CLI_KEEPER | SC_CLI_SERVE, SC_OPTION_TEXT, SC_TEXT_MAX_LOAD,
     "The same while the load for each processor is higher, where the kernel tells no pressure (default 16)."},
    {"no-zygotes", 0, NULL, SERVICE, SC_CLI_KEEPER | SC_CLI_SERVE, SC_OPTION_FLAG, SC_FLAG_NO_ZYGOTES,
     "Start an interpreter in each cell that waits, instead of a fork of one that has loaded everything once (docs/warm-cells.md)."},
    {"audit-strict", 0, NULL, SERVICE, SC_CLI_KEEPER | SC_CLI_SERVE, SC_OPTION_FLAG, SC_FLAG_AUDIT_STRICT,
     "Do no work for tenants while the audit stream can not be written."},
    {"audit-size", 0, "SIZE", SERVICE, SC_CLI_KEEPER | SC_CLI_SERVE, SC_OPTION_TEXT, SC_TEXT_AUDIT_SIZE,
     "Begin a new file of the audit stream when it would grow beyond this (4K to 1G; default 64M)."},
    {"expect", 0, "NUMBER:HASH", SERVICE, SC_CLI_AUDIT, SC_OPTION_TEXT, SC_TEXT_EXPECT,
     "The record of this number must be there and have this hash, as an earlier verify told it."},
    {"gate-fd", 0, "N", SERVICE, SC_CLI_KEEPER, SC_OPTION_TEXT, SC_TEXT_GATE_FD,
     "A descriptor that is inherited: the way in of a gate, as `snapcell serve` makes it (docs/keeper.md)."},
    {"state", 0, "DIR", SERVICE, SC_CLI_KEEPER | SC_CLI_KEY | SC_CLI_SERVE | SC_CLI_AUDIT, SC_OPTION_TEXT, SC_TEXT_STATE,
     "Folder for what a service keeps on disk: keys, tenants, audit. Default: $SNAPCELL_STATE, else /var/lib/snapcell/keeper as root, $XDG_STATE_HOME/snapcell or ~/.local/state/snapcell."},
    {"tenant", 0, "NAME", SERVICE, SC_CLI_KEY, SC_OPTION_TEXT, SC_TEXT_TENANT,
     "Whose key it is: letters, digits, -, _ and . ; what a tenant may use stands in tenants.json of the state folder."},
    {"note", 0, "TEXT", SERVICE, SC_CLI_KEY, SC_OPTION_TEXT, SC_TEXT_NOTE, "What the key is for; shown by list."},
    {"expires", 0, "TIME", SERVICE, SC_CLI_KEY, SC_OPTION_TEXT, SC_TEXT_EXPIRES,
     "The key ends after so long, as in 720h. Default: never."},
    {"e2b", 0, NULL, SERVICE, SC_CLI_KEY, SC_OPTION_FLAG, SC_FLAG_E2B,
     "Print the key in the form that clients of E2B take: e2b_ and digits (docs/e2b.md)."},

    {"dev", 0, NULL, SERVICE, SC_CLI_SERVE, SC_OPTION_FLAG, SC_FLAG_DEV,
     "Serve without any configuration: a socket beside the keeper's, 127.0.0.1:8480, and one key, which is printed."},
    {"config", 0, "FILE", SERVICE, SC_CLI_SERVE, SC_OPTION_TEXT, SC_TEXT_CONFIG,
     "Read options from FILE, one a line: NAME = VALUE, or NAME. Those of the command line count more. Read again at SIGHUP."},
    {"http-socket", 0, "PATH", SERVICE, SC_CLI_SERVE, SC_OPTION_TEXT, SC_TEXT_HTTP_SOCKET,
     "Serve HTTP on this unix socket, of mode 0600; the kernel tells who is at its other end."},
    {"listen", 0, "ADDRESS:PORT", SERVICE, SC_CLI_SERVE, SC_OPTION_TEXT, SC_TEXT_LISTEN,
     "Serve HTTP here, as 127.0.0.1:8480 or [::1]:8480; a key is always needed. Port 0 takes a free one."},
    {"host", 0, "NAME[,NAME]", SERVICE, SC_CLI_SERVE, SC_OPTION_TEXT, SC_TEXT_HOST,
     "Names that requests may give as their Host, beside loopback's."},
    {"clients", 0, "N", SERVICE, SC_CLI_SERVE, SC_OPTION_TEXT, SC_TEXT_CLIENTS,
     "Most connections of clients at once, for each listener (1 to 65536; default 4096)."},
    {"drain", 0, "TIME", SERVICE, SC_CLI_SERVE, SC_OPTION_TEXT, SC_TEXT_DRAIN,
     "At the end, how long requests that are under way may take (0s to 1h; default 30s)."},
    {"e2b-debug", 0, NULL, SERVICE, SC_CLI_SERVE, SC_OPTION_FLAG, SC_FLAG_E2B_DEBUG,
     "With --dev: also serve clients of E2B in debug mode (E2B_DEBUG=true), on ports 49983 and 49999 of 127.0.0.1, without a key; every user of this machine then shares one sandbox."},
    {"e2b-degraded", 0, "LIST", SERVICE, SC_CLI_SERVE, SC_OPTION_TEXT, SC_TEXT_E2B_DEGRADED,
     "What sandboxes that are made by the protocol of E2B may go without, as --allow-degraded of other commands; tenants must be allowed it, too."},

    {"help", 'h', NULL, OUTPUT, SC_CLI_ALL, SC_OPTION_FLAG, SC_FLAG_HELP, "Tell about this command."},
    {NULL},
};
/* clang-format on */

/* What a word on the command line came to. */
struct found {
    struct sc_cli_given given;
    const char *metavar; /* NULL: takes no value */
    unsigned which;
};

static const struct sc_cli_option *option_by_name(uint64_t verb, const char *name, size_t len)
{
    for (const struct sc_cli_option *o = OPTIONS; o->name; o++)
        if ((o->verbs & verb) && strlen(o->name) == len && !memcmp(o->name, name, len))
            return o;
    return NULL;
}

bool sc_cli_is_option(const char *name)
{
    size_t len = strlen(name);
    return option_by_name(SC_CLI_ALL, name, len) || sc_limit_row_by_option(name, len);
}

static const struct sc_cli_option *option_by_letter(uint64_t verb, char letter)
{
    for (const struct sc_cli_option *o = OPTIONS; o->name; o++)
        if ((o->verbs & verb) && o->letter && o->letter == letter)
            return o;
    return NULL;
}

bool sc_cli_value_is_optional(const char *metavar)
{
    return metavar && *metavar == '=';
}

void sc_cli_option_form(const struct sc_cli_option *option, char *ret_text, size_t size)
{
    const char *metavar = option->metavar;
    if (sc_cli_value_is_optional(metavar))
        snprintf(ret_text, size, "%s[%s]", option->name, metavar);
    else
        snprintf(ret_text, size, "%s%s%s", option->name, metavar ? " " : "", metavar ? metavar : "");
}

static void found_option(struct found *found, const struct sc_cli_option *option)
{
    *found = (struct found){.given = {.kind = option->kind, .name = option->name},
                            .metavar = option->metavar,
                            .which = option->which};
}

/* A run of a session has some limits of its own; the others are the session's. */
static uint64_t limit_verbs(const struct sc_limit_row *row)
{
    static const char *const of_run[] = {"wall", "cpu", "stdout", "stderr"};
    for (size_t i = 0; i < sizeof of_run / sizeof *of_run; i++)
        if (!strcmp(row->option, of_run[i]))
            return SC_CLI_LIMIT_VERBS | SC_CLI_RUN_LIMIT_VERBS;
    return SC_CLI_LIMIT_VERBS;
}

static bool find_long(struct found *found, uint64_t verb, const char *name, size_t len)
{
    const struct sc_cli_option *option = option_by_name(verb, name, len);
    if (option) {
        found_option(found, option);
        return true;
    }
    const struct sc_limit_row *row = sc_limit_row_by_option(name, len);
    if (row && !(limit_verbs(row) & verb))
        row = NULL;
    if (row)
        *found = (struct found){.given = {.kind = SC_OPTION_SET, .name = row->option}, .metavar = "VALUE"};
    return row != NULL;
}

static const char *limit_metavar(enum sc_limit_kind kind)
{
    return kind == SC_LIMIT_DURATION ? "TIME" : kind == SC_LIMIT_BYTES ? "SIZE" : "N";
}

static void limit_help(const struct sc_limit_row *row, char *ret_text, size_t size)
{
    char least[32], most[32], standard[48] = "";
    sc_limit_format(row, row->min, least, sizeof least);
    sc_limit_format(row, row->max, most, sizeof most);
    if (row->standard == SC_UNSET)
        snprintf(standard, sizeof standard, "; default: none");
    else if (row->standard != SC_DERIVED) {
        snprintf(standard, sizeof standard, "; default ");
        sc_limit_format(row, row->standard, standard + strlen(standard), sizeof standard - strlen(standard));
    }
    snprintf(ret_text, size, "%s (%s to %s%s)", row->description, least, most, standard);
}

void sc_cli_options_each(uint64_t verbs, void (*visit)(void *userdata, const struct sc_cli_option *option),
                         void *userdata)
{
    char help[512];
    for (const struct sc_cli_option *o = OPTIONS; o->name; o++)
        if (o->verbs & verbs)
            visit(userdata, o);
    for (const struct sc_limit_row *row = SC_LIMIT_ROWS; row->option; row++) {
        if (!(limit_verbs(row) & verbs))
            continue;
        limit_help(row, help, sizeof help);
        const struct sc_cli_option option = {.name = row->option,
                                             .metavar = limit_metavar(row->kind),
                                             .group = "Limits",
                                             .verbs = limit_verbs(row),
                                             .kind = SC_OPTION_SET,
                                             .help = help};
        visit(userdata, &option);
    }
}

#define NAMES_MAX 128

struct names {
    const char *v[NAMES_MAX + 1]; /* NULL-terminated; the strings live in the tables */
    size_t n;
};

static void add_name(void *userdata, const struct sc_cli_option *option)
{
    struct names *names = userdata;
    if (names->n < NAMES_MAX)
        names->v[names->n++] = option->name;
}

static int unknown_option(const struct sc_cli_verb *verb, const char *word, size_t len, struct sc_err *err)
{
    struct names names = {0};
    const char *nearest = NULL;
    char bare[64], shown[100];
    size_t dashes = word[1] == '-' ? 2 : 1;
    sc_text_show(shown, sizeof shown, word, len);
    if (len > dashes + 1 && len - dashes < sizeof bare) {
        memcpy(bare, word + dashes, len - dashes);
        bare[len - dashes] = '\0';
        sc_cli_options_each(verb->bit, add_name, &names);
        nearest = sc_text_nearest(bare, names.v);
    }
    if (nearest)
        return sc_err_usage(err, "", "%s: no such option of %s; did you mean --%s?", shown, verb->name,
                            nearest);
    return sc_err_usage(err, "", "%s: no such option of %s; `snapcell help %s` lists them", shown, verb->name,
                        verb->name);
}

/* Stores what was found. `value` is NULL for an option without one. */
static int give(struct sc_cli_args *args, const struct found *found, const char *value)
{
    if (found->given.kind == SC_OPTION_FLAG)
        args->flags |= found->which;
    else if (found->given.kind == SC_OPTION_TEXT)
        args->texts[found->which] = value;
    else {
        struct sc_cli_given *grown = reallocarray(args->given, args->n_given + 1, sizeof *grown);
        if (!grown)
            return -ENOMEM;
        args->given = grown;
        grown[args->n_given] = found->given;
        grown[args->n_given++].value = value;
    }
    return 0;
}

static int bad_value(const char *name, const char *value, const char *what, struct sc_err *err)
{
    char shown[200];
    sc_text_show(shown, sizeof shown, value, strlen(value));
    return sc_err_usage(err, name, "%s: %s: %s", name, shown, what);
}

static int missing_value(const struct found *found, struct sc_err *err)
{
    const struct sc_limit_row *row = sc_limit_row_by_option(found->given.name, strlen(found->given.name));
    if (row) {
        char least[32], most[32];
        sc_limit_format(row, row->min, least, sizeof least);
        sc_limit_format(row, row->max, most, sizeof most);
        return sc_err_usage(err, row->option, "%s: needs a value: %s to %s", row->option, least, most);
    }
    return sc_err_usage(err, found->given.name, "%s: needs a value: %s", found->given.name, found->metavar);
}

/* One option at **at; moves *at behind it. */
static int parse_option(struct sc_cli_args *args, char ***at, struct sc_err *err)
{
    const char *word = **at;
    const char *value = NULL;
    size_t len = strlen(word);
    struct found found;
    if (word[1] == '-') {
        const char *equals = strchr(word, '=');
        if (equals) {
            value = equals + 1;
            len = (size_t)(equals - word);
        }
        if (!find_long(&found, args->verb->bit, word + 2, len - 2))
            return unknown_option(args->verb, word, len, err);
    } else {
        const struct sc_cli_option *option = len == 2 ? option_by_letter(args->verb->bit, word[1]) : NULL;
        if (!option)
            return unknown_option(args->verb, word, len, err);
        found_option(&found, option);
    }
    ++*at;
    if (value && !found.metavar)
        return bad_value(found.given.name, value, "takes no value", err);
    if (sc_cli_value_is_optional(found.metavar) && !value)
        value = "on";
    if (found.metavar && !value) {
        if (!**at)
            return missing_value(&found, err);
        value = *(*at)++;
    }
    if (value && !sc_utf8_valid(value, strlen(value)))
        return bad_value(found.given.name, value, "must be UTF-8", err);
    if (give(args, &found, value) < 0)
        return sc_err_sys(err, -ENOMEM, "options");
    return 0;
}

/* A lone dash is an operand: the program comes on stdin. */
static bool is_option_word(const char *word)
{
    return word[0] == '-' && word[1];
}

/* *at becomes the last word of all; those behind it move up. */
static void put_last(char **at)
{
    char *word = *at;
    for (; at[1]; at++)
        at[0] = at[1];
    at[0] = word;
}

/* Options; what is left are the operands. */
static int parse_from(struct sc_cli_args *args, char **at, struct sc_err *err)
{
    char **end = at;
    while (*end)
        end++;
    while (at < end && !args->dashes) {
        int r = 0;
        if (!strcmp(*at, "--")) {
            args->dashes = true;
            at++;
        } else if (is_option_word(*at)) {
            r = parse_option(args, &at, err);
        } else if (args->verb->bit & SC_CLI_MIXED_VERBS) {
            put_last(at);
            end--;
        } else {
            break;
        }
        if (r < 0) {
            sc_cli_args_fini(args);
            return r;
        }
    }
    args->operands = at;
    args->n_operands = 0;
    while (at[args->n_operands])
        args->n_operands++;
    return 0;
}

int sc_cli_args_parse(struct sc_cli_args *args, const struct sc_cli_verb *verb, char **argv,
                      struct sc_err *err)
{
    *args = (struct sc_cli_args){.verb = verb};
    return parse_from(args, argv, err);
}

int sc_cli_args_shift(struct sc_cli_args *args, const char **ret_first, struct sc_err *err)
{
    if (args->n_operands == 0 || args->dashes)
        return 0;
    *ret_first = args->operands[0];
    return parse_from(args, args->operands + 1, err);
}

void sc_cli_args_fini(struct sc_cli_args *args)
{
    free(args->given);
    *args = (struct sc_cli_args){.verb = args->verb};
}
