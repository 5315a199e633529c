/* Addresses of files that are valid by themselves. */
#ifndef SC_GATE_E2B_SIGNATURE_H
#define SC_GATE_E2B_SIGNATURE_H

#include <stddef.h>

#define SIGNATURE_MAX 48 /* "v1_" and 43 digits, with the NUL */

/* Of PATH:OPERATION:USER:TOKEN, with :EXPIRATION behind it where that is not NULL. */
void signature_make(const char *path, const char *operation, const char *user, const char *token,
                    const char *expiration, char ret_text[SIGNATURE_MAX]);

#endif
