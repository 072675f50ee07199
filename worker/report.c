#include "schema/zygote.h"
#include "worker/worker.h"

#include <string.h>
#include <sys/socket.h>

int report(const StatusRecord *r, int fd) {
        return packet_send(LAUNCH_FD_STATUS, r, sizeof(*r), fd);
}

void step_fail(Worker *w, Step step, int error) {
        StatusRecord r = {.kind = step == STEP_EXEC ? STATUS_EXEC_FAILED : STATUS_STEP_FAILED, .a = (int)step,
                          .b = error, .detail = (uint32_t)w->progress->detail};

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
