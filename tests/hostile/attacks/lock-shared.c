// I-68: a lock on a file that others have, too: argv[1] is the file, argv[2] the kind of lock (flock, record, own, test).
#include "attack.h"

#include <sys/file.h>

int main(int argc, char **argv) {
        const char *path = arg(argc, argv, 1), *kind = arg(argc, argv, 2);
        struct flock l = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
        int fd = open(path, O_RDONLY), r;

        if (fd < 0)
                contained("open %s", path);
        if (strcmp(kind, "flock") == 0)
                r = flock(fd, LOCK_EX | LOCK_NB);
        else if (strcmp(kind, "record") == 0)
                r = fcntl(fd, F_SETLK, &l);
        else if (strcmp(kind, "own") == 0)
                r = fcntl(fd, F_OFD_SETLK, &l);
        else {
                l.l_type = F_WRLCK;
                r = fcntl(fd, F_GETLK, &l);
        }
        if (r < 0 && errno != EWOULDBLOCK) // a lock that somebody else holds was refused by that one alone
                contained("%s of %s", kind, path);
        escaped("%s of %s", kind, path);
}
