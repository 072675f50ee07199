/* Runs: supervisor. Standard input of a skill: bytes through a buffer, or pages from pipe to pipe. */
#include "region/region-relay.h"
#include "region/region-terminal.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>

#define INPUT_PIPE (256 * 1024)    /* bytes: of a skill's standard input once it flows fast */
#define INPUT_SOURCE (1024 * 1024) /* bytes: of the caller's pipe then; the kernel's limit for an ordinary user */
#define INPUT_TURNS 8              /* buffers moved before the supervisor looks at its clocks again */
#define INPUT_REST_USEC 50         /* until the next look at input that flows fast */

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
