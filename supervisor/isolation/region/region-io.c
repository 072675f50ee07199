/* Runs: supervisor. */
#include "region/region-relay.h"

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

#define TERMINAL_REST 65536        /* bytes: more than the kernel keeps of a terminal's output (12 KiB) */

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
                        io->in.from = relay_own_description(std[0], st.st_mode, O_RDONLY);
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

void region_io_deinit(RegionIo *io) {
        region_io_started(io);
        relay_deinit(&io->in);
        relay_deinit(&io->out);
        relay_deinit(&io->err);
}
