// I-66, I-67: an epoll watches a file once for each number that the file had when it was added, and goes on when the number is given back: argv[1] processes
// with argv[2] entries each behind some hundred descriptors, for argv[3] milliseconds. argv[4]: every thousand of them in an
// epoll that lies in a socket.
#include "attack.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#define NUMBERS 120

static bool sent;

static bool lies_in_socket(int fd) {
        _Alignas(8) char control[CMSG_SPACE(sizeof fd)] = {0};
        struct iovec v = {"x", 1};
        struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        int p[2];

        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(c), &fd, sizeof fd);
        return socketpair(AF_UNIX, SOCK_STREAM, 0, p) == 0 && sendmsg(p[0], &m, 0) == 1 && close(fd) == 0;
}

static bool make(long want) {
        int e = epoll_create1(0), files[100];
        long got = 0;

        for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
                int p[2];

                if (pipe(p) < 0 || close(p[1]) < 0)
                        return false;
                files[i] = p[0];
        }
        for (size_t i = 0; i < sizeof files / sizeof *files; i++)
                for (int nr = 0; nr < NUMBERS && got < want; nr++, got++) {
                        struct epoll_event ev = {.events = EPOLLIN | EPOLLET};
                        int fd = dup2(files[i], 120 + nr);

                        if (fd < 0 || epoll_ctl(e, EPOLL_CTL_ADD, fd, &ev) < 0)
                                return false;
                        close(fd);
                        if (sent && got % 1000 == 999 && (!lies_in_socket(e) || (e = epoll_create1(0)) < 0))
                                return false;
                }
        return e >= 0 && got == want;
}

int main(int argc, char **argv) {
        sent = argc > 4;
        held_by_children(argc, argv, make, "entries");
}
