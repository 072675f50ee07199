/* Runs: supervisor. */
#include "region/region-relay.h"

#include "base/io.h"
#include "base/proc-path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

void relay_drop_buffer(Relay *r) {
        if (r->buf)
                explicit_bzero(r->buf, r->used);
        free(r->buf);
        r->buf = NULL;
}

void relay_aim(Relay *r) {
        if (r->at < r->n || r->full) {
                r->poll_fd = r->own_copy >= 0 ? r->own_copy : r->to;
                r->poll_events = POLLOUT;
        } else {
                r->poll_fd = r->from;
                r->poll_events = POLLIN;
        }
}

void relay_close_from(Relay *r) {
        if (r->own_from && r->from >= 0)
                close(r->from);
        r->from = -1;
        relay_aim(r);
}

void relay_close_to(Relay *r) {
        if (r->own_to && r->to >= 0)
                close(r->to);
        r->to = -1;
        closep(&r->own_copy);
        r->n = r->at = 0;
        relay_aim(r);
}

/* Opens a second description of the same pipe or terminal, for O_NONBLOCK of the supervisor alone. On the given
 * description the flag would change for every process that shares it. Returns the descriptor or -errno. */
static int relay_reopen_nonblock(int fd, int flags) {
        int r = open(PROC_FD(fd), flags | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);

        /* another user's terminal, as below sudo(8): /dev/tty may still be usable */
        if (r < 0 && errno == EACCES && isatty(fd))
                r = open("/dev/tty", flags | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
        return r < 0 ? -errno : r;
}

/* The terminal's number. A path proves nothing: /dev/tty depends on the process, /dev/ptmx makes a new terminal. */
static bool relay_terminal_of(int fd, unsigned *ret) {
        return ioctl(fd, TIOCGDEV, ret) == 0;
}

int relay_own_description(int fd, mode_t mode, int flags) {
        unsigned given = 0, own;
        int copy;

        if (!S_ISFIFO(mode) && !(S_ISCHR(mode) && relay_terminal_of(fd, &given)))
                return -ENOTTY;
        copy = relay_reopen_nonblock(fd, flags);
        if (copy >= 0 && S_ISCHR(mode) && !(relay_terminal_of(copy, &own) && own == given)) {
                close(copy);
                return -ENOTTY;
        }
        return copy;
}

static void relay_judge_target(Relay *r) {
        struct stat st;

        if (r->kind != RELAY_TARGET_UNKNOWN || r->to < 0)
                return;
        r->kind = RELAY_TARGET_POLLED;
        if (fstat(r->to, &st) < 0)
                return;
        if (S_ISREG(st.st_mode) || (S_ISCHR(st.st_mode) && major(st.st_rdev) == 1)) {
                r->kind = RELAY_TARGET_PLAIN;
        } else if (S_ISSOCK(st.st_mode)) {
                r->kind = RELAY_TARGET_SOCKET;
        } else if (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode)) {
                int copy = relay_own_description(r->to, st.st_mode, O_WRONLY);

                if (copy >= 0) {
                        r->own_copy = copy;
                        r->kind = RELAY_TARGET_NONBLOCK;
                }
        }
}

/* Writes without waiting. Returns 0, -EAGAIN, or another -errno when the target is lost. */
static int relay_write(Relay *r, bool polled) {
        relay_judge_target(r);
        while (r->at < r->n) {
                size_t n = r->n - r->at;
                ssize_t w;

                switch (r->kind) {
                case RELAY_TARGET_SOCKET:
                        w = send(r->to, r->buf + r->at, n, MSG_DONTWAIT | MSG_NOSIGNAL);
                        break;
                case RELAY_TARGET_POLLED:
                        if (!polled)
                                return -EAGAIN;
                        /* poll(2) promises a terminal's room for a byte. A larger write waits while it is stopped
                         * (I-62). */
                        w = write(r->to, r->buf + r->at, isatty(r->to) ? 1 : MIN(n, (size_t)PIPE_BUF));
                        polled = false;
                        break;
                case RELAY_TARGET_NONBLOCK:
                        w = write(r->own_copy >= 0 ? r->own_copy : r->to, r->buf + r->at, n);
                        break;
                case RELAY_TARGET_KEPT:
                case RELAY_TARGET_SINK:
                case RELAY_TARGET_UNKNOWN:
                case RELAY_TARGET_PLAIN:
                default:
                        w = write(r->to, r->buf + r->at, n);
                }
                if (w < 0 && errno == EINTR)
                        continue;
                if (w < 0)
                        return -errno;
                r->at += (size_t)w;
        }
        r->at = r->n = 0;
        return 0;
}

void relay_copy(Relay *r, const char *bytes, size_t n_bytes) {
        size_t n = MIN(n_bytes, r->kept_max - r->n_kept);

        r->cut |= n < n_bytes;
        if (n > 0)
                memcpy(r->kept + r->n_kept, bytes, n);
        r->n_kept += n;
}

static void relay_keep(Relay *r) {
        relay_copy(r, r->buf + r->at, r->n - r->at);
        r->n = r->at = 0;
        relay_aim(r);
}

bool relay_take(Relay *r) {
        if (r->kind == RELAY_TARGET_KEPT) {
                relay_keep(r);
        } else if (r->kind == RELAY_TARGET_SINK) {
                if (r->at < r->n)
                        r->sink->take(r->sink, r->buf + r->at, r->n - r->at);
                r->n = r->at = 0;
                relay_aim(r);
        } else {
                return false;
        }
        return true;
}

void relay_push(Relay *r, bool polled) {
        int e;

        if (relay_take(r))
                return;

        if (r->to < 0) { /* the target was lost before: drop the new bytes */
                r->n = r->at = 0;
                return;
        }
        e = relay_write(r, polled);
        if (e < 0 && e != -EAGAIN) {
                r->error = -e;
                relay_close_to(r);
        }
        relay_aim(r);
}

ssize_t relay_read(Relay *r, size_t most) {
        ssize_t n;

        if (!r->buf && !(r->buf = malloc(RELAY_CHUNK)))
                return -ENOMEM;
        /* A read may block after poll(2): another process reads the socket, or SO_RCVLOWAT is above 1. */
        do
                n = r->from_socket ? recv(r->from, r->buf, MIN(most, (size_t)RELAY_CHUNK), MSG_DONTWAIT)
                                   : read(r->from, r->buf, MIN(most, (size_t)RELAY_CHUNK));
        while (n < 0 && errno == EINTR);
        if (n < 0)
                return -errno;
        r->at = 0;
        r->n = (size_t)n;
        r->used = MAX(r->used, r->n);
        return n;
}

int relay_pipe(int *ret_read, int *ret_write, bool ours_is_read) {
        int p[2];

        if (pipe2(p, O_CLOEXEC) < 0)
                return -errno;
        *ret_read = p[0];
        *ret_write = p[1];
        return io_set_nonblock(ours_is_read ? p[0] : p[1]);
}

void relay_deinit(Relay *r) {
        relay_close_from(r);
        relay_close_to(r);
        relay_drop_buffer(r);
        if (r->kept)
                explicit_bzero(r->kept, r->n_kept);
        free(r->kept);
        r->kept = NULL;
}
