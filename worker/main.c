#include "schema/zygote.h"
#include "worker/worker.h"

#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

/* An ordinary user's supervisor may not make a mount, and a template has no host tree to copy from. The binder has
 * both, the host's tree and the privilege to copy mounts, in a user namespace of its own. Each answer is a detached
 * mount. */
static void __attribute__((noreturn)) main_serve_binder(Worker *w) {
        static struct {
                BinderRequest head;
                char source[BINDER_SOURCE_MAX];
        } request;
        const StatusRecord ready = {.kind = STATUS_READY};

        prctl(PR_SET_NAME, "lethe-binder");
        if (prctl(PR_SET_DUMPABLE, 0) < 0 || syscall(SYS_close_range, 0, LAUNCH_FD_STATUS - 1, 0) < 0 ||
            syscall(SYS_close_range, LAUNCH_FD_STATUS + 1, ~0U, 0) < 0)
                step_fail(w, STEP_ZYGOTE, errno);
        if (report(&ready, -1) < 0)
                _exit(127);
        for (;;) {
                ssize_t n = recv(LAUNCH_FD_STATUS, &request, sizeof(request) - 1, 0);
                LaunchEntry bind = {.kind = LAUNCH_BIND, .tree = -1, .source = request.source};
                StatusRecord answer = {.kind = STATUS_BORN};
                int tree;

                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= (ssize_t)sizeof(request.head))
                        _exit(0);
                ((char *)&request)[n] = 0;
                bind.flags = request.head.flags & LAUNCH_WRITE;
                tree = bind_clone_source(&bind);
                answer.b = tree < 0 ? -tree : 0;
                if (report(&answer, tree) < 0)
                        _exit(127);
                if (tree >= 0)
                        close(tree);
        }
}

/* The work of a zygote's child, and of an executed worker, with its inherited descriptors. */
static void main_work(bool forked) {
        static Progress early;
        Worker w = {.progress = &early, .root = -1, .scratch = -1, .program = -1, .started = -1, .hand = -1,
                    .executed = -1, .forked = forked, .work = main_work};
        int e = spec_read(&w);

        if (e < 0)
                step_fail(&w, STEP_SPEC, -e);
        if (w.spec.flags & LAUNCH_BINDER) {
                lockdown_binder(&w);
                main_serve_binder(&w);
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
        if (argc == 2 && strcmp(argv[1], FIRST_ARG) == 0)
                first_work();
        main_work(false);
}
