#include "base/log.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define KEPT_MAX 65536

/* Each thread has a log: in `lethe serve` a thread runs one invocation, and its messages go to the client. */
static _Thread_local struct {
        int fd_or_0;     /* 0: standard error */
        LogLevel below;  /* level + 1 of the last level shown; 0: LOG_LEVEL_NOTE */
        void (*take)(void *userdata, const char *line, size_t n); /* or NULL */
        void *userdata;
        bool holding;
        char *kept;      /* KEPT_MAX bytes while lines are kept, else NULL */
        size_t n_kept;
        unsigned long n_dropped;
} own;
static bool with_priority;

void log_to(int fd, LogLevel most) {
        own.fd_or_0 = fd;
        own.below = most + 1;
}

void log_to_function(void (*take)(void *userdata, const char *line, size_t n), void *userdata) {
        own.take = take;
        own.userdata = userdata;
}

void log_set_level(LogLevel most) {
        own.below = most + 1;
}

void log_with_priority(void) {
        with_priority = true;
}

static int log_target(void) {
        return own.fd_or_0 ? own.fd_or_0 : STDERR_FILENO;
}

/* A pipe reported writable by poll(2) takes PIPE_BUF bytes without waiting. */
static bool log_takes_more(void) {
        struct pollfd p = {.fd = log_target(), .events = POLLOUT};

        return poll(&p, 1, 0) != 0;
}

static void log_write_kept(void) {
        ssize_t n = write(log_target(), own.kept, MIN(own.n_kept, (size_t)PIPE_BUF));

        if (n < 0 && (errno == EINTR || errno == EAGAIN))
                return;
        n = n < 0 ? (ssize_t)own.n_kept : n; /* errors of standard error are ignored */
        memmove(own.kept, own.kept + n, own.n_kept - (size_t)n);
        own.n_kept -= (size_t)n;
}

static void log_keep(const char *line, size_t n) {
        if (!own.kept)
                own.kept = malloc(KEPT_MAX);
        if (!own.kept || n > KEPT_MAX - own.n_kept) {
                own.n_dropped++;
                return;
        }
        memcpy(own.kept + own.n_kept, line, n);
        own.n_kept += n;
}

void log_hold(void) {
        own.holding = true;
}

static void log_drop_kept(void) {
        for (size_t i = 0; i < own.n_kept; i++)
                own.n_dropped += own.kept[i] == '\n';
        free(own.kept);
        own.kept = NULL;
        own.n_kept = 0;
}

bool log_is_kept(void) {
        return own.n_kept > 0;
}

void log_let_go(int stop_fd, int patience_msec) {
        int n = 1;

        while (own.n_kept > 0 && n != 0) {
                struct pollfd p[] = {{.fd = log_target(), .events = POLLOUT}, {.fd = stop_fd, .events = POLLIN}};

                n = poll(p, 2, patience_msec);
                if (n < 0 && errno != EINTR)
                        break;
                if (p[0].revents)
                        log_write_kept();
                else if (p[1].revents)
                        break;
        }
        log_drop_kept();
        own.holding = n == 0; /* once all is written, later lines are written at once */
        if (own.n_dropped > 0)
                log_warning("%lu lines were left out: nobody read standard error", own.n_dropped);
        own.n_dropped = 0;
}

void log_end_thread(void) {
        log_drop_kept();
        own.holding = false;
}

void log_line(LogLevel level, const char *fmt, ...) {
        /* sd-daemon(3) */
        static const char *const words[] = {"", "warning: ", "", "debug: "}, *const priorities[] = {"<3>", "<4>", "<6>",
                                                                                                    "<7>"};
        char line[2048];
        va_list ap;
        int n, m;

        if (level + 1 > (own.below ? own.below : LOG_LEVEL_NOTE + 1))
                return;
        n = snprintf(line, sizeof(line), "%slethe: %s", with_priority && !own.fd_or_0 ? priorities[level] : "",
                     words[level]);
        va_start(ap, fmt);
        m = vsnprintf(line + n, sizeof(line) - (size_t)n - 1, fmt, ap);
        va_end(ap);
        n = (int)MIN((size_t)(n + MAX(m, 0)), sizeof(line) - 2);
        line[n++] = '\n';
        if (own.take) {
                own.take(own.userdata, line, (size_t)n);
                return;
        }
        while (own.holding && own.n_kept > 0 && log_takes_more())
                log_write_kept();
        if (own.holding && (own.n_kept > 0 || !log_takes_more())) {
                log_keep(line, (size_t)n);
                return;
        }
        /* A single write, so that lines of several processes do not mix; errors of standard error are ignored. */
        if (write(log_target(), line, (size_t)n) < 0)
                return;
}
