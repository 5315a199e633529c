/* Syntax errors in the interpreter's own words: it reads the source in the checker's cell, and runs nothing
 * of it. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "snap/checker_parts.h"

/* Says message and line of what it refuses. 0x2000 is PyCF_ALLOW_TOP_LEVEL_AWAIT. Warnings are the run's to
 * tell. */
static const char PYTHON[] =
    "import sys, warnings\n"
    "warnings.simplefilter('ignore')\n"
    "try:\n"
    "    compile(sys.stdin.buffer.read(), '<source>', 'exec', int(sys.argv[1]), True)\n"
    "except SyntaxError as e:\n"
    "    print(e.lineno or 0, e.msg)\n"
    "except (ValueError, OverflowError, RecursionError, MemoryError) as e:\n"
    "    print(0, e or type(e).__name__)\n";

/* ---- what it says ---- */

static const char *line_end(const char *text, const char *end)
{
    const char *newline = memchr(text, '\n', (size_t)(end - text));
    return newline ? newline : end;
}

static const char *find(const char *text, const char *end, const char *what)
{
    return text < end ? memmem(text, (size_t)(end - text), what, strlen(what)) : NULL;
}

static void say(char ret_error[512], const char *message, size_t len, unsigned long line)
{
    char shown[400];
    sc_text_show(shown, sizeof shown, message, len);
    if (line)
        snprintf(ret_error, 512, "Syntax error: %s (line %lu)", shown, line);
    else
        snprintf(ret_error, 512, "Syntax error: %s", shown);
}

/* "3 invalid syntax" */
static void python_words(const char *words, const char *end, char ret_error[512])
{
    char *after;
    unsigned long line = strtoul(words, &after, 10);
    if (after == words || *after != ' ')
        return;
    say(ret_error, after + 1, (size_t)(line_end(after + 1, end) - after - 1), line);
}

/* "[stdin]:3", the line, a mark, "SyntaxError: …". What only says that the source is a module is no error: it
 * may be run as one. */
static void node_words(const char *words, const char *end, char ret_error[512])
{
    static const char *const of_modules[] = {"outside a module", "await is only valid",
                                             "Unexpected token 'export'", "import.meta"};
    static const char place[] = "[stdin]:", error[] = "SyntaxError: ";
    const char *message = find(words, end, error), *at = find(words, end, place);
    if (!message)
        return;
    message += strlen(error);
    const char *stop = line_end(message, end);
    for (size_t i = 0; i < sizeof of_modules / sizeof of_modules[0]; i++)
        if (find(message, stop, of_modules[i]))
            return;
    say(ret_error, message, (size_t)(stop - message), at ? strtoul(at + strlen(place), NULL, 10) : 0);
}

/* "bash: line 3: syntax error near unexpected token `)'" */
static void bash_words(const char *words, const char *end, char ret_error[512])
{
    static const char place[] = "line ";
    char *after;
    const char *at = find(words, end, place);
    if (!at)
        return;
    unsigned long line = strtoul(at + strlen(place), &after, 10);
    if (*after == ':' && after[1] == ' ')
        after += 2;
    say(ret_error, after, (size_t)(line_end(after, end) - after), line);
}

/* Comes from inside: bounded, and shown as one line. `words` is followed by a NUL. */
void sc_check_syntax_words(enum sc_lang lang, const char *words, size_t len, char ret_error[512])
{
    const char *end = words + len;
    ret_error[0] = '\0';
    if (lang == SC_LANG_PYTHON)
        python_words(words, end, ret_error);
    else if (lang == SC_LANG_NODE)
        node_words(words, end, ret_error);
    else
        bash_words(words, end, ret_error);
}

/* ---- asking ---- */

static void on_output(void *userdata, enum sc_stream_number stream, const void *data, size_t len)
{
    struct sc_checker *checker = userdata;
    struct sc_check_job *job = checker->jobs;
    if (job && job->begun && !job->asked) /* what does not fit is left out */
        (void)sc_buf_add(&job->words, data, len);
    sc_live_took(checker->live, checker->interpreter.op, stream, len);
}

static void on_room(void *userdata, enum sc_stream_number stream)
{
    struct sc_checker *checker = userdata;
    struct sc_check_input *input = &checker->interpreter;
    if (stream != SC_STREAM_IN)
        return;
    sc_check_push(checker, input);
    if (input->is_open && input->sent == input->len) {
        sc_live_close_input(checker->live, input->op);
        input->is_open = false;
    }
}

static void on_exited(void *userdata, const struct sc_command_end *end)
{
    struct sc_checker *checker = userdata;
    struct sc_check_job *job = checker->jobs;
    if (!job || !job->begun || job->asked)
        return;
    /* Python's script tells by its words alone, the others by their exit. */
    if (job->words.len && (job->lang == SC_LANG_PYTHON || end->wait_status != 0))
        sc_check_syntax_words(job->lang, (const char *)job->words.data, job->words.len,
                              job->report.syntax_error);
}

/* Only now is the next one asked: until here what comes belongs to this one. */
static void on_gone(void *userdata)
{
    struct sc_checker *checker = userdata;
    checker->interpreter.is_open = false;
    if (checker->jobs && checker->jobs->begun)
        checker->jobs->asked = true;
}

/* No such interpreter: the run will say so. */
static void on_failed(void *userdata, const struct sc_msg_failed *failed)
{
    (void)failed;
    on_gone(userdata);
}

int sc_check_ask(struct sc_checker *checker, struct sc_check_job *job, struct sc_err *err)
{
    static const struct sc_live_op_events events = {
        .output = on_output, .room = on_room, .exited = on_exited, .gone = on_gone, .failed = on_failed};
    char room[SC_PLAN_INTERPRETER_MAX];
    const char *program = sc_plan_interpreter(checker->plan, job->lang, room);
    const char *const python[] = {program, "-I", "-S", "-c", PYTHON, job->notebook ? "8192" : "0", NULL};
    const char *const node[] = {program, "--check", "-", NULL};
    const char *const bash[] = {program, "--norc", "-n", NULL};
    const struct sc_command command = {
        .argv = job->lang == SC_LANG_PYTHON ? python
                : job->lang == SC_LANG_NODE ? node
                                            : bash,
        .flags = SC_COMMAND_STDIN | SC_COMMAND_MERGE,
        .wall_ns = SC_SYNTAX_WALL_NS,
    };
    struct sc_check_input *input = &checker->interpreter;
    int r = sc_live_command(checker->live, &command, &events, checker, &input->op, err);
    if (r < 0)
        return r;
    input->is_open = true;
    input->data = job->message + job->source_at;
    input->len = job->message_len - job->source_at;
    input->sent = 0;
    on_room(checker, SC_STREAM_IN);
    return 0;
}
