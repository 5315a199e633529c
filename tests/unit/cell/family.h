/* A program that can be forked, and cells that its forks live in. */
#ifndef TEST_CELL_FAMILY_H
#define TEST_CELL_FAMILY_H

#include "live_cell.h"

struct family {
    struct living zygote;
    struct operation program;
};

/* Python source of an interpreter that waits to be forked; a child becomes the shell of the script on its
 * stdin. */
extern const char ZYGOTE[];
/* A script that tells everything about a process that says what it may do. */
extern const char SELF[];
extern const char *const NAME[]; /* of forks */

void begin_family(struct family *family);
void end_family(struct family *family);
/* With one cell below it. */
void begin_pair(struct family *family, struct living *cell);
void end_pair(struct family *family, struct living *cell);
void give_script(struct living *cell, struct operation *op, struct family *family, const char *script);
/* To its very end. */
void run_script(struct living *cell, struct operation *op, struct family *family, const char *script);

#endif
