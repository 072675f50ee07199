#include "worker/worker.h"

#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int report(const StatusRecord *r, int fd) {
        union {
                struct cmsghdr head;
                char space[CMSG_SPACE(sizeof(int))];
        } control;
        struct iovec v = {.iov_base = (void *)r, .iov_len = sizeof(*r)};
        struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
        ssize_t sent;

        if (fd >= 0) {
                struct cmsghdr *c;

                memset(&control, 0, sizeof(control));
                m.msg_control = &control;
                m.msg_controllen = CMSG_SPACE(sizeof(int));
                c = CMSG_FIRSTHDR(&m);
                c->cmsg_level = SOL_SOCKET;
                c->cmsg_type = SCM_RIGHTS;
                c->cmsg_len = CMSG_LEN(sizeof(int));
                memcpy(CMSG_DATA(c), &fd, sizeof(int));
        }
        do
                sent = sendmsg(LAUNCH_FD_STATUS, &m, MSG_NOSIGNAL);
        while (sent < 0 && errno == EINTR);
        return sent == (ssize_t)sizeof(*r) ? 0 : -errno;
}

void step_fail(Worker *w, Step step, int error) {
        StatusRecord r = {.kind = step == STEP_EXEC ? STATUS_EXEC_FAILED : STATUS_STEP_FAILED, .a = (int)step, .b = error,
                          .detail = (uint32_t)w->progress->detail};

        w->progress->reported = 1;
        report(&r, -1);
        _exit(127);
}

int lifeline_wait(int *ret_fds, size_t *n_fds) {
        union {
                struct cmsghdr head;
                char space[CMSG_SPACE(LAUNCH_GROUPS_MAX * sizeof(int))];
        } control;
        char byte;
        struct iovec v = {.iov_base = &byte, .iov_len = 1};
        struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
        ssize_t n;

        *n_fds = 0;
        do
                n = recvmsg(LAUNCH_FD_LIFELINE, &m, MSG_CMSG_CLOEXEC);
        while (n < 0 && errno == EINTR);
        if (n != 1)
                return n < 0 ? -errno : -EPIPE;
        for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c))
                for (size_t i = 0; c->cmsg_type == SCM_RIGHTS && CMSG_LEN((i + 1) * sizeof(int)) <= c->cmsg_len; i++)
                        memcpy(&ret_fds[(*n_fds)++], CMSG_DATA(c) + i * sizeof(int), sizeof(int));
        return 0;
}
