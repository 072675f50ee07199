/* Runs: CLI. Whether the daemon that is asked still lives (I-79). A daemon is silent while a region runs, so that its silence says nothing: after a second the
 * command asks it by a connection of its own for a `ping`, which the daemon's main thread answers at once. */
#pragma once

#include "base/util.h"

#include <poll.h>

typedef struct Silent {
        const char *socket; /* borrowed; NULL: nobody is asked */
        int daemon, probe;  /* descriptors; the first borrowed, the second -1 while no ping is under way */
        uint64_t since;     /* CLOCK_MONOTONIC usec: its last sign of life, or when it was first asked */
        uint64_t asked;     /* the ping that it has not answered; 0: none */
        uint64_t next;      /* the next ping, or when this one is late */
        uint64_t signalled; /* when a signal came; 0: none */
        int signo;
        bool said;
} Silent;

/* fd: the connection on which an answer is waited for. */
void silent_begin(Silent *s, int fd, const char *socket_or_null);
void silent_end(Silent *s);
/* The descriptor that poll(2) is to wait for beside the answer: returns its time in msec. */
int silent_poll(Silent *s, struct pollfd *ret);
/* After each poll(2). heard: the daemon said something on the connection. Returns 0, or -ETIMEDOUT: a signal came, and the daemon does not answer. */
int silent_look(Silent *s, short revents, bool heard);
/* A signal is to end the wait. */
void silent_signal(Silent *s, int signo);
#define _cleanup_silent_ _cleanup_(silent_end)
