/* The checker program (src/check/serve.c), static, as bytes made part of the library by
 * tools/embed_binary.py. */
#ifndef SC_SNAP_CHECKER_IMAGE_H
#define SC_SNAP_CHECKER_IMAGE_H

#include <stddef.h>

extern const unsigned char sc_checker_image[];
extern const size_t sc_checker_image_len;

#endif
