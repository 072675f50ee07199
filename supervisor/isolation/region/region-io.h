/* Runs: supervisor. Standard input, output and error of a skill: three pipes, or a terminal of the region's own
 * (region-terminal.h), relayed by the supervisor. So no terminal and no descriptor of the host ever reaches a region,
 * and output can be counted. */
#pragma once

#include "base/util.h"
#include "spawn/spawn.h"

#define RELAY_CHUNK 65536

typedef enum RelayTarget {
        RELAY_TARGET_UNKNOWN, /* not examined before the first write */
        RELAY_TARGET_PLAIN,   /* a regular file or a device that never blocks */
        RELAY_TARGET_NONBLOCK,/* the supervisor's own O_NONBLOCK descriptor on the same pipe or terminal */
        RELAY_TARGET_SOCKET,
        RELAY_TARGET_POLLED,  /* may block: written only after POLLOUT, at most PIPE_BUF bytes at once */
        RELAY_TARGET_SINK,    /* a function of the caller, takes all bytes at once */
        RELAY_TARGET_KEPT,    /* no target: the first bytes are kept (RegionFeed) */
} RelayTarget;

/* Takes output without a descriptor. */
typedef struct RegionSink {
        void (*take)(struct RegionSink *s, const char *bytes, size_t n);
} RegionSink;

typedef struct Relay {
        int from, to;      /* read end, write end; owned when `own_` says so; -1 when closed */
        bool own_from, own_to, from_socket;
        bool pages;        /* pages go from pipe to pipe without a copy */
        bool full;         /* pages: `to` has no room for what `from` has */
        RelayTarget kind;
        RegionSink *sink;  /* RELAY_TARGET_SINK: borrowed */
        int own_copy;      /* RELAY_TARGET_NONBLOCK: the supervisor's own descriptor, or -1 */
        char *buf;
        size_t n, at;      /* buf[at..n) waits to be written */
        size_t used;       /* bytes of buf ever filled */
        int poll_fd;       /* the descriptor to poll now; -1: none */
        short poll_events;
        char *kept;        /* RELAY_TARGET_KEPT, region_io_keep(): the first kept_max bytes, owned */
        size_t n_kept, kept_max;
        bool cut;          /* more output was cut off */
        int error;         /* errno of a failed write to `to`, else 0 */
        int lost;          /* errno of a failed read of `from`: output of the skill is lost; else 0 */
} Relay;

typedef struct RegionIo {
        Relay in, out, err;
        int region_in, region_out, region_err; /* the region's ends, closed when the worker has them */
        bool terminal;                         /* in.to and out.from are a terminal's master; err is unused */
        int streams[3];                        /* of a terminal that is still to come: borrowed */
        bool wide;                             /* the pipe of standard input was made large */
        uint64_t rest_deadline;                /* the next call of region_io_move_in() without poll_fd; UINT64_MAX: none */
        bool packets;                          /* standard input is packets of schema/terminal.h */
        uint64_t output_max, output_used;      /* both streams together; used above max is the breach */
} RegionIo;

/* For a region started by another region: `input` becomes standard input, standard output is kept. */
typedef struct RegionFeed {
        const char *input; /* borrowed during the call */
        size_t n_input;
        size_t keep_max;   /* kept bytes of standard output; further bytes are counted and dropped */
} RegionFeed;

/* Makes the pipes. streams: standard input, output and error of the invocation, borrowed; NULL: the supervisor's own.
 * feed NULL: all three are relayed. Input from /dev/null gives the region an empty pipe. terminal: a terminal in
 * place of the pipes, without feed: it is not there before region_io_take_terminal(). Returns 0 or -errno. */
extern const int region_io_later[3]; /* region_io_aim() sets the streams later */
int region_io_open(RegionIo *io, uint64_t output_max, bool terminal, const RegionFeed *feed_or_null,
                   const int *streams_or_null);
/* Takes over the master of the region's terminal, made by the worker, also after an error. Returns 0 or -errno. */
int region_io_take_terminal(RegionIo *io, int master);
void region_io_aim(RegionIo *io, const int *streams_or_null);
/* Sets functions as targets of output. NULL leaves a target unchanged. */
void region_io_to_sinks(RegionIo *io, RegionSink *out, RegionSink *err);
/* Keeps a copy of the first most bytes of standard output, which goes to its target all the same. Returns 0, -ENOMEM. */
int region_io_keep(RegionIo *io, size_t most);
void region_io_started(RegionIo *io); /* Call after spawn_start(): closes the region's ends in the supervisor. */
/* Moves bytes once, after poll_fd was ready or rest_deadline came. */
void region_io_move_in(RegionIo *io, short revents);
/* Returns true when the output budget is broken. Output within the budget stays for delivery. */
bool region_io_move_out(RegionIo *io, Relay *r, short revents);
/* Call when the region is dead: reads the rest of the pipes, closes them. Returns true with a broken output budget. */
bool region_io_drain(RegionIo *io);
/* Call when the region was recorded: delivers the rest and waits for a slow reader. Ends when stop_fd is readable (a
 * signal) or at `until_usec` (CLOCK_MONOTONIC; UINT64_MAX: no limit). */
void region_io_flush(RegionIo *io, int stop_fd, uint64_t until_usec);
bool region_io_is_flushed(RegionIo *io); /* True when region_io_flush() would not wait. */
/* Moves undelivered standard error of `from` to `to`. Both are drained. Returns 0 or -ENOMEM. */
int region_io_hand_on(RegionIo *to, RegionIo *from);
void region_io_deinit(RegionIo *io);
