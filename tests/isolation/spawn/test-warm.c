/* Regions whose program is a child of a warm interpreter: what they have in common is what it had imported, and nothing else (I-1, I-2, I-3, I-21). */
#include "base/clock.h"
#include "schema/zygote.h"
#include "schema/status.h"
#include "spawn/find.h"
#include "spawn/spawner-private.h"
#include "spawn/spawner.h"
#include "tests/isolation/spawn/region.h"
#include "tests/support/child.h"
#include "tests/support/temp.h"
#include "worker/sys.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
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
        child_check(region_no_child_is_left());
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
        Zygote *n;
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

/* The library alone, in a PID namespace whose first process the interpreter is. Returns whether it becomes ready; -1: it could not be tried. */
static int becomes_ready(const char *code) {
        static const struct {
                int resource;
                uint64_t soft;
        } limits[] = {{RLIMIT_DATA, TEMPLATE_DATA_BYTES}, {RLIMIT_AS, TEMPLATE_SPACE_BYTES}, {RLIMIT_NPROC, TEMPLATE_TASKS}};
        StatusRecord r = {0};
        int pair[2];
        pid_t pid;

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return -1;
        pid = fork();
        if (pid == 0) {
                int null = open("/dev/null", O_RDWR | O_CLOEXEC), fs, proc;

                close(pair[0]);
                dup2(pair[1], LAUNCH_FD_STATUS);
                if (unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS) < 0)
                        _exit(98);
                pid = fork();
                if (pid != 0) {
                        waitpid(pid, NULL, 0);
                        _exit(0);
                }
                fs = sys_fsopen("proc");
                proc = fs < 0 || sys_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL) < 0 ? -1 : sys_fsmount(fs, 0);
                if (proc < 0)
                        _exit(98);
                for (int fd = 0; fd < 3; fd++)
                        dup2(null, fd);
                dup2(proc, ZYGOTE_FD_KEPT);
                syscall(SYS_close_range, 3, LAUNCH_FD_STATUS - 1, 0);
                syscall(SYS_close_range, LAUNCH_FD_STATUS + 1, ZYGOTE_FD_KEPT - 1, 0);
                for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
                        struct rlimit l;

                        getrlimit((__rlimit_resource_t)limits[i].resource, &l);
                        l.rlim_cur = limits[i].soft;
                        setrlimit((__rlimit_resource_t)limits[i].resource, &l);
                }
                setenv("LD_PRELOAD", LETHE_BUILD_DIR "/shim-root/warm/liblethe-warm.so", 1);
                execl(PYTHON, PYTHON, "-I", "-S", "-c", code, NULL);
                _exit(98);
        }
        close(pair[1]);
        if (pid < 0 || recv(pair[0], &r, sizeof(r), 0) < 0)
                r.kind = 0;
        close(pair[0]); /* with which it ends */
        waitpid(pid, NULL, 0);
        return r.kind == STATUS_READY;
}

/* I-92. A thread would be missing in each region; the rest would be had in common by all of them, or be a way out. */
static int shared(void *arg) {
        static const struct {
                const char *code;
                int ready;
        } rows[] = {
                {"pass", 1},
                {"import threading, time; threading.Thread(target=time.sleep, args=(50,), daemon=True).start()", 0},
                {"os.fork() or __import__('time').sleep(50)", 0},
                {"import mmap; held = mmap.mmap(-1, 4096)", 0},
                {"import mmap; fd = os.memfd_create('x'); os.truncate(fd, 4096); held = mmap.mmap(fd, 4096); os.close(fd)", 0},
                {"import mmap; fd = os.memfd_create('x'); os.truncate(fd, 4096); held = mmap.mmap(fd, 4096, prot=mmap.PROT_READ); os.close(fd)", 0},
                {"import mmap; held = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)", 1},
                {"import mmap; f = open(os.__file__); held = mmap.mmap(f.fileno(), 4096, prot=mmap.PROT_READ)", 1},
                {"os.memfd_create('x')", 0},
                {"os.pipe()", 0},
                {"import select; held = select.epoll()", 0},
                {"import socket; held = socket.socketpair()", 0},
                {"import resource; resource.setrlimit(resource.RLIMIT_DATA, (-1, -1))", 0},
                {"import resource; resource.setrlimit(resource.RLIMIT_AS, (-1, -1))", 0},
                {"import resource; resource.setrlimit(resource.RLIMIT_NPROC, (100, 100))", 0},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                char code[512];
                int ready;

                snprintf(code, sizeof(code), "import os\n%s\nos.environ['LETHE_WARM'] = '1'\nos.fork()\n", rows[i].code);
                ready = becomes_ready(code);
                child_say("%s: %d", rows[i].code, ready);
                child_check(ready == rows[i].ready);
        }
        return 0;
}

Test(warm, an_interpreter_with_a_thread_or_something_shared_serves_nobody) {
        child_assert_ok(shared, NULL);
}

/* I-92. Files that would be loaded with a script, a grant and the environment of a skill are not looked at before a region is confined. */
static int from_places(void *arg) {
        static const char *const say = "import os, sys\n"
                                       "print(sys.path, sys.flags.isolated, sys.flags.no_site, 'site' in sys.modules, bool(quit))\n";
        static char cold[sizeof(((RunEnd *)0)->out)];
        Spawner *s = spawner();
        RunEnd e;

        child_check(s);
        e = python(s, NULL, say, NULL);
        child_check(!e.warm && exited(&e, 0));
        memcpy(cold, e.out, sizeof(cold));
        for (int i = 0; i < 2; i++) {
                e = python(s, json_only, say, NULL);
                child_check(e.warm && exited(&e, 0) && strcmp(cold, e.out) == 0);
        }
        spawner_free(s);
        return 0;
}

Test(warm, what_an_interpreter_finds_is_as_when_it_is_executed) {
        child_assert_ok(from_places, NULL);
}

/* I-92. A folder that was granted at a place of the interpreter's own holds what it would import, and what it imports without being asked. The region
 * has that, once it is confined; the interpreter that regions are forked from has not. */
static int granted(void *arg) {
        static const char mark[] = "import os\nopen(os.path.join(os.path.dirname(__file__), 'log'), 'a').write('%d ' % os.getppid())\n";
        static const char *const files[] = {"evilmod.py", "sitecustomize.py", "usercustomize.py"};
        static const char *const evil[] = {"json", "evilmod", NULL};
        TempDir t = TEMP_DIR_NULL;
        char path[PATH_MAX + 32], said[256] = "";
        FileGrant f = {.source = t.path, .target = (char *)"/usr/local/lib/python3.11/dist-packages", .write = true};
        const char *argv[] = {PYTHON, "-c", "print('ran')", NULL};
        RunWish w = {.argv = argv, .preload = evil, .files = &f, .n_files = 1, .store = region_store()};
        Spawner *s = spawner();
        RunEnd e;
        int fd;

        child_check(s && temp_dir_make(&t) == 0 && chmod(t.path, 0777) == 0);
        if (access("/usr/local/lib/python3.11/dist-packages", F_OK) < 0) /* no place to mount it at */
                return 0;
        for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
                snprintf(path, sizeof(path), "%s/%s", t.path, files[i]);
                fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
                child_check(fd >= 0 && write(fd, mark, strlen(mark)) == (ssize_t)strlen(mark));
                close(fd);
        }
        for (int i = 0; i < 2; i++) {
                region_try_with(s, &w, &e);
                child_say("%d %s: %s", e.start, e.message, e.out);
                child_check(!e.warm && exited(&e, 0) && strstr(e.out, "ran")); /* the name evilmod is nothing of the system's */
        }
        w.preload = json_only;
        for (int i = 0; i < 2; i++) {
                region_try_with(s, &w, &e);
                child_check(e.warm && exited(&e, 0) && strstr(e.out, "ran"));
        }
        snprintf(path, sizeof(path), "%s/log", t.path);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        child_check(fd >= 0 && read(fd, said, sizeof(said) - 1) > 0); /* the regions did load the customisation */
        close(fd);
        child_say("parents: %s", said);
        child_check(strspn(said, "1 ") == strlen(said)); /* each time in a program of a region, whose parent is its first process */
        spawner_free(s);
        temp_dir_remove(&t);
        return 0;
}

Test(warm, nothing_that_was_granted_is_loaded_before_confinement) {
        child_assert_ok(granted, NULL);
}

/* I-92. An interpreter serves one client, and one of the skill's own serves nobody. */
static int owners(void *arg) {
        const char *argv[] = {PYTHON, "-c", "print(1)", NULL};
        RunWish w = {.argv = argv, .preload = json_only, .store = region_store()};
        Zygote *first, *second;
        Spawner *s = spawner();
        TempDir t = TEMP_DIR_NULL;
        char copy[PATH_MAX + 32], command[2 * PATH_MAX + 64];
        RunEnd e;

        child_check(s && temp_dir_make(&t) == 0 && chmod(t.path, 0755) == 0);
        region_try_with(s, &w, &e);
        first = spawner_any_template(s);
        child_check(e.warm && first);
        region_try_with(s, &w, &e);
        child_check(e.warm && spawner_any_template(s) == first);
        w.client = 4321;
        region_try_with(s, &w, &e);
        second = spawner_any_template(s);
        child_check(e.warm && second && second != first && second->pid != first->pid);
        snprintf(copy, sizeof(copy), "%s/python3", t.path);
        snprintf(command, sizeof(command), "cp /usr/bin/python3 %s", copy);
        child_check(system(command) == 0); /* NOLINT: a path of ours */
        w.skill_dir = t.path;
        argv[0] = "/skill/python3";
        region_try_with(s, &w, &e);
        child_say("%d %s: %s", e.start, e.message, e.out);
        child_check(!e.warm && exited(&e, 0));
        spawner_free(s);
        temp_dir_remove(&t);
        return 0;
}

Test(warm, an_interpreter_serves_one_client_and_is_the_systems) {
        child_assert_ok(owners, NULL);
}
