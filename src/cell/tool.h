/* Programs of the distribution that Snapcell calls. Looked for in fixed places only, never along the caller's
 * PATH. */
#ifndef SC_CELL_TOOL_H
#define SC_CELL_TOOL_H

/* Runs argv[0] with nothing but PATH in its environment and no output, and waits. 0; -ENOENT: not installed;
 * -EIO: it failed. */
int sc_tool_run(char *const argv[]);

#endif
