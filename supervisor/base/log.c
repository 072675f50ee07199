#include "base/log.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define KEPT_MAX 65536

static LogLevel level_max = LOG_LEVEL_NOTE;
static bool holding;
static char kept[KEPT_MAX];
static size_t n_kept;
static unsigned long n_dropped;

void log_set_level(LogLevel most) {
        level_max = most;
}

/* A pipe of which poll(2) says so takes PIPE_BUF bytes without waiting. */
static bool takes_more(void) {
        struct pollfd p = {.fd = STDERR_FILENO, .events = POLLOUT};

        return poll(&p, 1, 0) != 0;
}

static void write_kept(void) {
        ssize_t n = write(STDERR_FILENO, kept, MIN(n_kept, (size_t)PIPE_BUF));

        if (n < 0 && (errno == EINTR || errno == EAGAIN))
                return;
        n = n < 0 ? (ssize_t)n_kept : n; /* a broken standard error is nobody's failure */
        memmove(kept, kept + n, n_kept - (size_t)n);
        n_kept -= (size_t)n;
}

static void keep(const char *line, size_t n) {
        if (n > KEPT_MAX - n_kept) {
                n_dropped++;
                return;
        }
        memcpy(kept + n_kept, line, n);
        n_kept += n;
}

void log_hold(void) {
        holding = true;
}

void log_let_go(int stop_fd) {
        holding = false;
        while (n_kept > 0) {
                struct pollfd p[] = {{.fd = STDERR_FILENO, .events = POLLOUT}, {.fd = stop_fd, .events = POLLIN}};

                if (poll(p, 2, -1) < 0 && errno != EINTR)
                        return;
                if (p[0].revents)
                        write_kept();
                else if (p[1].revents)
                        return;
        }
        if (n_dropped > 0)
                log_warning("%lu lines were left out: nobody read standard error", n_dropped);
        n_dropped = 0;
}

void log_line(LogLevel level, const char *fmt, ...) {
        static const char *const words[] = {"", "warning: ", "", "debug: "};
        char line[2048];
        va_list ap;
        int n, m;

        if (level > level_max)
                return;
        n = snprintf(line, sizeof(line), "lethe: %s", words[level]);
        va_start(ap, fmt);
        m = vsnprintf(line + n, sizeof(line) - (size_t)n - 1, fmt, ap);
        va_end(ap);
        n = (int)MIN((size_t)(n + MAX(m, 0)), sizeof(line) - 2);
        line[n++] = '\n';
        while (holding && n_kept > 0 && takes_more())
                write_kept();
        if (holding && (n_kept > 0 || !takes_more())) {
                keep(line, (size_t)n);
                return;
        }
        /* One write, so that lines of several processes do not mix; a broken standard error is nobody's failure. */
        if (write(STDERR_FILENO, line, (size_t)n) < 0)
                return;
}
