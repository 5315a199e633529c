/* The tar format as the agent reads and writes it: ustar, with pax records for what does not fit (long names,
 * large sizes); on reading also GNU long names. */
#ifndef SC_AGENT_TAR_H
#define SC_AGENT_TAR_H

#include <stdint.h>

#define SC_TAR_BLOCK 512

struct sc_tar_header {
    char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8];
    char type;
    char link[100], magic[8], user[32], group[32], major[8], minor[8], prefix[155], pad[12];
};
_Static_assert(sizeof(struct sc_tar_header) == SC_TAR_BLOCK, "a tar header is one block");

enum sc_tar_type {
    SC_TAR_FILE_OLD = '\0',
    SC_TAR_FILE = '0',
    SC_TAR_HARD_LINK = '1',
    SC_TAR_SYMLINK = '2',
    SC_TAR_CHAR = '3',
    SC_TAR_BLOCK_DEVICE = '4',
    SC_TAR_FOLDER = '5',
    SC_TAR_FIFO = '6',
    SC_TAR_FILE_CONTIGUOUS = '7',
    SC_TAR_PAX = 'x',
    SC_TAR_PAX_GLOBAL = 'g',
    SC_TAR_LONG_NAME = 'L',
    SC_TAR_LONG_LINK = 'K',
};

/* Sum of all bytes, the checksum's own taken as blanks. */
static inline uint32_t sc_tar_checksum(const struct sc_tar_header *header)
{
    const uint8_t *bytes = (const uint8_t *)header;
    uint32_t sum = 0;
    for (int i = 0; i < SC_TAR_BLOCK; i++)
        sum += i >= 148 && i < 156 ? ' ' : bytes[i];
    return sum;
}

#endif
