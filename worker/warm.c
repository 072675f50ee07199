/* Runs: worker, in a warm interpreter and in the regions that are forked from it. Preloaded into an interpreter that lethe-worker became in the root of a view
 * (LAUNCH_WARM), confined and in sight of system folders alone, where it imports what a manifest names and calls fork(). That fork() is the one here, and
 * it returns once in each region:
 *
 *   interpreter: serves orders (schema/zygote.h) until their socket ends
 *     -> a region's first process: all steps of a worker below a template; it waits for the program, and executes nothing of the interpreter's
 *          -> the program's process: confined like any other, up to the go. Then, in place of an execve, fork() returns 0 there
 *
 * Nothing of a skill is in the interpreter, or in its sight: what it runs is a bootstrap, and modules of the system (shim/warm/warm.py). */
#include "schema/zygote.h"
#include "worker/warm-alone.h"
#include "worker/worker.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ASKED "LETHE_WARM" /* set by the bootstrap: its next fork() is the one that returns in regions */
#define WORDS_FD 5         /* where the program's process finds arguments and environment, in place of the status socket */
#define HAND_HIGH 192      /* out of the way of what comes with an order */

pid_t warm_libc_fork(void);
#undef fork
pid_t fork(void);

static jmp_buf back;
static bool serves;
static sigset_t signals; /* that were blocked while the interpreter started */

/* The C library's, with its handlers: what libraries keep about their process is set right, and so is its own. */
pid_t warm_libc_fork(void) {
        pid_t (*f)(void) = (pid_t(*)(void))(uintptr_t)dlsym(RTLD_NEXT, "fork");

        if (!f) {
                errno = ENOSYS;
                return -1;
        }
        return f();
}

static int move_up(int fd) {
        int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, HAND_HIGH);

        if (fd >= 0)
                close(fd);
        return high;
}

/* Creation before the filter, which denies it; filled when all is known. What is started ahead takes its words itself. */
static int make_hand(Worker *w) {
        w->started = move_up(eventfd(0, EFD_CLOEXEC));
        if (w->started >= 0 && !(w->spec.flags & LAUNCH_AHEAD))
                w->hand = move_up((int)syscall(SYS_memfd_create, "words", MFD_CLOEXEC));
        return w->started < 0 || (w->hand < 0 && !(w->spec.flags & LAUNCH_AHEAD)) ? -errno : 0;
}

static void put(const Worker *w, const char *s) {
        ssize_t n = (ssize_t)strlen(s) + 1;

        if (write(w->hand, s, (size_t)n) != n)
                _exit(127);
}

/* Arguments and environment as the bootstrap reads them: the number of arguments, then all of them, each with a NUL behind it. */
static void put_words(Worker *w) {
        char n[24];

        snprintf(n, sizeof(n), "%zu", w->spec.n_argv);
        put(w, n);
        for (size_t i = 0; i < w->spec.n_argv; i++)
                put(w, w->spec.argv[i]);
        for (size_t i = 0; i < w->spec.n_env; i++)
                put(w, w->spec.env[i]);
}

/* A list of its own, which the C library has not seen: perl reallocates what it finds, and crashes where clearenv() left none. */
static void set_environment(size_t n, const char **env) {
        char **own = calloc(n + 1, sizeof(*own));

        for (size_t i = 0; own && i < n; i++)
                if (!(own[i] = strdup(env[i])))
                        _exit(127);
        if (!own)
                _exit(127);
        environ = own;
}

/* From here on it is the program: nothing is left of what only a worker has, but for what one that was started ahead waits with. */
static void hand_over(Worker *w) {
        const char *name = strrchr(w->spec.argv[0], '/');
        const uint64_t one = 1;
        bool ahead = w->spec.flags & LAUNCH_AHEAD;

        prctl(PR_SET_NAME, name ? name + 1 : w->spec.argv[0]);
        set_environment(ahead ? 0 : w->spec.n_env, w->spec.env);
        if (!ahead)
                put_words(w);
        spec_forget(&w->spec);
        if (write(w->started, &one, sizeof(one)) != sizeof(one))
                _exit(127);
        if (ahead ? close(LAUNCH_FD_STATUS) < 0 || syscall(SYS_close_range, LAUNCH_FD_SPEC + 1, ~0U, 0) < 0
                  : dup2(w->hand, WORDS_FD) < 0 || syscall(SYS_close_range, WORDS_FD + 1, ~0U, 0) < 0)
                _exit(127);
}

void work(bool forked) {
        static Progress early;
        Worker w = {.progress = &early, .root = -1, .scratch = -1, .program = -1, .started = -1, .hand = -1, .forked = forked};
        int e = sigprocmask(SIG_SETMASK, &signals, NULL) < 0 ? -errno : spec_read(&w);

        if (e == 0) {
                Progress *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

                e = shared == MAP_FAILED ? -errno : 0;
                if (e == 0)
                        w.progress = shared;
        }
        if (e == 0)
                e = make_hand(&w);
        if (e < 0)
                step_fail(&w, STEP_SPEC, -e);
        lockdown(&w);
        if (w.program == 0) {
                lockdown_confine(&w);
                hand_over(&w);
                longjmp(back, 1);
        }
        /* The handlers are the interpreter's, and this process is none. */
        w.forked = false;
        prctl(PR_SET_NAME, "lethe-worker");
        if ((e = step_signals(&w)) < 0)
                step_fail(&w, STEP_SIGNALS, -e);
        lockdown_init(&w);
        init_run(&w);
}

static void __attribute__((noreturn)) serve(void) {
        const StatusRecord ready = {.kind = STATUS_READY};

        prctl(PR_SET_NAME, "lethe-warm");
        if (warm_alone_begin(&signals) != 0 || prctl(PR_SET_DUMPABLE, 0) < 0 || report(&ready, -1) < 0)
                _exit(127);
        zygote_of_view(warm_alone_still);
}

__attribute__((visibility("default"))) pid_t fork(void) {
        if (serves || !getenv(ASKED))
                return warm_libc_fork();
        serves = true;
        if (setjmp(back) == 0)
                serve();
        return 0;
}
