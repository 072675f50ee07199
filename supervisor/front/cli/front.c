#include "cli/front.h"

#include "base/clock.h"
#include "base/io.h"
#include "base/mounts.h"
#include "base/path-lookup.h"
#include "base/watchdog.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define LOOK_MS 100           /* interval of reading the page */
#define DIE_MS 100            /* until a killed process is gone */
#define HURRY_USEC 1000000    /* after a signal */
#define STREAM_CHUNK 65536

/* A standard stream of the caller: a process of its own reads or writes a stream on a served file system. */
typedef struct FrontStream {
        int number; /* 0 to 2 */
        int fd;     /* given to the supervisor: the stream, or the near end of a pipe */
        pid_t pid;  /* the process that reads or writes the stream; 0: no process */
        int pidfd;
} FrontStream;

typedef struct Front {
        WatchdogPage *page;
        pid_t pid;
        int pidfd, signals;
        int ask;              /* socket: the child asks for its streams */
        int said[2];          /* output of the child before the child has its streams */
        FrontStream streams[3];
        bool handed;
        uint64_t usec, until; /* limit for a name; limit for all names until the child has its streams */
        uint64_t hurry;       /* CLOCK_MONOTONIC usec, after a signal; 0: no signal */
        int signo;
        void (*refused)(const char *why);
} Front;

static int front_asks = -1; /* of the child, until the child has its streams */
static bool front_child;

static bool front_says; /* messages go to the process that owns the real standard error */

/* A stream without a place (a pipe, a socket, a file in memory) has an unknown mount. */
static bool front_stream_is_served(int fd) {
        uint64_t mount;

        return lookup_mount(fd, &mount) == 0 && mounts_kind(mount) == MOUNT_SERVED;
}

/* Copies until the end. Holds only the two descriptors, so that no other file stays open while the process waits.
 * parent: end with the parent; 0: the process ends by itself, after the writer. */
static _noreturn_ void front_stream_copy(int from, int to, pid_t parent) {
        static char chunk[STREAM_CHUNK];
        int low = from < to ? from : to, high = from < to ? to : from;
        ssize_t n;

        signal(SIGPIPE, SIG_DFL);
        if (parent > 0 && (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != parent))
                _exit(1);
        if (low > 0)
                close_range(0, (unsigned)low - 1, 0);
        if (high > low + 1)
                close_range((unsigned)low + 1, (unsigned)high - 1, 0);
        close_range((unsigned)high + 1, ~0U, 0);
        while ((n = read(from, chunk, sizeof(chunk))) > 0 || (n < 0 && errno == EINTR))
                if (n > 0 && io_write_full(to, chunk, (size_t)n) < 0)
                        _exit(1);
        _exit(n < 0);
}

/* number: 0 to 2. Returns 0 or -errno. */
static int front_stream_begin(int number, FrontStream *ret) {
        const pid_t parent = getpid();
        const bool reads = number == 0;
        int ends[2];

        *ret = (FrontStream){.number = number, .fd = number, .pidfd = -1};
        if (!front_stream_is_served(number))
                return 0;
        if (pipe2(ends, O_CLOEXEC) < 0)
                return -errno;
        ret->pid = fork();
        if (ret->pid == 0)
                front_stream_copy(reads ? number : ends[0], reads ? ends[1] : number, reads ? parent : 0);
        close(ends[reads ? 1 : 0]);
        ret->fd = ends[reads ? 0 : 1];
        ret->pidfd = ret->pid < 0 ? -1 : (int)syscall(SYS_pidfd_open, ret->pid, 0);
        return ret->pidfd < 0 ? -errno : 0;
}

/* Closes the copy of a pipe that the supervisor has received. */
static void front_stream_handed(FrontStream *s) {
        if (s->pid > 0)
                closep(&s->fd);
}

/* Sends messages of the process to the stream, too. */
static void front_stream_say(FrontStream *s) {
        char path[64];
        FILE *f;
        int fd;

        if (s->pid <= 0)
                return;
        snprintf(path, sizeof(path), "/proc/self/fd/%d", s->fd);
        fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC); /* a full pipe takes no message; the message is dropped */
        f = fd >= 0 ? fdopen(fd, "w") : NULL;
        if (!f)
                return;
        setvbuf(f, NULL, _IONBF, 0);
        /* no message goes to the former stderr; the former stderr is not closed, because close() may wait, too */
        stderr = f;
        front_says = true;
}

/* Ends the use of the stream. False: the output was not taken within usec. */
static bool front_stream_end(FrontStream *s, uint64_t usec) {
        struct pollfd p = {.fd = s->pidfd, .events = POLLIN};
        int status = 0;
        bool done;

        if (s->pid <= 0)
                return true;
        closep(&s->fd);
        if (s->number == STDERR_FILENO && front_says) { /* from here on messages have no reader */
                fclose(stderr);
                stderr = fopen("/dev/null", "we");
                front_says = false;
        }
        done = poll(&p, 1, (int)(usec / 1000)) > 0 && waitpid(s->pid, &status, 0) == s->pid && status == 0;
        if (!done)
                kill(s->pid, SIGKILL);
        closep(&s->pidfd);
        return done;
}

/* A missing file will be made in its folder. */
static bool front_is_served(const char *name) {
        _cleanup_free_ char *above = strdup(name);
        int r = above ? lookup_is_served(name) : 1;
        char *slash;

        while (r == -ENOENT && (slash = strrchr(above, '/')) && slash > above) {
                *slash = 0;
                r = lookup_is_served(above);
        }
        return r > 0 || r == -ETIMEDOUT;
}

bool front_is_needed(const char *const *names, size_t n, bool *ret_any) {
        bool is = false;

        *ret_any = mounts_served_below("");
        for (size_t i = 0; *ret_any && !is && i < n; i++)
                is = names[i] && *names[i] && front_is_served(names[i]);
        for (int fd = 0; *ret_any && !is && fd < 3; fd++)
                is = front_stream_is_served(fd);
        return is;
}

static void front_copy(int from, int to) {
        char chunk[4096];
        ssize_t n;

        while ((n = read(from, chunk, sizeof(chunk))) > 0)
                if (io_write_full(to, chunk, (size_t)n) < 0)
                        return;
}

/* Passes on the child's text, on standard output and error. */
static void front_pass_on(Front *f) {
        for (int i = 0; i < 2; i++)
                if (f->said[i] >= 0)
                        front_copy(f->said[i], f->streams[i + 1].fd);
}

static void front_hand_over(Front *f) {
        const int fds[] = {f->streams[0].fd, f->streams[1].fd, f->streams[2].fd};
        char byte;

        if (recv(f->ask, &byte, 1, MSG_DONTWAIT) != 1) {
                closep(&f->ask); /* the child has ended or will end */
                return;
        }
        front_pass_on(f);
        f->handed = io_send_fds(f->ask, "", 1, fds, ARRAY_SIZE(fds)) == 0;
        for (size_t i = 0; i < ARRAY_SIZE(f->streams); i++)
                front_stream_handed(&f->streams[i]);
}

/* Passes a signal to the child with its sender, for the record. A terminal's own signals reach the whole process
 * group anyway. */
static void front_signal(Front *f) {
        struct signalfd_siginfo si;

        while (read(f->signals, &si, sizeof(si)) == (ssize_t)sizeof(si)) {
                siginfo_t info = {.si_signo = (int)si.ssi_signo, .si_code = SI_QUEUE};

                info.si_pid = (pid_t)si.ssi_pid;
                info.si_uid = si.ssi_uid;
                f->signo = (int)si.ssi_signo;
                f->hurry = clock_mono_usec() + HURRY_USEC;
                if (si.ssi_code != SI_KERNEL)
                        syscall(SYS_rt_sigqueueinfo, f->pid, f->signo, &info);
        }
}

/* The name that the child waits for; NULL: none, or not for long. */
static const WatchdogName *front_waits(const Front *f, uint64_t now) {
        unsigned deep = atomic_load(&f->page->deep);
        uint64_t since = atomic_load(&f->page->since), usec = f->hurry ? MIN(f->usec, (uint64_t)HURRY_USEC) : f->usec;

        const WatchdogName *w = deep ? &f->page->names[MIN(deep, (unsigned)WATCHDOG_DEEP) - 1] : NULL;

        if (!w || (strcmp(w->what, WATCHDOG_STREAMS) == 0 && f->streams[1].pid == 0 && f->streams[2].pid == 0) ||
            (now < since + usec && (f->handed || now < f->until)))
                return NULL;
        return w;
}

static bool front_is_over(int pidfd, int ms) {
        struct pollfd p = {.fd = pidfd, .events = POLLIN};

        return poll(&p, 1, ms) > 0;
}

static void front_receipt(Front *f, const char *why) {
        pid_t pid = fork();
        int pidfd;

        if (pid == 0) { /* no descriptor of the caller stays open, as the process may wait for the receipt's place */
                int null = open("/dev/null", O_RDWR | O_CLOEXEC);

                for (int i = 0; i < 3; i++)
                        if (null < 0 || dup2(null, i) < 0)
                                _exit(1);
                f->refused(why);
                _exit(0);
        }
        pidfd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
        if (pidfd >= 0 && !front_is_over(pidfd, HURRY_USEC / 1000))
                kill(pid, SIGKILL);
        closep(&pidfd);
}

static int front_give_up(Front *f, const WatchdogName *w) {
        char why[sizeof(((Diag *)NULL)->text)], left[64] = "";

        kill(f->pid, SIGKILL);
        if (!front_is_over(f->pidfd, DIE_MS))
                snprintf(left, sizeof(left), "; process %d is left behind until the server answers", (int)f->pid);
        front_pass_on(f);
        snprintf(why, sizeof(why), "%s%s%.300s%s the server of the file system does not answer; %s%s",
                 w ? w->what : "signal", w ? " \"" : "", w ? w->name : "", w ? "\":" : ": while Lethe begins,",
                 f->handed ? "the end of the run is in the store's record" : "no program ran", left);
        cli_fail(cli_run_verb(), EXIT_LETHE, "%s", why);
        if (!f->handed && f->refused)
                front_receipt(f, why);
        return f->signo ? 128 + f->signo : EXIT_LETHE;
}

/* Ends like the child: with the same code, or by the same signal. */
static int front_ended(Front *f) {
        int status, code;

        while (waitpid(f->pid, &status, 0) < 0)
                if (errno != EINTR)
                        return EXIT_LETHE;
        front_pass_on(f);
        code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        for (size_t i = 0; i < ARRAY_SIZE(f->streams); i++)
                if (!front_stream_end(&f->streams[i], f->usec) && i > 0 && code != EXIT_LETHE)
                        code = cli_fail(cli_run_verb(), EXIT_LETHE,
                                        "standard %s: the server of the file system does not answer; output is lost",
                                        i == 1 ? "output" : "error");
        if (WIFSIGNALED(status)) {
                sigset_t one;

                signal(WTERMSIG(status), SIG_DFL);
                sigemptyset(&one);
                sigaddset(&one, WTERMSIG(status));
                sigprocmask(SIG_UNBLOCK, &one, NULL);
                prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* the child's core is enough */
                raise(WTERMSIG(status));
        }
        return code;
}

static int front_watch(Front *f) {
        for (;;) {
                struct pollfd p[] = {{.fd = f->pidfd, .events = POLLIN},
                                     {.fd = f->signals, .events = POLLIN},
                                     {.fd = f->ask, .events = POLLIN},
                                     {.fd = f->handed ? -1 : f->said[0], .events = POLLIN},
                                     {.fd = f->handed ? -1 : f->said[1], .events = POLLIN}};
                const WatchdogName *w;
                uint64_t now;

                if (poll(p, ARRAY_SIZE(p), LOOK_MS) < 0 && errno != EINTR)
                        return cli_fail(cli_run_verb(), EXIT_LETHE, "poll: %s", strerror(errno));
                if (p[0].revents)
                        return front_ended(f);
                if (p[1].revents)
                        front_signal(f);
                if (!f->handed)
                        front_pass_on(f);
                if (p[2].revents)
                        front_hand_over(f);
                now = clock_mono_usec();
                w = front_waits(f, now);
                if (w || (f->hurry && now > f->hurry && !f->handed))
                        return front_give_up(f, w);
        }
}

/* False: the parent is gone, or the child has no streams. */
static bool front_begin_child(pid_t parent, const sigset_t *before, WatchdogPage *page, int ask, int out, int err) {
        _cleanup_close_ int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

        front_asks = ask;
        front_child = true;
        if (null < 0) {
                dprintf(err, "lethe run: /dev/null: %s; no program ran\n", strerror(errno));
                return false;
        }
        if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != parent || dup2(null, 0) < 0 ||
            dup2(out, 1) < 0 || dup2(err, 2) < 0)
                return false;
        sigprocmask(SIG_SETMASK, before, NULL);
        watchdog_begin(page);
        return true;
}

int front_run(VerbFn fn, int argc, char **argv, uint64_t usec, void (*refused)(const char *why)) {
        Front f = {.ask = -1, .said = {-1, -1}, .usec = usec, .until = clock_mono_usec() + FRONT_START_USEC,
                   .refused = refused};
        int out[2], err[2], ask[2], e = 0;
        sigset_t set, before;
        pid_t parent = getpid();

        f.page = mmap(NULL, sizeof(*f.page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        sigemptyset(&set);
        sigaddset(&set, SIGTERM);
        sigaddset(&set, SIGINT);
        sigaddset(&set, SIGHUP);
        sigprocmask(SIG_BLOCK, &set, &before);
        f.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
        for (size_t i = 0; e == 0 && i < ARRAY_SIZE(f.streams); i++)
                e = front_stream_begin((int)i, &f.streams[i]);
        if (f.page == MAP_FAILED || f.signals < 0 || e < 0 || pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0 ||
            socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ask) < 0)
                return cli_fail(cli_run_verb(), EXIT_LETHE, "%s", strerror(e < 0 ? -e : errno));
        fflush(NULL);
        f.pid = fork();
        if (f.pid == 0) {
                close(ask[0]);
                close(out[0]);
                close(err[0]);
                closep(&f.signals);
                for (size_t i = 0; i < ARRAY_SIZE(f.streams); i++)
                        front_stream_handed(&f.streams[i]);
                if (!front_begin_child(parent, &before, f.page, ask[1], out[1], err[1]))
                        _exit(EXIT_LETHE);
                close(out[1]);
                close(err[1]);
                return fn(argc, argv);
        }
        close(ask[1]);
        close(out[1]);
        close(err[1]);
        f.ask = ask[0];
        f.said[0] = out[0];
        f.said[1] = err[0];
        io_set_nonblock(f.said[0]);
        io_set_nonblock(f.said[1]);
        f.pidfd = f.pid < 0 ? -1 : (int)syscall(SYS_pidfd_open, f.pid, 0);
        if (f.pidfd < 0)
                return cli_fail(cli_run_verb(), EXIT_LETHE, "fork: %s", strerror(errno));
        front_stream_say(&f.streams[2]);
        return front_watch(&f);
}

bool front_is_child(void) {
        return front_child;
}

void front_take_streams(void) {
        union {
                struct cmsghdr head;
                char space[CMSG_SPACE(3 * sizeof(int))];
        } control = {};
        char byte;
        struct iovec v = {.iov_base = &byte, .iov_len = 1};
        struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
        int fds[3];

        if (front_asks < 0)
                return;
        fflush(NULL);
        if (send(front_asks, "", 1, MSG_NOSIGNAL) != 1 || recvmsg(front_asks, &m, MSG_CMSG_CLOEXEC) != 1 ||
            control.head.cmsg_len != CMSG_LEN(sizeof(fds)))
                _exit(EXIT_LETHE); /* the process above is gone */
        memcpy(fds, CMSG_DATA(&control.head), sizeof(fds));
        for (int i = 0; i < 3; i++) {
                dup2(fds[i], i);
                close(fds[i]);
        }
        closep(&front_asks);
}
