/* Regions whose program is a child of a warm interpreter: what they have in common is what it had imported, and nothing else (I-1, I-2, I-3, I-21). */
#include "base/clock.h"
#include "spawn/find.h"
#include "spawn/spawner-private.h"
#include "tests/spawn/region.h"
#include "tests/support/child.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PYTHON "/usr/bin/python3"
#define CANARY "canary-of-one-invocation"

static const char *const json_only[] = {"json", NULL};

static Spawner *spawner(void) {
        Spawner *s = NULL;
        Diag d = {};

        find_set_folder(LETHE_BUILD_DIR);
        spawner_eager = true;
        return spawner_new(&s, &d) == 0 ? s : NULL;
}

static RunEnd python(Spawner *s, const char *const *preload, const char *code, const char *arg) {
        static char store[512];
        const RunWish w = {.argv = (const char *const[]){PYTHON, "-c", code, arg, NULL}, .preload = preload, .store = store};
        RunEnd e;

        if (!*store)
                snprintf(store, sizeof(store), "%s", region_store());
        region_try_with(s, &w, &e);
        child_say("%d %s warm %d status %x step %d error %d: %s", e.start, e.message, e.warm, (unsigned)e.status, e.step, e.error, e.out);
        return e;
}

static bool exited(const RunEnd *e, int code) {
        return e->start == 0 && e->prove == 0 && !e->hung && WIFEXITED(e->status) && WEXITSTATUS(e->status) == code;
}

static int as_executed(void *arg) {
        static const char *const code = "import os, sys\n"
                                        "assert 'json' in sys.modules and 'LD_PRELOAD' not in os.environ and 'LETHE_WARM' not in os.environ\n"
                                        "assert (os.getpid(), os.getppid(), os.getsid(0)) == (2, 1, 2)\n"
                                        "assert sys.argv == ['-c', 'argument'] and os.environ['HOME'] == '/work' and os.getcwd() == '/work'\n"
                                        "assert (os.getuid(), os.getgid(), os.getgroups()) == (1000, 1000, [])\n"
                                        "sys.exit(7)\n";
        Spawner *s = spawner();

        child_check(s);
        for (int i = 0; i < 3; i++) {
                RunEnd e = python(s, json_only, code, "argument");

                child_check(e.warm && exited(&e, 7));
        }
        spawner_free(s);
        child_check(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
        return 0;
}

Test(warm, it_is_as_if_it_were_executed) {
        child_assert_ok(as_executed, NULL);
}

/* How it ends, and what it says in the end. */
static int ends(void *arg) {
        static const struct {
                const char *code, *out;
                int status;
        } rows[] = {
                {"print('said')", "said\n", 0},
                {"import atexit; atexit.register(print, 'last')", "last\n", 0},
                {"import threading; threading.Thread(target=lambda: print('thread')).start()", "thread\n", 0},
                {"raise SystemExit('why')", "why\n", 1 << 8},
                {"raise ValueError(1)", "Traceback (most recent call last):\n  File \"<string>\", line 1, in <module>\nValueError: 1\n", 1 << 8},
                {"import os; os._exit(5)", "", 5 << 8},
                {"import os, signal; os.kill(2, signal.SIGKILL)", "", SIGKILL},
                {"import os; os.fork() or os._exit(9); print(os.wait()[1])", "2304\n", 0},
                {"import os; os.execv('/bin/echo', ['echo', 'executed'])", "executed\n", 0},
        };
        Spawner *s = spawner();

        child_check(s);
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                RunEnd e = python(s, json_only, rows[i].code, NULL);

                child_check(e.warm && e.start == 0 && e.status == rows[i].status && strcmp(e.out, rows[i].out) == 0);
        }
        spawner_free(s);
        return 0;
}

Test(warm, it_ends_as_an_interpreter_does) {
        child_assert_ok(ends, NULL);
}

/* The one looks for what the other left in what they have in common: modules, descriptors, files, processes, random numbers. */
static int siblings(void *arg) {
        static const char *const leave = "import json, random, os, sys\n"
                                         "json.secret = sys.argv[1]\n"
                                         "open('/tmp/secret', 'w').write(sys.argv[1])\n"
                                         "os.environ['SECRET'] = sys.argv[1]\n"
                                         "print(random.random())\n";
        static const char *const look = "import json, random, os, sys\n"
                                        "assert not hasattr(json, 'secret') and 'SECRET' not in os.environ and os.listdir('/tmp') == []\n"
                                        "for fd in range(5, 300):\n"
                                        "    try: os.fstat(fd); assert False, fd\n"
                                        "    except OSError: pass\n"
                                        "for pid in [1] + list(range(3, 300)):\n"
                                        "    try: os.kill(pid, 9); assert pid == 1, pid\n"
                                        "    except ProcessLookupError: pass\n"
                                        "assert not os.path.exists('/proc/self')\n"
                                        "print(random.random())\n";
        char first[256];
        Spawner *s = spawner();
        RunEnd e;

        child_check(s);
        e = python(s, json_only, leave, CANARY);
        child_check(e.warm && exited(&e, 0));
        snprintf(first, sizeof(first), "%.255s", e.out);
        for (int i = 0; i < 2; i++) {
                e = python(s, json_only, look, NULL);
                child_check(e.warm && exited(&e, 0) && strcmp(first, e.out) != 0);
                snprintf(first, sizeof(first), "%.255s", e.out);
        }
        spawner_free(s);
        return 0;
}

Test(warm, nothing_of_one_is_in_the_other) {
        child_assert_ok(siblings, NULL);
}

/* Whether the memory of a child of ours holds the text; -1: it may not be looked at. */
static int holds(pid_t pid, const char *text) {
        char path[64], line[512], bytes[65536 + 64];
        int mem, found = 0;
        FILE *maps;

        snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
        maps = fopen(path, "re");
        snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
        mem = open(path, O_RDONLY | O_CLOEXEC);
        if (!maps || mem < 0)
                found = -1;
        while (found == 0 && fgets(line, sizeof(line), maps)) {
                unsigned long start, end;

                if (sscanf(line, "%lx-%lx rw", &start, &end) != 2)
                        continue;
                for (unsigned long at = start; at < end && found == 0; at += 65536) {
                        ssize_t n = pread(mem, bytes, sizeof(bytes), (off_t)at);

                        found = n > 0 && memmem(bytes, (size_t)n, text, strlen(text)) != NULL;
                }
        }
        if (maps)
                fclose(maps);
        closep(&mem);
        return found;
}

/* I-2: the interpreter that waits for the next one has nothing of those before. */
static int nothing_stays(void *arg) {
        Spawner *s = spawner();
        Nursery *n;
        pid_t pid = 0;
        RunEnd e;

        child_check(s);
        for (int i = 0; i < 2; i++) {
                e = python(s, json_only, "import sys; print(len(sys.argv[1]))", CANARY);
                child_check(e.warm && exited(&e, 0));
        }
        n = spawner_any_template(s);
        child_check(n);
        pid = n->pid;
        child_check(geteuid() != 0 || holds(pid, "json.decoder") == 1); /* it is the one that imported */
        child_check(holds(pid, CANARY) == (geteuid() == 0 ? 0 : -1));
        spawner_free(s);
        return 0;
}

Test(warm, the_interpreter_has_nothing_of_an_invocation) {
        child_assert_ok(nothing_stays, NULL);
}

/* What cannot be imported, or dies, is no reason not to run. */
static int without(void *arg) {
        Spawner *s = spawner();
        RunEnd e;

        child_check(s);
        e = python(s, (const char *const[]){"no.such_module", NULL}, "print('all the same')", NULL);
        child_check(!e.warm && exited(&e, 0) && strcmp(e.out, "all the same\n") == 0);
        spawner_free(s);
        return 0;
}

Test(warm, a_module_that_cannot_be_had_is_no_reason_not_to_run) {
        child_assert_ok(without, NULL);
}

/* The library alone: an interpreter serves until the socket ends, unless it has a thread, which would be missing in each region. */
Test(warm, an_interpreter_with_a_thread_serves_nobody) {
        static const char *const before = "import os, socket, threading, time\n"
                                          "a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
                                          "os.dup2(b.fileno(), 5)\n"
                                          "os.dup2(os.open('/proc', os.O_RDONLY), 257)\n";
        static const char *const threads[] = {"", "threading.Thread(target=time.sleep, args=(5,), daemon=True).start()\n"};

        for (int thread = 0; thread < 2; thread++) {
                char code[1024];
                int status;
                pid_t pid;

                snprintf(code, sizeof(code), "%s%sos.environ['LETHE_WARM'] = '1'\nos.fork()\n", before, threads[thread]);
                pid = fork();
                if (pid == 0) {
                        setenv("LD_PRELOAD", LETHE_BUILD_DIR "/shim-root/warm/liblethe-warm.so", 1);
                        execl(PYTHON, PYTHON, "-c", code, NULL);
                        _exit(99);
                }
                cr_assert(pid > 0 && waitpid(pid, &status, 0) == pid);
                cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == (thread ? 127 : 0), "thread %d: %x", thread, (unsigned)status);
        }
}
