/* Runs: supervisor. */
#include "region/region-io.h"

#include "base/clock.h"
#include "base/io.h"
#include "base/proc-path.h"
#include "region/region-terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define INPUT_PIPE (256 * 1024)    /* bytes: of a skill's standard input once it flows fast */
#define INPUT_SOURCE (1024 * 1024) /* bytes: of the caller's pipe then; the kernel's limit for an ordinary user */
#define INPUT_TURNS 8              /* buffers moved before the supervisor looks at its clocks again */
#define INPUT_REST_USEC 50         /* until the next look at input that flows fast */
#define TERMINAL_REST 65536        /* bytes: more than the kernel keeps of a terminal's output (12 KiB) */

/* Output of a region must not stay in freed memory. */
static void relay_drop_buffer(Relay *r) {
        if (r->buf)
                explicit_bzero(r->buf, r->used);
        free(r->buf);
        r->buf = NULL;
}

static void relay_aim(Relay *r) {
        if (r->at < r->n || r->full) {
                r->poll_fd = r->own_copy >= 0 ? r->own_copy : r->to;
                r->poll_events = POLLOUT;
        } else {
                r->poll_fd = r->from;
                r->poll_events = POLLIN;
        }
}

static void relay_close_from(Relay *r) {
        if (r->own_from && r->from >= 0)
                close(r->from);
        r->from = -1;
        relay_aim(r);
}

static void relay_close_to(Relay *r) {
        if (r->own_to && r->to >= 0)
                close(r->to);
        r->to = -1;
        closep(&r->own_copy);
        r->n = r->at = 0;
        relay_aim(r);
}

/* Opens a second description of the same pipe or terminal, for O_NONBLOCK of the supervisor alone. On the given
 * description the flag would change for every process that shares it. Returns the descriptor or -errno. */
static int io_reopen_nonblock(int fd, int flags) {
        int r = open(PROC_FD(fd), flags | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);

        /* another user's terminal, as below sudo(8): /dev/tty may still be usable */
        if (r < 0 && errno == EACCES && isatty(fd))
                r = open("/dev/tty", flags | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
        return r < 0 ? -errno : r;
}

/* The terminal's number. A path proves nothing: /dev/tty depends on the process, /dev/ptmx makes a new terminal. */
static bool io_terminal_of(int fd, unsigned *ret) {
        return ioctl(fd, TIOCGDEV, ret) == 0;
}

/* Reopens a pipe, or a terminal by a path to the same terminal. Opening other devices may have side effects. */
static int io_own_description(int fd, mode_t mode, int flags) {
        unsigned given = 0, own;
        int copy;

        if (!S_ISFIFO(mode) && !(S_ISCHR(mode) && io_terminal_of(fd, &given)))
                return -ENOTTY;
        copy = io_reopen_nonblock(fd, flags);
        if (copy >= 0 && S_ISCHR(mode) && !(io_terminal_of(copy, &own) && own == given)) {
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
                int copy = io_own_description(r->to, st.st_mode, O_WRONLY);

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

static void relay_copy(Relay *r, const char *bytes, size_t n_bytes) {
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

static bool relay_take(Relay *r) {
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

static void relay_push(Relay *r, bool polled) {
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

/* Reads at most `most` bytes into the empty buffer. Returns bytes, 0 at the end, -errno. */
static ssize_t relay_read(Relay *r, size_t most) {
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

static int relay_pipe(int *ret_read, int *ret_write, bool ours_is_read) {
        int p[2];

        if (pipe2(p, O_CLOEXEC) < 0)
                return -errno;
        *ret_read = p[0];
        *ret_write = p[1];
        return io_set_nonblock(ours_is_read ? p[0] : p[1]);
}

/* Standard input comes from the feed's buffer, without a descriptor to read. */
static int io_open_feed(RegionIo *io, const RegionFeed *feed) {
        io->out.kind = RELAY_TARGET_KEPT;
        io->out.kept_max = feed->keep_max;
        io->out.kept = malloc(feed->keep_max);
        if (!io->out.kept)
                return -ENOMEM;
        if (feed->n_input == 0) {
                relay_close_to(&io->in);
                return 0;
        }
        io->in.buf = malloc(feed->n_input);
        if (!io->in.buf)
                return -ENOMEM;
        memcpy(io->in.buf, feed->input, feed->n_input);
        io->in.n = feed->n_input;
        return 0;
}

static void io_aim_relays(RegionIo *io) {
        relay_aim(&io->in);
        relay_aim(&io->out);
        relay_aim(&io->err);
}

const int region_io_later[3] = {-1, -1, -1};

static bool io_is_packets(int fd) {
        int type = 0;

        return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &(socklen_t){sizeof(type)}) == 0 && type == SOCK_SEQPACKET;
}

void region_io_aim(RegionIo *io, const int *streams) {
        static const int own[] = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};
        const int *std = streams ? streams : own;
        struct stat st;

        io->out.to = std[1];
        io->err.to = std[2];
        if (fstat(std[0], &st) < 0 || (S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3))) {
                relay_close_to(&io->in);
        } else {
                /* Another process may read the same pipe or terminal, and empty the pipe after poll(2) was ready. */
                if (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode)) {
                        io->in.from = io_own_description(std[0], st.st_mode, O_RDONLY);
                        io->in.own_from = io->in.from >= 0;
                }
                if (io->in.from < 0)
                        io->in.from = std[0];
                io->in.from_socket = S_ISSOCK(st.st_mode);
                io->packets = io->terminal && io->in.from_socket && io_is_packets(std[0]);
        }
        io_aim_relays(io);
}

static int io_open_pipes(RegionIo *io) {
        int e;

        return (e = relay_pipe(&io->region_in, &io->in.to, false)) < 0 ||
                               (e = relay_pipe(&io->out.from, &io->region_out, true)) < 0 ||
                               (e = relay_pipe(&io->err.from, &io->region_err, true)) < 0
                       ? e
                       : 0;
}

/* The worker replaces the three descriptors by the terminal. */
static int io_open_terminal(RegionIo *io, const int *streams) {
        io->terminal = true;
        for (int i = 0; i < 3; i++)
                io->streams[i] = streams ? streams[i] : i;
        io->region_in = open("/dev/null", O_RDWR | O_CLOEXEC);
        io->region_out = fcntl(io->region_in, F_DUPFD_CLOEXEC, 0);
        io->region_err = fcntl(io->region_in, F_DUPFD_CLOEXEC, 0);
        return io->region_in < 0 || io->region_out < 0 || io->region_err < 0 ? -errno : 0;
}

int region_io_take_terminal(RegionIo *io, int master) {
        int e;

        assert(io->terminal && io->out.from < 0);
        io->out.from = master;
        e = io_set_nonblock(master);
        io->in.to = e < 0 ? -1 : fcntl(master, F_DUPFD_CLOEXEC, 0);
        if (io->in.to < 0)
                return e < 0 ? e : -errno;
        region_io_aim(io, io->streams);
        return 0;
}

int region_io_open(RegionIo *io, uint64_t output_max, bool terminal, const RegionFeed *feed, const int *streams) {
        int e;

        *io = (RegionIo){.region_in = -1, .region_out = -1, .region_err = -1, .output_max = output_max,
                          .rest_deadline = UINT64_MAX};
        io->in = io->out = io->err = (Relay){.from = -1, .to = -1, .own_copy = -1, .poll_fd = -1};
        io->in.own_to = io->out.own_from = io->err.own_from = true;
        io->in.kind = RELAY_TARGET_NONBLOCK;
        e = terminal && !feed ? io_open_terminal(io, streams) : io_open_pipes(io);
        if (e < 0 || (feed && (e = io_open_feed(io, feed)) < 0)) {
                region_io_deinit(io);
                return e;
        }
        if (feed) {
                io->err.to = streams ? streams[2] : STDERR_FILENO;
                io_aim_relays(io);
        } else if (!terminal && streams != region_io_later)
                region_io_aim(io, streams);
        return 0;
}

void region_io_to_sinks(RegionIo *io, RegionSink *out, RegionSink *err) {
        Relay *const relays[] = {&io->out, &io->err};
        RegionSink *const sinks[] = {out, err};

        for (size_t i = 0; i < ARRAY_SIZE(relays); i++)
                if (sinks[i] && relays[i]->kind != RELAY_TARGET_KEPT) {
                        relays[i]->kind = RELAY_TARGET_SINK;
                        relays[i]->sink = sinks[i];
                }
}

int region_io_keep(RegionIo *io, size_t most) {
        if (io->out.kept)
                return 0;
        io->out.kept = malloc(most);
        io->out.kept_max = io->out.kept ? most : 0;
        return io->out.kept ? 0 : -ENOMEM;
}

void region_io_started(RegionIo *io) {
        closep(&io->region_in);
        closep(&io->region_out);
        closep(&io->region_err);
}

/* Best effort: a user's pipes are limited, and a terminal is no pipe. */
static bool io_widen(int fd, int size) {
        return fcntl(fd, F_GETPIPE_SZ) >= size || fcntl(fd, F_SETPIPE_SZ, size) >= size;
}

/* Large pipes let the caller write and the skill read while the supervisor rests: a wake-up for a few pages takes
 * longer than the pages themselves. */
static void io_widen_input(RegionIo *io) {
        Relay *r = &io->in;

        if (!io->wide && !io->terminal)
                r->pages = io_widen(r->to, INPUT_PIPE) && r->own_from && io_widen(r->from, INPUT_SOURCE);
        io->wide = true;
}

/* Moves pages from pipe to pipe without a copy. Both descriptions are the supervisor's own, with O_NONBLOCK. The pages
 * are the caller's: bytes that the supervisor never held need no overwriting. Returns the bytes, 0 for none now. */
static size_t relay_splice(Relay *r) {
        struct pollfd source = {.fd = r->from, .events = POLLIN};
        ssize_t n = splice(r->from, NULL, r->to, NULL, INPUT_PIPE, SPLICE_F_NONBLOCK);
        const int e = n < 0 ? errno : 0;

        /* EAGAIN says nothing of which pipe is in the way. */
        r->full = e == EAGAIN && poll(&source, 1, 0) > 0 && source.revents & POLLIN;
        if (n == 0)
                relay_close_from(r);
        else if (e == EPIPE) {
                r->error = e;
                relay_close_to(r);
        } else {
                r->pages &= !e || e == EAGAIN || e == EINTR; /* where pages cannot go, bytes are copied as before */
                relay_aim(r);
        }
        return n > 0 ? (size_t)n : 0;
}

/* Input that flows fast rests a moment, in which the caller and the skill fill and empty their pipes. */
static void io_splice_input(RegionIo *io) {
        size_t moved = 0, n;

        for (int turn = 0; turn < INPUT_TURNS && io->in.from >= 0 && (n = relay_splice(&io->in)) > 0; turn++)
                moved += n;
        if (moved < RELAY_CHUNK || io->in.from < 0 || io->in.to < 0)
                return;
        io->in.poll_fd = -1;
        io->rest_deadline = clock_mono_usec() + INPUT_REST_USEC;
}

/* Moves one buffer at most. Returns true when the source may have more at once, and a read of it cannot block. */
static bool io_move_input(RegionIo *io, bool polled) {
        Relay *r = &io->in;
        ssize_t n;

        if (r->at < r->n) {
                relay_push(r, polled);
        } else if (r->from >= 0) {
                n = relay_read(r, RELAY_CHUNK);
                if (n > 0 && io->packets)
                        r->at = region_terminal_take(r->to, r->buf, r->n);
                if (n == RELAY_CHUNK)
                        io_widen_input(io);
                if (n > 0)
                        relay_push(r, false);
                else if (n != -EAGAIN)
                        relay_close_from(r);
                if (n <= 0)
                        return false;
        }
        return r->at == r->n && r->to >= 0 && r->from >= 0 && r->own_from && !io->terminal && !r->pages;
}

void region_io_move_in(RegionIo *io, short revents) {
        Relay *r = &io->in;

        io->rest_deadline = UINT64_MAX;
        if (r->pages && r->at == r->n && r->from >= 0 && r->to >= 0)
                io_splice_input(io);
        else
                for (int turn = 0; io_move_input(io, turn == 0) && turn < INPUT_TURNS; turn++)
                        ;
        /* The skill closed its end: stop reading the supervisor's input. At end of input the skill's pipe is closed. */
        if (r->to < 0)
                relay_close_from(r);
        else if (r->from < 0 && r->at == r->n)
                relay_close_to(r);
}

bool region_io_move_out(RegionIo *io, Relay *r, short revents) {
        uint64_t room;
        ssize_t n;
        bool over;

        if (r->at < r->n) {
                relay_push(r, true);
                return false;
        }
        if (r->from < 0)
                return false;
        room = io->output_max > io->output_used ? io->output_max - io->output_used : 0;
        n = relay_read(r, (size_t)MIN(room + 1, (uint64_t)RELAY_CHUNK));
        if (io->terminal && n == -EIO) /* no process of the region has the terminal any more */
                n = 0;
        if (n <= 0) {
                if (n < 0 && n != -EAGAIN)
                        r->lost = (int)-n;
                if (n != -EAGAIN)
                        relay_close_from(r);
                if (io->terminal && r->from < 0) {
                        relay_close_from(&io->in);
                        relay_close_to(&io->in);
                }
                return false;
        }
        io->output_used += (uint64_t)n;
        over = (uint64_t)n > room;
        if (over)
                r->n = (size_t)room;
        if (r->kept && r->kind != RELAY_TARGET_KEPT)
                relay_copy(r, r->buf, r->n);
        relay_push(r, false);
        return over;
}

static bool io_drain_relay(RegionIo *io, Relay *r) {
        uint64_t room = io->output_max > io->output_used ? io->output_max - io->output_used : 0;
        size_t waiting = r->n - r->at, n = 0;
        int ready = 0;
        bool over = false;
        char *b;

        if (r->from < 0)
                return false;
        if (io->terminal) {
                ready = TERMINAL_REST; /* FIONREAD does not count bytes on their way through the kernel */
        } else if (ioctl(r->from, FIONREAD, &ready) < 0) {
                r->lost = errno;
                ready = 0;
        }
        b = malloc(waiting + (size_t)ready + 1);
        if (!b)
                r->lost = ENOMEM;
        if (b) {
                if (waiting)
                        memcpy(b, r->buf + r->at, waiting);
                while (n < (size_t)ready) {
                        ssize_t k = io->terminal
                                            ? region_terminal_rest(r->from, b + waiting + n, (size_t)ready - n)
                                            : read(r->from, b + waiting + n, (size_t)ready - n);

                        if (k < 0 && errno == EINTR)
                                continue;
                        if (k < 0)
                                r->lost = errno;
                        if (k <= 0)
                                break;
                        n += (size_t)k;
                }
                over = n > room;
                io->output_used += n;
                relay_drop_buffer(r);
                r->buf = b;
                r->used = waiting + n;
                r->at = 0;
                r->n = waiting + (size_t)MIN((uint64_t)n, room);
                if (r->kept && r->kind != RELAY_TARGET_KEPT)
                        relay_copy(r, b + waiting, r->n - waiting);
                relay_take(r);
        }
        relay_close_from(r);
        return over;
}

bool region_io_drain(RegionIo *io) {
        bool over = io_drain_relay(io, &io->out);

        over = io_drain_relay(io, &io->err) || over;
        relay_close_from(&io->in);
        relay_close_to(&io->in);
        return over;
}

int region_io_hand_on(RegionIo *to, RegionIo *from) {
        Relay *a = &to->err, *b = &from->err;
        size_t n_a = a->n - a->at, n_b = b->n - b->at;
        char *both;

        if (n_b == 0 || a->to < 0)
                return 0;
        both = malloc(n_a + n_b);
        if (!both)
                return -ENOMEM;
        if (n_a > 0)
                memcpy(both, a->buf + a->at, n_a);
        memcpy(both + n_a, b->buf + b->at, n_b);
        relay_drop_buffer(a);
        a->buf = both;
        a->at = 0;
        a->n = n_a + n_b;
        relay_drop_buffer(b);
        relay_aim(a);
        return 0;
}

bool region_io_is_flushed(RegionIo *io) {
        Relay *both[] = {&io->out, &io->err};

        for (size_t i = 0; i < ARRAY_SIZE(both); i++)
                if (both[i]->at < both[i]->n && both[i]->to >= 0)
                        return false;
        return true;
}

void region_io_flush(RegionIo *io, int stop_fd, uint64_t until) {
        Relay *both[] = {&io->out, &io->err};

        for (;;) {
                struct pollfd p[3] = {{.fd = stop_fd, .events = POLLIN}, {.fd = -1}, {.fd = -1}};
                bool left = false;
                int wait = -1;

                for (size_t i = 0; i < 2; i++) {
                        if (both[i]->at < both[i]->n && both[i]->to >= 0)
                                relay_push(both[i], false);
                        if (both[i]->at < both[i]->n && both[i]->to >= 0) {
                                left = true;
                                p[i + 1] = (struct pollfd){.fd = both[i]->poll_fd, .events = POLLOUT};
                        }
                }
                if (!left)
                        return;
                if (until != UINT64_MAX) {
                        uint64_t now = clock_mono_usec();

                        if (now >= until)
                                return;
                        wait = (int)MIN((until - now + 999) / 1000, (uint64_t)INT_MAX);
                }
                if (poll(p, 3, wait) < 0 && errno != EINTR)
                        return;
                if (p[0].revents)
                        return;
                for (size_t i = 0; i < 2; i++)
                        if (p[i + 1].revents)
                                relay_push(both[i], true);
        }
}

static void relay_deinit(Relay *r) {
        relay_close_from(r);
        relay_close_to(r);
        relay_drop_buffer(r);
        if (r->kept)
                explicit_bzero(r->kept, r->n_kept);
        free(r->kept);
        r->kept = NULL;
}

void region_io_deinit(RegionIo *io) {
        region_io_started(io);
        relay_deinit(&io->in);
        relay_deinit(&io->out);
        relay_deinit(&io->err);
}
