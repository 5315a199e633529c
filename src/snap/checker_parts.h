/* The living checker from the inside: what the files of src/snap/checker*.c share.
 *
 * Checks wait in one line. The first is begun: its message goes to the checker program, and its source to an
 * interpreter when a syntax error is asked for. When both have answered, or failed, it is done. A program
 * that dies, or takes too long, takes its cell along; the next check begins with a new one.
 */
#ifndef SC_SNAP_CHECKER_PARTS_H
#define SC_SNAP_CHECKER_PARTS_H

#include "base/buf.h"
#include "cell/live.h"
#include "plan/plan.h"
#include "snap/checker.h"

/* Of one check, once its program runs. */
#define SC_CHECK_WALL_NS (2 * SC_NS_PER_S)
#define SC_SYNTAX_WALL_NS (3 * SC_NS_PER_S)
#define SC_HEADER_MAX (4u * 1024 * 1024) /* SC_CHECK_HEADER_MAX of check/check.h */
#define SC_REPLY_MAX (1024u * 1024)
#define SC_WORDS_MAX (64u * 1024) /* of an interpreter about a syntax error */

/* One stream of input into a command of the cell. */
struct sc_check_input {
    uint16_t op;
    bool is_open; /* the command runs */
    const char *data;
    size_t len, sent;
};

struct sc_check_job {
    struct sc_check_job *next;
    /* The message to the program: two lengths, header, source. */
    char *message;
    size_t message_len, source_at;
    enum sc_lang lang;
    bool syntax, notebook;
    sc_check_done *done;
    void *userdata;

    bool begun, answered, asked; /* asked: the interpreter has answered, or is not asked */
    struct sc_buf reply, words;
    struct sc_check_report report;
    struct sc_err err; /* ours; then there is no report */
};

struct sc_checker {
    const struct sc_host *host;
    struct sc_spec spec;
    struct sc_plan *plan;
    struct sc_works *works;
    int epoll;
    struct sc_live *live;
    bool is_over;         /* the cell has ended */
    bool started;         /* its checker program runs */
    uint64_t deadline_ns; /* of the check under way; 0: none yet */
    char why[256];        /* the cell ended */
    struct sc_check_input program, interpreter;
    struct sc_check_job *jobs, **last;
};

/* checker_cell.c */
int sc_checker_make_works(struct sc_checker *checker, const struct sc_spec *place, struct sc_err *err);
/* A cell with the program running, if there is none. */
int sc_checker_need_cell(struct sc_checker *checker, struct sc_err *err);
/* Kills what there is. */
void sc_checker_drop_cell(struct sc_checker *checker);
/* Sends as much of the input as there is credit for. */
void sc_check_push(struct sc_checker *checker, struct sc_check_input *input);

/* checker_request.c: the message for a request; a wrong rule file is a usage error. */
int sc_check_message(const struct sc_check_request *request, struct sc_check_job *job, struct sc_err *err);

/* checker_report.c: a reply, taken as hostile → the job's report or error. */
void sc_check_take_reply(struct sc_check_job *job);
/* The program died of it, or took too long. */
void sc_check_unreadable(struct sc_check_job *job, const char *why);
/* What the report comes to: allowed, message. */
void sc_check_conclude(struct sc_check_job *job);

/* checker_syntax.c */
int sc_check_ask(struct sc_checker *checker, struct sc_check_job *job, struct sc_err *err);
/* The words of an interpreter → "Syntax error: … (line N)", or "" when they are none. */
void sc_check_syntax_words(enum sc_lang lang, const char *words, size_t len, char ret_error[512]);

#endif
