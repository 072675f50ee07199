/* What nobody read any more from the region's pipes and sockets lies in pages and buffers of the kernel, which frees them as they are. They are
 * reached by taking the bytes out and putting zeros in their place: a pipe keeps the page that was read last and fills it with what is
 * written next; socket buffers come from lists whose last freed member is the first to be used again. What the region read from a pipe or socket
 * while it ran was freed then, and is not reached. */
#include "scrub/tracer/state.h"

#include <errno.h>
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
#include <unistd.h>

#define PIDFD_THREAD_ O_EXCL
#define CHUNK 65536
#define EMPTY_MAX 1024
#define EMPTY_MOST (1U << 18) /* where descriptors lie behind them: more than a socket of 64 MiB takes */
#define SENT_MAX 253 /* descriptors in one message: SCM_MAX_FD of the kernel */
#define LOOK_CHUNKS 256 /* of bytes that are looked at at once, all into the same place */
#define LOOK_WAIT_NSEC 50000L
#define LOOK_WAITS 40000 /* two seconds: the supervisor looks for a tenth of that at most */

static unsigned char chunk[CHUNK];
static unsigned long n_seen; /* descriptors that lay in the socket that is looked at */
static const unsigned char zeros[CHUNK];
/* Sockets that are looked into one after the other, each once: those that lie in one come after it. */
static SpawnCache looks[QUEUES_MAX];
static size_t n_looks;

static bool is_known(const Guard *g, const struct stat *st) {
        for (size_t i = 0; i < g->n_queues; i++)
                if (g->queues[i].ino == st->st_ino && g->queues[i].dev == st->st_dev)
                        return true;
        return false;
}

static void add(Guard *g, const struct stat *st, int fd) {
        if (fd >= g->fd_max) {
                close(fd);
                return;
        }
        g->queues[g->n_queues++] = (SpawnCache){fd, st->st_dev, st->st_ino};
}

/* Is it a pipe or a socket that is not in the table? Its path from the root would be looked up anew for each. */
static bool new_queue(const Guard *g, int folder, const char *name, struct stat *ret) {
        return fstatat(folder, name, ret, 0) == 0 && (S_ISFIFO(ret->st_mode) || S_ISSOCK(ret->st_mode)) && !is_known(g, ret);
}

/* Calls back with the path of each descriptor that is a pipe or a socket and not in the table. */
static void each_queue(Guard *g, pid_t pid, void (*f)(Guard *g, pid_t pid, const char *name, const char *path, const struct stat *st)) {
        const char *name;
        char path[64];
        struct stat st;
        Fds fds;

        if (!fds_open(&fds, pid))
                return;
        while ((name = fds_next(&fds))) {
                snprintf(path, sizeof(path), "/proc/%d/fd/%.20s", (int)pid, name);
                if (new_queue(g, fds.folder, name, &st))
                        f(g, pid, name, path, &st);
        }
        fds_close(&fds);
}

void queues_start(Guard *g, pid_t program) {
        int own[2], folder;
        char name[32];
        struct stat st;

        snprintf(name, sizeof(name), "/proc/%d/fd", (int)program);
        folder = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (folder < 0)
                return; /* without knowing what is the host's, none is touched */
        /* What the program's process was given; it has closed all others. */
        for (int fd = 0; fd < GUARD_PROGRAM_FDS; fd++) {
                snprintf(name, sizeof(name), "%d", fd);
                if (new_queue(g, folder, name, &st))
                        add(g, &st, -1);
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

/* A named one of a folder that the region was given is the host's. */
static bool pipe_of_region(const Guard *g, const char *path, const struct stat *st) {
        return st->st_dev == g->pipe_dev || (st->st_dev == g->scratch_dev && files_below_scratch(g, path) > 0);
}

/* The table of a thread need not be its leader's, which may be gone. Before Linux 6.9 only a leader's can be reached. */
static int take_socket(pid_t pid, const char *name) {
        int pidfd = (int)syscall(SYS_pidfd_open, pid, PIDFD_THREAD_), fd = -1;

        if (pidfd < 0 && errno == EINVAL)
                pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
        if (pidfd < 0)
                return -1;
        fd = (int)syscall(SYS_pidfd_getfd, pidfd, (int)strtol(name, NULL, 10), 0);
        close(pidfd);
        return fd;
}

static void keep(Guard *g, pid_t pid, const char *name, const char *path, const struct stat *st) {
        int fd = -1;

        if (g->n_queues == QUEUES_MAX)
                return;
        if (S_ISSOCK(st->st_mode))
                fd = take_socket(pid, name);
        else if (pipe_of_region(g, path, st))
                fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
        if (fd >= 0)
                add(g, st, fd);
}

/* A socket that is not looked into may hold a deleted file. Takes fd. */
static void look_later(Guard *g, int fd, const struct stat *st) {
        for (size_t i = 0; i < n_looks; i++)
                if (looks[i].ino == st->st_ino && looks[i].dev == st->st_dev) {
                        close(fd);
                        return;
                }
        if (n_looks < QUEUES_MAX && fd < g->fd_max) {
                looks[n_looks++] = (SpawnCache){fd, st->st_dev, st->st_ino};
                return;
        }
        close(fd);
        if (files_any(g))
                files_miss(g, &(struct stat){});
}

/* What was sent and never taken: a deleted file among the descriptors is kept, a pipe or a socket is kept as others are, or else looked
 * into. Takes fd. */
static void take_sent(Guard *g, int fd, bool keeps) {
        char link[64];
        struct stat st;
        int more;

        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        if (fstat(fd, &st) < 0) {
                close(fd);
                return;
        }
        if (S_ISREG(st.st_mode))
                files_keep_link(g, link);
        else if (S_ISSOCK(st.st_mode) && !is_known(g, &st)) {
                if (keeps && g->n_queues < QUEUES_MAX)
                        add(g, &st, fd);
                else
                        look_later(g, fd, &st);
                return;
        } else if (keeps && S_ISFIFO(st.st_mode) && !is_known(g, &st) && g->n_queues < QUEUES_MAX && pipe_of_region(g, link, &st)) {
                more = open(link, O_RDWR | O_NONBLOCK | O_CLOEXEC);
                if (more >= 0)
                        add(g, &st, more);
        }
        close(fd);
}

/* As recv(2), and with the descriptors that came. A look takes all of a message at once: who looks again into what is left of one finds its descriptors
 * again. */
static ssize_t receive(Guard *g, int fd, int flags, bool keeps) {
        /* A socket can be set to say who sent, which comes before the descriptors. */
        union {
                struct cmsghdr align;
                char bytes[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(sizeof(int) * SENT_MAX) + 512];
        } control;
        struct iovec v[LOOK_CHUNKS];
        struct msghdr m = {.msg_iov = v, .msg_iovlen = flags & MSG_PEEK ? LOOK_CHUNKS : 1, .msg_control = &control, .msg_controllen = sizeof(control)};
        ssize_t n;

        for (size_t i = 0; i < m.msg_iovlen; i++)
                v[i] = (struct iovec){chunk, sizeof(chunk)};
        n = recvmsg(fd, &m, flags | MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        for (struct cmsghdr *c = n < 0 ? NULL : CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c))
                for (size_t i = 0; c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && i < (c->cmsg_len - CMSG_LEN(0)) / sizeof(int); i++) {
                        int sent;

                        memcpy(&sent, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
                        n_seen++;
                        take_sent(g, sent, keeps);
                }
        if (n >= 0 && m.msg_flags & MSG_CTRUNC && files_any(g)) /* we have no room for them: nothing is known of the rest */
                files_miss(g, &(struct stat){});
        return n;
}

/* A byte that was sent out of band is left out by who reads, and with it the descriptors that came with it. */
static void take_all_in_line(int fd) {
        setsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &(int){1}, sizeof(int));
}

/* How many descriptors lie in a socket, and in the connections that wait for it. Where the kernel does not say, one. */
static unsigned long lie_in(pid_t pid, const char *name) {
        static const char key[] = "scm_fds:";
        char path[64], text[512], *p;
        ssize_t n;
        int fd;

        snprintf(path, sizeof(path), "/proc/%d/fdinfo/%.20s", (int)pid, name);
        fd = openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return 1;
        n = read(fd, text, sizeof(text) - 1);
        close(fd);
        text[n > 0 ? n : 0] = 0;
        p = strstr(text, key);
        return p ? strtoul(p + sizeof(key) - 1, NULL, 10) : n <= 0;
}

static unsigned long own_lie_in(int fd) {
        char name[24];

        snprintf(name, sizeof(name), "%d", fd);
        return lie_in(getpid(), name);
}

/* Where a look begins is a property of the socket. The supervisor looks into sockets, too, and goes first: it looks now and then, and the guard whenever a
 * process ends. False: it does not come to an end. */
static bool look_begin(Guard *g) {
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

static bool is_stream(int fd) {
        socklen_t n = sizeof(int);
        int type = 0;

        return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n) == 0 && type == SOCK_STREAM;
}

static void look_through(Guard *g, int fd) {
        const bool stream = is_stream(fd);
        int from = 0, off = -1, in_line = 0;
        socklen_t n_in_line = sizeof(in_line);
        ssize_t got = 0;

        getsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &in_line, &n_in_line);
        take_all_in_line(fd);
        for (unsigned n = 0; n < EMPTY_MAX && got < (ssize_t)sizeof(chunk) * LOOK_CHUNKS; n++) {
                if (setsockopt(fd, SOL_SOCKET, SO_PEEK_OFF, &from, sizeof(from)) < 0 || (got = receive(g, fd, MSG_PEEK, false)) < 0 ||
                    (got == 0 && stream)) /* its end */
                        break;
                from += (int)got;
        }
        setsockopt(fd, SOL_SOCKET, SO_PEEK_OFF, &off, sizeof(off));
        setsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &in_line, sizeof(in_line));
}

/* The region goes on to use the socket: nothing is taken out of it. Descriptors that are not seen may be deleted files: behind too much, in messages that a
 * look leaves out, or in connections that nobody accepted. Somebody who runs may take some out, or put more in, meanwhile. */
static void look_into(Guard *g, int fd) {
        unsigned long before = own_lie_in(fd), after;

        n_seen = 0;
        if (before == 0)
                return;
        if (look_begin(g)) {
                look_through(g, fd);
                __atomic_store_n(&g->evidence->guard_looks, 0, __ATOMIC_SEQ_CST);
        }
        after = own_lie_in(fd);
        if (n_seen < (before < after ? after : before) && files_any(g))
                files_miss(g, &(struct stat){});
}

static void look_into_all(Guard *g) {
        for (size_t i = 0; i < n_looks; i++) {
                look_into(g, looks[i].fd);
                close(looks[i].fd);
        }
        n_looks = 0;
}

/* A socket that cannot be taken is not looked into. */
static void look(Guard *g, pid_t pid, const char *name, const char *path, const struct stat *st) {
        int fd;

        if (!S_ISSOCK(st->st_mode) || lie_in(pid, name) == 0)
                return;
        fd = take_socket(pid, name);
        if (fd < 0) {
                files_miss(g, &(struct stat){});
                return;
        }
        look_later(g, fd, st);
        look_into_all(g);
}

void queues_keep(Guard *g, pid_t pid) {
        if (g->queues_known)
                each_queue(g, pid, keep);
}

bool queues_model(Guard *g, pid_t pid) {
        const char *name;
        Fds fds;

        g->n_model_fds = 0;
        g->model = pid;
        queues_keep(g, pid);
        if (!fds_open(&fds, pid))
                return false;
        while ((name = fds_next(&fds)) && g->n_model_fds <= MODEL_FDS)
                if (g->n_model_fds++ < MODEL_FDS)
                        g->model_fds[g->n_model_fds - 1] = (int)strtol(name, NULL, 10);
        fds_close(&fds);
        return g->n_model_fds <= MODEL_FDS;
}

/* The size of the folder is how many there are (Linux 6.2; before that it is 0). */
bool queues_same(const Guard *g, pid_t pid, bool count_only) {
        char path[64];
        struct stat st;

        snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
        if (stat(path, &st) < 0 || st.st_size != (off_t)g->n_model_fds)
                return false;
        for (size_t i = 0; !count_only && i < g->n_model_fds; i++)
                if (syscall(SYS_kcmp, pid, g->model, KCMP_FILE, g->model_fds[i], g->model_fds[i]) != 0)
                        return false;
        return true;
}

void queues_look(Guard *g, pid_t pid) {
        if (g->queues_known && files_any(g))
                each_queue(g, pid, look);
}

/* Has nobody else the pipe open? Else it came from outside, and what is in it is for somebody outside. It is told by what our end says when
 * it is the only one of the pipe's. fd is open for both and is closed; returns another one that is, or -1. */
static int only_ours(int fd) {
        static const struct {
                int ours, gone;
        } ends[] = {{O_RDONLY, POLLHUP}, {O_WRONLY, POLLERR}};
        bool only = true;
        char link[64];

        for (int i = 0; i < 2; i++) {
                struct pollfd p = {.events = 0};

                snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
                p.fd = open(link, ends[i].ours | O_NONBLOCK | O_CLOEXEC);
                close(fd);
                if (p.fd < 0)
                        return -1;
                only = only && poll(&p, 1, 0) >= 0 && p.revents & ends[i].gone;
                snprintf(link, sizeof(link), "/proc/self/fd/%d", p.fd);
                fd = open(link, O_RDWR | O_NONBLOCK | O_CLOEXEC);
                close(p.fd);
                if (fd < 0)
                        return -1;
        }
        if (only)
                return fd;
        close(fd);
        return -1;
}

/* Never more than was in it at the beginning: what comes after that is zeros. */
static uint64_t clear_pipe(int both) {
        int left = 0, all, fd = only_ours(both);
        ssize_t n;

        if (fd < 0 || ioctl(fd, FIONREAD, &left) < 0) {
                if (fd >= 0)
                        close(fd);
                return 0;
        }
        for (all = left; left > 0; left -= (int)n) {
                n = read(fd, chunk, (size_t)left < SCAN_PAGE ? (size_t)left : SCAN_PAGE);
                if (n <= 0 || write(fd, zeros, SCAN_PAGE) < 0)
                        break;
        }
        /* More than one page may have gone with what was read at once. */
        while (all > 0 && write(fd, zeros, SCAN_PAGE) > 0)
                ;
        close(fd);
        return (uint64_t)(all - left);
}

/* Connections that nobody accepted, with what was sent through them. */
static void take_waiting(Guard *g, int fd) {
        socklen_t n = sizeof(int);
        int listens = 0, family = 0, one;

        if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &n) < 0 || !listens || getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &n) < 0 ||
            family != AF_UNIX || fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
                return;
        while ((one = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0)
                take_sent(g, one, true);
}

static uint64_t clear_socket(Guard *g, int fd, const int own[2]) {
        const bool stream = is_stream(fd);
        uint64_t all = 0;
        ssize_t n;

        take_waiting(g, fd);
        take_all_in_line(fd);
        /* 0 is the end of a stream, also where a byte was read out of band and its descriptors are still there; or an empty message before others: behind
         * however many there may be descriptors. */
        for (unsigned empty = 0; (empty < EMPTY_MAX || (empty < EMPTY_MOST && own_lie_in(fd) > 0)) && (n = receive(g, fd, 0, true)) >= 0 && (n > 0 || !stream);
             empty += n == 0) {
                all += (uint64_t)n;
                for (int i = 0; i < 2; i++)
                        if (send(own[0], zeros, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
                                while (recv(own[1], chunk, sizeof(chunk), MSG_DONTWAIT) > 0)
                                        ;
        }
        if (own_lie_in(fd) > 0 && files_any(g))
                files_miss(g, &(struct stat){});
        look_into_all(g);
        return all;
}

static bool is_socket(int fd) {
        socklen_t n = sizeof(int);
        int type;

        return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n) == 0;
}

/* Sockets first: what was sent through them joins the queues. */
bool queues_clear(Guard *g) {
        int own[2] = {-1, -1};
        bool any = false;

        for (int pipes = 0; pipes < 2; pipes++)
                for (size_t i = 0; i < g->n_queues; i++) {
                        int fd = g->queues[i].fd;

                        if (fd < 0 || is_socket(fd) == (pipes == 1))
                                continue;
                        any = true;
                        g->queues[i].fd = -1;
                        if (pipes)
                                g->evidence->queue_bytes += clear_pipe(fd);
                        else {
                                if (own[0] < 0)
                                        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, own);
                                g->evidence->queue_bytes += clear_socket(g, fd, own);
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
