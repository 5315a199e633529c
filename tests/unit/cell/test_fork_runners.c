/* The runners of all languages, forked into cells of their own: what they say, what their forks can do there,
 * and that two of them are not alike. As root and as an ordinary user. */
#include "live_cell.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

struct language {
    const char *const *argv;
    const char *const *env;
    const char *prelude; /* draws what the forks draw, too */
    const char *draw;    /* prints something that no two may print */
    const char *work;    /* prints "well" */
};

static const char *const PYTHON_ARGV[] = {"python3", "/snapcell/python/runner.py", "--zygote", NULL};
static const char *const NODE_ARGV[] = {
    "node", "--single-threaded", "--v8-pool-size=0", "/snapcell/node/runner.js", "--zygote", NULL};
static const char *const NODE_ENV[] = {"LD_PRELOAD=/snapcell/fork/libsnapcell-nodefork.so", NULL};
static const char *const BASH_ARGV[] = {"bash",     "--norc", "--noprofile", "/snapcell/bash/runner.bash",
                                        "--zygote", NULL};
static const char *const NO_ENV[] = {NULL};

static const struct language PYTHON = {
    .argv = PYTHON_ARGV,
    .env = NO_ENV,
    .prelude = "import random, ssl, uuid, sqlite3, tempfile, subprocess, threading, time, os\n"
               "random.random(), ssl.RAND_bytes(1), uuid.uuid1()\n"
               "base = sqlite3.connect(':memory:')\nbase.execute('select random()'); "
               "base.close()\ntempfile.mktemp()\nbegan, own = time.monotonic(), os.getpid()\n",
    .draw = "print(random.random(), ssl.RAND_bytes(8), uuid.uuid1(), tempfile.mktemp(), "
            "sqlite3.connect(':memory:').execute('select random()').fetchone())",
    .work = "assert os.readlink('/proc/self') == str(os.getpid()) != str(own)\n"
            "thread = threading.Thread(target=time.sleep, args=(0.01,)); thread.start(); thread.join()\n"
            "assert subprocess.check_output(['echo', 'hi']) == b'hi\\n'\n"
            "open('file', 'w').write('text')\nassert open('/home/user/file').read() == 'text'\n"
            "assert time.monotonic() > began\nprint('well')",
};

static const struct language NODE = {
    .argv = NODE_ARGV,
    .env = NODE_ENV,
    .prelude = "const crypto = require('crypto'); Math.random(); crypto.randomUUID(); crypto.randomInt(9);",
    .draw =
        "console.log(Math.random(), crypto.randomUUID(), crypto.randomInt(2 ** 40), crypto.randomBytes(8))",
    .work =
        "if (process.pid !== Number(require('fs').readlinkSync('/proc/self'))) throw 1;"
        "await new Promise((done) => setTimeout(done, 10));"
        "await require('fs').promises.writeFile('file', 'text');"
        "if (String(await require('fs').promises.readFile('/home/user/file')) !== 'text') throw 2;"
        "if (String(require('child_process').execFileSync('echo', ['hi'])) !== 'hi\\n') throw 3;"
        "const server = require('http').createServer((request, answer) => answer.end('hello'));"
        "await new Promise((done) => server.listen(0, '127.0.0.1', done));"
        "if (await (await fetch('http://127.0.0.1:' + server.address().port)).text() !== 'hello') throw 4;"
        "server.closeAllConnections(); server.close(); console.log('well')",
};

static const struct language BASH = {
    .argv = BASH_ARGV,
    .env = NO_ENV,
    .prelude = "RANDOM=1; x=$RANDOM",
    .draw = "echo $RANDOM $RANDOM $SRANDOM; mktemp -u",
    .work =
        "[[ $$ == $BASHPID && -d /proc/$$ ]] && echo text > file && [[ $(cat /home/user/file) == text ]] && "
        "{ sleep 0.01 & wait $!; } && echo well",
};

static bool has_said(const struct operation *op, const char *words)
{
    return op->out.len > 0 && memmem(op->out.data, op->out.len, words, strlen(words));
}

static void step_until_said(struct operation *op, const char *words)
{
    while (!has_said(op, words)) {
        if (op->is_over)
            fail_msg("it ended: %.*s %.*s", (int)op->out.len, (char *)op->out.data, (int)op->err.len,
                     (char *)op->err.data);
        step_once(op->cell);
    }
}

static void tell(struct operation *op, const char *text)
{
    ssize_t n = sc_live_write(op->cell->live, op->id, SC_STREAM_RUNNER, text, strlen(text));
    assert_int_equal(n, (ssize_t)strlen(text));
}

/* Waits for `answer`; nothing that was said before is kept. */
static void ask(struct operation *op, const char *text, const char *answer)
{
    op->out.len = 0;
    tell(op, text);
    step_until_said(op, answer);
}

/* The same with code, whose length stands between two words of the line before it. */
static void ask_with(struct operation *op, const char *before, const char *after, const char *code,
                     const char *answer)
{
    char text[4096];
    assert_true(snprintf(text, sizeof text, "%s %zu%s\n%s", before, strlen(code), after, code) <
                (int)sizeof text);
    ask(op, text, answer);
}

/* A zygote that is older than the cells of its forks: what it has remembered of clocks must not lie ahead of
 * theirs. */
static void grow_older(void)
{
    const struct timespec age = {.tv_sec = 1, .tv_nsec = 500 * 1000 * 1000};
    nanosleep(&age, NULL);
}

static void begin_zygote(struct living *cell, struct operation *zygote, const struct language *language)
{
    begin_forkable(cell);
    give(cell, zygote,
         &(struct sc_command){
             .argv = language->argv, .env = language->env, .flags = SC_COMMAND_SOCKET | SC_COMMAND_RUNNER});
    step_until_said(zygote, "\"op\":\"ready\"");
    ask_with(zygote, "prelude code", "", language->prelude, "\"op\":\"prelude\"");
    assert_true(has_said(zygote, "\"status\":\"ok\""));
    ask(zygote, "serve\n", "forkable\"");
    if (has_said(zygote, "not_forkable"))
        fail_msg("%.*s", (int)zygote->out.len, (char *)zygote->out.data);
}

/* `more`: SC_COMMAND_SOCKET of one that can be forked itself. */
static void begin_fork(struct living *cell, struct operation *fork, struct operation *parent, uint32_t more)
{
    static const char *const NAME[] = {"fork", NULL};
    begin_below(cell, parent->cell, more != 0);
    give_fork(cell, fork, parent, &(struct sc_command){.argv = NAME, .flags = SC_COMMAND_RUNNER | more});
    step_until_said(fork, "\"op\":\"ready\"");
}

static void run_code(struct operation *fork, const char *code)
{
    ask_with(fork, "run 0123456789abcdef", " - rich", code, "\"op\":\"result\"");
    if (!has_said(fork, "\"status\":\"ok\""))
        fail_msg("%.*s", (int)fork->out.len, (char *)fork->out.data);
}

static void end_fork(struct living *cell, struct operation *fork)
{
    sc_live_signal(cell->live, fork->id, SIGKILL, SC_SIGNAL_TREE);
    step_until(cell, &fork->is_over);
    forget(fork);
    end_below(cell);
}

static void forks_of(const struct language *language)
{
    struct living zygote_cell, cells[2];
    struct operation zygote = {0}, forks[2] = {{0}, {0}};
    begin_zygote(&zygote_cell, &zygote, language);
    grow_older();
    for (int i = 0; i < 2; i++) {
        begin_fork(&cells[i], &forks[i], &zygote, 0);
        run_code(&forks[i], language->work);
        assert_true(has_said(&forks[i], "well\n"));
        run_code(&forks[i], language->draw);
    }
    const char *lines[2] = {(char *)forks[0].out.data, (char *)forks[1].out.data};
    assert_true(strncmp(lines[0], lines[1], strcspn(lines[0], "\n")) != 0);
    for (int i = 1; i >= 0; i--)
        end_fork(&cells[i], &forks[i]);
    forget(&zygote);
    end_living(&zygote_cell);
}

/* A session's interpreter, its fork, and the fork's fork: each goes on from what the one before had. */
static void a_session_and_its_line(void **state)
{
    static const char *const ARGV[] = {"python3", "/snapcell/python/runner.py", "--forkable", NULL};
    struct living cells[3];
    struct operation line[3] = {{0}, {0}, {0}};
    (void)state;
    begin_forkable(&cells[0]);
    give(&cells[0], &line[0],
         &(struct sc_command){.argv = ARGV, .env = NO_ENV, .flags = SC_COMMAND_SOCKET | SC_COMMAND_RUNNER});
    step_until_said(&line[0], "\"op\":\"ready\"");
    run_code(&line[0], "import random\nx = [1]");
    begin_fork(&cells[1], &line[1], &line[0], SC_COMMAND_SOCKET);
    run_code(&line[1], "x.append(2)");
    begin_fork(&cells[2], &line[2], &line[1], 0);
    run_code(&line[2], "x.append(3)\nprint(x)");
    assert_true(has_said(&line[2], "[1, 2, 3]\n"));
    run_code(&line[1], "print(x)");
    assert_true(has_said(&line[1], "[1, 2]\n"));
    run_code(&line[0], "print(x)");
    assert_true(has_said(&line[0], "[1]\n"));
    end_fork(&cells[2], &line[2]);
    end_fork(&cells[1], &line[1]);
    forget(&line[0]);
    end_living(&cells[0]);
}

static void python(void **state)
{
    (void)state;
    forks_of(&PYTHON);
}

static void node(void **state)
{
    (void)state;
    forks_of(&NODE);
}

static void bash(void **state)
{
    (void)state;
    forks_of(&BASH);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, note_traces, expect_no_traces)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(python), TEST(node), TEST(bash), TEST(a_session_and_its_line)};
    return RUN_AS_BOTH(tests);
}
