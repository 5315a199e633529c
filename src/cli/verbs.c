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
