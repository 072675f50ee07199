// I-24: files that have no name any more, argv[1] MiB: open, mapped, or in the queue of a socket (argv[2]). It waits then for argv[3] milliseconds.
#include "attack.h"

#include "../../support/hidden.h"

int main(int argc, char **argv) {
        int mib = atoi(arg(argc, argv, 1)), pair[2];
        const char *way = arg(argc, argv, 2);
        static char block[8 << 20];

        if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
                contained("socketpair");
        for (int got = 0; got < mib; got += 8) {
                int fd = open("unnamed", O_RDWR | O_CREAT | O_EXCL, 0600);
                if (fd < 0 || unlink("unnamed") < 0 || write(fd, block, sizeof block) != (ssize_t)sizeof block)
                        contained("%d MiB", got);
                if (*way == 'm' && mmap(NULL, sizeof block, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED)
                        contained("mmap");
                if (*way == 's' && hidden_send(pair[0], fd, 0) < 0)
                        contained("sendmsg");
                if (*way != 'o')
                        close(fd);
        }
        if (argc > 3)
                sleep_msec(atol(argv[3]));
        escaped("%d MiB", mib);
}
