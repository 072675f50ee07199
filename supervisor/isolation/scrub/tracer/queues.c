/* Unread bytes of the region's pipes and sockets lie in pages and buffers of the kernel, which frees them unchanged.
 * The guard takes the bytes out and puts zeros in their place: a pipe keeps the page read last and fills it with the
 * next write; socket buffers come from lists that reuse the last freed member first. Bytes read earlier were freed
 * then, out of reach. */
#include "scrub/tracer/state.h"

#include <fcntl.h>
#include <linux/kcmp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>

#define PIDFD_THREAD_ O_EXCL
#define CHUNK 65536
#define EMPTY_MAX 1024
#define EMPTY_MOST (1U << 18) /* where descriptors lie behind them: more than a socket of 64 MiB takes */
#define SENT_MAX 253 /* descriptors in a message: SCM_MAX_FD of the kernel */
#define LOOK_CHUNKS 256 /* chunks peeked at in a single call, all into the same place */
#define LOOK_WAIT_NSEC 50000L
#define LOOK_WAITS 40000 /* two seconds: the supervisor looks for a tenth of that at most */

static unsigned char chunk[CHUNK];
static unsigned long n_seen; /* descriptors found in the socket under inspection */
static const unsigned char zeros[CHUNK];
/* Sockets to inspect one after the other, each once: sockets found inside are appended. */
static KeptFile looks[QUEUES_MAX];
static size_t n_looks;

static bool queues_is_known(const Tracer *g, const struct stat *st) {
        for (size_t i = 0; i < g->n_queues; i++)
                if (g->queues[i].ino == st->st_ino && g->queues[i].dev == st->st_dev)
                        return true;
        return false;
}

static void queues_add(Tracer *g, const struct stat *st, int fd) {
        if (fd < g->fd_max)
                g->queues[g->n_queues++] = (KeptFile){fd, st->st_dev, st->st_ino};
        else
                close(fd);
}

/* Says whether the name is a pipe or socket not yet in the table. Relative: a full path would be resolved anew. */
static bool queues_is_new(const Tracer *g, int folder, const char *name, struct stat *ret) {
        return fstatat(folder, name, ret, 0) == 0 && (S_ISFIFO(ret->st_mode) || S_ISSOCK(ret->st_mode)) &&
               !queues_is_known(g, ret);
}

/* Calls back with the path of each pipe or socket not yet in the table. */
static void queues_each(Tracer *g, pid_t pid,
                        void (*f)(Tracer *g, pid_t pid, const char *name, const char *path, const struct stat *st)) {
        _autoclose_ int folder = fds_open(pid);
        const char *name;
        struct stat st;
        Dirents fds;

        if (folder < 0)
                return;
        dirents_begin(&fds, folder);
        while ((name = dirents_next(&fds)))
                if (queues_is_new(g, folder, name, &st))
                        f(g, pid, name, PROC_PATH("%d/fd/%.20s", pid, name), &st);
}

void queues_start(Tracer *g, pid_t program) {
        int own[2], folder = open(PROC_PATH("%d/fd", program), O_PATH | O_DIRECTORY | O_CLOEXEC);
        char name[32];
        struct stat st;

        if (folder < 0)
                return; /* with unknown host queues, none is touched */
        /* The descriptors given to the program's process; all others are closed. */
        for (int fd = 0; fd < GUARD_PROGRAM_FDS; fd++) {
                snprintf(name, sizeof(name), "%d", fd);
                if (queues_is_new(g, folder, name, &st))
                        queues_add(g, &st, -1);
        }
        close(folder);
        if (g->pipe_dev == 0 && pipe2(own, O_CLOEXEC) == 0) {
                if (fstat(own[0], &st) == 0)
                        g->pipe_dev = st.st_dev;
                close(own[0]);
                close(own[1]);
        }
        g->queues_known = g->pipe_dev != 0;
}

/* A named pipe in a granted folder belongs to the host. */
static bool queues_is_pipe_of_region(const Tracer *g, const char *path, const struct stat *st) {
        return st->st_dev == g->pipe_dev || (st->st_dev == g->scratch_dev && files_below_scratch(g, path) > 0);
}

/* A thread's descriptor table may differ from its leader's. Before Linux 6.9 only a leader's is reachable. */
static int queues_take_socket(pid_t pid, const char *name) {
        _autoclose_ int pidfd = (int)syscall(SYS_pidfd_open, pid, PIDFD_THREAD_);

        if (pidfd < 0 && errno == EINVAL)
                pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
        return pidfd < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, pidfd, (int)strtol(name, NULL, 10), 0);
}

static void queues_keep_queue(Tracer *g, pid_t pid, const char *name, const char *path, const struct stat *st) {
        int fd = -1;

        if (g->n_queues == QUEUES_MAX)
                return;
        if (S_ISSOCK(st->st_mode))
                fd = queues_take_socket(pid, name);
        else if (queues_is_pipe_of_region(g, path, st))
                fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
        if (fd >= 0)
                queues_add(g, st, fd);
}

/* A socket without inspection may hold a deleted file. Takes fd. */
static void queues_look_later(Tracer *g, int taken, const struct stat *st) {
        _autoclose_ int fd = taken;

        for (size_t i = 0; i < n_looks; i++)
                if (looks[i].ino == st->st_ino && looks[i].dev == st->st_dev)
                        return;
        if (n_looks < QUEUES_MAX && fd < g->fd_max) {
                looks[n_looks++] = (KeptFile){fd, st->st_dev, st->st_ino};
                fd = -1;
        } else if (files_any(g))
                files_miss(g, &(struct stat){});
}

/* For a descriptor sent and not received: a deleted file, a pipe or a socket is kept, or inspected. Takes fd. */
static void queues_take_sent(Tracer *g, int taken, bool keeps) {
        _autoclose_ int fd = taken;
        const char *link = PROC_FD(fd);
        struct stat st;
        int more;

        if (fstat(fd, &st) < 0)
                return;
        if (S_ISREG(st.st_mode))
                files_keep_link(g, link);
        else if (S_ISSOCK(st.st_mode) && !queues_is_known(g, &st)) {
                if (keeps && g->n_queues < QUEUES_MAX)
                        queues_add(g, &st, fd);
                else
                        queues_look_later(g, fd, &st);
                fd = -1;
        } else if (keeps && S_ISFIFO(st.st_mode) && !queues_is_known(g, &st) && g->n_queues < QUEUES_MAX &&
                   queues_is_pipe_of_region(g, link, &st)) {
                more = open(link, O_RDWR | O_NONBLOCK | O_CLOEXEC);
                if (more >= 0)
                        queues_add(g, &st, more);
        }
}

/* As recv(2), with the received descriptors. A peek takes a whole message, not to find its descriptors twice. */
static ssize_t queues_receive(Tracer *g, int fd, int flags, bool keeps) {
        /* A socket option adds the sender's credentials before the descriptors. */
        union {
                struct cmsghdr align;
                char bytes[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(sizeof(int) * SENT_MAX) + 512];
        } control;
        struct iovec v[LOOK_CHUNKS];
        struct msghdr m = {.msg_iov = v, .msg_iovlen = flags & MSG_PEEK ? LOOK_CHUNKS : 1, .msg_control = &control,
                           .msg_controllen = sizeof(control)};
        ssize_t n;

        for (size_t i = 0; i < m.msg_iovlen; i++)
                v[i] = (struct iovec){chunk, sizeof(chunk)};
        n = recvmsg(fd, &m, flags | MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        for (struct cmsghdr *c = n < 0 ? NULL : CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c))
                for (size_t i = 0; c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
                                   i < (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
                     i++) {
                        int sent;

                        memcpy(&sent, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
                        n_seen++;
                        queues_take_sent(g, sent, keeps);
                }
        if (n >= 0 && m.msg_flags & MSG_CTRUNC && files_any(g)) /* no room for some descriptors: the rest is unknown */
                files_miss(g, &(struct stat){});
        return n;
}

/* A plain read leaves out a byte sent out of band, and the descriptors sent with it. */
static void queues_read_all_in_line(int fd) {
        setsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &(int){1}, sizeof(int));
}

/* The number of descriptors in a socket and in its waiting connections. Where the kernel does not tell, 1. */
static unsigned long queues_sent_to(pid_t pid, const char *name) {
        static const char key[] = "scm_fds:";
        char info[32], text[512], *p;
        ssize_t n;

        snprintf(info, sizeof(info), "fdinfo/%.20s", name);
        n = task_read(pid, info, text, sizeof(text));
        p = strstr(text, key);
        return p ? strtoul(p + sizeof(key) - 1, NULL, 10) : n <= 0;
}

static unsigned long queues_sent_to_own(int fd) {
        char name[24];

        snprintf(name, sizeof(name), "%d", fd);
        return queues_sent_to(getpid(), name);
}

/* The peek offset is a property of the socket. The supervisor inspects sockets, too, and goes first: now and then,
 * the guard whenever a process ends. False: the supervisor does not finish. */
static bool queues_look_begin(Tracer *g) {
        const struct timespec wait = {.tv_nsec = LOOK_WAIT_NSEC};
        GuardEvidence *e = g->evidence;

        for (unsigned n = 0; n < LOOK_WAITS && !g->no_looks; n++) {
                __atomic_store_n(&e->guard_looks, 1, __ATOMIC_SEQ_CST);
                if (!__atomic_load_n(&e->supervisor_looks, __ATOMIC_SEQ_CST))
                        return true;
                __atomic_store_n(&e->guard_looks, 0, __ATOMIC_SEQ_CST);
                e->beats++;
                nanosleep(&wait, NULL);
        }
        g->no_looks = true;
        return false;
}

/* Of a socket; -1: not a socket. */
static int queues_type(int fd) {
        socklen_t n = sizeof(int);
        int type;

        return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n) == 0 ? type : -1;
}

static void queues_look_through(Tracer *g, int fd) {
        const bool stream = queues_type(fd) == SOCK_STREAM;
        int from = 0, off = -1, in_line = 0;
        socklen_t n_in_line = sizeof(in_line);
        ssize_t got = 0;

        getsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &in_line, &n_in_line);
        queues_read_all_in_line(fd);
        for (unsigned n = 0; n < EMPTY_MAX && got < (ssize_t)sizeof(chunk) * LOOK_CHUNKS; n++) {
                if (setsockopt(fd, SOL_SOCKET, SO_PEEK_OFF, &from, sizeof(from)) < 0 ||
                    (got = queues_receive(g, fd, MSG_PEEK, false)) < 0 || (got == 0 && stream)) /* end of the stream */
                        break;
                from += (int)got;
        }
        setsockopt(fd, SOL_SOCKET, SO_PEEK_OFF, &off, sizeof(off));
        setsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &in_line, sizeof(in_line));
}

/* The region goes on to use the socket: no byte is taken out. Unseen descriptors may be deleted files: behind too many
 * bytes, in messages left out by a peek, or in waiting connections. A running task may change the queue meanwhile. */
static void queues_look_into(Tracer *g, int fd) {
        unsigned long before = queues_sent_to_own(fd), after;

        n_seen = 0;
        if (before == 0)
                return;
        if (queues_look_begin(g)) {
                queues_look_through(g, fd);
                __atomic_store_n(&g->evidence->guard_looks, 0, __ATOMIC_SEQ_CST);
        }
        after = queues_sent_to_own(fd);
        if (n_seen < (before < after ? after : before) && files_any(g))
                files_miss(g, &(struct stat){});
}

static void queues_look_into_all(Tracer *g) {
        for (size_t i = 0; i < n_looks; i++) {
                queues_look_into(g, looks[i].fd);
                close(looks[i].fd);
        }
        n_looks = 0;
}

/* A socket out of reach counts as a missed file. */
static void queues_look_at(Tracer *g, pid_t pid, const char *name, const char *path, const struct stat *st) {
        int fd;

        if (!S_ISSOCK(st->st_mode) || queues_sent_to(pid, name) == 0)
                return;
        fd = queues_take_socket(pid, name);
        if (fd < 0) {
                files_miss(g, &(struct stat){});
                return;
        }
        queues_look_later(g, fd, st);
        queues_look_into_all(g);
}

void queues_keep(Tracer *g, pid_t pid) {
        if (g->queues_known)
                queues_each(g, pid, queues_keep_queue);
}

bool queues_model(Tracer *g, pid_t pid) {
        _autoclose_ int folder = -1;
        const char *name;
        Dirents fds;

        g->n_model_fds = 0;
        g->model = pid;
        queues_keep(g, pid);
        if ((folder = fds_open(pid)) < 0)
                return false;
        dirents_begin(&fds, folder);
        while ((name = dirents_next(&fds)) && g->n_model_fds <= MODEL_FDS)
                if (g->n_model_fds++ < MODEL_FDS)
                        g->model_fds[g->n_model_fds - 1] = (int)strtol(name, NULL, 10);
        return g->n_model_fds <= MODEL_FDS;
}

/* The size of the folder is the number of descriptors (Linux 6.2; before, it is 0). */
bool queues_same(const Tracer *g, pid_t pid, bool count_only) {
        struct stat st;

        if (stat(PROC_PATH("%d/fd", pid), &st) < 0 || st.st_size != (off_t)g->n_model_fds)
                return false;
        for (size_t i = 0; !count_only && i < g->n_model_fds; i++)
                if (syscall(SYS_kcmp, pid, g->model, KCMP_FILE, g->model_fds[i], g->model_fds[i]) != 0)
                        return false;
        return true;
}

void queues_look(Tracer *g, pid_t pid) {
        if (g->queues_known && files_any(g))
                queues_each(g, pid, queues_look_at);
}

/* Checks that no other process has the pipe open. A pipe with a holder outside came from outside, and so did its
 * reader's right to the bytes. With both ends closed elsewhere, poll() on the guard's own end tells. fd is open for
 * both and is closed; returns a second descriptor open for both, or -1. */
static int queues_only_ours(int fd) {
        static const struct {
                int ours, gone;
        } ends[] = {{O_RDONLY, POLLHUP}, {O_WRONLY, POLLERR}};
        bool only = true;

        for (int i = 0; i < 2; i++) {
                struct pollfd p = {.fd = fds_reopen(fd, ends[i].ours)};

                close(fd);
                if (p.fd < 0)
                        return -1;
                only = only && poll(&p, 1, 0) >= 0 && p.revents & ends[i].gone;
                fd = fds_reopen(p.fd, O_RDWR);
                close(p.fd);
                if (fd < 0)
                        return -1;
        }
        if (only)
                return fd;
        close(fd);
        return -1;
}

/* Takes out only as much as was there at the beginning: the later bytes are zeros. */
static uint64_t queues_clear_pipe(int both) {
        _autoclose_ int fd = queues_only_ours(both);
        int left = 0, all;
        ssize_t n;

        if (fd < 0 || ioctl(fd, FIONREAD, &left) < 0)
                return 0;
        for (all = left; left > 0; left -= (int)n) {
                n = read(fd, chunk, (size_t)left < SCAN_PAGE ? (size_t)left : SCAN_PAGE);
                if (n <= 0 || write(fd, zeros, SCAN_PAGE) < 0)
                        break;
        }
        /* A single read may have freed more than one page. */
        while (all > 0 && write(fd, zeros, SCAN_PAGE) > 0)
                ;
        return (uint64_t)(all - left);
}

/* Connections not accepted yet, with the bytes and descriptors sent through them. */
static void queues_take_waiting(Tracer *g, int fd) {
        socklen_t n = sizeof(int);
        int listens = 0, family = 0, one;

        if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &n) < 0 || !listens ||
            getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &n) < 0 || family != AF_UNIX ||
            fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
                return;
        while ((one = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0)
                queues_take_sent(g, one, true);
}

static uint64_t queues_clear_socket(Tracer *g, int fd, const int own[2]) {
        const bool stream = queues_type(fd) == SOCK_STREAM;
        uint64_t all = 0;
        ssize_t n;

        queues_take_waiting(g, fd);
        queues_read_all_in_line(fd);
        /* 0 is the end of a stream, also where a byte was read out of band and its descriptors are still there; or
         * an empty message, and further messages behind it may hold descriptors. */
        for (unsigned empty = 0; (empty < EMPTY_MAX || (empty < EMPTY_MOST && queues_sent_to_own(fd) > 0)) &&
                                 (n = queues_receive(g, fd, 0, true)) >= 0 && (n > 0 || !stream);
             empty += n == 0) {
                all += (uint64_t)n;
                for (int i = 0; i < 2; i++)
                        if (send(own[0], zeros, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
                                while (recv(own[1], chunk, sizeof(chunk), MSG_DONTWAIT) > 0)
                                        ;
        }
        if (queues_sent_to_own(fd) > 0 && files_any(g))
                files_miss(g, &(struct stat){});
        queues_look_into_all(g);
        return all;
}

/* Sockets first: descriptors found inside join the queues. */
bool queues_clear(Tracer *g) {
        int own[2] = {-1, -1};
        bool any = false;

        for (int pipes = 0; pipes < 2; pipes++)
                for (size_t i = 0; i < g->n_queues; i++) {
                        int fd = g->queues[i].fd;

                        if (fd < 0 || (queues_type(fd) >= 0) == (pipes == 1))
                                continue;
                        any = true;
                        g->queues[i].fd = -1;
                        if (pipes)
                                g->evidence->queue_bytes += queues_clear_pipe(fd);
                        else {
                                if (own[0] < 0)
                                        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, own);
                                g->evidence->queue_bytes += queues_clear_socket(g, fd, own);
                                close(fd);
                        }
                }
        g->n_queues = 0;
        if (own[0] >= 0) {
                close(own[0]);
                close(own[1]);
        }
        if (any)
                memset(chunk, 0, sizeof(chunk));
        return any;
}
