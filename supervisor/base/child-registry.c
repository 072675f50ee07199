#include "base/child-registry.h"

#include <pthread.h>

static pthread_rwlock_t births = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for all variables below */
static pid_t *pids;
static size_t n_pids, room;

void child_registry_begin(void) {
        pthread_rwlock_rdlock(&births);
}

void child_registry_hold(void) {
        pthread_rwlock_wrlock(&births);
}

void child_registry_done(void) {
        pthread_rwlock_unlock(&births);
}

static bool child_registry_grow(void) {
        size_t more = room ? 2 * room : 64;
        pid_t *p = reallocarray(pids, more, sizeof(*p));

        if (!p)
                return false;
        pids = p;
        room = more;
        return true;
}

bool child_registry_note(pid_t pid) {
        bool fits;

        pthread_mutex_lock(&lock);
        fits = n_pids < room || child_registry_grow();
        if (fits)
                pids[n_pids++] = pid;
        pthread_mutex_unlock(&lock);
        return fits;
}

void child_registry_forget(pid_t pid) {
        pthread_mutex_lock(&lock);
        for (size_t i = 0; i < n_pids; i++)
                if (pids[i] == pid) {
                        pids[i] = pids[--n_pids];
                        break;
                }
        pthread_mutex_unlock(&lock);
}

bool child_registry_is(pid_t pid) {
        bool is = false;

        pthread_mutex_lock(&lock);
        for (size_t i = 0; i < n_pids && !is; i++)
                is = pids[i] == pid;
        pthread_mutex_unlock(&lock);
        return is;
}
