#include "region/region-queues.h"

#include "base/dirents.h"
#include "base/timed-syscall.h"
#include "region/region-notify-task.h"
#include "region/region-proc.h"
#include "region/region-tables.h"
#include "schema/limits.h"

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

#define QUEUES_EVENT 4    /* times the bytes of a reader: the smallest event has 16 there, 64 in memory */
#define QUEUES_SENT_LEAST 768 /* of a message of any length */
#define QUEUES_SLOT 8     /* an entry in a table of descriptors */
#define QUEUES_PIPE 2048  /* an empty pipe or Unix socket with its inode */
#define QUEUES_INET 4096  /* an empty socket of another family */
#define QUEUES_EPOLL "anon_inode:[eventpoll]"
#define QUEUES_WATCHED_MAX 16384 /* of an epoll in a socket, when a look is impossible */
#define QUEUES_WATCHERS 256 /* epolls and inotifies looked into, for each table */
#define QUEUES_DATAGRAMS 11 /* in a socket: net.unix.max_dgram_qlen, and a further datagram */
#define QUEUES_DEPTH_MAX 4       /* sockets sent through sockets */
#define QUEUES_MESSAGES_MAX 1024 /* looked at in a socket */
#define QUEUES_MESSAGE_FDS 253   /* SCM_MAX_FD of the kernel */
#define QUEUES_PARTS 256         /* buffers of a look, all at the same address */
#define QUEUES_BUSY_MAX 20
#define QUEUES_SENT_MAX (4 * QUEUES_MESSAGE_FDS)
#define QUEUES_CONTROL (CMSG_SPACE(QUEUES_MESSAGE_FDS * sizeof(int)) + 512) /* also the sender */

typedef struct QueuesInodes {
        uint64_t *v; /* sorted; owned */
        size_t n;
} QueuesInodes;

typedef struct QueuesSeen {
        QueuesInodes counted; /* sockets, and pipes with a read end seen */
        QueuesInodes written; /* pipes with a write end seen */
        QueuesInodes files; /* deleted files of the scratch */
        uint64_t unnamed;   /* bytes of `files` */
        const char *folder; /* the scratch as a host folder; else NULL */
        uint32_t major, minor;
        QueuesLook *look;
        Guard *guard; /* borrowed */
        QueuesSocket *sockets; /* borrowed: the sockets queues_sockets() looks for */
        size_t n_sockets;
        uint64_t unsent;    /* bytes of unfinished datagrams (MSG_MORE), in sockets of IPv4 and IPv6 */
        bool busy;
        bool beyond; /* the look was incomplete */
} QueuesSeen;

static int queues_order(const void *a, const void *b) {
        uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

        return x < y ? -1 : x > y;
}

/* "pipe:[1]", "socket:[1]": 0 for all other files. */
static uint64_t queues_inode(const char *name) {
        const char *number = strchr(name, '[');

        if (!number || (strncmp(name, "pipe:", 5) != 0 && strncmp(name, "socket:", 7) != 0))
                return 0;
        return strtoull(number + 1, NULL, 10);
}

#define QUEUES_NAMED (1ULL << 63) /* named pipes have inode numbers of a different file system */

/* The inode of a named pipe, through a link of /proc. 0 for all other files. */
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

/* The kernel's default, when the file is unreadable. */
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

/* Reads the third number of "least first most". */
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

/* The sending Unix socket is charged with a message. After its close only the number of readable bytes is known. */
static uint64_t queues_left_by_closed(int fd, short events) {
        int n = 0;

        if (queues_option(fd, SO_DOMAIN) != AF_UNIX || !(events & POLLHUP) || !(events & POLLIN) ||
            ioctl(fd, FIONREAD, &n) < 0)
                return 0;
        if (queues_option(fd, SO_TYPE) == SOCK_SEQPACKET) /* messages may be empty */
                return queues_unix_most();
        /* A byte read out of band leaves an empty message: at most one behind each other message. */
        return n > 0 ? MIN((2 * (uint64_t)n + 1) * QUEUES_SENT_LEAST, queues_unix_most()) : 0;
}

uint64_t queues_charged(const uint32_t *charged) {
        return (uint64_t)charged[SK_MEMINFO_RMEM_ALLOC] +
               MAX(charged[SK_MEMINFO_WMEM_ALLOC], charged[SK_MEMINFO_WMEM_QUEUED]) + charged[SK_MEMINFO_BACKLOG] +
               charged[SK_MEMINFO_OPTMEM];
}

/* For a socket the kernel tells the charged bytes, sent and received (sock_diag(7)). A size query of a pipe would wait
 * for a writer, perhaps stuck in a served file system. So a pipe not known as empty counts as full (I-62). */
static uint64_t queues_held_by(int fd, bool pipe) {
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

/* Adds an inode. Returns false for a known inode. */
static bool queues_add_inode(QueuesInodes *i, uint64_t inode) {
        size_t at = i->n;

        if (inode == 0 || queues_has(i, inode))
                return false;
        if (!GROW(i->v, i->n))
                return false;
        while (at > 0 && i->v[at - 1] > inode)
                at--;
        memmove(&i->v[at + 1], &i->v[at], (i->n - at) * sizeof(inode));
        i->v[at] = inode;
        i->n++;
        return true;
}

/* Counts a deleted file of the scratch, through a link of /proc. A path too long to read is empty. */
static bool queues_file(QueuesSeen *seen, const char *link, const char *name) {
        static const char deleted[] = " (deleted)";
        size_t n = seen->folder ? strlen(seen->folder) : 0, have = strlen(name);
        struct statx st;

        if (n == 0 || (have > 0 && (have <= n + sizeof(deleted) || memcmp(name, seen->folder, n) != 0 ||
                                    name[n] != '/' || strcmp(name + have - (sizeof(deleted) - 1), deleted) != 0)))
                return false;
        if (statx(AT_FDCWD, link, AT_STATX_DONT_SYNC, STATX_NLINK | STATX_INO | STATX_BLOCKS, &st) < 0 ||
            st.stx_dev_major != seen->major || st.stx_dev_minor != seen->minor)
                return have == 0;
        if (st.stx_nlink == 0 && queues_add_inode(&seen->files, st.stx_ino))
                seen->unnamed += st.stx_blocks * 512;
        return true;
}

static uint64_t queues_of_descriptor(QueuesSeen *seen, int fd, uint64_t inode, bool pipe, unsigned depth);

/* fd: a copy of a descriptor on its way through a socket; closed here. */
static uint64_t queues_sent_one(QueuesSeen *seen, int fd, unsigned depth) {
        const char *link = PROC_FD(fd);
        char name[PATH_MAX];
        uint64_t sum, inode;

        proc_link(link, name, sizeof(name));
        queues_file(seen, link, name);
        inode = queues_inode_of(link, name);
        sum = inode != 0 ? queues_of_descriptor(seen, fd, inode, *name != 's', depth)
                         : opens_bytes(&seen->look->opens, link, name);
        if (strcmp(name, QUEUES_EPOLL) == 0)
                sum += opens_watched(&seen->look->opens, getpid(), &fd, 1, 0, QUEUES_WATCHED_MAX, QUEUES_WATCHED_MAX);
        close(fd);
        return sum;
}

typedef struct QueuesPeek {
        int fd;
        uint64_t lie;
        uint64_t length; /* bytes of the seen messages, with the overhead of each */
        size_t n;
        int sent[QUEUES_SENT_MAX];
        struct iovec v[QUEUES_PARTS];
        uint8_t bytes[4096];
        _Alignas(8) uint8_t control[QUEUES_CONTROL];
} QueuesPeek;

/* Job for timed_run(): peeks at messages in the socket, without taking. A reader of the region may lock the socket for
 * any time. Each message is read as a whole: a second look at the rest would find the descriptors again. */
__attribute__((no_sanitize("address", "undefined"))) static long queues_peek(void *job) {
        QueuesPeek *p = job;
        int from = 0, off = -1;
        long got = 0;

        for (size_t i = 0; i < QUEUES_PARTS; i++)
                p->v[i] = (struct iovec){p->bytes, sizeof(p->bytes)};
        if (timed_do(SYS_setsockopt, p->fd, SOL_SOCKET, SO_PEEK_OFF, &from, sizeof(from)) < 0)
                return -1;
        for (unsigned i = 0; i < QUEUES_MESSAGES_MAX && p->n < p->lie && p->n + QUEUES_MESSAGE_FDS <= QUEUES_SENT_MAX;
             i++) {
                struct msghdr m = {.msg_iov = p->v, .msg_iovlen = QUEUES_PARTS, .msg_control = p->control,
                                   .msg_controllen = sizeof(p->control)};

                if (got >= (long)(QUEUES_PARTS * sizeof(p->bytes)) ||
                    (got = timed_do(SYS_recvmsg, p->fd, &m, MSG_PEEK | MSG_DONTWAIT | MSG_CMSG_CLOEXEC | MSG_TRUNC)) <
                            0)
                        break;
                p->length += (uint64_t)got + QUEUES_SENT_LEAST;
                for (size_t at = 0; at + sizeof(struct cmsghdr) <= m.msg_controllen;) {
                        const struct cmsghdr *c = (const struct cmsghdr *)(const void *)(p->control + at);
                        const int *sent = (const int *)(const void *)CMSG_DATA(c);

                        if (c->cmsg_len < sizeof(*c))
                                break;
                        for (size_t k = 0; c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
                                           k < (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
                             k++)
                                p->sent[p->n++] = sent[k];
                        at += CMSG_ALIGN(c->cmsg_len);
                }
        }
        timed_do(SYS_setsockopt, p->fd, SOL_SOCKET, SO_PEEK_OFF, &off, sizeof(off));
        return 0;
}

/* Descriptors on their way, and for a datagram socket all received bytes. Without a look the queue counts as full. */
static uint64_t queues_sent(QueuesSeen *seen, int fd, uint64_t lie, bool datagrams, unsigned depth) {
        QueuesPeek *p = depth > QUEUES_DEPTH_MAX || seen->busy || seen->look->blocked ? NULL : calloc(1, sizeof(*p));
        uint64_t sum = 0, found = 0;

        if (p)
                seen->busy = !guard_look_begin(seen->guard);
        if (p && !seen->busy) {
                p->fd = fd;
                p->lie = datagrams ? UINT64_MAX : lie;
                seen->look->blocked = timed_run(queues_peek, p, sizeof(*p), TIMED_ALL, TIMED_USEC) == -ETIMEDOUT;
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

/* No control group counts the unsent bytes. */
static uint64_t queues_unsent(int fd) {
        uint32_t charged[SK_MEMINFO_VARS] = {};
        socklen_t n = sizeof(charged);
        int family = queues_option(fd, SO_DOMAIN);

        if ((family != AF_INET && family != AF_INET6) || queues_option(fd, SO_TYPE) != SOCK_DGRAM ||
            getsockopt(fd, SOL_SOCKET, SO_MEMINFO, charged, &n) < 0)
                return 0;
        return charged[SK_MEMINFO_WMEM_ALLOC];
}

static void queues_is_sought(QueuesSeen *seen, int fd, uint64_t inode) {
        for (size_t i = 0; i < seen->n_sockets; i++)
                if (seen->sockets[i].inode == inode) {
                        seen->sockets[i].seen = true;
                        seen->sockets[i].bytes = QUEUES_INET + queues_held_by(fd, false);
                }
}

/* fd: a copy of the descriptor of a pipe or a socket. */
static uint64_t queues_of_descriptor(QueuesSeen *seen, int fd, uint64_t inode, bool pipe, unsigned depth) {
        uint64_t lie;
        bool datagrams;

        if (pipe && (fcntl(fd, F_GETFL) & O_ACCMODE) == O_WRONLY) {
                queues_add_inode(&seen->written, inode);
                return 0;
        }
        if (!queues_add_inode(&seen->counted, inode))
                return 0;
        queues_is_sought(seen, fd, inode);
        seen->unsent += pipe ? 0 : queues_unsent(fd);
        /* descriptors on their way in the supervisor's copy of a socket: "scm_fds: 3" */
        lie = pipe ? 0 : proc_field(PROC_PATH("self/fdinfo/%d", fd), "scm_fds:", 10);
        datagrams = !pipe && queues_is_datagram(fd);
        return (pipe || queues_option(fd, SO_DOMAIN) == AF_UNIX ? QUEUES_PIPE : QUEUES_INET) +
               queues_held_by(fd, pipe) + (lie > 0 || datagrams ? queues_sent(seen, fd, lie, datagrams, depth) : 0);
}

static uint64_t queues_events(pid_t tid, const char *fd) {
        _cleanup_close_ int copy = region_notify_copy_fd(tid, atoi(fd));
        int n = 0;

        return copy >= 0 && ioctl(copy, FIONREAD, &n) == 0 ? (uint64_t)MAX(n, 0) * QUEUES_EVENT : 0;
}

static uint64_t queues_of_table(pid_t tid, QueuesSeen *seen) {
        _cleanup_closedir_ DIR *d = opendir(PROC_PATH("%d/fd", tid));
        uint64_t table = proc_field(PROC_PATH("%d/status", tid), "\nFDSize:", 10) * QUEUES_SLOT, sum = table, all = 0,
                 beyond = 0;
        int watchers[QUEUES_WATCHERS];
        size_t n_watchers = 0;
        char name[PATH_MAX];
        struct dirent *de;

        while (d && (de = readdir(d))) {
                const char *link = PROC_PATH("%d/fd/%.20s", tid, de->d_name);
                uint64_t inode;
                int copy;

                proc_link(link, name, sizeof(name));
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
                sum += queues_of_descriptor(seen, copy, inode, *name != 's', 0);
                close(copy);
        }
        return sum +
               opens_watched(&seen->look->opens, tid, watchers, n_watchers, beyond, all * table / QUEUES_SLOT, all);
}

/* "7f00-7f20 rw-s 00001000 fd:01 1057 /scratch/a (deleted)": without the file's size, the mapped length counts. */
static int queues_mapped(pid_t pid, const char *line, void *arg) {
        QueuesSeen *seen = arg;
        unsigned long from, to, offset;
        size_t before = seen->files.n;
        unsigned long long inode;
        uint32_t major, minor;
        int at = 0;

        if (sscanf(line, "%lx-%lx %*s %lx %x:%x %llu %n", &from, &to, &offset, &major, &minor, &inode, &at) != 6 ||
            at == 0 || line[at] != '/')
                return 0;
        if (major != seen->major || minor != seen->minor || queues_has(&seen->files, inode) ||
            queues_file(seen, PROC_PATH("%d/map_files/%lx-%lx", pid, from, to), line + at) ||
            seen->files.n > before ||
            strncmp(line + at, seen->folder, strlen(seen->folder)) != 0 || !strstr(line + at, " (deleted)") ||
            !queues_add_inode(&seen->files, inode))
                return 0;
        seen->unnamed += offset + (to - from);
        return 0;
}

static uint64_t queues_of_tree(pid_t root, QueuesSeen *seen) {
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
                        sum += queues_of_table(tables[k], seen);
                if (seen->folder)
                        tables_each_mapping(list[i], queues_mapped, seen);
        }
        /* A write end does not tell whether the pipe is empty. */
        for (size_t i = 0; i < seen->written.n; i++)
                sum += queues_has(&seen->counted, seen->written.v[i]) ? 0 : QUEUES_PIPE + REGION_PIPE_BYTES;
        free(seen->counted.v);
        free(seen->written.v);
        free(seen->files.v);
        return sum;
}

void queues_update(QueuesLook *l, pid_t root, Guard *guard) {
        QueuesSeen seen = {.look = l, .guard = guard};
        uint64_t sum = queues_of_tree(root, &seen);

        l->busy = seen.busy ? l->busy + 1 : 0;
        if (l->busy == 0 || l->busy > QUEUES_BUSY_MAX)
                l->bytes = sum;
}

bool queues_sockets(QueuesLook *l, pid_t root, Guard *guard, QueuesSocket *v, size_t n) {
        QueuesSeen seen = {.look = l, .guard = guard, .sockets = v, .n_sockets = n};

        queues_of_tree(root, &seen);
        return !seen.busy && !seen.beyond;
}

uint64_t queues_datagrams(QueuesLook *l, pid_t root, Guard *guard) {
        QueuesSeen seen = {.look = l, .guard = guard};

        queues_of_tree(root, &seen);
        return seen.unsent;
}

uint64_t queues_unnamed(QueuesLook *l, pid_t root, int scratch, Guard *guard) {
        QueuesSeen seen = {.look = l, .guard = guard};
        char folder[PATH_MAX];
        struct statx st;

        if (proc_link(PROC_FD(scratch), folder, sizeof(folder)) <= 1 ||
            statx(scratch, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &st) < 0)
                return 0;
        seen.folder = folder;
        seen.major = st.stx_dev_major;
        seen.minor = st.stx_dev_minor;
        queues_of_tree(root, &seen);
        l->unnamed = seen.busy ? MAX(l->unnamed, seen.unnamed) : seen.unnamed;
        return l->unnamed;
}
