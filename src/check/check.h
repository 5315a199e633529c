/* One request for a reading → its report. */
#ifndef SC_CHECK_CHECK_H
#define SC_CHECK_CHECK_H

#include <jansson.h>
#include <stddef.h>

#define SC_CHECK_SOURCE_MAX (16u * 1024 * 1024)
#define SC_CHECK_HEADER_MAX (4u * 1024 * 1024)

/* header: {"language": "python", "name": "a.py", "sets": ["default"], "files": [{"name", "text"}],
 * "deny_modules": [], "deny_calls": []}. Returns {"findings": […]}, or {"error": {"field", "message"}} when
 * the request or its rules are wrong. */
json_t *sc_check_source(const json_t *header, const char *source, size_t len);

#endif
