/* Runs: worker, in a warm interpreter and in the regions forked from it. Preloaded into an interpreter that
 * lethe-worker became in the root of a view (LAUNCH_WARM), confined and in sight of system folders alone, where it
 * imports the modules named by a manifest and calls fork(). The fork() below replaces the C library's, and returns once
 * in each region:
 *
 *   interpreter: serves orders (schema/zygote.h) until their socket ends
 *     -> a region's first process: executes lethe-worker, waits for the program
 *          -> the program's process: all steps of a worker below a template; confined like any other, up to the go. Then
 *          fork() returns 0 there, in place of an execve
 *
 * The interpreter has no data of a skill, and none in sight: it runs a bootstrap, and modules of the system
 * (shim/warm/warm.py). */
#include "schema/zygote.h"
#include "worker/warm-alone.h"
#include "worker/warm-make.h"
#include "worker/worker.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define ASKED "LETHE_WARM" /* set by the bootstrap: its next fork() returns in regions */
#define HOLE_MOST (64U * 1024)
#define HOLE_LEAST 16U
#define WORDS_FD 5         /* arguments and environment for the program's process, in place of the status socket */

pid_t warm_libc_fork(void);
#undef fork
pid_t fork(void);

static jmp_buf back;
static bool serves;
static sigset_t signals; /* blocked while the interpreter started */

/* The C library's fork with its handlers, which renew the libraries' and its own data about the process. */
pid_t warm_libc_fork(void) {
        pid_t (*f)(void) = (pid_t(*)(void))(uintptr_t)dlsym(RTLD_NEXT, "fork");

        if (!f) {
                errno = ENOSYS;
                return -1;
        }
        return f();
}

static int warm_move_up(int fd) {
        int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, FD_HIGH);

        if (fd >= 0)
                close(fd);
        return high;
}

/* Made before the filter denies it; filled when all words are known. A region started ahead takes its words itself. */
static int warm_make_hand(Worker *w) {
        if (w->spec.flags & LAUNCH_AHEAD)
                return 0;
        w->hand = warm_move_up((int)syscall(SYS_memfd_create, "words", MFD_CLOEXEC));
        return w->hand < 0 ? -errno : 0;
}

static void warm_put(const Worker *w, const char *s) {
        ssize_t n = (ssize_t)strlen(s) + 1;

        if (write(w->hand, s, (size_t)n) != n)
                _exit(127);
}

/* Arguments and environment in the bootstrap's format: the number of arguments, then all words, NUL-terminated. */
static void warm_put_words(Worker *w) {
        char n[24];

        snprintf(n, sizeof(n), "%zu", w->spec.n_argv);
        warm_put(w, n);
        for (size_t i = 0; i < w->spec.n_argv; i++)
                warm_put(w, w->spec.argv[i]);
        for (size_t i = 0; i < w->spec.n_env; i++)
                warm_put(w, w->spec.env[i]);
}

/* A new list, unknown to the C library: perl reallocates an existing list, and crashes where clearenv() left none. */
static void warm_set_environment(size_t n, const char **env) {
        char **own = calloc(n + 1, sizeof(*own));

        for (size_t i = 0; own && i < n; i++)
                if (!(own[i] = strdup(env[i])))
                        _exit(127);
        if (!own)
                _exit(127);
        environ = own;
}

/* From here on this process is the program, without a worker's resources. A region ahead keeps two descriptors. */
static void warm_hand_over(Worker *w) {
        const char *name = strrchr(w->spec.argv[0], '/');
        const uint64_t one = 1;
        bool ahead = w->spec.flags & LAUNCH_AHEAD;

        prctl(PR_SET_NAME, name ? name + 1 : w->spec.argv[0]);
        warm_set_environment(ahead ? 0 : w->spec.n_env, w->spec.env);
        if (!ahead)
                warm_put_words(w);
        spec_forget(&w->spec);
        if (write(w->started, &one, sizeof(one)) != sizeof(one))
                _exit(127);
        if (ahead ? close(LAUNCH_FD_STATUS) < 0 || syscall(SYS_close_range, LAUNCH_FD_SPEC + 1, ~0U, 0) < 0
                  : dup2(w->hand, WORDS_FD) < 0 || syscall(SYS_close_range, WORDS_FD + 1, ~0U, 0) < 0)
                _exit(127);
}

static void warm_work(bool forked) {
        static Progress early;
        Worker w = {.progress = &early, .root = -1, .scratch = -1, .program = -1, .started = FIRST_FD_STARTED,
                    .hand = -1, .executed = -1, .forked = forked, .apart = true, .work = warm_work};
        int e = sigprocmask(SIG_SETMASK, &signals, NULL) < 0 ? -errno : spec_read(&w);

        if (e == 0)
                e = warm_make_hand(&w);
        if (e < 0)
                step_fail(&w, STEP_SPEC, -e);
        lockdown(&w);
        lockdown_confine(&w);
        warm_hand_over(&w);
        longjmp(back, 1);
}

/* Fills the holes of the C library's heap: a region then takes new pages, and copies no page for the list of a hole. */
static void warm_fill_holes(void) {
        const struct mallinfo2 info = mallinfo2();
        const char *top = (char *)sbrk(0) - info.keepcost;

        for (size_t n = HOLE_MOST; n >= HOLE_LEAST; n -= HOLE_LEAST) {
                char *p;

                while ((p = malloc(n)) && p < top)
                        ;
                free(p);
        }
}

static void __attribute__((noreturn)) warm_serve(void) {
        static const ZygoteWay way = {.may = warm_alone_still, .make = warm_make};
        const StatusRecord ready = {.kind = STATUS_READY};

        prctl(PR_SET_NAME, "lethe-warm");
        warm_fill_holes();
        if (warm_alone_begin(&signals) != 0 || prctl(PR_SET_DUMPABLE, 0) < 0 || report(&ready, -1) < 0)
                _exit(127);
        zygote_of_view(&way, warm_work);
}

__attribute__((visibility("default"))) pid_t fork(void) {
        if (serves || !getenv(ASKED))
                return warm_libc_fork();
        serves = true;
        if (setjmp(back) == 0)
                warm_serve();
        return 0;
}
