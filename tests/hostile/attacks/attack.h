/* Runs: a hostile program, in a region or (as the positive control) outside of one. One attack a program: `escaped()` ends it with 0 and
 * says what was won, `contained()` ends it with 1 and says what stopped it. Whatever an attack aims at was planted by run.py and is named
 * in argv, so that the control run, which succeeds, harms nothing. */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CANARY "lethe-hostile-canary"

__attribute__((noreturn, format(printf, 1, 2))) static inline void escaped(const char *fmt, ...) {
        va_list ap;
        va_start(ap, fmt);
        printf("ESCAPED: ");
        vprintf(fmt, ap);
        printf("\n");
        fflush(stdout);
        _exit(0);
}

/* errno is said too. */
__attribute__((noreturn, format(printf, 1, 2))) static inline void contained(const char *fmt, ...) {
        int e = errno;
        va_list ap;
        va_start(ap, fmt);
        printf("contained: ");
        vprintf(fmt, ap);
        printf(": %s\n", strerror(e));
        fflush(stdout);
        _exit(1);
}

static inline const char *arg(int argc, char **argv, int i) {
        if (i >= argc) {
                fprintf(stderr, "%s: argument %d is missing\n", argv[0], i);
                _exit(2);
        }
        return argv[i];
}

/* True when the file can be read and holds the canary. */
static inline bool file_has_canary(int dir, const char *path) {
        int fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0)
                return false;
        char b[4096];
        ssize_t n = read(fd, b, sizeof b);
        close(fd);
        if (n < 0)
                return false;
        bool found = memmem(b, (size_t)n, CANARY, strlen(CANARY)) != NULL;
        if (!found)
                errno = ENODATA;
        return found;
}

static inline void sleep_msec(long ms) {
        struct timespec t = {ms / 1000, ms % 1000 * 1000000};
        while (nanosleep(&t, &t) < 0 && errno == EINTR)
                ;
}

static inline double now_sec(clockid_t c) {
        struct timespec t;
        clock_gettime(c, &t);
        return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}
