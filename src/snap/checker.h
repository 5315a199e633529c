/* The living checker: reads untrusted source in a small cell of its own, where a crash harms nobody. What it
 * says is advice (docs/code-rules.md): a cell holds without it.
 *
 * An event source like sc_live (cell/live.h). A checker that crashes or runs out of time is started anew;
 * the check that was under way ends as a finding of rule "unreadable".
 */
#ifndef SC_SNAP_CHECKER_H
#define SC_SNAP_CHECKER_H

#include "host/host.h"
#include "spec/spec.h"

struct sc_checker;
struct json_t;

struct sc_check_request {
    enum sc_lang lang; /* PYTHON, NODE (also TypeScript by file name), BASH */
    const char *name;  /* shown and for the suffix; may be NULL */
    const char *source;
    size_t len;
    const struct sc_validate *validate; /* rule sets and lists */
    bool syntax;                        /* also ask the interpreter for a syntax error, in its own words */
    bool notebook; /* for that: top-level await is allowed, as in modes rich and restricted */
};

struct sc_check_report {
    bool allowed;            /* no finding but notes, and no syntax error */
    struct json_t *findings; /* array of {rule, severity, name, line, column, snippet, message, advice} */
    char syntax_error[512];  /* "Syntax error: … (line 3)", or "" */
    char message[256];       /* "Blocked: subprocess (line 3)", or "" */
};
void sc_check_report_fini(struct sc_check_report *report);

/* Where its cell is made: as a cell of `place` would be (degradations, cgroup parent, root). */
int sc_checker_open(const struct sc_host *host, const struct sc_spec *place, struct sc_checker **ret_checker,
                    struct sc_err *err);
void sc_checker_close(struct sc_checker *checker);
int sc_checker_fd(const struct sc_checker *checker);
uint64_t sc_checker_next_ns(const struct sc_checker *checker);
int sc_checker_step(struct sc_checker *checker, struct sc_err *err);

/* Queued; `done` comes from a later step. Rules that do not compile are a usage error: err is then set, with
 * field "rules", and report is NULL. */
typedef void sc_check_done(void *userdata, const struct sc_check_report *report, const struct sc_err *err);
int sc_checker_check(struct sc_checker *checker, const struct sc_check_request *request, sc_check_done *done,
                     void *userdata, struct sc_err *err);
/* The same, waiting. */
int sc_checker_check_now(struct sc_checker *checker, const struct sc_check_request *request,
                         struct sc_check_report *ret_report, struct sc_err *err);

#endif
