// I-66, I-67: epolls, each of which watches every descriptor of its process: argv[1] processes with argv[2] entries each. The kernel counts them per user.
#include "attack.h"

#include <sys/epoll.h>

static bool make(long want) {
        int p[2], fds[2048], n = 0;
        long got = 0;

        if (pipe(p) < 0)
                return false;
        for (int fd; n < 110 && (fd = dup(p[0])) >= 0; n++)
                fds[n] = fd;
        for (int e; got < want && (e = epoll_create1(0)) >= 0;)
                for (int i = 0; i < n && got < want; i++, got++) {
                        struct epoll_event ev = {.events = EPOLLIN};

                        if (epoll_ctl(e, EPOLL_CTL_ADD, fds[i], &ev) < 0)
                                return false;
                }
        return got == want;
}

int main(int argc, char **argv) {
        held_by_children(argc, argv, make, "entries");
}
