/* Requests to a session whose cell is none, and what became of them. */
#ifndef TEST_SNAP_ASKING_H
#define TEST_SNAP_ASKING_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cell/run.h"
#include "fake_live.h"
#include "snap/session.h"

#define READY "{\"op\":\"ready\",\"protocol\":1,\"language\":\"python\",\"version\":\"3\"}\n"
#define OK_RESULT "\"status\":\"ok\",\"exit_code\":0,\"value\":{\"text/plain\":\"2\"}"
#define MS SC_NS_PER_MS
#define EXITED(code) ((code) << 8)
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

/* What became of one request. */
struct answer {
    unsigned n;
    struct sc_result result;
    char output[256], displays[256];
};

extern struct sc_plan plan;
extern struct sc_works works;
extern struct sc_session *session;
extern struct sc_err err;
extern struct answer answers[8];
extern const struct sc_task_events events; /* userdata: the struct answer */
extern char why[32];                       /* the session ended */
extern unsigned n_ended;

/* Around every test: an open session, with the standard limits. */
int begin(void **state);
int end(void **state);
void open_session(const struct sc_session_options *options);
void step(void);
/* Until *n has come to `value`. */
void step_until(const unsigned *n, unsigned value);

/* Python, rich, with the session's limits. */
struct sc_session_run a_run(const char *code);
uint32_t ask(const struct sc_session_run *run, unsigned to);
/* A context's first run: its runner is op 0, and has the code. */
uint32_t ask_ready(const struct sc_session_run *run);
struct sc_session_exec a_command(void); /* make all */
/* The last run that this runner was given comes to this: what stands in a result beside op, id and locals. */
void fake_result(unsigned op, const char *rest);

void expect(unsigned which, enum sc_status status, const char *message);
/* The `which`-th signal to this command. */
void expect_signal(unsigned op, unsigned which, int number, enum sc_signal_whom whom);

#endif
