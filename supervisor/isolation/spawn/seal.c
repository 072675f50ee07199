#include "base/io.h"
#include "schema/launch.h"
#include "spawn/private.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

int spawn_seal(const LaunchSpec *s, uint8_t **ret_bytes, size_t *ret_n) {
        _cleanup_free_ uint8_t *bytes = NULL;
        _cleanup_close_ int fd = -1;
        size_t n;
        int e = launch_encode(s, &bytes, &n);

        if (e < 0)
                return e;
        fd = memfd_create("lethe-spec", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        if (fd < 0)
                return -errno;
        e = io_write_full(fd, bytes, n);
        if (e == 0 && s->flags & LAUNCH_LATER && ftruncate(fd, (off_t)(n + LAUNCH_WORDS_MAX)) < 0)
                e = -errno;
        if (e == 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW) < 0)
                e = -errno;
        if (e < 0)
                return e;
        *ret_bytes = TAKE_PTR(bytes);
        *ret_n = n;
        return TAKE_FD(fd);
}
