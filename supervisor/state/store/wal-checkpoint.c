/* Left records do not stay in the log: after a while without a commit, a thread applies the records to the tables, and
 * wipes the records that shared a commit. The thread starts with the first left record. A store with a loop
 * (store_keep_ahead_in_loop()) has no thread until the loop reports the due time. */
#include "store/store-internal.h"
#include "base/clock.h"
#include "base/thread.h"

#include <errno.h>
#include <signal.h>

#define STACK (256 * 1024)

unsigned wal_checkpoint_after_usec = 50000;

typedef struct WalCheckpoint {
        Store *store;
        pthread_t thread;
        pthread_mutex_t lock; /* of all fields below */
        pthread_cond_t wake;
        bool left, stop;
} WalCheckpoint;

/* On a failure, the next writer or reader reports the reason. */
static void *wal_checkpoint_thread(void *arg) {
        WalCheckpoint *c = arg;

        pthread_mutex_lock(&c->lock);
        while (!c->stop) {
                struct timespec until = clock_timespec(clock_mono_usec() + wal_checkpoint_after_usec);
                bool due = c->left;

                if (!due)
                        pthread_cond_wait(&c->wake, &c->lock);
                else if (pthread_cond_timedwait(&c->wake, &c->lock, &until) == ETIMEDOUT && c->left) {
                        c->left = false;
                        pthread_mutex_unlock(&c->lock);
                        txn_bring_in(c->store);
                        pthread_mutex_lock(&c->lock);
                }
        }
        pthread_mutex_unlock(&c->lock);
        return NULL;
}

static int wal_checkpoint_start(Store *s) {
        WalCheckpoint *c = calloc(1, sizeof(*c));
        pthread_condattr_t clock;
        sigset_t all, before;
        int r;

        if (!c)
                return -ENOMEM;
        *c = (WalCheckpoint){.store = s, .lock = PTHREAD_MUTEX_INITIALIZER};
        pthread_condattr_init(&clock);
        pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
        pthread_cond_init(&c->wake, &clock);
        pthread_condattr_destroy(&clock);
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        r = thread_start(&c->thread, STACK, wal_checkpoint_thread, c);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        if (r < 0) {
                pthread_cond_destroy(&c->wake);
                free(c);
                return r;
        }
        s->checkpoint = c;
        return 0;
}

static int wal_checkpoint_wake(Store *s) {
        int r = s->checkpoint ? 0 : wal_checkpoint_start(s);
        WalCheckpoint *c = s->checkpoint;

        if (r < 0)
                return r;
        pthread_mutex_lock(&c->lock);
        if (!c->left)
                pthread_cond_signal(&c->wake);
        c->left = true;
        pthread_mutex_unlock(&c->lock);
        return 0;
}

int wal_checkpoint_soon(Store *s) {
        if (!s->in_loop)
                return wal_checkpoint_wake(s);
        if (s->checkpoint_due == UINT64_MAX)
                s->checkpoint_due = clock_mono_usec() + wal_checkpoint_after_usec;
        return 0;
}

void wal_checkpoint_done(Store *s) {
        WalCheckpoint *c = s->checkpoint;

        if (s->in_loop)
                s->checkpoint_due = UINT64_MAX;
        if (!c)
                return;
        pthread_mutex_lock(&c->lock);
        c->left = false;
        pthread_mutex_unlock(&c->lock);
}

/* On a failure, the next writer or reader reports the reason. */
static void wal_checkpoint_now(Store *s) {
        s->checkpoint_due = UINT64_MAX;
        txn_bring_in(s);
}

/* Another process may hold LMDB's lock for long: from here on a thread waits instead of the loop. */
void store_wal_checkpoint(Store *s) {
        if (!s->in_loop || s->checkpoint_due == UINT64_MAX)
                return;
        s->in_loop = false; /* before a thread can read it */
        s->checkpoint_due = UINT64_MAX;
        if (wal_checkpoint_wake(s) < 0) {
                s->in_loop = true;
                wal_checkpoint_now(s);
        }
}

void wal_checkpoint_close(Store *s) {
        WalCheckpoint *c = s->checkpoint;

        while (s->in_loop && s->checkpoint_due != UINT64_MAX) /* twice, when the applied records are to be wiped */
                wal_checkpoint_now(s);
        if (!c)
                return;
        pthread_mutex_lock(&c->lock);
        c->stop = true;
        pthread_cond_signal(&c->wake);
        pthread_mutex_unlock(&c->lock);
        pthread_join(c->thread, NULL);
        while (c->left) { /* twice, as above */
                c->left = false;
                txn_bring_in(s);
        }
        pthread_cond_destroy(&c->wake);
        free(TAKE_PTR(s->checkpoint));
}
