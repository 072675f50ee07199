// I-66, I-67: epolls, each of which watches every descriptor of its process: argv[1] processes with argv[2] entries each. The kernel counts them per user.
#include "attack.h"

#include <sys/epoll.h>
#include <sys/prctl.h>

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
        int n = atoi(arg(argc, argv, 1)), held = 0, said[2];
        long entries = atol(arg(argc, argv, 2));
        char b;

        if (pipe(said) < 0)
                contained("pipe");
        for (int i = 0; i < n; i++)
                if (fork() == 0) {
                        prctl(PR_SET_PDEATHSIG, SIGKILL);
                        if (make(entries) && write(said[1], "x", 1) == 1)
                                for (;;)
                                        pause();
                        _exit(1);
                }
        close(said[1]);
        while (held < n && read(said[0], &b, 1) == 1)
                held++;
        sleep_msec(argc > 3 ? atoi(argv[3]) : 0);
        if (held < n)
                contained("%d of %d processes", held, n);
        escaped("%d processes with %ld entries", n, entries);
}
