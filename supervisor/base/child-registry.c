#include "base/child-registry.h"

#include "base/lock.h"

#include <errno.h>
#include <sys/wait.h>

static pthread_rwlock_t births = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for all variables below */
static pid_t *pids;
static size_t n_pids;
static pid_t *late; /* children to be reaped later */
static size_t n_late;

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

        if (!GROW(pids, n_pids))
                return false;
        pids[n_pids++] = pid;
        return true;
}

static void child_registry_remove(pid_t pid) {
        for (size_t i = 0; i < n_pids; i++)
                if (pids[i] == pid) {
                        pids[i] = pids[--n_pids];
                        return;
                }
}

void child_registry_forget(pid_t pid) {
        _cleanup_unlock_ pthread_mutex_t *held = lock_take(&lock);

        child_registry_remove(pid);
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

void child_registry_reap_later(pid_t pid) {
        _cleanup_unlock_ pthread_mutex_t *held = lock_take(&lock);

        /* without room the child stays a zombie until this process ends */
        if (pid > 0 && GROW(late, n_late))
                late[n_late++] = pid;
}

void child_registry_reap_dead(void) {
        _cleanup_unlock_ pthread_mutex_t *held = lock_take(&lock);

        for (size_t i = n_late; i-- > 0;) {
                pid_t r = waitpid(late[i], NULL, WNOHANG | __WALL);

                if (r == 0 || (r < 0 && errno == EINTR))
                        continue;
                child_registry_remove(late[i]);
                late[i] = late[--n_late];
        }
}
