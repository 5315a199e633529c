/* plan → the flat block that the agent reads (src/agent/image.h). */
#ifndef SC_CELL_IMAGE_PACK_H
#define SC_CELL_IMAGE_PACK_H

#include "plan/plan.h"

/* A sealed memory file with the block, or negative errno. */
int sc_image_pack(const struct sc_plan *plan, struct sc_err *err);

#endif
