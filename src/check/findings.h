/* What a reading found: kept once for each rule and place, bounded, and put into JSON in the order of the
 * text. */
#ifndef SC_CHECK_FINDINGS_H
#define SC_CHECK_FINDINGS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SC_FINDINGS_KEPT 200 /* then one more that says so */
#define SC_SNIPPET_MAX 120   /* characters */

enum sc_severity { SC_SEVERITY_NOTE = 0, SC_SEVERITY_WARNING, SC_SEVERITY_ERROR };
extern const char *const SC_SEVERITY_NAMES[]; /* by value, ended by NULL */

struct sc_finding {
    const char *rule, *message, *advice; /* borrowed: of rules, or constant */
    const char *name;                    /* what was used, as it resolves ("os.system"), or NULL; borrowed */
    enum sc_severity severity;
    uint32_t at; /* byte of the text */
};

struct sc_findings {
    struct sc_finding kept[SC_FINDINGS_KEPT];
    size_t n;
    bool more; /* at least one did not fit */
};

/* A second finding of the same rule at the same place is dropped; the longer of their names stays. */
void sc_findings_add(struct sc_findings *findings, const struct sc_finding *finding);
/* {"findings": [{rule, severity, name, line, column, snippet, message, advice}]}; lines and columns count
 * from 1, columns in characters. `text` is what `at` counts in. */
json_t *sc_findings_to_json(struct sc_findings *findings, const char *text, size_t len);

#endif
