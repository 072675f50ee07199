/* Runs: lethe-serve. Threads that run invocations one after another: making and ending a thread for each invocation
 * costs more than most of the daemon's other work for a small skill. No trace of an invocation stays for the next: the
 * working folder is set anew, and the stack is given back. */
#include "serve/serve.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define STACK (2 * 1024 * 1024) /* of address space: the deepest walk caused by a region takes 400 KiB */
#define IDLE_MAX 16
#define IDLE_SEC 10

struct JobThread {
        JobThread *next;   /* in the list of idle threads, or of ended threads */
        Server *server;
        pthread_t thread;
        pthread_cond_t wake;
        Job *job;          /* the next job; under the server's lock */
        char *stack_low;   /* the lowest usable page of the thread's stack */
};

#define NEAR_BYTES (4 * 4096)

/* Remains of the invocation's functions right below, where the functions called here put their frames. */
__attribute__((noinline)) void job_wipe_near(void) {
        char near[NEAR_BYTES];

        explicit_bzero(near, sizeof(near));
}

/* The rest of the stack: its pages are zero at their next use. */
static void job_thread_wipe_stack(const JobThread *t) {
        char *to = (char *)((uintptr_t)__builtin_frame_address(0) & ~(uintptr_t)4095) - NEAR_BYTES / 2;

        job_wipe_near();
        if (to > t->stack_low && madvise(t->stack_low, (size_t)(to - t->stack_low), MADV_DONTNEED) < 0)
                abort(); /* the range is the thread's own, and mapped */
}

static void job_thread_find_stack(JobThread *t) {
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

static void job_thread_leave_idle(Server *s, JobThread *t) {
        JobThread **at = &s->idle;

        while (*at != t)
                at = &(*at)->next;
        *at = t->next;
        s->n_idle--;
}

/* Reports the job as done. From here on the thread may get another job, unless enough threads are idle. */
static bool job_thread_done(JobThread *t, Job *j) {
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

/* The next job; NULL: the thread must end, and is in the list of ended threads. */
static Job *job_thread_next(JobThread *t, bool waits) {
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
                job_thread_leave_idle(s, t);
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
        /* A separate working folder per thread: relative paths are meant from the client's folder. */
        int e = unshare(CLONE_FS) < 0 || chdir("/") < 0 ? errno : 0;

        job_thread_find_stack(t);
        do {
                bool waits;

                job_run(j, e);
                waits = job_thread_done(t, j);
                job_thread_wipe_stack(t);
                j = job_thread_next(t, waits);
        } while (j);
        eventfd_write(t->server->done_fd, 1);
        return NULL;
}

static int job_thread_new(Server *s, Job *j) {
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
                job_thread_leave_idle(s, t);
                t->job = j;
                pthread_cond_signal(&t->wake);
        }
        pthread_mutex_unlock(&s->lock);
        if (t)
                return 0;
        e = job_thread_new(s, j);
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
