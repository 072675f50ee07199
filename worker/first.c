/* The first process of a warm region (warm-make.h): an image of its own, so that the interpreter's memory is copied for
 * the program's process alone. Executed without privilege, before the program's process has built the root of the
 * region: that process's pivot_root() changes this process's root and folder, too. */
#include "worker/worker.h"

#include <sys/mman.h>
#include <sys/prctl.h>

#define PROGRAM 2 /* the second process of a new PID namespace */

void first_work(void) {
        static Progress early;
        Worker w = {.spec = {.tier = 2}, .progress = &early, .root = -1, .scratch = -1, .program = PROGRAM,
                    .started = FIRST_FD_STARTED, .executed = FIRST_FD_STARTED, .hand = -1};
        void *shared = mmap(NULL, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED, FIRST_FD_SHARED, 0);
        int e = shared == MAP_FAILED || getpid() != 1 || prctl(PR_SET_NAME, "lethe-worker") < 0 ? -errno ?: -EPERM : 0;

        if (e < 0)
                step_fail(&w, STEP_INIT, -e);
        w.progress = shared;
        e = step_signals(&w) ?: step_lifeline(&w) ?: step_capabilities(&w) ?: step_no_new_privs(&w)
                ?: landlock_nothing();
        if (e < 0)
                step_fail(&w, STEP_INIT, -e);
        lockdown_init(&w);
        init_run(&w);
}
