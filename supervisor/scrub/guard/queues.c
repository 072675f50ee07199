/* What nobody read any more from the region's pipes and sockets lies in pages and buffers of the kernel, which frees them as they are. They are
 * reached by taking the bytes out and putting zeros in their place: a pipe keeps the page that was read last and fills it with what is
 * written next; socket buffers come from lists whose last freed member is the first to be used again. What the region read from a pipe or socket
 * while it ran was freed then, and is not reached. */
#include "scrub/guard/state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CHUNK 65536
#define EMPTY_MAX 1024

static unsigned char chunk[CHUNK];
static const unsigned char zeros[CHUNK];

static bool is_known(const Guard *g, const struct stat *st) {
        for (size_t i = 0; i < g->n_queues; i++)
                if (g->queues[i].ino == st->st_ino && g->queues[i].dev == st->st_dev)
                        return true;
        return false;
}

static void add(Guard *g, const struct stat *st, int fd) {
        g->queues[g->n_queues++] = (Kept){fd, st->st_dev, st->st_ino};
}

/* Calls back with the path of each descriptor that is a pipe or a socket, until the table is full. */
static void each_queue(Guard *g, pid_t pid, void (*f)(Guard *g, pid_t pid, const char *name, const char *path, const struct stat *st)) {
        char path[64];
        struct dirent *d;
        struct stat st;
        DIR *folder;

        snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
        folder = opendir(path);
        while (folder && g->n_queues < QUEUES_MAX && (d = readdir(folder))) {
                if (d->d_name[0] == '.')
                        continue;
                snprintf(path, sizeof(path), "/proc/%d/fd/%.20s", (int)pid, d->d_name);
                if (stat(path, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)) && !is_known(g, &st))
                        f(g, pid, d->d_name, path, &st);
        }
        if (folder)
                closedir(folder);
}

void queues_start(Guard *g, pid_t program) {
        char path[64];
        int own[2];
        struct stat st;

        /* What the program's process was given; it has closed all others. */
        for (int fd = 0; fd < GUARD_PROGRAM_FDS; fd++) {
                snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)program, fd);
                if (stat(path, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)) && !is_known(g, &st))
                        add(g, &st, -1);
        }
        if (pipe2(own, O_CLOEXEC) < 0)
                return;
        if (fstat(own[0], &st) == 0)
                g->pipe_dev = st.st_dev;
        close(own[0]);
        close(own[1]);
}

static void keep(Guard *g, pid_t pid, const char *name, const char *path, const struct stat *st) {
        int fd = -1, pidfd;

        if (S_ISFIFO(st->st_mode)) {
                /* A named one of a folder that the region was given is the host's. */
                if (st->st_dev == g->pipe_dev || st->st_dev == g->scratch_dev)
                        fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
        } else {
                pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
                if (pidfd >= 0) {
                        fd = (int)syscall(SYS_pidfd_getfd, pidfd, (int)strtol(name, NULL, 10), 0);
                        close(pidfd);
                }
        }
        if (fd >= 0)
                add(g, st, fd);
}

void queues_keep(Guard *g, pid_t pid) {
        if (g->pipe_dev)
                each_queue(g, pid, keep);
}

/* Never more than was in it at the beginning: what comes after that is zeros. */
static uint64_t clear_pipe(int fd) {
        int left = 0, all;
        ssize_t n;

        if (ioctl(fd, FIONREAD, &left) < 0)
                return 0;
        for (all = left; left > 0; left -= (int)n) {
                n = read(fd, chunk, (size_t)left < SCAN_PAGE ? (size_t)left : SCAN_PAGE);
                if (n <= 0 || write(fd, zeros, SCAN_PAGE) < 0)
                        break;
        }
        /* More than one page may have gone with what was read at once. */
        while (all > 0 && write(fd, zeros, SCAN_PAGE) > 0)
                ;
        return (uint64_t)(all - left);
}

static uint64_t clear_socket(int fd, const int own[2]) {
        uint64_t all = 0;
        ssize_t n;

        /* 0 is the end of a stream, or an empty message before others. */
        for (unsigned empty = 0; empty < EMPTY_MAX && (n = recv(fd, chunk, sizeof(chunk), MSG_DONTWAIT)) >= 0; empty += n == 0) {
                all += (uint64_t)n;
                for (int i = 0; i < 2; i++)
                        if (send(own[0], zeros, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
                                while (recv(own[1], chunk, sizeof(chunk), MSG_DONTWAIT) > 0)
                                        ;
        }
        return all;
}

bool queues_clear(Guard *g) {
        int own[2] = {-1, -1};
        bool any = false;

        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, own);
        for (size_t i = 0; i < g->n_queues; i++) {
                int type, fd = g->queues[i].fd;
                socklen_t n = sizeof(type);

                if (fd < 0)
                        continue;
                any = true;
                g->evidence->queue_bytes += getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n) == 0 ? clear_socket(fd, own) : clear_pipe(fd);
                close(fd);
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
