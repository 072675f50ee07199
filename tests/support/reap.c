/* Runs: tests. Runs one test program and fails where the program's own exit status would hide it: a process left behind, a
 * sanitizer's report from any process, no test run at all, a plan that was not kept, a skip where must_work is set, a mount
 * left in the temporary folder. Usage: reap [--plain] PROGRAM ARGS…; without --plain the program speaks TAP. */
#include "tests/support/temp.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#ifndef MUST_WORK
#define MUST_WORK 0
#endif

#define LOOK_MS 10
#define GRACE_LOOKS 25 /* for processes that end because others did */
#define DYING_MS 60000 /* for those that were killed, or exit: on a busy machine the kernel takes its time */
#define EXITING 4     /* PF_EXITING of the kernel */
#define KILL_MS 5000

typedef struct Line {
        char text[4096];
        size_t n;
        bool is_tap;
} Line;

static char root[] = "/tmp/lethe-reap-XXXXXX";
static bool failed, must_work = MUST_WORK;
static unsigned tests, skips;
static int plan = -1;

static _printf_(1, 2) void complain(const char *fmt, ...) {
        char line[2048];
        va_list ap;

        failed = true;
        va_start(ap, fmt);
        vsnprintf(line, sizeof(line), fmt, ap);
        va_end(ap);
        printf("# reap: %s\n", line);
        fflush(stdout);
        fprintf(stderr, "reap: %s\n", line);
}

static void look_at_line(Line *l) {
        static const char *const reports[] = {"ERROR: AddressSanitizer", "ERROR: LeakSanitizer", "WARNING: ThreadSanitizer",
                                              "WARNING: MemorySanitizer", ": runtime error: "};

        l->text[l->n] = 0;
        l->n = 0;
        for (size_t i = 0; i < ARRAY_SIZE(reports); i++)
                if (strstr(l->text, reports[i]))
                        complain("a sanitizer reports: %s", l->text);
        if (!l->is_tap)
                return;
        if (strncmp(l->text, "1..", 3) == 0) {
                plan = atoi(l->text + 3);
                skips += plan == 0 && strcasestr(l->text, "# SKIP"); /* TAP's way to skip a whole program, with the reason */
                if (skips > 0 && plan == 0 && must_work)
                        complain("skipped, but everything must work here: %s", l->text);
        }
        if (strncmp(l->text, "ok", 2) != 0 && strncmp(l->text, "not ok", 6) != 0)
                return;
        tests++;
        failed = failed || *l->text == 'n';
        if (strcasestr(l->text, "# SKIP")) {
                skips++;
                if (must_work)
                        complain("skipped, but everything must work here: %s", l->text);
        }
}

/* Passes on what is there. Returns false at the end of the stream. */
static bool relay(int from, int to, Line *l) {
        char chunk[4096];
        ssize_t n = read(from, chunk, sizeof(chunk));

        if (n < 0)
                return errno == EAGAIN || errno == EINTR;
        for (ssize_t done = 0; done < n;) {
                ssize_t w = write(to, chunk + done, (size_t)(n - done));

                if (w < 0 && errno != EINTR)
                        break;
                done += MAX(w, 0);
        }
        for (ssize_t i = 0; i < n; i++) {
                if (chunk[i] == '\n' || l->n == sizeof(l->text) - 1)
                        look_at_line(l);
                if (chunk[i] != '\n')
                        l->text[l->n++] = chunk[i];
        }
        return n > 0;
}

static int64_t now_ms(void) {
        struct timespec ts;

        clock_gettime(CLOCK_MONOTONIC, &ts);
        return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Parent and state of a process; false when it is gone. */
static bool process_stat(pid_t pid, pid_t *ret_parent, char *ret_state) {
        char path[64], text[512], *p;
        ssize_t n;
        int fd;

        snprintf(path, sizeof(path), "/proc/%d/stat", pid);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return false;
        n = read(fd, text, sizeof(text) - 1);
        close(fd);
        if (n <= 0)
                return false;
        text[n] = 0;
        p = strrchr(text, ')'); /* the name before it may hold anything */
        return p && sscanf(p + 1, " %c %d", ret_state, ret_parent) == 2;
}

/* How a process that is left stands. */
typedef struct Stand {
        bool dying;          /* it was killed, or is on its way to its end, or is gone */
        bool wants;          /* a processor, or something of the kernel's */
        unsigned long ticks; /* of processors that it had */
} Stand;

static Stand stand_of(pid_t pid) {
        enum { STATE = 3, FLAGS = 9, USER = 14, SYSTEM = 15, SIGNALS = 31 };
        unsigned long flags = 0, signals = 0, ticks = 0;
        char path[64], text[512], *p, state;
        ssize_t n;
        int fd;

        snprintf(path, sizeof(path), "/proc/%d/stat", pid);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
        closep(&fd);
        text[MAX(n, 0)] = 0;
        p = strrchr(text, ')');
        p = p && p[1] ? p + 2 : NULL;
        state = p ? *p : 'X';
        for (int field = STATE; p && field <= SIGNALS; field++, p = strchr(p, ' '), p += p != NULL) {
                flags = field == FLAGS ? strtoul(p, NULL, 10) : flags;
                ticks += field == USER || field == SYSTEM ? strtoul(p, NULL, 10) : 0;
                signals = field == SIGNALS ? strtoul(p, NULL, 10) : signals;
        }
        return (Stand){n <= 0 || flags & EXITING || signals >> (SIGKILL - 1) & 1, state == 'R' || state == 'D', ticks};
}

/* Our descendants that live. Returns how many of them stand in ret, which holds n_max. */
static size_t descendants(pid_t *ret, size_t n_max) {
        static pid_t pids[32768], parents[32768];
        size_t n = 0, found = 0;
        struct dirent *e;
        DIR *d = opendir("/proc");
        char state;

        if (!d) {
                complain("/proc: %s", strerror(errno));
                return 0;
        }
        while ((e = readdir(d)) && n < ARRAY_SIZE(pids)) {
                pid_t pid = atoi(e->d_name);

                if (pid > 0 && pid != getpid() && process_stat(pid, &parents[n], &state) && state != 'Z' && state != 'X')
                        pids[n++] = pid;
        }
        closedir(d);
        for (bool more = true; more;) {
                more = false;
                for (size_t i = 0; i < n && found < n_max; i++) {
                        bool ours = parents[i] == getpid();

                        for (size_t j = 0; j < found && !ours; j++)
                                ours = ret[j] == parents[i];
                        if (!ours || pids[i] == 0)
                                continue;
                        ret[found++] = pids[i];
                        pids[i] = 0;
                        parents[i] = 0;
                        more = true;
                }
        }
        return found;
}

static void describe(pid_t pid) {
        char path[64], text[256];
        ssize_t n;
        int fd;

        snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
        closep(&fd);
        for (ssize_t i = 0; i < n; i++)
                if ((unsigned char)text[i] < 0x20)
                        text[i] = ' ';
        text[MAX(n, 0)] = 0;
        complain("left behind: process %d (%s)", pid, n > 0 ? text : "no command line");
}

/* Collects the dead. Returns true when `main_pid` was among them. */
static bool collect(pid_t main_pid, int *ret_status) {
        bool seen = false;
        int status;
        pid_t pid;

        while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
                if (pid == main_pid) {
                        *ret_status = status;
                        seen = true;
                }
        return seen;
}

/* Lists and kills whatever is still alive below us, by its pid. A look counts when all of them wait, or had a processor since the last one: those that want
 * one and get none on a busy machine have had no chance to end. */
static void end_descendants(int grace_looks) {
        unsigned long ticks, before = 0;
        pid_t left[1024];
        int64_t start = now_ms();
        size_t n;

        for (int looks = 0;;) {
                bool stays = grace_looks == 0, wants = false;

                collect(-1, &(int){0});
                n = descendants(left, ARRAY_SIZE(left));
                if (n == 0)
                        return;
                ticks = 0;
                for (size_t i = 0; i < n; i++) {
                        Stand s = stand_of(left[i]);

                        stays |= !s.dying;
                        wants |= s.wants;
                        ticks += s.ticks;
                }
                looks += !wants || ticks != before;
                before = ticks;
                if ((stays && looks >= grace_looks) || now_ms() - start >= DYING_MS)
                        break;
                poll(NULL, 0, LOOK_MS);
        }
        for (size_t i = 0; i < n; i++)
                describe(left[i]);
        for (start = now_ms(); now_ms() - start < KILL_MS; poll(NULL, 0, LOOK_MS)) {
                for (size_t i = 0; i < n; i++)
                        kill(left[i], SIGKILL);
                collect(-1, &(int){0});
                n = descendants(left, ARRAY_SIZE(left));
                if (n == 0)
                        return;
        }
        complain("%zu processes do not die", n);
}

/* Sanitizers of every process below write their reports into one folder; a test's own standard error may be redirected. */
static void show_reports(const char *folder) {
        DIR *d = opendir(folder);
        struct dirent *e;
        char line[4096];

        while (d && (e = readdir(d))) {
                FILE *f;
                int fd;

                if (*e->d_name == '.')
                        continue;
                complain("a sanitizer's report, %s:", e->d_name);
                fd = openat(dirfd(d), e->d_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
                f = fd < 0 ? NULL : fdopen(fd, "r");
                for (int i = 0; f && i < 60 && fgets(line, sizeof(line), f); i++)
                        fputs(line, stderr);
                if (f)
                        fclose(f);
        }
        if (d)
                closedir(d);
}

static void add_option(const char *variable, const char *reports, const char *more) {
        const char *old = getenv(variable);
        char value[2048];

        snprintf(value, sizeof(value), "%s%slog_path=%s/report%s", old ? old : "", old && *old ? ":" : "", reports, more);
        setenv(variable, value, 1);
}

static int prepare(char *ret_reports, size_t n) {
        char tmp[64];

        if (!mkdtemp(root))
                return -errno;
        snprintf(tmp, sizeof(tmp), "%s/tmp", root);
        snprintf(ret_reports, n, "%s/reports", root);
        /* Tests may drop to another user; the sticky bit as in /tmp. */
        if (chmod(root, 0755) < 0 || mkdir(tmp, 0700) < 0 || chmod(tmp, 01777) < 0 || mkdir(ret_reports, 0700) < 0 ||
            chmod(ret_reports, 01777) < 0)
                return -errno;
        setenv("TMPDIR", tmp, 1);
        add_option("ASAN_OPTIONS", ret_reports, "");
        add_option("LSAN_OPTIONS", ret_reports, "");
        add_option("TSAN_OPTIONS", ret_reports, "");
        add_option("UBSAN_OPTIONS", ret_reports, ":print_stacktrace=1");
        return 0;
}

/* Criterion binds /tmp/criterion_PID.sock and aborts when another user's interrupted test left a socket of that name. */
static bool is_taken(pid_t pid) {
        struct stat st;
        char name[64];

        snprintf(name, sizeof(name), "/tmp/criterion_%d.sock", (int)pid);
        return geteuid() != 0 && lstat(name, &st) == 0 && st.st_uid != geteuid();
}

static pid_t start(char **argv, const sigset_t *mask, int out, int err) {
        pid_t us = getpid(), pid;

        while ((pid = fork()) > 0 && is_taken(pid)) {
                kill(pid, SIGKILL);
                waitpid(pid, NULL, 0);
        }
        if (pid != 0)
                return pid;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != us)
                _exit(125);
        if (is_taken(getpid())) /* no output before the kill */
                _exit(125);
        sigprocmask(SIG_SETMASK, mask, NULL);
        dup2(out, STDOUT_FILENO);
        dup2(err, STDERR_FILENO);
        execvp(argv[0], argv);
        fprintf(stderr, "reap: %s: %s\n", argv[0], strerror(errno));
        _exit(127);
}

/* Processor time of the test and its descendants: the cost of a test, also on a busy machine. */
static void say_processor_time(void) {
        struct rusage u;

        if (getrusage(RUSAGE_CHILDREN, &u) == 0)
                printf("# reap: %.2f s of processors\n",
                       (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6);
}

int main(int argc, char **argv) {
        bool tap = !(argc > 1 && strcmp(argv[1], "--plain") == 0), ended = false;
        char reports[64];
        const char *work = getenv("MUST_WORK");
        Line lines[2] = {{.is_tap = tap}, {.n = 0}};
        int out[2], err[2], sfd, status = 0;
        struct pollfd fds[3];
        sigset_t mask, old;
        pid_t pid;

        argv += tap ? 1 : 2;
        if (argc < 2 || !*argv) {
                fprintf(stderr, "usage: reap [--plain] PROGRAM ARGS…\n");
                return 2;
        }
        must_work = must_work || (work && strcmp(work, "1") == 0);
        sigemptyset(&mask);
        sigaddset(&mask, SIGCHLD);
        sigaddset(&mask, SIGTERM);
        sigaddset(&mask, SIGINT);
        sigaddset(&mask, SIGHUP);
        sigprocmask(SIG_BLOCK, &mask, &old);
        sfd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
        if (sfd < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1) < 0 || prepare(reports, sizeof(reports)) < 0 ||
            pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0) {
                perror("reap");
                return 2;
        }
        pid = start(argv, &old, out[1], err[1]);
        if (pid < 0) {
                perror("reap: fork");
                return 2;
        }
        close(out[1]);
        close(err[1]);
        fcntl(out[0], F_SETFL, O_NONBLOCK);
        fcntl(err[0], F_SETFL, O_NONBLOCK);
        fds[0] = (struct pollfd){.fd = out[0], .events = POLLIN};
        fds[1] = (struct pollfd){.fd = err[0], .events = POLLIN};
        fds[2] = (struct pollfd){.fd = sfd, .events = POLLIN};
        while (!ended) {
                struct signalfd_siginfo si;

                if (poll(fds, 3, -1) < 0 && errno != EINTR)
                        break;
                for (int i = 0; i < 2; i++)
                        if (fds[i].revents && !relay(fds[i].fd, i + 1, &lines[i]))
                                fds[i].fd = -1;
                while (read(sfd, &si, sizeof(si)) == (ssize_t)sizeof(si))
                        if (si.ssi_signo != SIGCHLD) {
                                complain("told to stop by signal %u", si.ssi_signo);
                                end_descendants(0);
                                ended = true;
                        }
                ended = collect(pid, &status) || ended;
        }
        /* What is in the pipes now; a process left behind may hold them open for ever. */
        for (int i = 0; i < 2; i++)
                while (fds[i].fd >= 0 && poll(&fds[i], 1, 0) > 0 && relay(fds[i].fd, i + 1, &lines[i]))
                        ;
        for (int i = 0; i < 2; i++)
                if (lines[i].n > 0)
                        look_at_line(&lines[i]);
        end_descendants(GRACE_LOOKS);
        say_processor_time();
        show_reports(reports);
        if (tap && tests == 0 && skips == 0)
                complain("no test was run");
        if (tap && plan != (int)tests)
                complain("%d tests were planned, %u were run", plan, tests);
        if (WIFSIGNALED(status))
                complain("ended by signal %d", WTERMSIG(status));
        if (!tap && WIFEXITED(status) && WEXITSTATUS(status) == 77 && must_work)
                complain("skipped, but everything must work here");
        if (temp_remove_tree(AT_FDCWD, root) == -EXDEV)
                complain("a mount was left below %s", root);
        if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
                return tap || !failed ? WEXITSTATUS(status) : 1;
        return failed ? 1 : 0;
}
