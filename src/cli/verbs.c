#include "cli/cli.h"

#include <string.h>

/* clang-format off */
const struct sc_cli_verb SC_CLI_VERBS[] = {
    {"run", SC_CLI_RUN,
     "run [OPTION…] FILE [ARG…]\n"
     "run [OPTION…] -c CODE --python|--node|--bash [ARG…]\n"
     "run [OPTION…] --python|--node|--bash - [ARG…]\n"
     "run [OPTION…] -- COMMAND [ARG…]",
     "Run a program in a cell.",
     "Options stand before FILE; all that follows it is the program's. The file is copied into the work folder "
     "/home/user, where the program starts. A COMMAND is looked up inside the cell; one that names a file of "
     "yours, as in ./program, is brought along.\n"
     "stdout and stderr of the program come out as they are written. When one of them is a terminal, control "
     "bytes are shown instead of sent, unless --raw.\n"
     "Exit status: the program's; 124 out of time (wall or cpu), 137 ended for memory, output, disk or "
     "processes, 128+N ended by signal N, 126 refused before it ran, 130 cancelled, 125 Snapcell itself "
     "failed, 2 bad usage. A program may exit with any of these too: --json tells them apart.",
     sc_cli_run},
    {"plan", SC_CLI_PLAN,
     "plan [OPTION…] …as for run…",
     "Print exactly what run would do, and do nothing.",
     "",
     sc_cli_plan},
    {"shell", SC_CLI_SHELL,
     "shell [OPTION…] [-- COMMAND [ARG…]]",
     "Open an interactive terminal in a cell.",
     "The terminal is one of the cell's own; yours is only relayed to it. Without COMMAND it is bash. The wall "
     "limit is one hour unless given. What you see comes from the cell and drives your terminal, as with a "
     "remote login: use run for output that you do not want to trust.",
     sc_cli_shell},
    {"judge", SC_CLI_JUDGE,
     "judge [OPTION…] TASK.json",
     "Build a program once, run it for many tests, and judge each.",
     "The task says what is built, what runs, and what each test gives and expects (docs/judge.md). Each test "
     "runs in a fresh cell, where what was built is read-only in /build. One line a test: verdict, name, "
     "processor time, wall time, peak of memory, and why.\n"
     "Exit status: 0 when every test is accepted, 1 when not, 130 cancelled, 125 Snapcell itself failed, 2 bad usage.",
     sc_cli_judge},
    {"batch", SC_CLI_BATCH,
     "batch [OPTION…] -o RESULTS.jsonl JOBS.jsonl",
     "Run many jobs, some at a time, and go on where it was interrupted.",
     "A job a line: `{\"id\": …, \"spec\": {…}}`, a request as for run --spec, or `{\"id\": …, \"judge\": {…}}`, a task of "
     "judge (docs/batch.md). Results are written as they come, each with its id. Code is run by a keeper, warm where it can be: the one of --socket, else one "
     "that this command starts and ends. With --url a service runs them all.\n"
     "Exit status: 0 every job is ok or accepted, 1 some are not, 130 interrupted, 125 Snapcell itself failed, 2 bad usage.",
     sc_cli_batch},
    {"session", SC_CLI_SESSION,
     "session start|ls|run|exec|put|get|rm|mkdir|mv|watch|info|ps|kill|restart|interrupt|fork|snapshot|rollback|pause|resume|end …",
     "Work in a cell that stays: it keeps files, processes and interpreter state between commands.",
     "`session start` makes one and prints its ID; the other words name it. A session ends by `session end`, or "
     "after its idle or total time. A keeper process owns the sessions of a user; the first `session start` "
     "starts it.\n"
     "Paths are in the cell: absolute, or relative to the work folder /home/user.\n"
     "Exit status: of run and exec as of `snapcell run`; of the others 0, 1 when the cell's files answered with "
     "an error, 2 for bad usage or an unknown session, 125 when Snapcell itself failed.",
     sc_cli_session},
    {"session start", SC_CLI_SESSION_START,
     "session start [OPTION…]",
     "Make a session and print its ID.",
     "Limits are the whole session's; wall, cpu, stdout and stderr are what each of its runs gets unless it says "
     "otherwise.",
     sc_cli_session},
    {"session ls", SC_CLI_SESSION_LS,
     "session ls [OPTION…] [ID [PATH]]",
     "List your sessions, or a folder of one.",
     "",
     sc_cli_session},
    {"session run", SC_CLI_SESSION_RUN,
     "session run ID [OPTION…] FILE\n"
     "session run ID [OPTION…] -c CODE --python|--node|--bash\n"
     "session run ID [OPTION…] --python|--node|--bash -",
     "Run code in one of the session's interpreters, which keeps its state.",
     "Output is passed on as it comes; behind it stands the value of the last expression, as in a notebook. "
     "SIGINT interrupts the run, and the interpreter keeps its state; a second one leaves it.",
     sc_cli_session},
    {"session exec", SC_CLI_SESSION_EXEC,
     "session exec ID [OPTION…] -- COMMAND [ARG…]",
     "Run a command in the session.",
     "stdin is passed on as it comes, unless it is a terminal and --pty is not given. A command that gets stdin "
     "from a pipe, or a terminal, is not limited in time and output unless an option says so, and has no limit of "
     "processor time.",
     sc_cli_session},
    {"session put", SC_CLI_SESSION_PUT,
     "session put ID [OPTION…] SRC [DST]",
     "Copy a file or a folder of yours into the session.",
     "DST is the new path; without it the name stays and it lies in the work folder. SRC may be - for stdin; DST "
     "must then be given. A folder is sent as one stream: its files and folders, no links and no special files.",
     sc_cli_session},
    {"session get", SC_CLI_SESSION_GET,
     "session get ID [OPTION…] PATH [DST]",
     "Copy a file or a folder out of the session.",
     "DST is the new path; without it the name stays and it lies in the current folder; - is stdout, for a file. "
     "Of a folder only files and folders are taken, and nothing that is there is replaced.",
     sc_cli_session},
    {"session rm", SC_CLI_SESSION_RM, "session rm ID [OPTION…] PATH…", "Remove files of the session.", "",
     sc_cli_session},
    {"session mkdir", SC_CLI_SESSION_MKDIR, "session mkdir ID [OPTION…] PATH…", "Make folders in the session.", "",
     sc_cli_session},
    {"session mv", SC_CLI_SESSION_MV, "session mv ID OLD NEW", "Rename a file of the session.", "",
     sc_cli_session},
    {"session watch", SC_CLI_SESSION_WATCH, "session watch ID [OPTION…] [PATH]",
     "Tell what changes in a folder of the session, a line each, until it is interrupted.", "", sc_cli_session},
    {"session info", SC_CLI_SESSION_INFO, "session info ID", "Tell about a session in JSON.", "", sc_cli_session},
    {"session ps", SC_CLI_SESSION_PS, "session ps ID", "List the session's commands.",
     "Those that `session exec` started with --background, or with stdin or a terminal.", sc_cli_session},
    {"session kill", SC_CLI_SESSION_KILL, "session kill ID [OPTION…] NUMBER",
     "Send a signal to a command of the session and all that came from it.", "", sc_cli_session},
    {"session restart", SC_CLI_SESSION_RESTART, "session restart ID CONTEXT",
     "Forget a context's state; its next run starts a new interpreter.", "", sc_cli_session},
    {"session interrupt", SC_CLI_SESSION_INTERRUPT, "session interrupt ID [CONTEXT]",
     "Interrupt what runs in a context, or in all; their state stays.", "", sc_cli_session},
    {"session network", SC_CLI_SESSION_NETWORK, "session network ID [OPTION…]",
     "Give a living session other rules of the network, in place of those it has.",
     "What they do not allow is cut at once. Rules of its template stay in force. Only of a session that was started with a "
     "network; `--network none` takes it away.",
     sc_cli_session},
    {"session fork", SC_CLI_SESSION_FORK, "session fork ID [OPTION…]",
     "Make copies of a living session: its files, and its Python interpreter with all its variables.",
     "Prints the ID of each. The session must have been started with --forkable, and nothing may be under way; what cannot be "
     "carried over (threads, other processes, sockets, other contexts) is refused, and the session goes on. ID may be a snapshot.",
     sc_cli_session},
    {"session snapshot", SC_CLI_SESSION_SNAPSHOT, "session snapshot ID [OPTION…]",
     "Keep a copy of a living session as it is now, and print its ID.",
     "Nothing runs in it. `session start --from` and `session fork` make sessions of it, `session rollback` puts one in a session's place, "
     "`session end` drops it; unused for 24 hours it ends by itself.",
     sc_cli_session},
    {"session rollback", SC_CLI_SESSION_ROLLBACK, "session rollback ID [OPTION…] SNAPSHOT",
     "Put a copy of a snapshot in a session's place; what the session was is gone.", "", sc_cli_session},
    {"session pause", SC_CLI_SESSION_PAUSE, "session pause ID",
     "Put a session's files on disk, and end its cell.",
     "The work folder and /tmp are kept, with the session's options and the names of its contexts; variables and "
     "processes are not. Nothing may be under way. When it cannot be paused, it goes on as before.",
     sc_cli_session},
    {"session resume", SC_CLI_SESSION_RESUME, "session resume ID [OPTION…]",
     "Make a new cell of a session that was paused, with the same files.",
     "What lies on disk stays there until the next pause, or until the session is ended.", sc_cli_session},
    {"session end", SC_CLI_SESSION_END, "session end ID", "End a session and all that is in it, or what was paused.", "",
     sc_cli_session},
    {"keeper", SC_CLI_KEEPER,
     "keeper [OPTION…]",
     "Own the sessions of this user, and serve `snapcell session`.",
     "It serves until SIGTERM, SIGINT or SIGHUP, then ends every session and leaves nothing behind. Only its own user and root "
     "may connect.",
     sc_cli_keeper},
    {"serve", SC_CLI_SERVE,
     "serve --dev [OPTION…]\n"
     "serve --http-socket PATH [--listen ADDRESS:PORT] [OPTION…]",
     "Serve Snapcell by HTTP (docs/http.md).",
     "It starts a keeper and a gate, and starts anew whichever of them dies. Once it serves it prints a line for each "
     "listener, and with --dev one with the key. Listeners that a service manager hands over (LISTEN_FDS) take the "
     "place of --http-socket and --listen.\n"
     "SIGTERM and SIGINT let requests finish, for --drain at most, then end every session. SIGHUP starts a new gate "
     "beside the old one, which finishes what it has.",
     sc_cli_serve},
    {"gate", SC_CLI_GATE,
     "gate",
     "The half of a service that speaks to clients; started by serve, never by hand.",
     "",
     sc_cli_gate},
    {"key", SC_CLI_KEY,
     "key add --tenant NAME [OPTION…]\n"
     "key list [OPTION…]\n"
     "key revoke [OPTION…] ID",
     "Make, list and revoke the keys of a service's clients.",
     "`add` prints the key, alone on stdout and this once: only its SHA-256 is kept. A keeper that serves takes up "
     "a change within a tenth of a second of its next request. `list` also reads tenants.json and tells what is "
     "wrong in it (docs/operate.md).",
     sc_cli_key},
    {"mcp", SC_CLI_MCP,
     "mcp [OPTION…]",
     "Serve the Model Context Protocol on stdin and stdout.",
     "For clients that start a server of their own (docs/mcp.md). A session stands behind the client; it is made "
     "by the first tool that needs it, and is gone with the client. Limits are the whole session's; wall, 30s "
     "unless given, is what a run gets that does not ask for another.\n"
     "The session belongs to a keeper that only this process has, unless --socket names another.\n"
     "Exit status: 0 when stdin has ended, 130 after a signal, 2 bad usage, 125 Snapcell itself failed.",
     sc_cli_mcp},
    {"audit", SC_CLI_AUDIT,
     "audit verify [OPTION…]",
     "Check that the audit stream of a service is whole.",
     "Reads all its files: every record must hold the hash of the one before (docs/operate.md). Prints how many there "
     "are, and number and hash of the last: kept elsewhere and given to --expect later, they show whether the end was cut off or "
     "all was written anew.\n"
     "Exit status: 0 it is whole, 1 it is not, 2 bad usage, 125 it could not be read.",
     sc_cli_audit},
    {"check", SC_CLI_CHECK,
     "check [OPTION…] FILE\n"
     "check [OPTION…] -c CODE --python|--node|--bash\n"
     "check [OPTION…] --python|--node|--bash -",
     "Read source by rules, and run nothing.",
     "Python, JavaScript, TypeScript and Bash are read, in a cell of their own. Without --rules and --deny-… the "
     "built-in set default is used (docs/code-rules.md). It is advice and early refusal: what holds a program is "
     "its cell, whatever this finds.\n"
     "Exit status: 0 nothing but notes was found, 1 there are findings or a syntax error, 2 bad usage, 125 Snapcell "
     "itself failed.",
     sc_cli_check},
    {"template", SC_CLI_TEMPLATE,
     "template ls [OPTION…]\n"
     "template show NAME\n"
     "template build [OPTION…] NAME\n"
     "template test [OPTION…] NAME\n"
     "template import [OPTION…] NAME SOURCE\n"
     "template rm NAME",
     "Named recipes of cells: a root file system, a language, what is loaded beforehand, defaults.",
     "`run --template NAME` uses one (docs/templates.md). `build` fetches and unpacks what it names, once, and "
     "does nothing while that has not changed. `test` makes a cell of it and loads its prelude. `import` makes one of an "
     "image: an OCI layout (a folder or an archive), or an archive of `docker save`. `rm` removes a template of "
     "yours and what was built for it; no cell may still use it.\n"
     "Limits are those of the cell in which it is built or tested. Exit status: 0; of test 1 when the template is "
     "broken, after what its prelude said; 125 when a build failed; 2 bad usage.",
     sc_cli_template},
    {"doctor", SC_CLI_DOCTOR,
     "doctor [OPTION…]",
     "Tell what this host offers and lacks, and how to mend it.",
     "Exit status: 0 when cells can be made here, 1 when something is in the way.",
     sc_cli_doctor},
    {"version", SC_CLI_VERSION, "version", "Print the version.", "", sc_cli_version},
    {"help", SC_CLI_HELP, "help [COMMAND]", "Tell about Snapcell or one of its commands.", "", sc_cli_help},
    {NULL},
};
/* clang-format on */

const struct sc_cli_verb *sc_cli_verb_by_name(const char *name)
{
    for (const struct sc_cli_verb *verb = SC_CLI_VERBS; verb->name; verb++)
        if (!strcmp(verb->name, name))
            return verb;
    return NULL;
}
