/* A guard that cannot be attached: whoever waits for it waits for nothing, and its record says that nothing was done. */
#include "spawn/find.h"
#include "spawn/guard.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define STALL_USEC 2000000

static pid_t one_that_has_gone(void) {
        pid_t pid = fork();

        cr_assert(pid >= 0);
        if (pid == 0)
                _exit(0);
        cr_assert(waitpid(pid, NULL, 0) == pid);
        return pid;
}

/* Dead, and not reaped: the kernel refuses to trace it as it refuses what is forbidden. */
static pid_t one_that_is_dead(void) {
        siginfo_t info;
        pid_t pid = fork();

        cr_assert(pid >= 0);
        if (pid == 0)
                _exit(0);
        cr_assert(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) == 0);
        return pid;
}

static void attach(Guard *g, pid_t program) {
        GuardOrder o = {.version = GUARD_VERSION, .kind = GUARD_ATTACH, .passes = 1, .init = program, .program = program, .region = "r-test"};
        _cleanup_close_ int spec = memfd_create("spec", MFD_CLOEXEC);
        _cleanup_free_ char *folder = strdup(getenv("LETHE_GUARD"));
        char store[256];
        Diag d = {};

        snprintf(store, sizeof(store), "%s/refused-XXXXXX", getenv("TMPDIR") ?: "/tmp");
        cr_assert(mkdtemp(store) && folder && strrchr(folder, '/'));
        *strrchr(folder, '/') = 0;
        find_set_folder(folder);
        cr_assert_eq(guard_start(g, NULL, &d), 0, "%s", d.text);
        cr_assert_eq(guard_attach(g, &o, store, spec, -1, &d), 0, "%s", d.text);
}

// I-16, I-33: a region that is cancelled before its guard has it, or whose program may not be traced, is not waited for until the guard counts as stuck
Test(guard_refused, is_not_waited_for) {
        GuardEvidence e;
        Guard g;

        attach(&g, one_that_has_gone());
        cr_expect_eq(guard_wait_empty(&g, STALL_USEC), 0);
        cr_expect_eq(guard_wait_frozen(&g, STALL_USEC), 0);
        cr_expect(!g.attached && g.control >= 0, "it was ended as one that does not answer");
        guard_evidence(&g, &e);
        cr_expect(e.state != GUARD_STATE_EMPTY && e.processes == 0 && e.bytes_overwritten == 0);
        guard_deinit(&g);
}

// I-33: a program that was killed before it was traced is no missing right of the operator's
Test(guard_refused, says_that_the_program_has_ended) {
        pid_t dead[] = {one_that_is_dead(), one_that_has_gone()};

        for (size_t i = 0; i < ARRAY_SIZE(dead); i++) {
                GuardAnswer a;
                Diag d = {};
                Guard g;
                int k;

                attach(&g, dead[i]);
                while ((k = guard_answer(&g, &a)) == -EAGAIN)
                        poll(&(struct pollfd){.fd = g.control, .events = POLLIN}, 1, 10000);
                cr_expect(k == 1 && a.kind == GUARD_ATTACHED && a.error == ESRCH, "%d: %d, %d", k, a.kind, a.error);
                guard_explain(a.error, &d);
                cr_expect(strstr(d.text, "ended before") && !strstr(d.text, "ptrace"), "%s", d.text);
                guard_deinit(&g);
        }
        cr_expect_eq(waitpid(dead[0], NULL, 0), dead[0]);
}
