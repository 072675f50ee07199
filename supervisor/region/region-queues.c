#include "region/region-queues.h"

#include "region/region-notify.h"
#include "region/region-proc.h"
#include "region/region-tables.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/sock_diag.h>
#include <linux/sockios.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define QUEUES_PAGE 4096
#define QUEUES_FILE 448   /* an open file and a small object behind it */
#define QUEUES_PIPE 2048  /* an empty pipe or socket with its inode */
#define QUEUES_WATCH 200  /* one descriptor that an epoll watches */
#define QUEUES_DEPTH_MAX 4       /* sockets that were sent through sockets */
#define QUEUES_MESSAGES_MAX 1024 /* looked at in one socket */
#define QUEUES_CONTROL (CMSG_SPACE(253 * sizeof(int)) + 512) /* SCM_MAX_FD of the kernel; a socket can be set to say who sent */

typedef struct QueuesSeen {
        uint64_t *inodes; /* of pipes and sockets that were counted; owned */
        size_t n, room;
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

/* A page of a pipe may hold one byte. Of a socket the kernel says what is charged to it: what it sends, and what came in (sock_diag(7)). */
static uint64_t queues_of(int fd, bool pipe) {
        uint32_t charged[SK_MEMINFO_VARS] = {};
        socklen_t n_charged = sizeof(charged);
        int n = 0, most;

        if (pipe) {
                most = fcntl(fd, F_GETPIPE_SZ);
                return most > 0 && ioctl(fd, FIONREAD, &n) == 0 && n > 0 ? MIN((uint64_t)n * QUEUES_PAGE, (uint64_t)most) : 0;
        }
        if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, charged, &n_charged) == 0)
                return (uint64_t)charged[SK_MEMINFO_RMEM_ALLOC] + MAX(charged[SK_MEMINFO_WMEM_ALLOC], charged[SK_MEMINFO_WMEM_QUEUED]) +
                       charged[SK_MEMINFO_BACKLOG];
        return ioctl(fd, SIOCOUTQ, &n) == 0 && n > 0 ? (uint64_t)n : 0;
}

/* Is the inode new? It is known from now on. */
static bool queues_new(QueuesSeen *seen, uint64_t inode) {
        size_t at = seen->n;

        if (inode == 0 || bsearch(&inode, seen->inodes, seen->n, sizeof(inode), queues_order))
                return false;
        if (seen->n == seen->room) {
                uint64_t *grown = reallocarray(seen->inodes, seen->room + 1024, sizeof(*grown));

                if (!grown)
                        return false;
                seen->inodes = grown;
                seen->room += 1024;
        }
        while (at > 0 && seen->inodes[at - 1] > inode)
                at--;
        memmove(&seen->inodes[at + 1], &seen->inodes[at], (seen->n - at) * sizeof(inode));
        seen->inodes[at] = inode;
        seen->n++;
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

static uint64_t queues_with_sent(QueuesSeen *seen, int fd, bool pipe, unsigned depth);

/* One that came out of a socket, which keeps it. It is closed. */
static uint64_t queues_sent_one(QueuesSeen *seen, int fd, unsigned depth) {
        char link[64], name[64];
        uint64_t sum = 0;
        ssize_t n;

        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        n = readlink(link, name, sizeof(name) - 1);
        name[MAX(n, (ssize_t)0)] = 0;
        if (queues_new(seen, queues_inode(name)))
                sum = QUEUES_PIPE + queues_with_sent(seen, fd, *name == 'p', depth);
        close(fd);
        return sum;
}

/* What was sent is looked at where it lies. */
static uint64_t queues_sent(QueuesSeen *seen, int fd, uint64_t lie, unsigned depth) {
        union {
                struct cmsghdr align;
                char bytes[QUEUES_CONTROL];
        } control;
        static _Thread_local char bytes[4096];
        uint64_t sum = 0, found = 0;
        int from = 0, off = -1;

        if (depth > QUEUES_DEPTH_MAX || setsockopt(fd, SOL_SOCKET, SO_PEEK_OFF, &from, sizeof(from)) < 0)
                return lie * queues_each_most();
        for (unsigned i = 0; i < QUEUES_MESSAGES_MAX && found < lie; i++) {
                struct iovec v = {bytes, sizeof(bytes)};
                struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};

                if (recvmsg(fd, &m, MSG_PEEK | MSG_DONTWAIT | MSG_CMSG_CLOEXEC) < 0)
                        break;
                for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c))
                        for (size_t k = 0; c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && k < (c->cmsg_len - CMSG_LEN(0)) / sizeof(int); k++) {
                                int sent;

                                memcpy(&sent, CMSG_DATA(c) + k * sizeof(int), sizeof(int));
                                sum += queues_sent_one(seen, sent, depth + 1);
                                found++;
                        }
        }
        explicit_bzero(bytes, sizeof(bytes));
        setsockopt(fd, SOL_SOCKET, SO_PEEK_OFF, &off, sizeof(off));
        return sum + (lie > found ? (lie - found) * queues_each_most() : 0);
}

static uint64_t queues_with_sent(QueuesSeen *seen, int fd, bool pipe, unsigned depth) {
        uint64_t lie = pipe ? 0 : queues_lie_in(fd);

        return queues_of(fd, pipe) + (lie > 0 ? queues_sent(seen, fd, lie, depth) : 0);
}

/* What one descriptor of a kind without an inode of its own takes, and what an epoll watches: a line each. */
static uint64_t queues_unnamed(pid_t tid, const char *fd, const char *name) {
        char path[64], text[16384];
        uint64_t sum = QUEUES_FILE;
        ssize_t k;
        int info;

        if (strncmp(name, "anon_inode:", 11) != 0)
                return 0;
        if (strcmp(name + 11, "[eventpoll]") != 0)
                return sum;
        snprintf(path, sizeof(path), "/proc/%d/fdinfo/%.20s", (int)tid, fd);
        info = open(path, O_RDONLY | O_CLOEXEC);
        while (info >= 0 && (k = read(info, text, sizeof(text))) > 0)
                for (const char *p = text, *end = text + k; (p = memchr(p, '\n', (size_t)(end - p))); p++)
                        sum += QUEUES_WATCH;
        if (info >= 0)
                close(info);
        return sum;
}

/* Of one table of descriptors, that of the task tid. */
static uint64_t queues_at(pid_t tid, QueuesSeen *seen) {
        char path[64], link[384], name[64];
        struct dirent *de;
        uint64_t sum = 0;
        DIR *d;

        snprintf(path, sizeof(path), "/proc/%d/fd", (int)tid);
        d = opendir(path);
        while (d && (de = readdir(d))) {
                ssize_t n;
                int copy;

                snprintf(link, sizeof(link), "%s/%s", path, de->d_name);
                n = readlink(link, name, sizeof(name) - 1);
                name[MAX(n, (ssize_t)0)] = 0;
                sum += queues_unnamed(tid, de->d_name, name);
                if (!queues_new(seen, queues_inode(name)))
                        continue;
                sum += QUEUES_PIPE;
                copy = region_notify_copy_fd(tid, atoi(de->d_name));
                if (copy < 0)
                        continue;
                sum += queues_with_sent(seen, copy, *name == 'p', 0);
                close(copy);
        }
        if (d)
                closedir(d);
        return sum;
}

uint64_t queues_bytes(pid_t root) {
        _cleanup_free_ pid_t *list = NULL;
        QueuesSeen seen = {};
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
        free(seen.inodes);
        return sum;
}
