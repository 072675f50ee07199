/* Runs: supervisor. A loop for one invocation and what it started: descriptors, deadlines and nothing else (ppoll(2)). A source is a pointer to the
 * descriptor, and to the events that are wanted of it, inside the object that owns them, so that an object changes what it waits for
 * by setting a field. sd-event would do the same and costs a one-shot run a third of its time. */
#pragma once

#include "base/util.h"

#define LOOP_SOURCES_MAX 416
#define LOOP_NEVER UINT64_MAX

typedef void (*LoopFdFn)(void *userdata, short revents);
typedef void (*LoopTimerFn)(void *userdata, uint64_t now_usec);

typedef struct LoopFd {
        const int *fd;       /* borrowed; -1: not waited for now */
        const short *events; /* borrowed, of poll(2); a hang-up is told of also when it is 0 */
        LoopFdFn fn;
        void *userdata;
} LoopFd;

typedef struct LoopTimer {
        const uint64_t *deadline; /* borrowed; CLOCK_MONOTONIC usec, LOOP_NEVER: none */
        LoopTimerFn fn;           /* moves the deadline on, or it is called again at once */
        void *userdata;
} LoopTimer;

typedef struct Loop {
        LoopFd fds[LOOP_SOURCES_MAX];
        LoopTimer timers[LOOP_SOURCES_MAX];
        size_t n_fds, n_timers;
} Loop;

void loop_add_fd(Loop *l, const int *fd, const short *events, LoopFdFn fn, void *userdata);
void loop_add_timer(Loop *l, const uint64_t *deadline, LoopTimerFn fn, void *userdata);
/* Forgets every source of this owner. Not from within a handler. */
void loop_drop(Loop *l, const void *userdata);
/* Waits once and calls the handlers of what is ready, in the order in which they were added: a handler sees the fields as the ones
 * before it left them, and a descriptor that one of them closed is passed over. Returns 0 or -errno. */
int loop_once(Loop *l);
