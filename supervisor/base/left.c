#include "base/left.h"

#include "base/buf.h"
#include "base/child-registry.h"
#include "base/lock.h"

#include <errno.h>
#include <sys/wait.h>

static pthread_mutex_t left_lock = PTHREAD_MUTEX_INITIALIZER; /* for all variables below */
static pid_t *left_pids;
static size_t left_n, left_room;

void left_add(pid_t pid) {
        _cleanup_unlock_ pthread_mutex_t *held = lock_take(&left_lock);

        /* without room the child stays a zombie until this process ends */
        if (pid > 0 && array_room(&left_pids, left_n, &left_room, sizeof(*left_pids)))
                left_pids[left_n++] = pid;
}

void left_reap(void) {
        pthread_mutex_lock(&left_lock);
        for (size_t i = left_n; i-- > 0;) {
                pid_t r = waitpid(left_pids[i], NULL, WNOHANG | __WALL);

                if (r == 0 || (r < 0 && errno == EINTR))
                        continue;
                child_registry_forget(left_pids[i]);
                left_pids[i] = left_pids[--left_n];
        }
        pthread_mutex_unlock(&left_lock);
}
