/* Runs: supervisor. Looks at memory behind a region's descriptors, and in its network without a descriptor. Connections
 * waiting at Unix sockets keep the bytes sent by closed clients. */
#include "region/region-budget-private.h"

#include "base/timed-syscall.h"
#include "region/region-queues.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>

/* The longest answer, from the second on. By default (net.core.somaxconn) 4,096 connections wait at a socket. */
#define WAITING_ANSWER (32 * 1024)
#define WAITING_ANSWERS_MAX 1024
#define WAITING_LISTENS 10 /* TCP_LISTEN */
#define WAITING_TCP_BEFORE (1U << TCP_ESTABLISHED | 1U << TCP_CLOSE_WAIT)
#define WAITING_TCP_ALL \
        (WAITING_TCP_BEFORE | 1U << TCP_FIN_WAIT1 | 1U << TCP_FIN_WAIT2 | 1U << TCP_LAST_ACK | 1U << TCP_CLOSING)
#define WAITING_TCP_SOCKET 4096 /* kernel bytes for the socket itself */

typedef struct WaitingOpen {
        pid_t pid;
        int namespaces;
} WaitingOpen;

/* Job for timed_open(): only the task enters the namespaces. An ordinary user has to own the user namespace. */
__attribute__((no_sanitize("address", "undefined"))) static long waiting_open_aside(void *job) {
        const WaitingOpen *w = job;
        long e = timed_do(SYS_unshare, CLONE_FS), pidfd = e < 0 ? e : timed_do(SYS_pidfd_open, w->pid);

        if (pidfd < 0)
                return pidfd;
        e = timed_do(SYS_setns, pidfd, w->namespaces);
        return e < 0 ? e : timed_do(SYS_socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
}

static int waiting_open(const RegionBudget *b) {
        WaitingOpen w = {b->worker, CLONE_NEWNET | (geteuid() == 0 ? 0 : CLONE_NEWUSER)};

        if (!grant_has_net_namespace(b->grant)) {
                int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);

                return fd < 0 ? -errno : fd;
        }
        return timed_open(waiting_open_aside, &w, sizeof(w), TIMED_USEC);
}

/* Counts waiting connections with client inode 0: the client is closed. */
static void waiting_closed(const struct nlmsghdr *h, void *arg) {
        const struct unix_diag_msg *m = NLMSG_DATA(h);
        const uint32_t *clients;
        uint64_t *n = arg;
        int left = (int)h->nlmsg_len - (int)NLMSG_SPACE(sizeof(*m));

        for (const struct rtattr *a = (const struct rtattr *)(const void *)(m + 1); RTA_OK(a, left);
             a = RTA_NEXT(a, left)) {
                if (a->rta_type != UNIX_DIAG_ICONS)
                        continue;
                clients = RTA_DATA(a);
                for (size_t i = 0; i < RTA_PAYLOAD(a) / sizeof(*clients); i++)
                        *n += clients[i] == 0;
        }
}

typedef void WaitingFn(const struct nlmsghdr *h, void *arg);

/* Asks the network namespace of fd, and calls fn for each socket of the answer. Returns 0 or -errno. */
static int waiting_ask(int fd, const struct nlmsghdr *q, WaitingFn *fn, void *arg) {
        const size_t least = q->nlmsg_len > NLMSG_LENGTH(sizeof(struct unix_diag_req)) ? sizeof(struct inet_diag_msg)
                                                                                         : sizeof(struct unix_diag_msg);
        _cleanup_free_ uint8_t *answer = malloc(WAITING_ANSWER);

        if (!answer)
                return -ENOMEM;
        while (recv(fd, answer, WAITING_ANSWER, MSG_DONTWAIT) > 0)
                ; /* drop answers to an abandoned question */
        if (send(fd, q, q->nlmsg_len, MSG_DONTWAIT) < 0)
                return -errno;
        for (unsigned i = 0; i < WAITING_ANSWERS_MAX; i++) {
                ssize_t n = recv(fd, answer, WAITING_ANSWER, MSG_DONTWAIT);
                size_t left = (size_t)MAX(n, (ssize_t)0);

                if (n <= 0)
                        return n < 0 ? -errno : -EPROTO;
                for (const struct nlmsghdr *h = (const struct nlmsghdr *)(const void *)answer; NLMSG_OK(h, left);
                     h = NLMSG_NEXT(h, left)) {
                        const int *error = NLMSG_DATA(h);

                        if (h->nlmsg_type == NLMSG_DONE || h->nlmsg_type == NLMSG_ERROR) {
                                if (h->nlmsg_len >= NLMSG_LENGTH(sizeof(*error)) && *error < 0)
                                        return *error;
                                return 0;
                        }
                        if (h->nlmsg_len >= NLMSG_LENGTH(least))
                                fn(h, arg);
                }
        }
        return -E2BIG;
}

/* Calls fn for each listening Unix socket. Returns 0 or -errno. */
static int waiting_each(int fd, uint32_t show, WaitingFn *fn, void *arg) {
        struct {
                struct nlmsghdr head;
                struct unix_diag_req ask;
        } q = {.head = {.nlmsg_len = sizeof(q), .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                        .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
               .ask = {.sdiag_family = AF_UNIX, .udiag_states = 1 << WAITING_LISTENS, .udiag_show = show}};

        return waiting_ask(fd, &q.head, fn, arg);
}

/* Asks for a single socket, and calls fn if the socket still listens. In the host's network namespace, where others may
 * make any number of sockets, a list of all would be theirs to fill. Returns 0, -ENOENT: no such socket, or -errno. */
static int waiting_one(int fd, const ListedSocket *s, uint32_t show, WaitingFn *fn, void *arg) {
        struct {
                struct nlmsghdr head;
                struct unix_diag_req ask;
        } q = {.head = {.nlmsg_len = sizeof(q), .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST},
               .ask = {.sdiag_family = AF_UNIX, .udiag_states = ~0U, .udiag_ino = s->inode, .udiag_show = show,
                       .udiag_cookie = {(uint32_t)s->cookie, (uint32_t)(s->cookie >> 32)}}};
        _cleanup_free_ uint8_t *answer = malloc(WAITING_ANSWER);
        const struct nlmsghdr *h = (const struct nlmsghdr *)(const void *)answer;
        const int *error;
        ssize_t n;

        if (!answer)
                return -ENOMEM;
        while (recv(fd, answer, WAITING_ANSWER, MSG_DONTWAIT) > 0)
                ; /* drop answers to an abandoned question */
        if (send(fd, &q, sizeof(q), MSG_DONTWAIT) < 0 || (n = recv(fd, answer, WAITING_ANSWER, MSG_DONTWAIT)) < 0)
                return -errno;
        if (!NLMSG_OK(h, (size_t)n))
                return -EPROTO;
        error = NLMSG_DATA(h);
        if (h->nlmsg_type == NLMSG_ERROR)
                return h->nlmsg_len < NLMSG_LENGTH(sizeof(*error)) ? -EPROTO : *error == -ESTALE ? -ENOENT : *error;
        if (h->nlmsg_len < NLMSG_LENGTH(sizeof(struct unix_diag_msg)))
                return -EPROTO;
        if (((const struct unix_diag_msg *)NLMSG_DATA(h))->udiag_state != WAITING_LISTENS)
                return -ENOENT;
        fn(h, arg);
        return 0;
}

/* A TCP socket without an inode has no descriptor: nobody has accepted it yet, or its process has closed it. */
static void waiting_tcp_one(const struct nlmsghdr *h, void *arg) {
        const struct inet_diag_msg *m = NLMSG_DATA(h);
        uint32_t held[SK_MEMINFO_VARS] = {};
        int left = (int)h->nlmsg_len - (int)NLMSG_SPACE(sizeof(*m));
        uint64_t *sum = arg;

        if (m->idiag_inode != 0)
                return;
        for (const struct rtattr *a = (const struct rtattr *)(const void *)(m + 1); RTA_OK(a, left);
             a = RTA_NEXT(a, left))
                if (a->rta_type == INET_DIAG_SKMEMINFO)
                        memcpy(held, RTA_DATA(a), MIN(sizeof(held), RTA_PAYLOAD(a)));
        *sum += queues_charged(held) + WAITING_TCP_SOCKET;
}

/* states: the kernel's, as bits. */
static uint64_t waiting_tcp(int fd, uint32_t states) {
        static const uint8_t families[] = {AF_INET, AF_INET6};
        uint64_t sum = 0;

        for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
                struct {
                        struct nlmsghdr head;
                        struct inet_diag_req_v2 ask;
                } q = {.head = {.nlmsg_len = sizeof(q), .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                                .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
                       .ask = {.sdiag_family = families[i], .sdiag_protocol = IPPROTO_TCP,
                               .idiag_ext = 1 << (INET_DIAG_SKMEMINFO - 1), .idiag_states = states}};

                (void)waiting_ask(fd, &q.head, waiting_tcp_one, &sum);
        }
        return sum;
}

/* Not for regions that listen at no Unix socket. */
static bool waiting_may_ask(RegionBudget *b) {
        if ((b->grant->network != NETWORK_LOOPBACK && b->n_listed == 0) || b->waiting < -1)
                return false;
        if (b->waiting == -1) {
                int fd = waiting_open(b);

                if (fd == -ETIMEDOUT) /* a busy machine: the next look asks again */
                        return false;
                b->waiting = fd < 0 ? -EIO : fd; /* no answer; -1 would be EPERM */
        }
        return b->waiting >= 0;
}

/* The same for each listed socket; forgets those that are gone. */
static void waiting_each_listed(RegionBudget *b, uint32_t show, WaitingFn *fn, void *arg) {
        for (size_t i = 0; i < b->n_listed && waiting_may_ask(b);)
                if (waiting_one(b->waiting, &b->listed[i], show, fn, arg) == -ENOENT)
                        b->listed[i] = b->listed[--b->n_listed];
                else
                        i++;
}

static void waiting_look_at_none(const struct nlmsghdr *h, void *arg) {
}

bool region_budget_may_list(RegionBudget *b) {
        if (b->n_listed == LISTED_MAX)
                waiting_each_listed(b, 0, waiting_look_at_none, NULL);
        return b->n_listed < LISTED_MAX;
}

void region_budget_list(RegionBudget *b, uint32_t inode, uint64_t cookie) {
        for (size_t i = 0; i < b->n_listed; i++)
                if (b->listed[i].cookie == cookie)
                        return;
        b->listed[b->n_listed++] = (ListedSocket){inode, cookie};
}

/* The region makes sockets of the Internet families by itself. */
static bool sockets_has_internet(const RegionBudget *b) {
        return b->grant->network == NETWORK_HOST || b->grant->network == NETWORK_LOOPBACK;
}

/* Such sockets, or sockets made for the region. */
static bool sockets_has_tcp(const RegionBudget *b) {
        return sockets_has_internet(b) || region_connected_any(&b->connected);
}

/* No look while all descriptors hold less than half of the memory, but a slow look at those lying in sockets. */
void budget_look_queues(RegionBudget *b, bool slow) {
        uint64_t half = b->grant->budget.memory_bytes / 2,
                 each = sockets_has_tcp(b) ? queues_tcp_most() : queues_each_most();

        if (b->tree.all_fds * each > half || (slow && (b->tree.all_fds + b->grant->budget.open_files) * each > half))
                queues_update(&b->queues, b->worker, b->guard);
        else if (slow)
                b->queues.bytes = 0;
}

/* An unsent datagram can have any length. No look while the descriptors hold less than a quarter of the memory. */
static uint64_t sockets_datagrams(RegionBudget *b) {
        if (!sockets_has_internet(b) || b->tree.all_fds * queues_each_most() <= budget_own_memory(b) / 4)
                return 0;
        return queues_datagrams(&b->queues, b->worker, b->guard);
}

/* Counts sockets outside of the group's memory: counted apart, made for the region, and unsent datagrams. */
Breach budget_look_sockets(RegionBudget *b, bool slow) {
        uint64_t made, held;

        if (b->cgroup->memory && slow) {
                region_connected_look(&b->connected, &b->queues, b->worker, b->guard);
                b->datagram_bytes = sockets_datagrams(b);
                /* The kernel charges a connection to the group of the process that accepts it, and not before. */
                b->waiting_bytes = b->grant->network == NETWORK_LOOPBACK && waiting_may_ask(b)
                                           ? waiting_tcp(b->waiting, WAITING_TCP_BEFORE)
                                           : 0;
        }
        made = b->cgroup->memory ? region_connected_bytes(&b->connected) + b->datagram_bytes + b->waiting_bytes : 0;
        if (region_cgroup_with_sockets(b->cgroup, &held) < 0 &&
            (made == 0 || region_cgroup_memory_kept(b->cgroup, &held) < 0))
                return budget_no_breach;
        held += made;
        b->peak_memory_bytes = MAX(b->peak_memory_bytes, held + b->reserved);
        return held > budget_own_memory(b) ? budget_breach_of_memory(b, held + b->reserved) : budget_no_breach;
}

/* No control group counts the memory of open folders. */
Breach budget_look_folders(RegionBudget *b) {
        uint64_t own = budget_own_memory(b), held;

        if (b->tree.all_fds * OPENS_FOLDER <= own / 4 || region_cgroup_memory_kept(b->cgroup, &held) < 0)
                return budget_no_breach;
        held += opens_folders(b->worker);
        b->peak_memory_bytes = MAX(b->peak_memory_bytes, held + b->reserved);
        return held > own ? budget_breach_of_memory(b, held + b->reserved) : budget_no_breach;
}

/* An open client's queue counts with its descriptor, a closed client's counts as full. */
void budget_look_waiting(RegionBudget *b) {
        uint64_t n = 0;

        if (b->grant->network != NETWORK_LOOPBACK) {
                waiting_each_listed(b, UDIAG_SHOW_ICONS, waiting_closed, &n);
                b->waiting_bytes = n * queues_unix_most();
        } else if (waiting_may_ask(b) && waiting_each(b->waiting, UDIAG_SHOW_ICONS, waiting_closed, &n) == 0)
                b->waiting_bytes = n * queues_unix_most() + waiting_tcp(b->waiting, WAITING_TCP_ALL);
}

typedef struct WaitingFile {
        uint32_t device, inode;
        bool found;
} WaitingFile;

static void waiting_file(const struct nlmsghdr *h, void *arg) {
        const struct unix_diag_msg *m = NLMSG_DATA(h);
        const struct unix_diag_vfs *file;
        int left = (int)h->nlmsg_len - (int)NLMSG_SPACE(sizeof(*m));
        WaitingFile *w = arg;

        for (const struct rtattr *a = (const struct rtattr *)(const void *)(m + 1); RTA_OK(a, left);
             a = RTA_NEXT(a, left)) {
                file = RTA_DATA(a);
                w->found |= a->rta_type == UNIX_DIAG_VFS && RTA_PAYLOAD(a) >= sizeof(*file) &&
                            file->udiag_vfs_dev == w->device && file->udiag_vfs_ino == w->inode;
        }
}

bool region_budget_listens(RegionBudget *b, uint32_t device, uint32_t inode) {
        WaitingFile w = {device, inode, false};

        if (b->grant->network != NETWORK_LOOPBACK) {
                waiting_each_listed(b, UDIAG_SHOW_VFS, waiting_file, &w);
                return w.found;
        }
        return waiting_may_ask(b) && waiting_each(b->waiting, UDIAG_SHOW_VFS, waiting_file, &w) == 0 && w.found;
}
