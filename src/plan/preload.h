/* What programs of a deterministic run have preloaded: runners/deterministic/preload.c as bytes. */
#ifndef SC_PLAN_PRELOAD_H
#define SC_PLAN_PRELOAD_H

#include <stddef.h>

extern const unsigned char sc_preload_image[];
extern const size_t sc_preload_image_len;

#endif
