/* Runs: supervisor. The event loop of an invocation with its sub-skills: descriptors and deadlines, by ppoll(2). A
 * source is a pointer to a descriptor, or a deadline, inside an owning object; the owner sets the
 * field. sd-event would do the same, for a third of the time of a one-shot run. */
#pragma once

#include "base/util.h"

#define LOOP_SOURCES_MAX 416
#define LOOP_NEVER UINT64_MAX

typedef void (*LoopFdFn)(void *userdata, short revents);
typedef void (*LoopTimerFn)(void *userdata, uint64_t now_usec);

typedef struct LoopFd {
        const int *fd;       /* borrowed; -1: no descriptor now */
        const short *events; /* borrowed, of poll(2); a hang-up is reported even for 0 */
        LoopFdFn fn;
        void *userdata;
} LoopFd;

typedef struct LoopTimer {
        const uint64_t *deadline; /* borrowed; CLOCK_MONOTONIC usec, LOOP_NEVER: none */
        LoopTimerFn fn;           /* moves the deadline on, or is called again at once */
        void *userdata;
} LoopTimer;

typedef struct Loop {
        LoopFd fds[LOOP_SOURCES_MAX];
        LoopTimer timers[LOOP_SOURCES_MAX];
        size_t n_fds, n_timers;
} Loop;

void loop_add_fd(Loop *l, const int *fd, const short *events, LoopFdFn fn, void *userdata);
void loop_add_timer(Loop *l, const uint64_t *deadline, LoopTimerFn fn, void *userdata);
/* Forgets every source of the owner. Not from within a handler. */
void loop_drop(Loop *l, const void *userdata);
/* Waits once and calls the handlers of ready sources, in the order in which they were added. A handler sees the fields
 * as the handlers before left them, and a descriptor that was closed by a handler is passed over. Returns 0 or
 * -errno. */
int loop_once(Loop *l);
