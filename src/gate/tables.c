/* The bodies and queries that clients send: tables of their fields. Fields that name something of the host
 * are in none: nobody who comes by HTTP has a host path to name. */
#include "gate/body.h"

/* clang-format off */
/* The first RUN_FIELDS_OF_QUEUE are no part of the spec. */
const struct field RUN_FIELDS[] = {
    {"priority", FIELD_INTEGER, "Which of your waiting requests goes first: 0 to 9; default 5.", false, 0, 9},
    {"deadline_ms", FIELD_INTEGER, "How long it may wait for its turn.", false, 1, 3600000},
    {"language", FIELD_SPEC, "Language of the code."},
    {"code", FIELD_SPEC, "Source text to run."},
    {"command", FIELD_SPEC, "A whole command, looked up inside the cell, in the place of code."},
    {"args", FIELD_SPEC, "Arguments behind the code; mode plain."},
    {"env", FIELD_SPEC, "Variables added to the cell's own."},
    {"cwd", FIELD_SPEC, "Folder in the cell where the program starts."},
    {"stdin", FIELD_SPEC, "What the program reads on stdin."},
    {"stdin_b64", FIELD_SPEC, "The same as base64."},
    {"files", FIELD_SPEC, "Files put into the work folder."},
    {"limits", FIELD_SPEC, "Limits of the cell."},
    {"profile", FIELD_SPEC, "System calls that are allowed."},
    {"overflow", FIELD_SPEC, "What happens when output passes its limit."},
    {"disk_backing", FIELD_SPEC, "Where the work folder lies."},
    {"allow_degraded", FIELD_SPEC, "What this run may go without."},
    {"template", FIELD_SPEC, "A template from which what is not said here is taken."},
    {"network", FIELD_SPEC, "Rules of the network."},
    {"mode", FIELD_SPEC,
     "plain, rich or restricted. Default: rich where the language has it and nothing but code is given."},
    {"validate", FIELD_SPEC, "Whether the source is read before it runs."},
    {NULL},
};

const struct field SESSION_FIELDS[] = {
    {"priority", FIELD_INTEGER, "Which of your waiting requests goes first: 0 to 9; default 5.", false, 0, 9},
    {"deadline_ms", FIELD_INTEGER, "How long it may wait for its turn.", false, 1, 3600000},
    {"name", FIELD_NAME, "Its name in the place of a random id; free among the caller's sessions."},
    {"idle_ms", FIELD_NUMBER, "It ends after so long without a request.", false, SC_KEEPER_TIME_MS_MIN,
     SC_KEEPER_IDLE_MS_MAX},
    {"total_ms", FIELD_NUMBER, "It ends after so long in any case.", false, SC_KEEPER_TIME_MS_MIN,
     SC_KEEPER_TOTAL_MS_MAX},
    {"metadata", FIELD_LABELS, "Texts that are kept with the session and told again."},
    {"from", FIELD_NAME,
     "A snapshot that it begins from. All that describes a place is the snapshot's then, and not allowed here."},
    {"forkable", FIELD_SPEC, "Whether it can be forked and kept as snapshots; that costs it some walls."},
    {"inherit_secrets", FIELD_BOOL, "With from: also of a snapshot of a session that was given secrets."},
    {"secrets", FIELD_SPEC, "Variables whose values are shown and stored nowhere."},
    {"env", FIELD_SPEC, "Variables added to the cell's own."},
    {"cwd", FIELD_SPEC, "Folder in the cell where programs start."},
    {"files", FIELD_SPEC, "Files put into the work folder."},
    {"limits", FIELD_SPEC, "Limits of the cell."},
    {"profile", FIELD_SPEC, "System calls that are allowed."},
    {"overflow", FIELD_SPEC, "What happens when output passes its limit."},
    {"disk_backing", FIELD_SPEC, "Where the work folder lies."},
    {"allow_degraded", FIELD_SPEC, "What this session may go without."},
    {"template", FIELD_SPEC, "A template from which what is not said here is taken."},
    {"network", FIELD_SPEC, "Rules of the network."},
    {"validate", FIELD_SPEC, "Whether source is read before it runs."},
    {NULL},
};

const struct field FORK_FIELDS[] = {
    {"copies", FIELD_INTEGER, "How many. Default 1.", false, 1, SC_KEEPER_COPIES_MAX},
    {"name", FIELD_NAME, "The copy's name in the place of a random id; of several, with -1, -2, … behind it."},
    {"idle_ms", FIELD_NUMBER, "Each ends after so long without a request.", false, SC_KEEPER_TIME_MS_MIN,
     SC_KEEPER_IDLE_MS_MAX},
    {"total_ms", FIELD_NUMBER, "Each ends after so long in any case.", false, SC_KEEPER_TIME_MS_MIN,
     SC_KEEPER_TOTAL_MS_MAX},
    {"metadata", FIELD_LABELS, "Texts that are kept with each copy and told again."},
    {"forkable", FIELD_BOOL, "Whether the copies can be forked in turn."},
    {"inherit_secrets", FIELD_BOOL, "Also of a session that was given secrets, which the copies then have, too."},
    {NULL},
};

const struct field SNAPSHOT_FIELDS[] = {
    {"name", FIELD_NAME, "Its name in the place of a random id."},
    {"metadata", FIELD_LABELS, "Texts that are kept with the snapshot and told again."},
    {"inherit_secrets", FIELD_BOOL, "Also of a session that was given secrets, which the snapshot then has, too."},
    {NULL},
};

const struct field ROLLBACK_FIELDS[] = {
    {"snapshot", FIELD_NAME, "What the session is to be.", true},
    {"inherit_secrets", FIELD_BOOL, "Also where the snapshot is of a session that was given secrets."},
    {NULL},
};

const struct field RESUME_FIELDS[] = {
    {"priority", FIELD_INTEGER, "Which of your waiting requests goes first: 0 to 9; default 5.", false, 0, 9},
    {"deadline_ms", FIELD_INTEGER, "How long it may wait for its turn.", false, 1, 3600000},
    {"idle_ms", FIELD_NUMBER, "It ends after so long without a request. Default: as before.", false,
     SC_KEEPER_TIME_MS_MIN, SC_KEEPER_IDLE_MS_MAX},
    {"total_ms", FIELD_NUMBER, "It ends after so long in any case. Default: as before.", false,
     SC_KEEPER_TIME_MS_MIN, SC_KEEPER_TOTAL_MS_MAX},
    {"secrets", FIELD_SPEC, "Those that it had, which are not stored, and more."},
    {NULL},
};

const struct field CODE_FIELDS[] = {
    {"language", FIELD_SPEC, "Language of the code."},
    {"code", FIELD_SPEC, "Source text to run.", true},
    {"context", FIELD_NAME, "The interpreter that keeps its variables; default: the language's own."},
    {"mode", FIELD_SPEC, "rich or restricted. Default rich."},
    {"validate", FIELD_SPEC, "Whether the source is read before it runs."},
    {"stdin", FIELD_SPEC, "What the code reads on stdin."},
    {"stdin_b64", FIELD_SPEC, "The same as base64."},
    {"limits", FIELD_SPEC, "wall_ms, cpu_ms, stdout_bytes, stderr_bytes of this run."},
    {NULL},
};

const struct field EXEC_FIELDS[] = {
    {"command", FIELD_SPEC, "A whole command, looked up inside the cell.", true},
    {"env", FIELD_SPEC, "Variables added to the session's."},
    {"cwd", FIELD_SPEC, "Folder in the cell where it starts."},
    {"stdin", FIELD_SPEC, "What it reads on stdin."},
    {"stdin_b64", FIELD_SPEC, "The same as base64."},
    {"limits", FIELD_SPEC, "wall_ms, cpu_ms, stdout_bytes, stderr_bytes of this command."},
    {NULL},
};

const struct field COMMAND_FIELDS[] = {
    {"command", FIELD_SPEC, "A whole command, looked up inside the cell.", true},
    {"env", FIELD_SPEC, "Variables added to the session's."},
    {"cwd", FIELD_SPEC, "Folder in the cell where it starts."},
    {"limits", FIELD_SPEC, "wall_ms, stdout_bytes, stderr_bytes of this command."},
    {"pty", FIELD_BOOL, "It gets a terminal of the cell's own."},
    {"rows", FIELD_INTEGER, "Of the terminal.", false, 1, 10000},
    {"cols", FIELD_INTEGER, "Of the terminal.", false, 1, 10000},
    {"stdin", FIELD_BOOL, "Whether input will follow. Default false: stdin is at its end."},
    {"background", FIELD_BOOL, "It goes on by itself; its output is dropped."},
    {NULL},
};

const struct field CHECK_FIELDS[] = {
    {"language", FIELD_SPEC, "Language of the code.", true},
    {"code", FIELD_SPEC, "Source text to read.", true},
    {"validate", FIELD_SPEC, "Rule sets and lists. Default: the set default."},
    {"allow_degraded", FIELD_SPEC, "What the cell in which it is read may go without."},
    {NULL},
};

static const char *const COMPARES[] = {"none", "exact", "trimmed", "checker", NULL};
const struct field JUDGE_FIELDS[] = {
    {"priority", FIELD_INTEGER, "Which of your waiting requests goes first: 0 to 9; default 5.", false, 0, 9},
    {"deadline_ms", FIELD_INTEGER, "How long it may wait for its turn.", false, 1, 3600000},
    {"build", FIELD_TASK, "A request that makes the program, and in outputs what it leaves for the runs."},
    {"run", FIELD_TASK, "A request: what runs for each test, and its limits.", true},
    {"tests", FIELD_TASK, "Each with its stdin, args, limits, and what is expected.", true},
    {"checker", FIELD_TASK, "A request: a program that judges outputs."},
    {"compare", FIELD_WORD, "How outputs of tests that do not say are compared.", .words = COMPARES},
    {"stop_on_first_failure", FIELD_BOOL, "After a test that is not accepted none is begun."},
    {"jobs", FIELD_INTEGER, "Tests run at once. Default 1.", false, 1, 64},
    {"output_bytes", FIELD_INTEGER, "So much of each test's output stands in the report. Default 0.", false, 0, 65536},
    {NULL},
};

/* Of build, run and checker. */
const struct field PART_FIELDS[] = {
    {"language", FIELD_SPEC, "Language of the code."},
    {"code", FIELD_SPEC, "Source text to run."},
    {"command", FIELD_SPEC, "A whole command, looked up inside the cell, in the place of code."},
    {"args", FIELD_SPEC, "Arguments behind the code."},
    {"env", FIELD_SPEC, "Variables added to the cell's own."},
    {"cwd", FIELD_SPEC, "Folder in the cell where the program starts."},
    {"stdin", FIELD_SPEC, "What a build reads on stdin; tests have their own."},
    {"stdin_b64", FIELD_SPEC, "The same as base64."},
    {"files", FIELD_SPEC, "Files put into the work folder."},
    {"limits", FIELD_SPEC, "Limits of the cell."},
    {"profile", FIELD_SPEC, "System calls that are allowed."},
    {"overflow", FIELD_SPEC, "What happens when output passes its limit."},
    {"disk_backing", FIELD_SPEC, "Where the work folder lies."},
    {"allow_degraded", FIELD_SPEC, "What these cells may go without."},
    {"network", FIELD_SPEC, "Rules of the network."},
    {"mode", FIELD_SPEC, "plain, which is also the default."},
    {NULL},
};

const struct field INTERRUPT_FIELDS[] = {
    {"context", FIELD_NAME, "Only what runs in this context. Default: in all."},
    {NULL},
};

const struct field NETWORK_FIELDS[] = {
    {"network", FIELD_SPEC, "Other rules, in place of those it was started with.", true},
    {NULL},
};

static const char *const WHOM[] = {"tree", "main", "group", NULL};
const struct field SIGNAL_FIELDS[] = {
    {"signal", FIELD_TEXT, "A signal's name, as TERM, INT, KILL, STOP, CONT.", true, 1, 16},
    {"whom", FIELD_WORD, "The command and all that came from it, it alone, or its process group.", .words = WHOM},
    {NULL},
};

const struct field RESIZE_FIELDS[] = {
    {"rows", FIELD_INTEGER, "Of the terminal.", true, 1, 10000},
    {"cols", FIELD_INTEGER, "Of the terminal.", true, 1, 10000},
    {NULL},
};

#define PATH_MOST 4095
const struct field CHANGE_FIELDS[] = {
    {"to", FIELD_TEXT, "Its new path, as rename(2) does it.", false, 1, PATH_MOST},
    {"mode", FIELD_MODE, "Its new permission bits, as octal text."},
    {NULL},
};

const struct field LIST_QUERY[] = {
    {"prefix", FIELD_NAME, "Only those whose id or name begins so."},
    {"metadata", FIELD_TEXT, "Only those with this metadata: NAME or NAME=VALUE. A paused session has none.", false, 1, 400},
    {"limit", FIELD_INTEGER, "At most so many.", false, 1, 100000},
    {NULL},
};

const struct field PATH_QUERY[] = {
    {"path", FIELD_TEXT, "In the cell: absolute, or below the work folder, which is also the default.", false, 1, PATH_MOST},
    {NULL},
};

#define SIZE_MOST 9007199254740991.0 /* the largest that a double tells from its neighbours */
const struct field READ_QUERY[] = {
    {"offset", FIELD_INTEGER, "Bytes that are left out at the beginning.", false, 0, SIZE_MOST},
    {"length", FIELD_INTEGER, "At most so many bytes.", false, 0, SIZE_MOST},
    {NULL},
};

const struct field WRITE_QUERY[] = {
    {"mode", FIELD_MODE, "Permission bits of a file that is made, as octal text. Default 0644."},
    {"append", FIELD_BOOL, "Behind what is there, in the place of replacing it."},
    {NULL},
};

const struct field MKDIR_QUERY[] = {
    {"mode", FIELD_MODE, "Permission bits, as octal text. Default 0755."},
    {"parents", FIELD_BOOL, "Also the folders above it; one that is there is fine."},
    {NULL},
};

const struct field REMOVE_QUERY[] = {
    {"recursive", FIELD_BOOL, "Also a folder with all that is in it."},
    {NULL},
};

const struct field BATCH_QUERY[] = {
    {"at_once", FIELD_INTEGER, "So many jobs at once. Default 8.", false, 1, SC_GATE_BATCH_LANES_MAX},
    {"same_once", FIELD_BOOL, "Jobs of the same content are run once."},
    {"stop_first", FIELD_BOOL, "Stop at the first job that is not ok."},
    {"priority", FIELD_INTEGER, "Which of your waiting requests goes first: 0 to 9; default 5.", false, 0, 9},
    {"deadline_ms", FIELD_INTEGER, "How long each may wait for its turn.", false, 1, 3600000},
    {NULL},
};

const struct field STDIN_QUERY[] = {
    {"end", FIELD_BOOL, "The input is at its end with this body."},
    {NULL},
};
/* clang-format on */

const struct field MCP_QUERY[] = {
    {"template", FIELD_TEXT, "The template of the client's cell.", false, 1, 128},
    {"spec", FIELD_TEXT, "The body of POST /v1/sessions, as JSON, for the client's cell.", false, 1, URI_MAX},
    {NULL},
};
