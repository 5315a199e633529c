/* What a run says about itself, checked: types and sizes. True it need not be. */
#ifndef SC_SNAP_INSIDE_H
#define SC_SNAP_INSIDE_H

#include <jansson.h>

/* Each returns NULL when it is so, else what is wrong, in a few words. `value` may be any JSON, or NULL. */

/* Forms by media type: at least text/plain, texts but for JSON kinds. */
const char *sc_inside_check_forms(const json_t *value);
const char *sc_inside_check_locals(const json_t *value);
/* An object's texts cut to their bounds; *ret_error is a new reference, or NULL for JSON null. */
extern const char SC_INSIDE_NO_MEMORY[]; /* what is wrong then is ours */
const char *sc_inside_take_error(const json_t *value, json_t **ret_error);

#endif
