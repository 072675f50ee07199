#include "base/child-registry.h"

#include "base/buf.h"
#include "base/lock.h"

#include <errno.h>
#include <sys/wait.h>

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

bool child_registry_note(pid_t pid) {
        _cleanup_unlock_ pthread_mutex_t *held = lock_take(&lock);

        if (!array_room(&pids, n_pids, &room, sizeof(*pids)))
                return false;
        pids[n_pids++] = pid;
        return true;
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
        _cleanup_unlock_ pthread_mutex_t *held = lock_take(&lock);

        for (size_t i = 0; i < n_pids; i++)
                if (pids[i] == pid)
                        return true;
        return false;
}

void child_registry_reap(pid_t pid) {
        while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
                ;
        child_registry_forget(pid);
}
