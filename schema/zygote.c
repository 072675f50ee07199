#include "schema/zygote.h"

#include "schema/become.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FLAGS_MAY \
        (CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP | CLONE_NEWNET)

bool zygote_take(int control, int free) {
        if (control != ZYGOTE_FD_OWN && dup3(control, ZYGOTE_FD_OWN, O_CLOEXEC) < 0)
                return false;
        return syscall(SYS_close_range, 0, ZYGOTE_FD_OWN - 1, 0) == 0 &&
               syscall(SYS_close_range, free, ~0U, 0) == 0;
}

/* The lowest numbers are free, and the kernel assigns them in order: each descriptor is at its place at once. A special
 * zygote makes nothing but regions. */
static int zygote_check_order(const ZygoteOrder *o, bool special, ssize_t n, struct msghdr *m) {
        unsigned n_fds = 0;

        if (n != sizeof(*o) || m->msg_flags & (MSG_TRUNC | MSG_CTRUNC) || o->version != ZYGOTE_VERSION ||
            (o->flags & ~(uint64_t)FLAGS_MAY && (o->flags != ZYGOTE_AGAIN || o->n_fds != 1 || o->owner || special)) ||
            (special && o->owner))
                return EPROTO;
        for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c))
                for (size_t i = 0; c->cmsg_type == SCM_RIGHTS && CMSG_LEN((i + 1) * sizeof(int)) <= c->cmsg_len; i++) {
                        int fd;

                        memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
                        if (fd != (int)n_fds++)
                                return EBADF;
                }
        return n_fds > 0 && n_fds == o->n_fds ? 0 : EPROTO;
}

/* A plain fork with a few further flags. Returns as fork(), with the pidfd in the caller. */
static long zygote_clone(uint64_t flags, uint32_t owner, int *ret_pidfd) {
        struct clone_args a = {.flags = flags | CLONE_PARENT | CLONE_PIDFD, .pidfd = (uintptr_t)ret_pidfd};
        Become become;
        long pid;

        become_begin(&become, owner);
        pid = syscall(SYS_clone3, &a, sizeof(a));
        if (pid == 0)
                return 0;
        become_end(&become);
        if (become.bits >= 0) /* changing ids has cleared the parent-death signal */
                prctl(PR_SET_PDEATHSIG, SIGKILL);
        return pid;
}

int packet_send(int to, const void *packet, size_t n, int fd) {
        union {
                struct cmsghdr head;
                char space[CMSG_SPACE(sizeof(int))];
        } control = {.head = {.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int))}};
        struct iovec v = {.iov_base = (void *)packet, .iov_len = n};
        struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
        ssize_t sent;

        if (fd >= 0) {
                memcpy(CMSG_DATA(&control.head), &fd, sizeof(int));
                m.msg_control = &control;
                m.msg_controllen = sizeof(control);
        }
        do
                sent = sendmsg(to, &m, MSG_NOSIGNAL);
        while (sent < 0 && errno == EINTR);
        return sent == (ssize_t)n ? 0 : -errno;
}

/* In the new process: as zygote_take(), and the parent-death signal, which a fork has cleared. */
static void zygote_begin_again(void) {
        if (dup3(0, ZYGOTE_FD_OWN, O_CLOEXEC) < 0 || syscall(SYS_close_range, 0, ZYGOTE_FD_OWN - 1, 0) < 0 ||
            prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
                _exit(127);
}

unsigned zygote_serve(const ZygoteWay *way_or_null, uint64_t *ret_flags) {
        static union {
                struct cmsghdr head;
                char space[CMSG_SPACE(ZYGOTE_FDS_MAX * sizeof(int))];
        } control;

        for (;;) {
                ZygoteOrder o = {0};
                struct iovec v = {.iov_base = &o, .iov_len = sizeof(o)};
                struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = &control,
                                   .msg_controllen = sizeof(control)};
                int error, pidfd = -1;
                long pid = -1;
                ssize_t n;

                do
                        n = recvmsg(ZYGOTE_FD_OWN, &m, 0);
                while (n < 0 && errno == EINTR);
                if (n <= 0)
                        return 0;
                error = zygote_check_order(&o, way_or_null, n, &m);
                if (error == 0 && way_or_null)
                        error = way_or_null->may();
                if (error == 0) {
                        pid = way_or_null ? way_or_null->make(o.flags & FLAGS_MAY, &pidfd)
                                          : zygote_clone(o.flags & FLAGS_MAY, o.owner, &pidfd);
                        if (pid == 0 && o.flags == ZYGOTE_AGAIN) {
                                zygote_begin_again();
                                continue;
                        }
                        if (pid == 0) {
                                *ret_flags = o.flags;
                                return o.n_fds;
                        }
                        error = pid < 0 ? errno : 0;
                }
                packet_send(ZYGOTE_FD_OWN, &(ZygoteAnswer){ZYGOTE_VERSION, error, (int32_t)pid}, sizeof(ZygoteAnswer),
                            pidfd);
                syscall(SYS_close_range, 0, ZYGOTE_FD_OWN - 1, 0);
        }
}
