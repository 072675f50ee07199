/* Runs: lethe-serve. Wakes objects that are due (O-30, O-32), and has their cycles performed.
 *
 * A thread of its own, the waker, sleeps until
 *   - the time of the earliest row in the table `due` (timerfd),
 *   - a commit of this process or another changed the store (inotify on data.mdb), or
 *   - an execution ended, the policy changed, or the daemon ends (eventfd).
 * Then the waker looks at the head of `due`, and nowhere else: dormant objects cost nothing. Cycles go into
 * transactions of up to OBJECTS_BATCH objects. An execution becomes a job, under the daemon's limits (job-run.c); the
 * waker begins no more than `max_objects` at once. Without a free place the object stays due, and later rows go on. */
#pragma once

#include "serve/serve.h"
#include "record/wake.h"

#define OBJECTS_BATCH 64

struct Waker {
        Server *server;
        pthread_t thread;
        bool running;           /* the front's: the thread exists */
        int changes, timer; /* inotify (-1: none), timerfd */
        int wake, ends;     /* eventfd; and an eventfd that is readable when the waker has to end */
        char who[32];           /* the daemon's user */
        int begun_fd;           /* eventfd for the front: executions have begun */
        sd_event_source *source;
        atomic_bool policy;     /* the policy changed: who waits for that is due */
        atomic_uint n_used;     /* places taken by executions */

        pthread_mutex_t lock;   /* for `begun` and `lost` */
        json_t *begun;          /* array of answers of perform_begin(), for the front */
        json_t *lost;           /* the same, of executions that got no outcome, for the waker */

        /* The thread's own from here on; times of CLOCK_MONOTONIC in usec unless said otherwise, UINT64_MAX: never. */
        json_t *held;           /* {ID: [until, delay]}: a cycle failed, or found nothing to do though it was due */
        json_t *waiting;        /* {ID: true}: an execution without a free place */
        uint64_t due_usec;      /* CLOCK_REALTIME: the earliest row after the last look that is not held */
        uint64_t armed_usec;    /* CLOCK_REALTIME: of the timer */
        uint64_t retry;         /* the earliest `until` of rows that were seen held */
        uint64_t delay, until;  /* after the store failed as a whole: no look before; 0: it works */
        uint64_t pace;          /* least time between two looks after changes */
        uint64_t looked;        /* time of the last look */
};

bool objects_over(const Waker *w); /* the waker has to end */

/* objects-look.c. Looks at what is due and performs up to a batch of cycles. Returns whether to look again at once. */
bool objects_look(Waker *w);
/* Holds an object back for a while, twice as long as the last time: a failure must not come back in a loop. */
void objects_hold(Waker *w, const char *id, const char *why_or_null);

/* objects-run.c */
uint64_t objects_places(Waker *w); /* free */
/* Takes the answers of perform_begin() with "perform", whose places are taken: the front makes jobs of them. */
void objects_begin(Waker *w, json_t *begun);
/* Settles lost executions. False: some are left for a later try. */
bool objects_settle(Waker *w);
int objects_on_begun(sd_event_source *source, int fd, uint32_t revents, void *userdata);
