/* Reading a tar stream member by member; see tar.h for what is understood. */
#ifndef SC_AGENT_TAR_READ_H
#define SC_AGENT_TAR_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SC_TAR_NAME_ROOM 4096 /* with the NUL; longer is -ENAMETOOLONG */

struct sc_tar_member {
    char type; /* enum sc_tar_type; the old ways to write a file or folder are already FILE and FOLDER */
    uint32_t mode;
    uint64_t size; /* bytes of content that follow; 0 for all but files */
    int64_t mtime;
    char name[SC_TAR_NAME_ROOM], link[SC_TAR_NAME_ROOM];
};

struct sc_tar_reader {
    int fd;
    size_t start, used;
    char data[64 * 1024];
};

/* 1: the next member stands in *ret_member, its content is next in the stream. 0: the archive is at its end.
 * Negative: -EBADMSG not a tar stream, or cut; -EINVAL a kind that is not understood; else errno. `fd` is
 * read ahead. */
int sc_tar_next(struct sc_tar_reader *reader, int fd, struct sc_tar_member *ret_member);
/* Moves the content, and skips what fills its last block. With `holes` `to` is a new file, in which zeros are
 * not written where a hole is the same. */
int sc_tar_read_content(struct sc_tar_reader *reader, uint64_t size, int to, bool holes);

#endif
