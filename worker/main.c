#include "worker/worker.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The spec is mapped, not copied. Nobody but the supervisor can change it, who overwrites it in the end: so it is sealed against changes
 * of its size alone. */
static int read_spec(LaunchSpec *ret) {
        const int need = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW;
        int seals = fcntl(LAUNCH_FD_SPEC, F_GET_SEALS);
        struct stat st;
        void *p;

        if (seals < 0)
                return -errno;
        if ((seals & need) != need)
                return -EPERM;
        if (fstat(LAUNCH_FD_SPEC, &st) < 0)
                return -errno;
        if (st.st_size <= 0 || st.st_size > LAUNCH_MAX)
                return -EFBIG;
        p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, LAUNCH_FD_SPEC, 0);
        if (p == MAP_FAILED)
                return -errno;
        close(LAUNCH_FD_SPEC);
        return launch_decode(p, (size_t)st.st_size, ret);
}

int main(void) {
        static Progress early;
        Worker w = {.progress = &early, .root = -1, .scratch = -1, .program = -1};
        int e = read_spec(&w.spec);

        if (e == 0) {
                Progress *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

                e = shared == MAP_FAILED ? -errno : 0;
                if (e == 0)
                        w.progress = shared;
        }
        if (e < 0)
                step_fail(&w, STEP_SPEC, -e);
        lockdown(&w);
        if (w.program == 0) {
                lockdown_program(&w);
                _exit(127);
        }
        lockdown_init(&w);
        init_run(&w);
}
