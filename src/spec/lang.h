/* The languages: how a program's is recognised, and what runs it inside the cell. */
#ifndef SC_SPEC_LANG_H
#define SC_SPEC_LANG_H

#include "spec/spec.h"

struct sc_lang_row {
    enum sc_lang lang;
    const char *name;
    const char *suffixes[4];      /* with the dot, NULL-ended */
    const char *shebang_words[4]; /* interpreter names, a version may follow ("python3.11"); NULL-ended */
    const char *interpreter;      /* inside the cell; NULL: the program itself */
    const char *source_name;      /* file that inline code goes to; NULL: there is no inline form */
};

/* The table, ended by a row whose name is NULL. */
extern const struct sc_lang_row SC_LANG_ROWS[];
/* NULL for SC_LANG_AUTO. */
const struct sc_lang_row *sc_lang_row(enum sc_lang lang);
/* What a file name, or a file's first bytes, say: SC_LANG_AUTO when nothing. A shebang of no known language
 * is SC_LANG_NATIVE: the kernel starts whatever it names inside the cell. */
enum sc_lang sc_lang_by_suffix(const char *path);
enum sc_lang sc_lang_by_head(const char *head, size_t len);

#endif
