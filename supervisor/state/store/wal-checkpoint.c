/* What was left in the redo file does not stay there: a thread brings it in when nobody else did for a while, and takes out of the file what was
 * brought in together with more. It is made when something is left for the first time; where the store is told to do without, only when the loop
 * says that the time has come. */
#include "store/store-internal.h"

#include "base/clock.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#define STACK (256 * 1024)

unsigned wal_checkpoint_after_usec = 50000;

typedef struct Settler {
        Store *store;
        pthread_t thread;
        pthread_mutex_t lock; /* of all below */
        pthread_cond_t wake;
        bool left, stop;
} Settler;

static struct timespec later(void) {
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        t.tv_sec += wal_checkpoint_after_usec / 1000000;
        t.tv_nsec += (long)(wal_checkpoint_after_usec % 1000000) * 1000;
        t.tv_sec += t.tv_nsec / 1000000000L;
        t.tv_nsec %= 1000000000L;
        return t;
}

/* When it cannot be brought in now, the next that writes or reads says why. */
static void *settle(void *arg) {
        Settler *l = arg;

        pthread_mutex_lock(&l->lock);
        while (!l->stop) {
                struct timespec until = later();
                bool due = l->left;

                if (!due)
                        pthread_cond_wait(&l->wake, &l->lock);
                else if (pthread_cond_timedwait(&l->wake, &l->lock, &until) == ETIMEDOUT && l->left) {
                        l->left = false;
                        pthread_mutex_unlock(&l->lock);
                        txn_bring_in(l->store);
                        pthread_mutex_lock(&l->lock);
                }
        }
        pthread_mutex_unlock(&l->lock);
        return NULL;
}

static int start(Store *s) {
        Settler *l = calloc(1, sizeof(*l));
        pthread_condattr_t clock;
        pthread_attr_t attr;
        sigset_t all, before;
        int e;

        if (!l || pthread_attr_init(&attr) != 0) {
                free(l);
                return -ENOMEM;
        }
        *l = (Settler){.store = s, .lock = PTHREAD_MUTEX_INITIALIZER};
        pthread_condattr_init(&clock);
        pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
        pthread_cond_init(&l->wake, &clock);
        pthread_condattr_destroy(&clock);
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        e = pthread_attr_setstacksize(&attr, STACK) ?: pthread_create(&l->thread, &attr, settle, l);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        pthread_attr_destroy(&attr);
        if (e != 0) {
                pthread_cond_destroy(&l->wake);
                free(l);
                return -e;
        }
        s->settler = l;
        return 0;
}

static int wake_thread(Store *s) {
        int r = s->settler ? 0 : start(s);
        Settler *l = s->settler;

        if (r < 0)
                return r;
        pthread_mutex_lock(&l->lock);
        if (!l->left)
                pthread_cond_signal(&l->wake);
        l->left = true;
        pthread_mutex_unlock(&l->lock);
        return 0;
}

int wal_checkpoint_soon(Store *s) {
        if (!s->in_loop)
                return wake_thread(s);
        if (s->settle_due == UINT64_MAX)
                s->settle_due = clock_mono_usec() + wal_checkpoint_after_usec;
        return 0;
}

void wal_checkpoint_done(Store *s) {
        Settler *l = s->settler;

        if (s->in_loop)
                s->settle_due = UINT64_MAX;
        if (!l)
                return;
        pthread_mutex_lock(&l->lock);
        l->left = false;
        pthread_mutex_unlock(&l->lock);
}

/* When it cannot be brought in now, the next that writes or reads says why. */
static void settle_now(Store *s) {
        s->settle_due = UINT64_MAX;
        txn_bring_in(s);
}

/* Another process may hold LMDB's lock for as long as it likes, and the loop has limits to keep: from here on a thread sees to it, if one can be had. */
void store_wal_checkpoint(Store *s) {
        if (!s->in_loop || s->settle_due == UINT64_MAX)
                return;
        s->in_loop = false; /* before there is a thread that could look at it */
        s->settle_due = UINT64_MAX;
        if (wake_thread(s) < 0) {
                s->in_loop = true;
                settle_now(s);
        }
}

void wal_checkpoint_close(Store *s) {
        Settler *l = s->settler;

        while (s->in_loop && s->settle_due != UINT64_MAX) /* twice, when what it brings in is to be forgotten */
                settle_now(s);
        if (!l)
                return;
        pthread_mutex_lock(&l->lock);
        l->stop = true;
        pthread_cond_signal(&l->wake);
        pthread_mutex_unlock(&l->lock);
        pthread_join(l->thread, NULL);
        while (l->left) { /* twice, as above */
                l->left = false;
                txn_bring_in(s);
        }
        pthread_cond_destroy(&l->wake);
        free(TAKE_PTR(s->settler));
}
