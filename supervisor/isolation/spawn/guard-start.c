/* Runs: supervisor. Takes a guard from the Spawner or executes lethe-guard; gives guards back to the Spawner. */
#include "base/io.h"
#include "base/child-registry.h"
#include "spawn/clone.h"
#include "spawn/find.h"
#include "spawn/spawner-private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

static int guard_execute(Guard *g, const int *fds, Diag *reterr) {
        _cleanup_close_ int exe = -1;
        CloneExec c = {.name = "lethe-guard", .fds = fds, .n_fds = GUARD_FD_EVIDENCE + 1};
        int e = find_needed("lethe-guard", GUARD_E_START, &exe, reterr);
        pid_t pid;

        if (e != 0)
                return e;
        c.exec_fd = exe;
        pid = clone_exec(&c, 0, &g->pidfd);
        if (pid < 0)
                return diag(reterr, GUARD_E_START, "lethe-guard cannot be started: %s: %s", c.what, strerror(-pid));
        g->pid = pid;
        return 0;
}

static int guard_make(Guard *g, Spawner *spawner, Diag *reterr) {
        _cleanup_close_ int null = open("/dev/null", O_RDWR | O_CLOEXEC),
                            page = memfd_create("lethe-evidence", MFD_CLOEXEC), theirs = -1;
        int pair[2], fds[GUARD_FD_EVIDENCE + 1];
        void *p;

        if (null < 0 || page < 0 || ftruncate(page, sizeof(GuardEvidence)) < 0)
                return -errno;
        p = mmap(NULL, sizeof(GuardEvidence), PROT_READ | PROT_WRITE, MAP_SHARED, page, 0);
        if (p == MAP_FAILED)
                return -errno;
        g->page = p;
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return -errno;
        g->control = pair[0];
        theirs = pair[1];
        if (io_set_nonblock(g->control) < 0)
                return -errno;
        for (int i = 0; i < GUARD_FD_CONTROL; i++)
                fds[i] = null;
        fds[GUARD_FD_CONTROL] = theirs;
        fds[GUARD_FD_EVIDENCE] = page;
        if (spawner && spawner_guard(spawner, fds, ARRAY_SIZE(fds), &g->pid, &g->pidfd) == 0)
                return 0;
        return guard_execute(g, fds, reterr);
}

int guard_start(Guard *ret, Spawner *spawner, Diag *reterr) {
        child_registry_reap_dead();
        Guard g = GUARD_NULL;
        int e;

        if (spawner && guard_pool_take(spawner_guards(spawner), ret))
                return 0;
        e = guard_make(&g, spawner, reterr);
        g.spawner = spawner;
        if (e == 0)
                *ret = g;
        else
                guard_deinit(&g);
        return e;
}

void guard_deinit(Guard *g) {
        guard_done(g);
        if (g->again && g->control >= 0 && guard_pool_keep(spawner_guards(g->spawner), g)) {
                *g = GUARD_NULL;
                return;
        }
        guard_end(g);
}
