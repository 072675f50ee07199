#include "region/region-queues.h"

#include "region/region-notify.h"
#include "region/region-proc.h"
#include "region/region-tables.h"
#include "schema/limits.h"
#include "base/aside.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sock_diag.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define QUEUES_FILE 448   /* an open file and a small object behind it */
#define QUEUES_PIPE 2048  /* an empty pipe or socket with its inode */
#define QUEUES_WATCH 200  /* one descriptor that an epoll watches */
#define QUEUES_DEPTH_MAX 4       /* sockets that were sent through sockets */
#define QUEUES_MESSAGES_MAX 1024 /* looked at in one socket */
#define QUEUES_MESSAGE_FDS 253   /* SCM_MAX_FD of the kernel */
#define QUEUES_SENT_MAX (4 * QUEUES_MESSAGE_FDS)
#define QUEUES_CONTROL (CMSG_SPACE(QUEUES_MESSAGE_FDS * sizeof(int)) + 512) /* a socket can be set to say who sent */

typedef struct QueuesInodes {
        uint64_t *v; /* in order; owned */
        size_t n, room;
} QueuesInodes;

typedef struct QueuesSeen {
        QueuesInodes counted; /* sockets, and pipes of which an end for reading was seen */
        QueuesInodes written; /* pipes of which an end for writing was seen */
        bool *blocked;
} QueuesSeen;

static int queues_order(const void *a, const void *b) {
        uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

        return x < y ? -1 : x > y;
}

/* "pipe:[1]", "socket:[1]": 0 for all else. */
static uint64_t queues_inode(const char *name) {
        const char *number = strchr(name, '[');

        return number && (strncmp(name, "pipe:", 5) == 0 || strncmp(name, "socket:", 7) == 0) ? strtoull(number + 1, NULL, 10) : 0;
}

/* The default, where the kernel does not say. */
#define QUEUES_WMEM (208ULL << 10)

uint64_t queues_each_most(void) {
        static atomic_ullong known;
        uint64_t most = atomic_load_explicit(&known, memory_order_relaxed);
        char text[32];

        if (most == 0) {
                size_t n = proc_read("/proc/sys/net/core/wmem_max", text, sizeof(text));

                most = 2 * MAX(n > 0 ? strtoull(text, NULL, 10) : 0, QUEUES_WMEM);
                atomic_store_explicit(&known, most, memory_order_relaxed);
        }
        return most;
}

/* Of a socket the kernel says what is charged to it: what it sends, and what came in (sock_diag(7)). To ask for what is in a pipe is to wait for whoever
 * writes to it, perhaps out of a file system that somebody serves: one that is not seen to be empty counts as full (I-62). */
static uint64_t queues_of(int fd, bool pipe) {
        uint32_t charged[SK_MEMINFO_VARS] = {};
        struct pollfd p = {.fd = fd, .events = POLLIN};
        socklen_t n = sizeof(charged);

        if (pipe)
                return poll(&p, 1, 0) > 0 && p.revents & POLLIN ? REGION_PIPE_BYTES : 0;
        if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, charged, &n) < 0)
                return 0;
        return (uint64_t)charged[SK_MEMINFO_RMEM_ALLOC] + MAX(charged[SK_MEMINFO_WMEM_ALLOC], charged[SK_MEMINFO_WMEM_QUEUED]) + charged[SK_MEMINFO_BACKLOG];
}

static bool queues_has(const QueuesInodes *i, uint64_t inode) {
        return i->n > 0 && bsearch(&inode, i->v, i->n, sizeof(inode), queues_order);
}

/* Is the inode new? It is known from now on. */
static bool queues_new(QueuesInodes *i, uint64_t inode) {
        size_t at = i->n;

        if (inode == 0 || queues_has(i, inode))
                return false;
        if (i->n == i->room) {
                uint64_t *grown = reallocarray(i->v, i->room + 1024, sizeof(*grown));

                if (!grown)
                        return false;
                i->v = grown;
                i->room += 1024;
        }
        while (at > 0 && i->v[at - 1] > inode)
                at--;
        memmove(&i->v[at + 1], &i->v[at], (i->n - at) * sizeof(inode));
        i->v[at] = inode;
        i->n++;
        return true;
}

/* Descriptors that lie in a socket of ours: "scm_fds: 3". */
static uint64_t queues_lie_in(int fd) {
        static const char key[] = "scm_fds:";
        char path[64], text[1024], *p;

        snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
        p = proc_read(path, text, sizeof(text)) > 0 ? strstr(text, key) : NULL;
        return p ? strtoull(p + sizeof(key) - 1, NULL, 10) : 0;
}

static uint64_t queues_one(QueuesSeen *seen, int fd, const char *name, unsigned depth);

/* fd is a copy of a descriptor that still lies in a socket; it is closed. */
static uint64_t queues_sent_one(QueuesSeen *seen, int fd, unsigned depth) {
        char link[64], name[64];
        uint64_t sum;
        ssize_t n;

        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        n = readlink(link, name, sizeof(name) - 1);
        name[MAX(n, (ssize_t)0)] = 0;
        sum = queues_one(seen, fd, name, depth);
        close(fd);
        return sum;
}

typedef struct QueuesPeek {
        int fd;
        uint64_t lie;
        size_t n;
        int sent[QUEUES_SENT_MAX];
        uint8_t bytes[4096];
        _Alignas(8) uint8_t control[QUEUES_CONTROL];
} QueuesPeek;

/* Of fn of aside_run(): what lies in the socket is looked at where it lies. A reader of the region's may hold the socket for as long as it likes. */
__attribute__((no_sanitize("address", "undefined"))) static long queues_peek(void *job) {
        QueuesPeek *p = job;
        int from = 0, off = -1;

        if (aside_do(SYS_setsockopt, p->fd, SOL_SOCKET, SO_PEEK_OFF, &from, sizeof(from)) < 0)
                return -1;
        for (unsigned i = 0; i < QUEUES_MESSAGES_MAX && p->n < p->lie && p->n + QUEUES_MESSAGE_FDS <= QUEUES_SENT_MAX; i++) {
                struct iovec v = {p->bytes, sizeof(p->bytes)};
                struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = p->control, .msg_controllen = sizeof(p->control)};

                if (aside_do(SYS_recvmsg, p->fd, &m, MSG_PEEK | MSG_DONTWAIT | MSG_CMSG_CLOEXEC) < 0)
                        break;
                for (size_t at = 0; at + sizeof(struct cmsghdr) <= m.msg_controllen;) {
                        const struct cmsghdr *c = (const struct cmsghdr *)(const void *)(p->control + at);
                        const int *sent = (const int *)(const void *)CMSG_DATA(c);

                        if (c->cmsg_len < sizeof(*c))
                                break;
                        for (size_t k = 0; c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && k < (c->cmsg_len - CMSG_LEN(0)) / sizeof(int); k++)
                                p->sent[p->n++] = sent[k];
                        at += CMSG_ALIGN(c->cmsg_len);
                }
        }
        aside_do(SYS_setsockopt, p->fd, SOL_SOCKET, SO_PEEK_OFF, &off, sizeof(off));
        return 0;
}

/* Descriptors that were sent and not taken. A queue that nobody can look into counts as much as it can be. */
static uint64_t queues_sent(QueuesSeen *seen, int fd, uint64_t lie, unsigned depth) {
        QueuesPeek *p = depth > QUEUES_DEPTH_MAX || *seen->blocked ? NULL : calloc(1, sizeof(*p));
        uint64_t sum = 0, found = 0;

        if (p) {
                p->fd = fd;
                p->lie = lie;
                *seen->blocked = aside_run(queues_peek, p, sizeof(*p), ASIDE_ALL, ASIDE_USEC) == -ETIMEDOUT;
                found = *seen->blocked ? 0 : p->n;
        }
        for (size_t i = 0; i < found; i++)
                sum += queues_sent_one(seen, p->sent[i], depth + 1);
        if (p)
                explicit_bzero(p->bytes, sizeof(p->bytes));
        free(p);
        return sum + (lie > found ? (lie - found) * queues_each_most() : 0);
}

/* fd is a copy; name: what its link says. */
static uint64_t queues_one(QueuesSeen *seen, int fd, const char *name, unsigned depth) {
        uint64_t inode = queues_inode(name), lie;
        bool pipe = *name == 'p';

        if (pipe && (fcntl(fd, F_GETFL) & O_ACCMODE) == O_WRONLY) {
                queues_new(&seen->written, inode);
                return 0;
        }
        if (!queues_new(&seen->counted, inode))
                return 0;
        lie = pipe ? 0 : queues_lie_in(fd);
        return QUEUES_PIPE + queues_of(fd, pipe) + (lie > 0 ? queues_sent(seen, fd, lie, depth) : 0);
}

/* Of one table of descriptors, that of the task tid. An epoll may watch all that is in it; to ask what it watches may be to wait for who serves that. */
static uint64_t queues_at(pid_t tid, QueuesSeen *seen) {
        char path[64], link[384], name[64];
        uint64_t sum = 0, all = 0, epolls = 0;
        struct dirent *de;
        DIR *d;

        snprintf(path, sizeof(path), "/proc/%d/fd", (int)tid);
        d = opendir(path);
        while (d && (de = readdir(d))) {
                uint64_t inode;
                ssize_t n;
                int copy;

                snprintf(link, sizeof(link), "%s/%s", path, de->d_name);
                n = readlink(link, name, sizeof(name) - 1);
                name[MAX(n, (ssize_t)0)] = 0;
                all++;
                epolls += strcmp(name, "anon_inode:[eventpoll]") == 0;
                sum += strncmp(name, "anon_inode:", 11) == 0 ? QUEUES_FILE : 0;
                inode = queues_inode(name);
                if (inode == 0 || queues_has(&seen->counted, inode))
                        continue;
                copy = region_notify_copy_fd(tid, atoi(de->d_name));
                if (copy < 0)
                        continue;
                sum += queues_one(seen, copy, name, 0);
                close(copy);
        }
        if (d)
                closedir(d);
        return sum + epolls * all * QUEUES_WATCH;
}

uint64_t queues_bytes(pid_t root, bool *blocked) {
        _cleanup_free_ pid_t *list = NULL;
        QueuesSeen seen = {.blocked = blocked};
        uint64_t sum = 0;
        size_t n = 0;

        if (proc_tree_list(root, &list, &n) < 0)
                return 0;
        for (size_t i = 0; i < n; i++) {
                _cleanup_free_ pid_t *tables = NULL;
                size_t n_tables = 0;

                if (tables_of(list[i], &tables, &n_tables) < 0)
                        break;
                for (size_t k = 0; k < n_tables; k++)
                        sum += queues_at(tables[k], &seen);
        }
        /* Whether a pipe is empty, its end for writing does not say. */
        for (size_t i = 0; i < seen.written.n; i++)
                sum += queues_has(&seen.counted, seen.written.v[i]) ? 0 : QUEUES_PIPE + REGION_PIPE_BYTES;
        free(seen.counted.v);
        free(seen.written.v);
        return sum;
}
