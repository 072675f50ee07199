/* Runs: lethe-serve. A thread for each invocation, joined by the front. No trace of an invocation stays in the memory of
 * the ended thread: its stack is given back before. */
#include "serve/serve.h"

#include "base/log.h"
#include "base/thread.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#define STACK (2 * 1024 * 1024) /* of address space: the deepest walk caused by a region takes 400 KiB */
#define NEAR_BYTES (4 * 4096)

/* Remains of the invocation's functions right below, where the functions called here put their frames. */
__attribute__((noinline)) void job_wipe_near(void) {
        char near[NEAR_BYTES];

        explicit_bzero(near, sizeof(near));
}

/* The rest of the stack: its pages are zero at their next use. low: the lowest usable page of the thread's stack. */
static void job_thread_wipe_stack(char *low) {
        char *to = (char *)((uintptr_t)__builtin_frame_address(0) & ~(uintptr_t)4095) - NEAR_BYTES / 2;

        job_wipe_near();
        if (to > low && madvise(low, (size_t)(to - low), MADV_DONTNEED) < 0)
                abort(); /* the range is the thread's own, and mapped */
}

static char *job_thread_find_stack(void) {
        size_t n, guard = 0;
        pthread_attr_t attr;
        void *low;

        if (pthread_getattr_np(pthread_self(), &attr) != 0)
                abort(); /* out of memory at the very start */
        pthread_attr_getstack(&attr, &low, &n);
        pthread_attr_getguardsize(&attr, &guard);
        pthread_attr_destroy(&attr);
        return (char *)low + guard;
}

static void *job_thread_work(void *arg) {
        Job *j = arg;
        Server *s = j->server;
        /* A separate working folder per thread: relative paths are meant from the client's folder. */
        int e = unshare(CLONE_FS) < 0 || chdir("/") < 0 ? errno : 0;
        char *low = job_thread_find_stack();

        job_run(j, e);
        log_end_thread();
        job_thread_wipe_stack(low);
        pthread_mutex_lock(&s->lock);
        j->next = s->done;
        s->done = j;
        pthread_mutex_unlock(&s->lock);
        eventfd_write(s->done_fd, 1);
        return NULL;
}

int job_thread_start(Job *j) {
        return thread_start(&j->thread, STACK, job_thread_work, j);
}
