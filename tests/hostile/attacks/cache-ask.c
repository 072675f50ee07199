// I-68: the host's page cache: whether the first page of argv[1] is in it is asked with argv[2]: preadv2, or cachestat.
#include "attack.h"

#include <sys/uio.h>

int main(int argc, char **argv) {
        int fd = open(arg(argc, argv, 1), O_RDONLY);
        uint64_t range[2] = {0, 4096}, pages[5];
        char b[4096];
        struct iovec v = {b, sizeof b};

        if (fd < 0)
                contained("%s", argv[1]);
        if (strcmp(arg(argc, argv, 2), "cachestat") == 0) {
                if (syscall(451, fd, range, pages, 0) < 0)
                        contained("cachestat");
                escaped("%d pages are in the page cache", (int)pages[0]);
        }
        if (preadv2(fd, &v, 1, 0, RWF_NOWAIT) < 0 && errno != EAGAIN)
                contained("preadv2");
        escaped("told whether %s is in the page cache", argv[1]);
}
