/* libFuzzer target: any bytes as a tar stream. Names are ended and bounded, contents are what was given, and
 * reading ends. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/tar.h"
#include "agent/tar_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct sc_tar_reader reader;
    static struct sc_tar_member member;
    uint64_t members = 0, bytes = 0;
    int fd = memfd_create("stream", MFD_CLOEXEC), null = open("/dev/null", O_WRONLY | O_CLOEXEC), r;
    if (fd < 0 || null < 0 || write(fd, data, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET) != 0)
        abort();
    reader.start = reader.used = 0;
    while ((r = sc_tar_next(&reader, fd, &member)) > 0) {
        if (!memchr(member.name, '\0', sizeof member.name) ||
            !memchr(member.link, '\0', sizeof member.link) || member.mode > 07777 ||
            (member.type != SC_TAR_FILE && member.size) || ++members * SC_TAR_BLOCK > size)
            abort();
        r = member.type == SC_TAR_FILE ? sc_tar_read_content(&reader, member.size, null, false) : 0;
        if (r < 0)
            break;
        bytes += member.size;
    }
    if (bytes > size || (r < 0 && r != -EBADMSG && r != -EINVAL && r != -E2BIG && r != -ENAMETOOLONG))
        abort();
    close(fd);
    close(null);
    return 0;
}
