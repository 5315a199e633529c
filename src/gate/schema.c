/* Schemas from the tables that the request is checked by: limits.def, the languages, the words of the spec.
 * What has no table (files, validate) is written down here, as docs/spec.md tells it. */
#include "gate/schema.h"

#include <string.h>

#include "gate/body.h"
#include "result/result.h"
#include "spec/spec.h"

#define OR_NULL(type) "type", type, "null"

/* {"type": [type, "null"]}: null is "not given". */
static json_t *typed(const char *type)
{
    return json_pack("{s:[s,s]}", OR_NULL(type));
}

static json_t *with(json_t *schema, const char *name, json_t *value)
{
    if (schema && value)
        (void)json_object_set_new(schema, name, value);
    else
        json_decref(value);
    return schema;
}

static json_t *words(const char *const *names)
{
    json_t *list = json_array();
    for (; *names; names++)
        (void)json_array_append_new(list, json_string(*names));
    return list;
}

/* One of some words, or null. */
static json_t *word(json_t *list)
{
    (void)json_array_append_new(list, json_null());
    return json_pack("{s:o}", "enum", list);
}

static json_t *object(json_t *properties)
{
    return json_pack("{s:[s,s], s:o, s:b}", OR_NULL("object"), "properties", properties,
                     "additionalProperties", 0);
}

static json_t *ref(const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "#/components/schemas/%s", name);
    return json_pack("{s:s}", "$ref", path);
}

/* ---- the spec's fields ---- */

static json_t *languages(void)
{
    static const enum sc_lang all[] = {SC_LANG_PYTHON, SC_LANG_NODE, SC_LANG_BASH, SC_LANG_JAVA,
                                       SC_LANG_NATIVE};
    json_t *list = json_array();
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        (void)json_array_append_new(list, json_string(sc_lang_name(all[i])));
    return word(list);
}

static json_t *modes(void)
{
    return word(json_pack("[s,s,s]", sc_mode_name(SC_MODE_PLAIN), sc_mode_name(SC_MODE_RICH),
                          sc_mode_name(SC_MODE_RESTRICTED)));
}

static json_t *profiles(void)
{
    return word(json_pack("[s,s]", sc_profile_name(SC_PROFILE_DEFAULT), sc_profile_name(SC_PROFILE_COMPUTE)));
}

static json_t *overflows(void)
{
    return word(json_pack("[s,s]", sc_overflow_name(SC_OVERFLOW_CUT), sc_overflow_name(SC_OVERFLOW_END)));
}

static json_t *backings(void)
{
    return word(json_pack("[s,s,s]", sc_disk_backing_name(SC_DISK_AUTO), sc_disk_backing_name(SC_DISK_MEMORY),
                          sc_disk_backing_name(SC_DISK_IMAGE)));
}

static json_t *degradations(void)
{
    return json_pack("{s:[s,s], s:{s:o}}", OR_NULL("array"), "items", "enum", words(SC_DEGRADE_NAMES));
}

static json_t *text(void)
{
    return typed("string");
}

static json_t *flag(void)
{
    return typed("boolean");
}

static json_t *base64(void)
{
    return with(typed("string"), "contentEncoding", json_string("base64"));
}

static json_t *texts(void)
{
    return json_pack("{s:[s,s], s:{s:s}, s:i}", OR_NULL("array"), "items", "type", "string", "maxItems",
                     SC_SPEC_ARGS_MAX);
}

static json_t *command(void)
{
    return with(texts(), "minItems", json_integer(1));
}

static json_t *environment(void)
{
    return json_pack("{s:[s,s], s:{s:s}, s:{s:s}}", OR_NULL("object"), "additionalProperties", "type",
                     "string", "propertyNames", "pattern", "^[A-Za-z_][A-Za-z0-9_]*$");
}

static json_t *files(void)
{
    json_t *file = object(json_pack("{s:{s:s}, s:o, s:o, s:o}", "path", "type", "string", "content", text(),
                                    "content_b64", base64(), "mode", text()));
    return json_pack("{s:[s,s], s:o, s:i}", OR_NULL("array"), "items",
                     with(with(file, "type", json_string("object")), "required", json_pack("[s]", "path")),
                     "maxItems", SC_SPEC_FILES_MAX);
}

static json_t *network(void)
{
    return typed("object"); /* docs/egress.md; its rules are many */
}

static json_t *validation(void)
{
    json_t *details = object(json_pack(
        "{s:o, s:o, s:o, s:o}", "rules", texts(), "on_finding",
        word(json_pack("[s,s]", sc_on_finding_name(SC_FINDING_BLOCK), sc_on_finding_name(SC_FINDING_REPORT))),
        "deny_modules", texts(), "deny_calls", texts()));
    return json_pack("{s:[{s:s}, o]}", "anyOf", "type", "boolean", details);
}

static json_t *limits(void)
{
    return ref("Limits");
}

static const struct {
    const char *name;
    json_t *(*make)(void);
} SPEC_SCHEMAS[] = {
    {"language", languages}, {"code", text},           {"command", command},
    {"args", texts},         {"env", environment},     {"cwd", text},
    {"stdin", text},         {"stdin_b64", base64},    {"files", files},
    {"limits", limits},      {"profile", profiles},    {"overflow", overflows},
    {"template", text},      {"network", network},     {"allow_degraded", degradations},
    {"mode", modes},         {"validate", validation}, {"disk_backing", backings},
    {"forkable", flag},      {"secrets", environment},
};

static json_t *of_spec(const char *name)
{
    for (size_t i = 0; i < sizeof SPEC_SCHEMAS / sizeof *SPEC_SCHEMAS; i++)
        if (!strcmp(SPEC_SCHEMAS[i].name, name))
            return SPEC_SCHEMAS[i].make();
    return json_object();
}

/* ---- the parts of a task ---- */

static json_t *test_schema(void)
{
    json_t *compares = json_pack("[s,s,s,s]", "none", "exact", "trimmed", "checker");
    json_t *test = object(json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name", text(), "stdin",
                                    text(), "stdin_b64", base64(), "args", texts(), "limits", limits(),
                                    "expected", text(), "expected_b64", base64(), "compare", word(compares)));
    return with(test, "type", json_string("object"));
}

static json_t *of_task(const char *name)
{
    if (!strcmp(name, "tests"))
        return json_pack("{s:s, s:o, s:i, s:i}", "type", "array", "items", test_schema(), "minItems", 1,
                         "maxItems", 10000);
    json_t *part = schema_of_fields(PART_FIELDS);
    if (!strcmp(name, "build"))
        (void)json_object_set_new(json_object_get(part, "properties"), "outputs",
                                  with(texts(), "minItems", json_integer(1)));
    return with(part, "type",
                strcmp(name, "run") ? json_pack("[s,s]", "object", "null") : json_string("object"));
}

/* ---- fields ---- */

#define NAME_PATTERN "^[A-Za-z0-9_.-]{1,64}$"

static json_t *of_number(const struct field *field)
{
    json_t *schema = typed(field->type == FIELD_INTEGER ? "integer" : "number");
    with(schema, "minimum", json_real(field->least));
    return with(schema, "maximum", json_real(field->most));
}

static json_t *of_text(const struct field *field)
{
    json_t *schema = typed("string");
    if (field->least > 0)
        with(schema, "minLength", json_integer((json_int_t)field->least));
    if (field->most > 0)
        with(schema, "maxLength", json_integer((json_int_t)field->most));
    return schema;
}

static json_t *of_labels(void)
{
    return json_pack("{s:[s,s], s:i, s:{s:s, s:i}, s:{s:s}}", OR_NULL("object"), "maxProperties", 32,
                     "additionalProperties", "type", "string", "maxLength", 256, "propertyNames", "pattern",
                     NAME_PATTERN);
}

static json_t *of_type(const struct field *field)
{
    switch (field->type) {
    case FIELD_BOOL:
        return typed("boolean");
    case FIELD_INTEGER:
    case FIELD_NUMBER:
        return of_number(field);
    case FIELD_NAME:
        return with(typed("string"), "pattern", json_string(NAME_PATTERN));
    case FIELD_WORD:
        return word(words(field->words));
    case FIELD_MODE:
        return with(typed("string"), "pattern", json_string("^[0-7]{1,5}$"));
    case FIELD_LABELS:
        return of_labels();
    case FIELD_SPEC:
        return of_spec(field->name);
    case FIELD_TASK:
        return of_task(field->name);
    default:
        return of_text(field);
    }
}

json_t *schema_of_field(const struct field *field)
{
    return with(of_type(field), "description", json_string(field->about));
}

json_t *schema_of_fields(const struct field *fields)
{
    json_t *properties = json_object(), *required = json_array();
    for (; fields->name; fields++) {
        (void)json_object_set_new(properties, fields->name, schema_of_field(fields));
        if (fields->required)
            (void)json_array_append_new(required, json_string(fields->name));
    }
    return json_pack("{s:s, s:o, s:o, s:b}", "type", "object", "properties", properties, "required", required,
                     "additionalProperties", 0);
}

/* ---- components ---- */

static json_t *limit(const struct sc_limit_row *row)
{
    double scale = row->kind == SC_LIMIT_DURATION ? (double)SC_NS_PER_MS
                   : row->kind == SC_LIMIT_MILLI  ? 1000.0
                                                  : 1.0;
    json_t *schema = typed(scale > 1.0 ? "number" : "integer");
    with(schema, "minimum", json_real((double)row->min / scale));
    with(schema, "maximum", json_real((double)row->max / scale));
    if (row->standard != SC_UNSET && row->standard != SC_DERIVED)
        with(schema, "default", json_real((double)row->standard / scale));
    return with(schema, "description", json_string(row->description));
}

static json_t *limits_schema(void)
{
    json_t *properties = json_object();
    for (const struct sc_limit_row *row = SC_LIMIT_ROWS; row->option; row++)
        (void)json_object_set_new(properties, row->json, limit(row));
    return object(properties);
}

static json_t *statuses(void)
{
    json_t *list = json_array();
    for (int i = 0; i <= SC_STATUS_SANDBOX_ERROR; i++)
        (void)json_array_append_new(list, json_string(SC_STATUS_NAMES[i]));
    return json_pack("{s:o}", "enum", list);
}

/* Named members that are always there; others may stand beside them. */
static json_t *open_object(json_t *properties)
{
    const char *name;
    json_t *value, *required = json_array();
    json_object_foreach(properties, name, value)
    {
        (void)json_array_append_new(required, json_string(name));
    }
    return json_pack("{s:s, s:o, s:o}", "type", "object", "properties", properties, "required", required);
}

static json_t *plain(const char *type)
{
    return json_pack("{s:s}", "type", type);
}

static json_t *list_of(json_t *items)
{
    return json_pack("{s:s, s:o}", "type", "array", "items", items);
}

static json_t *result_schema(void)
{
    json_t *members =
        json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "status", statuses(), "message", plain("string"),
                  "stdout", plain("string"), "stderr", plain("string"), "usage", plain("object"), "denials",
                  list_of(plain("object")), "limits_hit", list_of(plain("string")));
    (void)json_object_set_new(members, "exit_code", json_pack("{s:[s,s]}", OR_NULL("integer")));
    (void)json_object_set_new(members, "signal", json_pack("{s:[s,s]}", OR_NULL("integer")));
    return open_object(members);
}

static json_t *report_schema(void)
{
    json_t *test = open_object(json_pack("{s:o, s:o, s:o}", "name", plain("string"), "verdict",
                                         plain("string"), "message", plain("string")));
    return open_object(json_pack("{s:o, s:o, s:o}", "verdict", plain("string"), "tests", list_of(test),
                                 "summary", plain("object")));
}

static json_t *problem_schema(void)
{
    json_t *kinds = json_array();
    for (const struct problem_row *row = PROBLEMS; row->kind; row++) {
        char type[96];
        snprintf(type, sizeof type, "urn:snapcell:problem:%s", row->kind);
        (void)json_array_append_new(kinds, json_string(type));
    }
    return open_object(json_pack("{s:{s:o}, s:o, s:o, s:o}", "type", "enum", kinds, "title", plain("string"),
                                 "status", plain("integer"), "detail", plain("string")));
}

static json_t *entry_schema(void)
{
    return open_object(json_pack("{s:o, s:{s:[s,s,s,s]}, s:o, s:o, s:o}", "name", plain("string"), "type",
                                 "enum", "file", "folder", "link", "special", "size", plain("integer"),
                                 "mtime_ns", plain("integer"), "mode", plain("string")));
}

static void add(json_t *schemas, const char *name, json_t *schema)
{
    (void)json_object_set_new(schemas, name, schema);
}

json_t *schema_components(void)
{
    json_t *all = json_object();
    add(all, "Problem", problem_schema());
    add(all, "Limits", limits_schema());
    add(all, "Result", result_schema());
    add(all, "Report", report_schema());
    add(all, "Status", open_object(json_pack("{s:o}", "status", plain("string"))));
    add(all, "Started", open_object(json_pack("{s:o}", "session", plain("string"))));
    add(all, "Ended", open_object(json_pack("{s:o}", "why", plain("string"))));
    add(all, "Session", json_pack("{s:[o,o]}", "anyOf", ref("LivingSession"), ref("PausedSession")));
    add(all, "PausedSession",
        open_object(json_pack("{s:o, s:{s:[s,s]}}", "session", plain("string"), "state", "enum", "paused",
                              "damaged")));
    add(all, "Paused",
        open_object(json_pack("{s:o, s:o}", "session", plain("string"), "bytes", plain("integer"))));
    add(all, "LivingSession",
        open_object(json_pack("{s:o, s:o, s:o, s:o}", "session", plain("string"), "age_ms", plain("integer"),
                              "left_ms", plain("integer"), "idle_left_ms", plain("integer"))));
    add(all, "Sessions", open_object(json_pack("{s:o}", "sessions", list_of(ref("Session")))));
    add(all, "Forked", open_object(json_pack("{s:o}", "sessions", list_of(plain("string")))));
    add(all, "Kept", open_object(json_pack("{s:o}", "snapshot", plain("string"))));
    add(all, "Snapshot",
        open_object(json_pack("{s:o, s:o, s:o, s:o}", "snapshot", plain("string"), "parent", plain("string"),
                              "left_ms", plain("integer"), "idle_left_ms", plain("integer"))));
    add(all, "Snapshots", open_object(json_pack("{s:o}", "snapshots", list_of(ref("Snapshot")))));
    add(all, "Interrupted", open_object(json_pack("{s:o}", "interrupted", plain("integer"))));
    add(all, "Contexts", open_object(json_pack("{s:o}", "contexts", list_of(plain("object")))));
    add(all, "Templates", open_object(json_pack("{s:o}", "templates", list_of(plain("object")))));
    add(all, "Checked",
        open_object(
            json_pack("{s:o, s:o}", "allowed", plain("boolean"), "findings", list_of(plain("object")))));
    add(all, "Usage", plain("object"));
    add(all, "Process", open_object(json_pack("{s:o}", "process", plain("integer"))));
    add(all, "Processes", open_object(json_pack("{s:o}", "processes", list_of(plain("object")))));
    add(all, "Moved",
        open_object(json_pack("{s:o, s:o}", "bytes", plain("integer"), "files", plain("integer"))));
    add(all, "Entry", entry_schema());
    add(all, "Entries", open_object(json_pack("{s:o}", "entries", list_of(ref("Entry")))));
    add(all, "Events", plain("string"));
    add(all, "Anything", json_object());
    return all;
}
