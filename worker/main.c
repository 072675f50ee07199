#include "schema/zygote.h"
#include "worker/worker.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void work(bool forked) {
        static Progress early;
        Worker w = {.progress = &early, .root = -1, .scratch = -1, .program = -1, .started = -1, .hand = -1, .forked = forked};
        int e = spec_read(&w);

        if (e == 0) {
                Progress *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

                e = shared == MAP_FAILED ? -errno : 0;
                if (e == 0)
                        w.progress = shared;
        }
        if (e < 0)
                step_fail(&w, STEP_SPEC, -e);
        if (w.spec.flags & LAUNCH_BINDER) {
                lockdown_binder(&w);
                binder_work(&w);
        }
        if (w.spec.flags & LAUNCH_ZYGOTE)
                lockdown_zygote(&w);
        else
                lockdown(&w);
        if (w.program == 0) {
                lockdown_program(&w);
                _exit(127);
        }
        lockdown_init(&w);
        init_run(&w);
}

int main(int argc, char **argv) {
        if (argc == 2 && strcmp(argv[1], ZYGOTE_ARG) == 0)
                zygote_work();
        work(false);
}
