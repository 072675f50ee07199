/* An ordinary user's supervisor may not make a mount, and a template has no host's tree to make one of. This process has both: the host's tree, and the
 * privilege to copy mounts of it in a user namespace of its own. It answers each request with one detached mount, and does nothing else. */
#include "schema/zygote.h"
#include "worker/worker.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

void __attribute__((noreturn)) binder_work(Worker *w) {
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
