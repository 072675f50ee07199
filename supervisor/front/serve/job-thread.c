/* Runs: lethe-serve. Threads that run one invocation after the other: making one for each, and ending it, costs more
 * than most else that the daemon itself does for a small skill. What one had of an invocation is gone before the next:
 * its working folder is set anew, and its stack is given back. */
#include "serve/serve.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define STACK (2 * 1024 * 1024) /* of address space: the deepest walk that a region can make us do takes 400 KiB */
#define IDLE_MAX 16
#define IDLE_SEC 10

struct JobThread {
        JobThread *next;   /* among those that wait, or that are over */
        Server *server;
        pthread_t thread;
        pthread_cond_t wake;
        Job *job;          /* the next one; under the server's lock */
        char *stack_low;   /* the lowest page of its stack that may be used */
};

#define NEAR_BYTES (4 * 4096)

/* What functions of the invocation left right below here, where those that we call ourselves stand meanwhile. */
__attribute__((noinline)) void job_wipe_near(void) {
        char near[NEAR_BYTES];

        explicit_bzero(near, sizeof(near));
}

/* The rest: its pages are zero when they are used again. */
static void wipe_stack(const JobThread *t) {
        char *to = (char *)((uintptr_t)__builtin_frame_address(0) & ~(uintptr_t)4095) - NEAR_BYTES / 2;

        job_wipe_near();
        if (to > t->stack_low && madvise(t->stack_low, (size_t)(to - t->stack_low), MADV_DONTNEED) < 0)
                abort(); /* it is ours, and mapped */
}

static void find_stack(JobThread *t) {
        size_t n, guard = 0;
        pthread_attr_t attr;
        void *low;

        if (pthread_getattr_np(pthread_self(), &attr) != 0)
                abort(); /* out of memory at the very start */
        pthread_attr_getstack(&attr, &low, &n);
        pthread_attr_getguardsize(&attr, &guard);
        pthread_attr_destroy(&attr);
        t->stack_low = (char *)low + guard;
}

static void leave_idle(Server *s, JobThread *t) {
        JobThread **at = &s->idle;

        while (*at != t)
                at = &(*at)->next;
        *at = t->next;
        s->n_idle--;
}

/* Tells that it is done. From here on the thread may be given another one, unless enough wait for one. */
static bool done(JobThread *t, Job *j) {
        Server *s = t->server;
        bool waits;

        pthread_mutex_lock(&s->lock);
        j->next = s->done;
        s->done = j;
        waits = s->n_idle < IDLE_MAX;
        if (waits) {
                t->next = s->idle;
                s->idle = t;
                s->n_idle++;
        }
        pthread_mutex_unlock(&s->lock);
        eventfd_write(s->done_fd, 1);
        return waits;
}

/* The next job, or NULL: it is to end, and is in the list of those that are over. */
static Job *next_job(JobThread *t, bool waits) {
        Server *s = t->server;
        struct timespec until;
        int e = 0;
        Job *j;

        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec += IDLE_SEC;
        pthread_mutex_lock(&s->lock);
        while (waits && !t->job && e == 0 && !s->ends)
                e = pthread_cond_timedwait(&t->wake, &s->lock, &until);
        j = TAKE_PTR(t->job);
        if (!j && waits)
                leave_idle(s, t);
        if (!j) {
                t->next = s->over;
                s->over = t;
                pthread_cond_signal(&s->thread_over);
        }
        pthread_mutex_unlock(&s->lock);
        return j;
}

static void *job_thread_work(void *arg) {
        JobThread *t = arg;
        Job *j = TAKE_PTR(t->job);
        /* A working folder of its own: paths mean what they mean where they were written. */
        int e = unshare(CLONE_FS) < 0 || chdir("/") < 0 ? errno : 0;

        find_stack(t);
        do {
                bool waits;

                job_run(j, e);
                waits = done(t, j);
                wipe_stack(t);
                j = next_job(t, waits);
        } while (j);
        eventfd_write(t->server->done_fd, 1);
        return NULL;
}

static int new_thread(Server *s, Job *j) {
        JobThread *t = calloc(1, sizeof(*t));
        pthread_condattr_t clock;
        pthread_attr_t attr;
        int e;

        if (!t || pthread_attr_init(&attr) != 0) {
                free(t);
                return -ENOMEM;
        }
        t->server = s;
        t->job = j;
        pthread_condattr_init(&clock);
        pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
        pthread_cond_init(&t->wake, &clock);
        pthread_condattr_destroy(&clock);
        e = pthread_attr_setstacksize(&attr, STACK) ?: pthread_create(&t->thread, &attr, job_thread_work, t);
        pthread_attr_destroy(&attr);
        if (e != 0) {
                pthread_cond_destroy(&t->wake);
                free(t);
        }
        return -e;
}

int job_thread_start(Job *j) {
        Server *s = j->server;
        JobThread *t;
        int e;

        pthread_mutex_lock(&s->lock);
        t = s->idle;
        if (t) {
                leave_idle(s, t);
                t->job = j;
                pthread_cond_signal(&t->wake);
        }
        pthread_mutex_unlock(&s->lock);
        if (t)
                return 0;
        e = new_thread(s, j);
        s->n_alive += e == 0;
        return e;
}

void job_threads_reap(Server *s) {
        JobThread *t, *next;

        pthread_mutex_lock(&s->lock);
        t = TAKE_PTR(s->over);
        pthread_mutex_unlock(&s->lock);
        for (; t; t = next) {
                next = t->next;
                pthread_join(t->thread, NULL);
                pthread_cond_destroy(&t->wake);
                free(t);
                s->n_alive--;
        }
}

void job_threads_end(Server *s) {
        pthread_mutex_lock(&s->lock);
        s->ends = true;
        for (JobThread *t = s->idle; t; t = t->next)
                pthread_cond_signal(&t->wake);
        while (s->n_alive > 0) {
                while (!s->over)
                        pthread_cond_wait(&s->thread_over, &s->lock);
                pthread_mutex_unlock(&s->lock);
                job_threads_reap(s);
                pthread_mutex_lock(&s->lock);
        }
        pthread_mutex_unlock(&s->lock);
}
