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
#include <sys/prctl.h>
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

/* argv[1] processes, each of which make()s argv[2] of `what` and keeps them until this one ends; for argv[3] milliseconds, if given. make: false when it is
 * denied. */
__attribute__((noreturn)) static inline void held_by_children(int argc, char **argv, bool (*make)(long n), const char *what) {
        int n = atoi(arg(argc, argv, 1)), held = 0, said[2];
        long each = atol(arg(argc, argv, 2));
        char b;

        if (pipe(said) < 0)
                contained("pipe");
        for (int i = 0; i < n; i++)
                if (fork() == 0) {
                        prctl(PR_SET_PDEATHSIG, SIGKILL);
                        if (make(each) && write(said[1], "x", 1) == 1)
                                for (;;)
                                        pause();
                        _exit(1);
                }
        close(said[1]);
        while (held < n && read(said[0], &b, 1) == 1)
                held++;
        sleep_msec(argc > 3 ? atoi(argv[3]) : 0);
        if (held < n)
                contained("%d of %d processes", held, n);
        escaped("%d processes with %ld %s", n, each, what);
}
