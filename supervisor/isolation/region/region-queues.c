#include "region/region-queues.h"

#include "base/buf.h"
#include "base/dirents.h"
#include "base/timed-syscall.h"
#include "region/region-notify-task.h"
#include "region/region-proc.h"
#include "region/region-tables.h"
#include "schema/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define QUEUES_EVENT 4    /* times the bytes of a reader: the smallest event has 16 there, 64 in memory */
#define QUEUES_SLOT 8     /* an entry in a table of descriptors */
#define QUEUES_PIPE 2048  /* an empty pipe or Unix socket with its inode */
#define QUEUES_INET 4096  /* an empty socket of another family */
#define QUEUES_EPOLL "anon_inode:[eventpoll]"
#define QUEUES_WATCHED_MAX 16384 /* of an epoll in a socket, when a look is impossible */
#define QUEUES_WATCHERS 256 /* epolls and inotifies looked into, for each table */
#define QUEUES_DATAGRAMS 11 /* in a socket: net.unix.max_dgram_qlen, and a further datagram */
#define QUEUES_DEPTH_MAX 4       /* sockets sent through sockets */
#define QUEUES_BUSY_MAX 20

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
        uint64_t unsent;    /* bytes of unfinished datagrams */
        bool busy;
        bool beyond; /* the look was incomplete */
} QueuesSeen;

static int queues_order(const void *a, const void *b) {
        uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

        return x < y ? -1 : x > y;
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

/* "pipe:[1]", "socket:[1]", or a named pipe: 0 for all other files. */
static uint64_t queues_inode_of(const char *link, const char *name) {
        const char *number = strchr(name, '[');

        if (number && (strncmp(name, "pipe:", 5) == 0 || strncmp(name, "socket:", 7) == 0))
                return strtoull(number + 1, NULL, 10);
        return queues_named(link, name);
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

/* Descriptors on their way, and for a datagram socket all received bytes. Without a look the queue counts as full. */
static uint64_t queues_sent(QueuesSeen *seen, int fd, uint64_t lie, bool datagrams, unsigned depth) {
        bool looked = depth <= QUEUES_DEPTH_MAX && !seen->busy && !seen->look->blocked;
        QueuesSent sent = {};
        uint64_t sum = 0;

        if (looked)
                seen->busy = !guard_look_begin(seen->guard);
        if (looked && !seen->busy) {
                int e = queues_peek(fd, datagrams ? UINT64_MAX : lie, &sent);

                looked = e == 0;
                seen->look->blocked = e == -ETIMEDOUT;
                if (!seen->look->blocked)
                        guard_look_end(seen->guard);
        }
        if (datagrams)
                sum = looked && !seen->busy ? sent.length : queues_unix_most() * QUEUES_DATAGRAMS;
        for (size_t i = 0; i < sent.n; i++)
                sum += queues_sent_one(seen, sent.fds[i], depth + 1);
        seen->beyond |= lie > sent.n;
        return sum + (lie > sent.n ? (lie - sent.n) * queues_each_most() : 0);
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
                bool events;
                int copy;

                proc_link(link, name, sizeof(name));
                all++;
                inode = queues_inode_of(link, name);
                if (inode == 0)
                        sum += opens_bytes(&seen->look->opens, link, name);
                events = strcmp(name, "anon_inode:inotify") == 0;
                if (events)
                        sum += queues_events(tid, de->d_name);
                if (events || strcmp(name, QUEUES_EPOLL) == 0) {
                        if (n_watchers < QUEUES_WATCHERS)
                                watchers[n_watchers++] = atoi(de->d_name);
                        else
                                beyond++;
                }
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
