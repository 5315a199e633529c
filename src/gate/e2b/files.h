/* GET and POST /files. */
#ifndef SC_GATE_E2B_FILES_H
#define SC_GATE_E2B_FILES_H

#include "gate/e2b/filesystem.h"

/* As e2b_enter, also by a signature of the query. `operation`: "read" or "write". */
bool files_enter(struct request *request, const char *operation);
/* "bytes=A-B" of a file of so many bytes: 1, and *ret_at and *ret_len; 0: none that is served, all of it;
 * -ERANGE: nothing of the file is in it. */
int files_range(const char *header, uint64_t size, uint64_t *ret_at, uint64_t *ret_len);

#endif
