/* Runs: CLI. Tells whether the asked daemon still lives (I-79). A daemon is silent while a region runs, so silence
 * alone means no failure. After a second the command sends a `ping` on a second connection; the daemon's main thread
 * answers at once. */
#pragma once

#include "base/util.h"

#include <poll.h>

typedef struct Liveness {
        const char *socket; /* borrowed; NULL: no pings */
        int daemon, probe;  /* descriptors; the first borrowed, the second -1 while no ping is under way */
        uint64_t since;     /* CLOCK_MONOTONIC usec: the daemon's last sign of life, or the first question */
        uint64_t asked;     /* time of the unanswered ping; 0: no ping */
        uint64_t next;      /* time of the next ping, or of the lateness of the current ping */
        uint64_t signalled; /* time of the first signal; 0: no signal */
        int signo;
        bool warned;
} Liveness;

/* fd: the connection of the awaited answer. */
void liveness_begin(Liveness *s, int fd, const char *socket_or_null);
void liveness_end(Liveness *s);
/* Sets the descriptor for poll(2) beside the answer; returns the timeout in msec. */
int liveness_poll(Liveness *s, struct pollfd *ret);
/* After each poll(2). heard: the daemon sent bytes on the connection. Returns 0, or -ETIMEDOUT: a signal came, and
 * the daemon does not answer. */
int liveness_check(Liveness *s, short revents, bool heard);
/* A signal is to end the wait. */
void liveness_signal(Liveness *s, int signo);
#define _cleanup_liveness_ _cleanup_(liveness_end)
