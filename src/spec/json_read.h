/* Strict reading of JSON objects, for every request in JSON: each field has a row that reads it, a field
 * without a row is refused, errors name the field's path ("tests[2].limits.wall_ms"). `null` means "not
 * given". */
#ifndef SC_SPEC_JSON_READ_H
#define SC_SPEC_JSON_READ_H

#include <stdbool.h>

#include "base/err.h"
#include "base/json.h"

/* Reads `value` into `into`; `path` names it in errors. A field's value is never null, a list's entry may be.
 */
typedef int sc_json_reader(void *into, const json_t *value, const char *path, struct sc_err *err);

/* Lists end with a row whose name is NULL. */
struct sc_json_field {
    const char *name;
    sc_json_reader *read;
};
#define SC_JSON_FIELDS_MAX 32

/* `path` is "" for the request itself. */
int sc_json_read_object(void *into, const json_t *object, const char *path,
                        const struct sc_json_field *fields, struct sc_err *err);
int sc_json_read_list(void *into, const json_t *list, const char *path, sc_json_reader *read,
                      struct sc_err *err);
int sc_json_read_bool(bool *into, const json_t *value, const char *path, struct sc_err *err);
/* A string without NUL bytes, borrowed from `value`; NULL with err set. */
const char *sc_json_text(const json_t *value, const char *path, struct sc_err *err);
/* Text as it is (NUL bytes may be in it), or decoded base64, into *at, which is NULL before: heap bytes with
 * a NUL behind them. */
int sc_json_read_bytes(char **at, size_t *at_len, const json_t *value, bool b64, const char *path,
                       struct sc_err *err);

/* A request, and its limits, as part of another one at `path`. */
struct sc_spec;
struct sc_limits;
int sc_spec_read(struct sc_spec *spec, const json_t *request, const char *path, struct sc_err *err);
int sc_spec_read_limits(struct sc_limits *limits, const json_t *value, const char *path, struct sc_err *err);
/* Parts of a request, of which other files have some too; `into` is a struct sc_spec. */
sc_json_reader sc_spec_read_language, sc_spec_read_env, sc_spec_read_secrets, sc_spec_read_files,
    sc_spec_read_given_limits, sc_spec_read_network, sc_spec_read_imports;
/* A template's name: the rule of the field `template`. */
int sc_spec_template_ok(const char *field, const char *text, struct sc_err *err);

/* A pattern of the work folder, as one more artifact that goes nowhere yet. */
int sc_spec_read_output(struct sc_spec *spec, const json_t *value, const char *path, struct sc_err *err);

/* Both always fail. `names` ends with NULL. */
int sc_json_wrong_type(const char *path, const json_t *value, const char *wanted, struct sc_err *err);
int sc_json_unknown_field(const char *path, const char *name, const char *const *names, struct sc_err *err);
/* "path.name", shown safely. */
void sc_json_join_path(char ret_path[SC_ERR_FIELD_MAX], const char *path, const char *name);
/* Why a text is no JSON. */
int sc_json_parse_error(const json_error_t *error, struct sc_err *err);

#endif
