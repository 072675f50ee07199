#include "region/region-waiting.h"

#include "base/aside.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The longest that the kernel makes, from the second one on. No socket has more than 4,096 connections waiting where nobody changed net.core.somaxconn. */
#define WAITING_ANSWER (32 * 1024)
#define WAITING_ANSWERS_MAX 1024
#define WAITING_LISTENS 10 /* TCP_LISTEN */

typedef struct WaitingOpen {
        pid_t pid;
        int namespaces;
} WaitingOpen;

/* Of fn of aside_open(): only the task goes into the namespaces. */
__attribute__((no_sanitize("address", "undefined"))) static long waiting_open_aside(void *job) {
        const WaitingOpen *w = job;
        long e = aside_do(SYS_unshare, CLONE_FS), pidfd = e < 0 ? e : aside_do(SYS_pidfd_open, w->pid);

        if (pidfd < 0)
                return pidfd;
        e = aside_do(SYS_setns, pidfd, w->namespaces);
        return e < 0 ? e : aside_do(SYS_socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
}

int waiting_open(pid_t pid) {
        WaitingOpen w = {pid, CLONE_NEWNET | (geteuid() == 0 ? 0 : CLONE_NEWUSER)};

        return aside_open(waiting_open_aside, &w, sizeof(w), ASIDE_USEC);
}

/* For each connection that waits, the inode of its client: 0 when that is closed. */
static uint64_t waiting_closed(const struct nlmsghdr *h) {
        const struct unix_diag_msg *m = NLMSG_DATA(h);
        const uint32_t *clients;
        uint64_t n = 0;
        int left = (int)h->nlmsg_len - (int)NLMSG_SPACE(sizeof(*m));

        for (const struct rtattr *a = (const struct rtattr *)(const void *)(m + 1); RTA_OK(a, left); a = RTA_NEXT(a, left)) {
                if (a->rta_type != UNIX_DIAG_ICONS)
                        continue;
                clients = RTA_DATA(a);
                for (size_t i = 0; i < RTA_PAYLOAD(a) / sizeof(*clients); i++)
                        n += clients[i] == 0;
        }
        return n;
}

int waiting_count(int fd, uint64_t *ret) {
        struct {
                struct nlmsghdr head;
                struct unix_diag_req ask;
        } q = {.head = {.nlmsg_len = sizeof(q), .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
               .ask = {.sdiag_family = AF_UNIX, .udiag_states = 1 << WAITING_LISTENS, .udiag_show = UDIAG_SHOW_ICONS}};
        _cleanup_free_ uint8_t *answer = malloc(WAITING_ANSWER);
        uint64_t sum = 0;

        if (!answer)
                return -ENOMEM;
        while (recv(fd, answer, WAITING_ANSWER, MSG_DONTWAIT) > 0)
                ; /* of a count that was given up */
        if (send(fd, &q, sizeof(q), MSG_DONTWAIT) < 0)
                return -errno;
        for (unsigned i = 0; i < WAITING_ANSWERS_MAX; i++) {
                ssize_t n = recv(fd, answer, WAITING_ANSWER, MSG_DONTWAIT);
                size_t left = (size_t)MAX(n, (ssize_t)0);

                if (n <= 0)
                        return n < 0 ? -errno : -EPROTO;
                for (const struct nlmsghdr *h = (const struct nlmsghdr *)(const void *)answer; NLMSG_OK(h, left); h = NLMSG_NEXT(h, left)) {
                        const int *error = NLMSG_DATA(h);

                        if (h->nlmsg_type == NLMSG_DONE || h->nlmsg_type == NLMSG_ERROR) {
                                if (h->nlmsg_len >= NLMSG_LENGTH(sizeof(*error)) && *error < 0)
                                        return *error;
                                *ret = sum;
                                return 0;
                        }
                        if (h->nlmsg_len >= NLMSG_LENGTH(sizeof(struct unix_diag_msg)))
                                sum += waiting_closed(h);
                }
        }
        return -E2BIG;
}
