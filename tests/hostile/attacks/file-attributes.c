// I-69: bytes that are kept in extended attributes of a file of its own, which nobody can overwrite.
#include "attack.h"

#include <sys/xattr.h>

int main(void) {
        static char bytes[60000];
        int fd = creat("attributes", 0600), kept = 0;
        char name[32];

        memset(bytes, 's', sizeof bytes);
        for (int i = 0; i < 8; i++) {
                snprintf(name, sizeof name, "user.a%d", i);
                kept += fsetxattr(fd, name, bytes, 2000, 0) == 0 || setxattr("attributes", name, bytes, 2000, 0) == 0 || lsetxattr("attributes", name, bytes, 2000, 0) == 0;
        }
        int e = errno;
        unlink("attributes");
        errno = e;
        if (kept == 0)
                contained("attributes");
        escaped("%d attributes", kept);
}
