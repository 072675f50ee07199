#include "region/region-queues.h"

#include "region/region-notify.h"
#include "region/region-proc.h"
#include "region/region-tables.h"
#include "schema/limits.h"
#include "base/aside.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sock_diag.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define QUEUES_EVENT 4    /* times what a reader of inotify would get: the least event has 16 bytes there, and 64 in memory */
#define QUEUES_SENT_LEAST 768 /* of one message, however short */
#define QUEUES_SLOT 8     /* one place in a table of descriptors */
#define QUEUES_PIPE 2048  /* an empty pipe or Unix socket with its inode */
#define QUEUES_INET 4096  /* an empty socket of another family */
#define QUEUES_EPOLL "anon_inode:[eventpoll]"
#define QUEUES_WATCHED_MAX 16384 /* of an epoll that lies in a socket and that nobody can look into */
#define QUEUES_WATCHERS 256 /* epolls and inotifies of one table that are looked into */
#define QUEUES_DATAGRAMS 11 /* in one socket: net.unix.max_dgram_qlen, and one more */
#define QUEUES_DEPTH_MAX 4       /* sockets that were sent through sockets */
#define QUEUES_MESSAGES_MAX 1024 /* looked at in one socket */
#define QUEUES_MESSAGE_FDS 253   /* SCM_MAX_FD of the kernel */
#define QUEUES_PARTS 256         /* of bytes that are looked at at once, all into the same place */
#define QUEUES_BUSY_MAX 20
#define QUEUES_SENT_MAX (4 * QUEUES_MESSAGE_FDS)
#define QUEUES_CONTROL (CMSG_SPACE(QUEUES_MESSAGE_FDS * sizeof(int)) + 512) /* a socket can be set to say who sent */

typedef struct QueuesInodes {
        uint64_t *v; /* in order; owned */
        size_t n, room;
} QueuesInodes;

typedef struct QueuesSeen {
        QueuesInodes counted; /* sockets, and pipes of which an end for reading was seen */
        QueuesInodes written; /* pipes of which an end for writing was seen */
        QueuesInodes files; /* without a name, of the scratch */
        uint64_t unnamed;   /* their bytes */
        const char *folder; /* the scratch, where it is one of the host's; else NULL */
        uint32_t major, minor;
        QueuesLook *look;
        Guard *guard; /* borrowed */
        QueuesSocket *sockets; /* borrowed: what queues_sockets() looks for */
        size_t n_sockets;
        uint64_t unsent;    /* bytes of datagrams that were begun (MSG_MORE), in sockets of the internet's families */
        bool busy;
        bool beyond; /* there may be more than was looked at */
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

#define QUEUES_NAMED (1ULL << 63) /* pipes with a name have the numbers of another file system */

/* A pipe with a name, through a link of /proc. 0 for all else. */
static uint64_t queues_named(const char *link, const char *name) {
        struct statx st;

        if (strncmp(name, "anon_inode:", 11) == 0 || strncmp(name, "/proc/", 6) == 0 ||
            statx(AT_FDCWD, link, AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO, &st) < 0 || !S_ISFIFO(st.stx_mode))
                return 0;
        return st.stx_ino | QUEUES_NAMED;
}

static uint64_t queues_inode_of(const char *link, const char *name) {
        uint64_t inode = queues_inode(name);

        return inode != 0 ? inode : queues_named(link, name);
}

/* The default, where the kernel does not say. */
#define QUEUES_WMEM (208ULL << 10)

static uint64_t queues_twice(const char *limit, atomic_ullong *known) {
        uint64_t most = atomic_load_explicit(known, memory_order_relaxed);
        char text[32];

        if (most == 0) {
                size_t n = proc_read(limit, text, sizeof(text));

                most = 2 * MAX(n > 0 ? strtoull(text, NULL, 10) : 0, QUEUES_WMEM);
                atomic_store_explicit(known, most, memory_order_relaxed);
        }
        return most;
}

uint64_t queues_each_most(void) {
        static atomic_ullong known;

        return queues_twice("/proc/sys/net/core/wmem_max", &known);
}

uint64_t queues_unix_most(void) {
        static atomic_ullong known;

        return queues_twice("/proc/sys/net/core/wmem_default", &known);
}

/* "least first most" */
static uint64_t queues_third(const char *path) {
        unsigned long long most = 0;
        char text[128];

        return proc_read(path, text, sizeof(text)) > 0 && sscanf(text, "%*u %*u %llu", &most) == 1 ? most : 0;
}

uint64_t queues_tcp_most(void) {
        static atomic_ullong known;
        uint64_t most = atomic_load_explicit(&known, memory_order_relaxed);

        if (most == 0) {
                most = queues_third("/proc/sys/net/ipv4/tcp_rmem") + queues_third("/proc/sys/net/ipv4/tcp_wmem");
                most = MAX(most, queues_each_most());
                atomic_store_explicit(&known, most, memory_order_relaxed);
        }
        return most;
}

static int queues_option(int fd, int name) {
        socklen_t n = sizeof(int);
        int v = -1;

        return getsockopt(fd, SOL_SOCKET, name, &v, &n) < 0 ? -1 : v;
}

static bool queues_is_datagram(int fd) {
        return queues_option(fd, SO_DOMAIN) == AF_UNIX && queues_option(fd, SO_TYPE) == SOCK_DGRAM;
}

/* A Unix socket's messages are charged to the socket that sent them. When that was closed nobody can be asked what they are charged with, but for how
 * many bytes a reader would get. */
static uint64_t queues_left_by_closed(int fd, short events) {
        int n = 0;

        if (queues_option(fd, SO_DOMAIN) != AF_UNIX || !(events & POLLHUP) || !(events & POLLIN) || ioctl(fd, FIONREAD, &n) < 0)
                return 0;
        if (queues_option(fd, SO_TYPE) == SOCK_SEQPACKET) /* messages may be empty */
                return queues_unix_most();
        /* A byte that was read out of band leaves an empty message: at most one behind each other one. */
        return n > 0 ? MIN((2 * (uint64_t)n + 1) * QUEUES_SENT_LEAST, queues_unix_most()) : 0;
}

uint64_t queues_charged(const uint32_t *charged) {
        return (uint64_t)charged[SK_MEMINFO_RMEM_ALLOC] + MAX(charged[SK_MEMINFO_WMEM_ALLOC], charged[SK_MEMINFO_WMEM_QUEUED]) + charged[SK_MEMINFO_BACKLOG] +
               charged[SK_MEMINFO_OPTMEM];
}

/* Of a socket the kernel says what is charged to it: what it sends, and what came in (sock_diag(7)). To ask for what is in a pipe is to wait for whoever
 * writes to it, perhaps out of a file system that somebody serves: one that is not seen to be empty counts as full (I-62). */
static uint64_t queues_of(int fd, bool pipe) {
        uint32_t charged[SK_MEMINFO_VARS] = {};
        struct pollfd p = {.fd = fd, .events = POLLIN};
        socklen_t n = sizeof(charged);

        if (pipe)
                return poll(&p, 1, 0) > 0 && p.revents & POLLIN ? REGION_PIPE_BYTES : 0;
        if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, charged, &n) < 0 || poll(&p, 1, 0) < 0)
                return 0;
        return queues_left_by_closed(fd, p.revents) + queues_charged(charged);
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

/* A file of the scratch that has no name any more, through a link of /proc. Its path, if it is not too long to be told, has the scratch in it. */
static bool queues_file(QueuesSeen *seen, const char *link, const char *name) {
        static const char deleted[] = " (deleted)";
        size_t n = seen->folder ? strlen(seen->folder) : 0, have = strlen(name);
        struct statx st;

        if (n == 0 || (have > 0 && (have <= n + sizeof(deleted) || memcmp(name, seen->folder, n) != 0 || name[n] != '/' ||
                                    strcmp(name + have - (sizeof(deleted) - 1), deleted) != 0)))
                return false;
        if (statx(AT_FDCWD, link, AT_STATX_DONT_SYNC, STATX_NLINK | STATX_INO | STATX_BLOCKS, &st) < 0 || st.stx_dev_major != seen->major ||
            st.stx_dev_minor != seen->minor)
                return have == 0;
        if (st.stx_nlink == 0 && queues_new(&seen->files, st.stx_ino))
                seen->unnamed += st.stx_blocks * 512;
        return true;
}

static uint64_t queues_one(QueuesSeen *seen, int fd, uint64_t inode, bool pipe, unsigned depth);

/* fd is a copy of a descriptor that still lies in a socket; it is closed. */
static uint64_t queues_sent_one(QueuesSeen *seen, int fd, unsigned depth) {
        char link[64], name[PATH_MAX];
        uint64_t sum, inode;
        ssize_t n;

        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        n = readlink(link, name, sizeof(name) - 1);
        name[MAX(n, (ssize_t)0)] = 0;
        queues_file(seen, link, name);
        inode = queues_inode_of(link, name);
        sum = inode != 0 ? queues_one(seen, fd, inode, *name != 's', depth) : opens_bytes(&seen->look->opens, link, name);
        if (strcmp(name, QUEUES_EPOLL) == 0)
                sum += opens_watched(&seen->look->opens, getpid(), &fd, 1, 0, QUEUES_WATCHED_MAX, QUEUES_WATCHED_MAX);
        close(fd);
        return sum;
}

typedef struct QueuesPeek {
        int fd;
        uint64_t lie;
        uint64_t length; /* of the messages that were looked at, with what each one has besides */
        size_t n;
        int sent[QUEUES_SENT_MAX];
        struct iovec v[QUEUES_PARTS];
        uint8_t bytes[4096];
        _Alignas(8) uint8_t control[QUEUES_CONTROL];
} QueuesPeek;

/* Of fn of aside_run(): what lies in the socket is looked at where it lies. A reader of the region's may hold the socket for as long as it likes. All of a
 * message is taken at once: who looks again into what is left of one finds its descriptors again. */
__attribute__((no_sanitize("address", "undefined"))) static long queues_peek(void *job) {
        QueuesPeek *p = job;
        int from = 0, off = -1;
        long got = 0;

        for (size_t i = 0; i < QUEUES_PARTS; i++)
                p->v[i] = (struct iovec){p->bytes, sizeof(p->bytes)};
        if (aside_do(SYS_setsockopt, p->fd, SOL_SOCKET, SO_PEEK_OFF, &from, sizeof(from)) < 0)
                return -1;
        for (unsigned i = 0; i < QUEUES_MESSAGES_MAX && p->n < p->lie && p->n + QUEUES_MESSAGE_FDS <= QUEUES_SENT_MAX; i++) {
                struct msghdr m = {.msg_iov = p->v, .msg_iovlen = QUEUES_PARTS, .msg_control = p->control, .msg_controllen = sizeof(p->control)};

                if (got >= (long)(QUEUES_PARTS * sizeof(p->bytes)) ||
                    (got = aside_do(SYS_recvmsg, p->fd, &m, MSG_PEEK | MSG_DONTWAIT | MSG_CMSG_CLOEXEC | MSG_TRUNC)) < 0)
                        break;
                p->length += (uint64_t)got + QUEUES_SENT_LEAST;
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

/* Descriptors that were sent and not taken, and of a datagram socket what came in, of whoever sent it. A queue that nobody can look into counts as much as
 * it can be. */
static uint64_t queues_sent(QueuesSeen *seen, int fd, uint64_t lie, bool datagrams, unsigned depth) {
        QueuesPeek *p = depth > QUEUES_DEPTH_MAX || seen->busy || seen->look->blocked ? NULL : calloc(1, sizeof(*p));
        uint64_t sum = 0, found = 0;

        if (p)
                seen->busy = !guard_look_begin(seen->guard);
        if (p && !seen->busy) {
                p->fd = fd;
                p->lie = datagrams ? UINT64_MAX : lie;
                seen->look->blocked = aside_run(queues_peek, p, sizeof(*p), ASIDE_ALL, ASIDE_USEC) == -ETIMEDOUT;
                found = seen->look->blocked ? 0 : p->n;
                sum = datagrams ? p->length : 0;
                if (!seen->look->blocked)
                        guard_look_end(seen->guard);
        }
        if (datagrams && (!p || seen->busy || seen->look->blocked))
                sum = queues_unix_most() * QUEUES_DATAGRAMS;
        for (size_t i = 0; i < found; i++)
                sum += queues_sent_one(seen, p->sent[i], depth + 1);
        if (p)
                explicit_bzero(p->bytes, sizeof(p->bytes));
        free(p);
        seen->beyond |= lie > found;
        return sum + (lie > found ? (lie - found) * queues_each_most() : 0);
}

/* No control group counts what such a socket has to send. */
static uint64_t queues_unsent(int fd) {
        uint32_t charged[SK_MEMINFO_VARS] = {};
        socklen_t n = sizeof(charged);
        int family = queues_option(fd, SO_DOMAIN);

        if ((family != AF_INET && family != AF_INET6) || queues_option(fd, SO_TYPE) != SOCK_DGRAM || getsockopt(fd, SOL_SOCKET, SO_MEMINFO, charged, &n) < 0)
                return 0;
        return charged[SK_MEMINFO_WMEM_ALLOC];
}

static void queues_is_sought(QueuesSeen *seen, int fd, uint64_t inode) {
        for (size_t i = 0; i < seen->n_sockets; i++)
                if (seen->sockets[i].inode == inode) {
                        seen->sockets[i].seen = true;
                        seen->sockets[i].bytes = QUEUES_INET + queues_of(fd, false);
                }
}

/* fd is a copy of a pipe's descriptor, or of a socket's. */
static uint64_t queues_one(QueuesSeen *seen, int fd, uint64_t inode, bool pipe, unsigned depth) {
        uint64_t lie;
        bool datagrams;

        if (pipe && (fcntl(fd, F_GETFL) & O_ACCMODE) == O_WRONLY) {
                queues_new(&seen->written, inode);
                return 0;
        }
        if (!queues_new(&seen->counted, inode))
                return 0;
        queues_is_sought(seen, fd, inode);
        seen->unsent += pipe ? 0 : queues_unsent(fd);
        lie = pipe ? 0 : queues_lie_in(fd);
        datagrams = !pipe && queues_is_datagram(fd);
        return (pipe || queues_option(fd, SO_DOMAIN) == AF_UNIX ? QUEUES_PIPE : QUEUES_INET) + queues_of(fd, pipe) +
               (lie > 0 || datagrams ? queues_sent(seen, fd, lie, datagrams, depth) : 0);
}

static uint64_t queues_table(pid_t tid) {
        static const char key[] = "\nFDSize:";
        char path[64], text[4096], *p;

        snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
        p = proc_read(path, text, sizeof(text)) > 0 ? strstr(text, key) : NULL;
        return p ? strtoull(p + sizeof(key) - 1, NULL, 10) * QUEUES_SLOT : 0;
}

/* Events that nobody read yet. */
static uint64_t queues_events(pid_t tid, const char *fd) {
        _cleanup_close_ int copy = region_notify_copy_fd(tid, atoi(fd));
        int n = 0;

        return copy >= 0 && ioctl(copy, FIONREAD, &n) == 0 ? (uint64_t)MAX(n, 0) * QUEUES_EVENT : 0;
}

/* Of one table of descriptors, that of the task tid. */
static uint64_t queues_at(pid_t tid, QueuesSeen *seen) {
        char path[64], link[384], name[PATH_MAX];
        uint64_t table = queues_table(tid), sum = table, all = 0, beyond = 0;
        int watchers[QUEUES_WATCHERS];
        size_t n_watchers = 0;
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
                inode = queues_inode_of(link, name);
                if (inode == 0)
                        sum += opens_bytes(&seen->look->opens, link, name);
                if (strcmp(name, "anon_inode:inotify") == 0)
                        sum += queues_events(tid, de->d_name);
                if (strcmp(name, "anon_inode:inotify") != 0 && strcmp(name, QUEUES_EPOLL) != 0)
                        ;
                else if (n_watchers < QUEUES_WATCHERS)
                        watchers[n_watchers++] = atoi(de->d_name);
                else
                        beyond++;
                queues_file(seen, link, name);
                if (inode == 0 || queues_has(&seen->counted, inode))
                        continue;
                copy = region_notify_copy_fd(tid, atoi(de->d_name));
                seen->beyond |= copy == -EMFILE || copy == -ENFILE || copy == -ENOMEM;
                if (copy < 0)
                        continue;
                sum += queues_one(seen, copy, inode, *name != 's', 0);
                close(copy);
        }
        if (d)
                closedir(d);
        return sum + opens_watched(&seen->look->opens, tid, watchers, n_watchers, beyond, all * table / QUEUES_SLOT, all);
}

/* "7f00-7f20 rw-s 00001000 fd:01 1057   /scratch/a (deleted)": who may not ask how large the file is takes what is mapped for it. */
static int queues_mapped(pid_t pid, const char *line, void *arg) {
        QueuesSeen *seen = arg;
        unsigned long from, to, offset;
        size_t before = seen->files.n;
        unsigned long long inode;
        uint32_t major, minor;
        char link[96];
        int at = 0;

        if (sscanf(line, "%lx-%lx %*s %lx %x:%x %llu %n", &from, &to, &offset, &major, &minor, &inode, &at) != 6 || at == 0 || line[at] != '/')
                return 0;
        snprintf(link, sizeof(link), "/proc/%d/map_files/%lx-%lx", (int)pid, from, to);
        if (major != seen->major || minor != seen->minor || queues_has(&seen->files, inode) || queues_file(seen, link, line + at) || seen->files.n > before ||
            strncmp(line + at, seen->folder, strlen(seen->folder)) != 0 || !strstr(line + at, " (deleted)") || !queues_new(&seen->files, inode))
                return 0;
        seen->unnamed += offset + (to - from);
        return 0;
}

/* Of all processes below root. */
static uint64_t queues_walk(pid_t root, QueuesSeen *seen) {
        _cleanup_free_ pid_t *list = NULL;
        uint64_t sum = 0;
        size_t n = 0;

        seen->beyond = proc_tree_list(root, &list, &n) < 0;
        for (size_t i = 0; i < n; i++) {
                _cleanup_free_ pid_t *tables = NULL;
                size_t n_tables = 0;

                if (tables_of(list[i], &tables, &n_tables) < 0) {
                        seen->beyond = true;
                        break;
                }
                for (size_t k = 0; k < n_tables; k++)
                        sum += queues_at(tables[k], seen);
                if (seen->folder)
                        tables_each_mapping(list[i], queues_mapped, seen);
        }
        /* Whether a pipe is empty, its end for writing does not say. */
        for (size_t i = 0; i < seen->written.n; i++)
                sum += queues_has(&seen->counted, seen->written.v[i]) ? 0 : QUEUES_PIPE + REGION_PIPE_BYTES;
        free(seen->counted.v);
        free(seen->written.v);
        free(seen->files.v);
        return sum;
}

void queues_update(QueuesLook *l, pid_t root, Guard *guard) {
        QueuesSeen seen = {.look = l, .guard = guard};
        uint64_t sum = queues_walk(root, &seen);

        l->busy = seen.busy ? l->busy + 1 : 0;
        if (l->busy == 0 || l->busy > QUEUES_BUSY_MAX)
                l->bytes = sum;
}

bool queues_sockets(QueuesLook *l, pid_t root, Guard *guard, QueuesSocket *v, size_t n) {
        QueuesSeen seen = {.look = l, .guard = guard, .sockets = v, .n_sockets = n};

        queues_walk(root, &seen);
        return !seen.busy && !seen.beyond;
}

uint64_t queues_datagrams(QueuesLook *l, pid_t root, Guard *guard) {
        QueuesSeen seen = {.look = l, .guard = guard};

        queues_walk(root, &seen);
        return seen.unsent;
}

uint64_t queues_unnamed(QueuesLook *l, pid_t root, int scratch, Guard *guard) {
        QueuesSeen seen = {.look = l, .guard = guard};
        char link[64], folder[PATH_MAX];
        struct statx st;
        ssize_t n;

        snprintf(link, sizeof(link), "/proc/self/fd/%d", scratch);
        n = readlink(link, folder, sizeof(folder) - 1);
        if (n <= 1 || statx(scratch, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &st) < 0)
                return 0;
        folder[n] = 0;
        seen.folder = folder;
        seen.major = st.stx_dev_major;
        seen.minor = st.stx_dev_minor;
        queues_walk(root, &seen);
        l->unnamed = seen.busy ? MAX(l->unnamed, seen.unnamed) : seen.unnamed;
        return l->unnamed;
}
