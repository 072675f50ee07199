// I-41: writes one file of the host: argv[1] (of the same uid; the receipt; the worker's program), appending nothing but having it open; or
// changes what belongs to it by one of the calls that Landlock does not know.
#include "attack.h"

#include <sys/xattr.h>

int main(int argc, char **argv) {
        const char *path = arg(argc, argv, 1);
        int fd = open(path, O_WRONLY);
        if (fd >= 0)
                escaped("%s is open for writing", path);
        int e = errno;
        if (chmod(path, 0755) == 0)
                escaped("chmod %s", path);
        if (chown(path, getuid(), getgid()) == 0)
                escaped("chown %s", path);
        if (utimensat(AT_FDCWD, path, NULL, 0) == 0)
                escaped("changed the times of %s", path);
        if (setxattr(path, "user.lethe", "x", 1, 0) == 0)
                escaped("setxattr on %s", path);
        if (truncate(path, 0) == 0)
                escaped("truncated %s", path);
        if (unlink(path) == 0)
                escaped("unlink %s", path);
        errno = e;
        contained("write %s", path);
}
