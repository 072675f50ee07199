#include "base/left.h"

#include "base/child-registry.h"

#include <errno.h>
#include <pthread.h>
#include <sys/wait.h>

static pthread_mutex_t left_lock = PTHREAD_MUTEX_INITIALIZER; /* for all variables below */
static pid_t *left_pids;
static size_t left_n;

void left_add(pid_t pid) {
        pid_t *more;

        if (pid <= 0)
                return;
        pthread_mutex_lock(&left_lock);
        more = reallocarray(left_pids, left_n + 1, sizeof(*more));
        if (more) { /* otherwise the child stays a zombie until this process ends */
                left_pids = more;
                left_pids[left_n++] = pid;
        }
        pthread_mutex_unlock(&left_lock);
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
