/* Runs: supervisor. Standard input, output and error of a skill: three pipes that the supervisor relays, so that no terminal and no
 * descriptor of the host ever reaches a region, and so that output can be counted. */
#pragma once

#include "base/util.h"
#include "spawn/spawn.h"

#define RELAY_CHUNK 65536

typedef enum RelayTarget {
        RELAY_TARGET_UNKNOWN, /* not looked at before there is something to write */
        RELAY_TARGET_PLAIN,   /* a regular file or a device that never blocks */
        RELAY_TARGET_NONBLOCK,/* a descriptor of our own on the same pipe or terminal, with O_NONBLOCK */
        RELAY_TARGET_SOCKET,
        RELAY_TARGET_POLLED,  /* may block: only after POLLOUT, and no more than PIPE_BUF bytes at once */
        RELAY_TARGET_SINK,    /* a function of the caller's, which takes all at once */
        RELAY_TARGET_KEPT,    /* nowhere: the first bytes stay with us (RegionFeed) */
} RelayTarget;

/* Where output goes that has no descriptor. */
typedef struct RegionSink {
        void (*take)(struct RegionSink *s, const char *bytes, size_t n);
} RegionSink;

typedef struct Relay {
        int from, to;      /* from: read end; to: write end. Owned when `own_` says so; -1 when closed */
        bool own_from, own_to, from_socket;
        RelayTarget kind;
        RegionSink *sink;  /* RELAY_TARGET_SINK: borrowed */
        int own_copy;      /* RELAY_TARGET_NONBLOCK: the descriptor that we opened, or -1 */
        char *buf;
        size_t n, at;      /* buf[at..n) waits to be written */
        size_t used;       /* bytes of buf in which something ever was */
        int poll_fd;       /* what the loop should wait for now; -1: nothing */
        short poll_events;
        char *kept;        /* RELAY_TARGET_KEPT: the first kept_max bytes, owned */
        size_t n_kept, kept_max;
        bool cut;          /* there were more */
        int error;         /* errno with which writing to `to` failed, 0 when it did not */
        int lost;          /* errno with which reading `from` failed: what the skill wrote is lost, 0 when not */
} Relay;

typedef struct RegionIo {
        Relay in, out, err;
        int region_in, region_out, region_err; /* the region's ends, closed once the worker has them */
        uint64_t output_max, output_used;      /* both streams together; used may pass max, which is the breach */
} RegionIo;

/* Of a region that another one started: its standard input is these bytes, its standard output is kept. */
typedef struct RegionFeed {
        const char *input; /* borrowed during the call */
        size_t n_input;
        size_t keep_max;   /* bytes of standard output that are kept; what is beyond them is counted and forgotten */
} RegionFeed;

/* Makes the pipes. streams: standard input, output and error of the invocation, borrowed; NULL: our own. feed NULL: all three; an input that is
 * /dev/null gives the region an empty pipe. Returns 0 or -errno. */
extern const int region_io_later[3]; /* streams that come with region_io_aim() */
int region_io_open(RegionIo *io, uint64_t output_max, const RegionFeed *feed_or_null, const int *streams_or_null);
void region_io_aim(RegionIo *io, const int *streams_or_null);
/* Takers of streams without a descriptor. Either may be NULL: it stays as it is. */
void region_io_to_sinks(RegionIo *io, RegionSink *out, RegionSink *err);
/* After spawn_start(): closes the region's ends here. */
void region_io_started(RegionIo *io);
/* One step of a relay after its poll_fd was ready. */
void region_io_move_in(RegionIo *io, short revents);
/* Returns true when the output budget is broken: what was within it has been kept for delivery. */
bool region_io_move_out(RegionIo *io, Relay *r, short revents);
/* The region is dead: takes what its pipes still hold into memory and closes them. Returns true when the output budget is broken. */
bool region_io_drain(RegionIo *io);
/* After the region was recorded: delivers what is left, waiting for a slow reader, until stop_fd is readable (a signal) or it is that late
 * (CLOCK_MONOTONIC usec; UINT64_MAX: however long it takes). */
void region_io_flush(RegionIo *io, int stop_fd, uint64_t until_usec);
/* Nothing is left to be delivered: region_io_flush() would not wait. */
bool region_io_is_flushed(RegionIo *io);
/* What `from` could not deliver of its standard error so far is from here on for `to` to deliver. Both are drained. Returns 0 or -ENOMEM. */
int region_io_hand_on(RegionIo *to, RegionIo *from);
void region_io_deinit(RegionIo *io);
