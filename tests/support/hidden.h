/* Runs: in a region, in programs of tests. How a file comes to be where no table of descriptors of a process shows it. */
#pragma once

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>

/* Flags of clone(2) for a thread with a table of descriptors of its own. */
#define HIDDEN_TABLE (CLONE_VM | CLONE_THREAD | CLONE_SIGHAND | CLONE_SYSVSEM | CLONE_FS)

/* Sends a descriptor with one byte through a Unix socket, into the queue of the other end. flags: of sendmsg(2). Returns 0 or -errno. */
static inline int hidden_send(int through, int fd, int flags) {
        union {
                struct cmsghdr align;
                char bytes[CMSG_SPACE(sizeof(int))];
        } control = {};
        struct iovec v = {"x", 1};
        struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);

        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(c), &fd, sizeof(fd));
        return sendmsg(through, &m, flags) == 1 ? 0 : -errno;
}

/* Into the queue of a pair of sockets, one end of which is the only way to it. Returns 0 or -errno. */
static inline int hidden_in_queue(int fd, int flags, int ret_pair[2]) {
        return socketpair(AF_UNIX, SOCK_STREAM, 0, ret_pair) < 0 ? -errno : hidden_send(ret_pair[0], fd, flags);
}
