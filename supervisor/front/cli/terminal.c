/* Runs: CLI. */
#include "cli/terminal.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/proc-path.h"
#include "cli/terminal-reset.h"
#include "schema/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>

#define MESSAGES_MAX 65536     /* bytes of messages kept until the region is gone */
#define UNREAD_USEC 1000000    /* after a ^C that the run does not read, the run is cancelled */
#define ANSWER_USEC 1000000    /* for the terminal's answer at the end */
#define REST_USEC 1000000      /* for output that outlives the run's process */
#define WRITE_USEC 1000000     /* for the reset, to a terminal that takes nothing */

typedef struct Terminal {
        int fd;              /* an O_NONBLOCK description of the user's terminal; -1: closed */
        int input;           /* packets for the run; -1: the run reads no more */
        int output;          /* what the region prints; -1: ended */
        int said;            /* messages of Lethe; -1: ended, or standard error is no terminal */
        int signals, pidfd;
        pid_t pid;
        struct termios saved;
        bool front;          /* in the foreground: raw mode, input is read */
        bool size_due, saved_titles;
        uint64_t interrupt;  /* CLOCK_MONOTONIC usec: a ^C that the run still does not read is a cancel; 0: none */
        char typed[1 + TERMINAL_INPUT_MAX];
        size_t n_typed;      /* with the kind; 0: none */
        char shown[65536];
        size_t n_shown, at;
        Buf messages;
        TerminalScan scan;
} Terminal;

static bool terminal_child;

bool terminal_is_there(void) {
        unsigned in, out;

        return ioctl(STDIN_FILENO, TIOCGDEV, &in) == 0 && ioctl(STDOUT_FILENO, TIOCGDEV, &out) == 0 && in == out;
}

bool terminal_is_in_front(void) {
        return tcgetpgrp(STDIN_FILENO) == getpgrp();
}

bool terminal_is_child(void) {
        return terminal_child;
}

/* A description of its own: O_NONBLOCK must not reach the shell, which shares the given descriptor. */
static int terminal_open(void) {
        int fd = open(PROC_FD(STDIN_FILENO), O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        unsigned given, own;

        /* another user's terminal, as below sudo(8) */
        if (fd < 0 && errno == EACCES)
                fd = open("/dev/tty", O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        if (ioctl(STDIN_FILENO, TIOCGDEV, &given) < 0 || ioctl(fd, TIOCGDEV, &own) < 0 || given != own) {
                close(fd);
                return -ENOTTY;
        }
        return fd;
}

/* TCSANOW: a terminal whose output is not taken must not hold the process. */
static void terminal_raw(Terminal *t) {
        struct termios raw = t->saved;

        t->front = t->fd >= 0 && tcgetpgrp(t->fd) == getpgrp();
        if (!t->front)
                return;
        cfmakeraw(&raw);
        tcsetattr(t->fd, TCSANOW, &raw);
        t->size_due = true;
}

static void terminal_restore(Terminal *t) {
        if (t->front && t->fd >= 0)
                tcsetattr(t->fd, TCSANOW, &t->saved);
        t->front = false;
}

/* A closed terminal is a cancel, as the kernel's SIGHUP. */
static void terminal_lost(Terminal *t) {
        if (t->fd < 0)
                return;
        closep(&t->fd);
        t->front = false;
        t->n_shown = t->at = 0;
        kill(t->pid, SIGHUP);
}

static void terminal_write(Terminal *t) {
        while (t->fd >= 0 && t->at < t->n_shown) {
                ssize_t n = write(t->fd, t->shown + t->at, t->n_shown - t->at);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0 && errno == EAGAIN)
                        return;
                if (n < 0) {
                        terminal_lost(t);
                        return;
                }
                t->at += (size_t)n;
        }
        t->at = t->n_shown = 0;
}

/* For text of Lethe around the region's output: within a bound. */
static void terminal_write_text(Terminal *t, const char *text) {
        const uint64_t until = clock_mono_usec() + WRITE_USEC;
        size_t n = strlen(text);

        while (t->fd >= 0 && n > 0) {
                struct pollfd p = {.fd = t->fd, .events = POLLOUT};
                ssize_t w = write(t->fd, text, n);

                if (w > 0) {
                        text += w;
                        n -= (size_t)w;
                } else if (w < 0 && errno != EAGAIN && errno != EINTR) {
                        terminal_lost(t);
                } else if (clock_mono_usec() >= until) {
                        return;
                } else
                        poll(&p, 1, WRITE_USEC / 1000);
        }
}

static void terminal_take_output(Terminal *t) {
        ssize_t n = read(t->output, t->shown, sizeof(t->shown));
        bool wild = t->scan.wild;

        if (n <= 0) {
                if (n == 0 || (errno != EINTR && errno != EAGAIN))
                        closep(&t->output);
                return;
        }
        terminal_scan(&t->scan, t->shown, (size_t)n);
        if (!wild && t->scan.wild) {
                terminal_write_text(t, TERMINAL_SAVE);
                t->saved_titles = true;
        }
        t->at = 0;
        t->n_shown = t->fd >= 0 ? (size_t)n : 0;
        terminal_write(t);
}

static void terminal_take_message(Terminal *t) {
        char chunk[4096];
        ssize_t n = read(t->said, chunk, sizeof(chunk));

        if (n > 0)
                (void)buf_add(&t->messages, chunk, (size_t)n); /* beyond the bound messages are dropped */
        else if (n == 0 || (errno != EINTR && errno != EAGAIN))
                closep(&t->said);
}

static void terminal_send(Terminal *t) {
        struct winsize w;

        if (t->input >= 0 && t->size_due && t->fd >= 0 && ioctl(t->fd, TIOCGWINSZ, &w) == 0) {
                struct __attribute__((packed)) {
                        char kind;
                        TerminalSize size;
                } p = {TERMINAL_SIZE, {w.ws_row, w.ws_col}};

                if (send(t->input, &p, sizeof(p), MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && errno == EAGAIN)
                        return;
        }
        t->size_due = false;
        if (t->input >= 0 && t->n_typed > 0 &&
            send(t->input, t->typed, t->n_typed, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && errno == EAGAIN)
                return;
        t->n_typed = 0;
}

/* Bytes that the run has not read. */
static bool terminal_is_unread(const Terminal *t) {
        int n = 0;

        return t->n_typed > 0 || (t->input >= 0 && ioctl(t->input, SIOCOUTQ, &n) == 0 && n > 0);
}

static void terminal_take_typed(Terminal *t) {
        ssize_t n = read(t->fd, t->typed + 1, TERMINAL_INPUT_MAX);

        if (n < 0 && (errno == EINTR || errno == EAGAIN))
                return;
        if (n <= 0) {
                terminal_lost(t);
                return;
        }
        t->typed[0] = TERMINAL_INPUT;
        t->n_typed = (size_t)n + 1;
        if (memchr(t->typed + 1, 3, (size_t)n) && t->interrupt == 0)
                t->interrupt = clock_mono_usec() + UNREAD_USEC;
        terminal_send(t);
}

/* A run that does not read, as before its region begins, is interrupted as any program would be. */
static void terminal_interrupt(Terminal *t) {
        if (t->interrupt && !terminal_is_unread(t))
                t->interrupt = 0;
        if (t->interrupt && clock_mono_usec() >= t->interrupt) {
                t->interrupt = 0;
                t->n_typed = 0;
                kill(t->pid, SIGINT);
        }
}

static void terminal_signal(Terminal *t) {
        struct signalfd_siginfo si;

        while (read(t->signals, &si, sizeof(si)) == (ssize_t)sizeof(si)) {
                const int signo = (int)si.ssi_signo;

                if (signo == SIGWINCH)
                        t->size_due = true;
                else if (signo == SIGTSTP) {
                        terminal_restore(t);
                        raise(SIGSTOP);
                        terminal_raw(t);
                } else if (signo == SIGCONT)
                        terminal_raw(t);
                else {
                        siginfo_t info = {.si_signo = signo, .si_code = SI_QUEUE};

                        info.si_pid = (pid_t)si.ssi_pid;
                        info.si_uid = si.ssi_uid;
                        syscall(SYS_rt_sigqueueinfo, t->pid, signo, &info);
                }
        }
}

/* Returns the wait status of the child. */
static int terminal_relay(Terminal *t) {
        uint64_t rest = 0;
        int status = 0;

        while (t->pid > 0 || ((t->output >= 0 || t->said >= 0 || t->n_shown > 0) && clock_mono_usec() < rest)) {
                struct pollfd p[] = {
                        {.fd = t->front && t->n_typed == 0 && t->pid > 0 ? t->fd : -1, .events = POLLIN},
                        {.fd = t->n_shown > 0 ? t->fd : -1, .events = POLLOUT},
                        {.fd = t->n_typed > 0 || t->size_due ? t->input : -1, .events = POLLOUT},
                        {.fd = t->n_shown == 0 ? t->output : -1, .events = POLLIN},
                        {.fd = t->said, .events = POLLIN},
                        {.fd = t->signals, .events = POLLIN},
                        {.fd = t->pidfd, .events = POLLIN},
                };
                const int msec = t->pid == 0 ? REST_USEC / 1000 : t->interrupt ? UNREAD_USEC / 1000 : -1;

                if (poll(p, ARRAY_SIZE(p), msec) < 0 && errno != EINTR)
                        break;
                if (p[5].revents)
                        terminal_signal(t);
                if (p[0].revents && t->fd >= 0)
                        terminal_take_typed(t);
                if (p[1].revents && t->fd >= 0)
                        terminal_write(t);
                if (p[2].revents)
                        terminal_send(t);
                if (p[3].revents)
                        terminal_take_output(t);
                if (p[4].revents)
                        terminal_take_message(t);
                terminal_interrupt(t);
                if (p[6].revents && waitpid(t->pid, &status, WNOHANG) == t->pid) {
                        t->pid = 0;
                        closep(&t->pidfd);
                        rest = clock_mono_usec() + REST_USEC;
                }
        }
        return status;
}

/* Discards what is typed until the terminal has answered: answers to the region's questions never reach the shell. */
static void terminal_await_answer(Terminal *t) {
        const uint64_t until = clock_mono_usec() + ANSWER_USEC;
        char query[TERMINAL_QUERY_MAX], answer[TERMINAL_QUERY_MAX];
        struct winsize w = {};
        char seen[4096];
        size_t n = 0;

        (void)ioctl(t->fd, TIOCGWINSZ, &w);
        if (!terminal_query(w.ws_row, w.ws_col, query, answer))
                return;
        terminal_write_text(t, query);
        for (uint64_t now; t->fd >= 0 && (now = clock_mono_usec()) < until;) {
                struct pollfd p = {.fd = t->fd, .events = POLLIN};
                ssize_t k;

                if (poll(&p, 1, (int)((until - now + 999) / 1000)) <= 0)
                        continue;
                if (n > sizeof(seen) / 2) { /* the answer is shorter than what stays */
                        memmove(seen, seen + n - TERMINAL_QUERY_MAX, TERMINAL_QUERY_MAX);
                        n = TERMINAL_QUERY_MAX;
                }
                k = read(t->fd, seen + n, sizeof(seen) - n);
                if (k == 0 || (k < 0 && errno != EINTR && errno != EAGAIN))
                        return;
                n += k > 0 ? (size_t)k : 0;
                if (memmem(seen, n, answer, strlen(answer)))
                        return;
        }
}

static void terminal_give_back(Terminal *t) {
        terminal_scan_end(&t->scan);
        if (t->fd >= 0 && t->front) {
                if (t->scan.wild) {
                        if (!t->saved_titles)
                                terminal_write_text(t, TERMINAL_SAVE);
                        terminal_write_text(t, terminal_reset_wild);
                        terminal_await_answer(t);
                        tcflush(t->fd, TCIFLUSH);
                } else {
                        if (t->scan.commands)
                                terminal_write_text(t, terminal_reset_commands);
                        if (t->scan.in_line && t->messages.n > 0)
                                terminal_write_text(t, "\r\n");
                }
        }
        terminal_restore(t);
}

/* The child's messages may quote a region: no byte of them commands the terminal. */
static void terminal_say(Terminal *t) {
        for (size_t i = 0; i < t->messages.n; i++) {
                const unsigned char b = (unsigned char)t->messages.data[i];

                if ((b < 0x20 && b != '\n' && b != '\t') || b == 0x7F ||
                    (b >= 0x80 && b < 0xA0 && i > 0 && (unsigned char)t->messages.data[i - 1] == 0xC2))
                        t->messages.data[i] = '?';
        }
        if (t->messages.n > 0)
                (void)io_write_full(STDERR_FILENO, t->messages.data, t->messages.n);
}

static void terminal_begin_child(pid_t parent, const sigset_t *before, const int ends[3]) {
        terminal_child = true;
        /* A group of its own: a signal of the terminal reaches the parent alone. The parent's end is a cancel. */
        setpgid(0, 0);
        signal(SIGPIPE, SIG_DFL);
        sigprocmask(SIG_SETMASK, before, NULL);
        if (prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0) < 0 || getppid() != parent)
                _exit(EXIT_LETHE);
        for (int i = 0; i < 3; i++)
                if (ends[i] >= 0 && dup2(ends[i], i) < 0)
                        _exit(EXIT_LETHE);
}

static int terminal_begin(Terminal *t, sigset_t *ret_before, int ends[static 3]) {
        static const int taken[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP, SIGCONT};
        int in[2], out[2], err[2] = {-1, -1};
        sigset_t set;

        t->fd = terminal_open();
        if (t->fd < 0)
                return t->fd;
        if (tcgetattr(t->fd, &t->saved) < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, in) < 0 ||
            pipe2(out, O_CLOEXEC) < 0 || (isatty(STDERR_FILENO) && pipe2(err, O_CLOEXEC) < 0))
                return -errno;
        ends[0] = in[1];
        ends[1] = out[1];
        ends[2] = err[1];
        t->input = in[0];
        t->output = out[0];
        t->said = err[0];
        sigemptyset(&set);
        for (size_t i = 0; i < ARRAY_SIZE(taken); i++)
                sigaddset(&set, taken[i]);
        sigprocmask(SIG_BLOCK, &set, ret_before);
        signal(SIGPIPE, SIG_IGN);
        t->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
        return t->signals < 0 ? -errno : 0;
}

int terminal_run(VerbFn fn, int argc, char **argv) {
        static Terminal t = {.fd = -1, .input = -1, .output = -1, .said = -1, .signals = -1, .pidfd = -1,
                             .messages = {.max = MESSAGES_MAX}};
        int ends[3] = {-1, -1, -1}, status, e;
        pid_t parent = getpid();
        sigset_t before;

        e = terminal_begin(&t, &before, ends);
        if (e < 0)
                return cli_fail(cli_run_verb(), EXIT_LETHE, "the terminal: %s", strerror(-e));
        fflush(NULL);
        t.pid = fork();
        if (t.pid == 0) {
                closep(&t.fd);
                closep(&t.input);
                closep(&t.output);
                closep(&t.said);
                closep(&t.signals);
                terminal_begin_child(parent, &before, ends);
                for (size_t i = 0; i < 3; i++)
                        closep(&ends[i]);
                return fn(argc, argv);
        }
        for (size_t i = 0; i < 3; i++)
                closep(&ends[i]);
        t.pidfd = t.pid < 0 ? -1 : (int)syscall(SYS_pidfd_open, t.pid, 0);
        if (t.pidfd < 0)
                return cli_fail(cli_run_verb(), EXIT_LETHE, "fork: %s", strerror(errno));
        terminal_raw(&t);
        status = terminal_relay(&t);
        terminal_give_back(&t);
        terminal_say(&t);
        buf_deinit(&t.messages);
        explicit_bzero(t.typed, sizeof(t.typed));
        explicit_bzero(t.shown, sizeof(t.shown));
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
