#include "worker/warm-alone.h"

#include "schema/launch.h"
#include "schema/limits.h"
#include "schema/zygote.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <unistd.h>

#define TEXT_MAX (1U << 20) /* of /proc/self/maps */

static char size_then[64]; /* the first field of /proc/self/statm */

/* A second thread would be missing in the child, its locks held for ever. The folder has a subfolder per thread. */
static int alone_in_threads(void) {
        struct stat st;

        if (fstatat(ZYGOTE_FD_KEPT, "self/task", &st, 0) < 0)
                return errno;
        return st.st_nlink == 3 ? 0 : EBUSY;
}

/* Reads the whole file; NULL with errno. */
static char *alone_read(const char *name, size_t most) {
        int fd = openat(ZYGOTE_FD_KEPT, name, O_RDONLY | O_CLOEXEC);
        char *text = fd < 0 ? NULL : malloc(most);
        size_t n = 0;
        ssize_t k = -1;

        while (text && n < most - 1 && (k = read(fd, text + n, most - 1 - n)) > 0)
                n += (size_t)k;
        if (fd >= 0)
                close(fd);
        if (!text || k != 0) { /* longer, or not readable */
                free(text);
                errno = k < 0 ? errno : EFBIG;
                return NULL;
        }
        text[n] = 0;
        return text;
}

static int alone_size(char *ret, size_t n) {
        int fd = openat(ZYGOTE_FD_KEPT, "self/statm", O_RDONLY | O_CLOEXEC);
        ssize_t k = fd < 0 ? -1 : read(fd, ret, n - 1);

        if (fd >= 0)
                close(fd);
        if (k <= 0)
                return errno;
        ret[k] = 0;
        ret[strcspn(ret, " ")] = 0;
        return 0;
}

/* Calls back with each entry that is a number. Returns 0, the result of f, or errno. */
static int alone_each(const char *folder, int (*f)(int dir, int number)) {
        int fd = openat(ZYGOTE_FD_KEPT, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), e = 0;
        DIR *d = fd < 0 ? NULL : fdopendir(fd);
        const struct dirent *entry;

        if (!d) {
                e = errno;
                if (fd >= 0)
                        close(fd);
                return e;
        }
        while (e == 0 && (entry = readdir(d))) {
                char *end;
                long number = strtol(entry->d_name, &end, 10);

                if (end != entry->d_name && *end == 0)
                        e = f(fd, (int)number);
        }
        closedir(d);
        return e;
}

/* The namespace has a first process and this process. */
static int alone_one_process(int dir, int pid) {
        return pid == 1 || pid == getpid() ? 0 : EBUSY;
}

/* The interpreter's descriptors are closed before it serves; only read-only files surely had no effect outside. */
static int alone_one_descriptor(int dir, int fd) {
        int flags = fcntl(fd, F_GETFL);
        struct stat st;

        if (fd == dir || fd == LAUNCH_FD_STATUS || fd == ZYGOTE_FD_KEPT || fd == ZYGOTE_FD_FIRST)
                return 0;
        if (flags < 0 || fstat(fd, &st) < 0)
                return errno;
        if (S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3)) /* /dev/null */
                return 0;
        return (flags & O_ACCMODE) == O_RDONLY && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode) || S_ISCHR(st.st_mode))
                       ? 0
                       : EBADF;
}

/* A shared mapping must be a read-only file of the system, or is refused. */
static bool alone_line(char *line) {
        static const char *const places[] = {"/usr/", "/lib", REGION_LETHE_DIR "/"};
        char *mode = strchr(line, ' '), *path = strchr(line, '/');

        if (!mode || strlen(mode) < 5)
                return false;
        if (mode[4] != 's')
                return true;
        for (size_t i = 0; i < sizeof(places) / sizeof(places[0]) && path && mode[2] != 'w'; i++)
                if (strncmp(path, places[i], strlen(places[i])) == 0)
                        return true;
        return false;
}

static int alone_in_mappings(void) {
        char *text = alone_read("self/maps", TEXT_MAX), *rest = text, *line;
        int e = text ? 0 : errno;

        while (e == 0 && (line = strsep(&rest, "\n")))
                if (*line && !alone_line(line))
                        e = EBUSY;
        free(text);
        return e;
}

/* No loaded module raised the limits. The number of processes must not limit children: regions have their own. */
static int alone_in_limits(void) {
        struct rlimit data, space, tasks;

        if (getrlimit(RLIMIT_DATA, &data) < 0 || getrlimit(RLIMIT_AS, &space) < 0 ||
            getrlimit(RLIMIT_NPROC, &tasks) < 0)
                return errno;
        if (data.rlim_cur > TEMPLATE_DATA_BYTES || space.rlim_cur > TEMPLATE_SPACE_BYTES ||
            tasks.rlim_cur > TEMPLATE_TASKS)
                return EPERM;
        tasks.rlim_cur = tasks.rlim_max;
        return setrlimit(RLIMIT_NPROC, &tasks) < 0 ? errno : 0;
}

static int alone_in_timers(sigset_t *ret_before) {
        static const int timers[] = {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF};
        const struct itimerval never = {0};
        sigset_t all;

        sigfillset(&all); /* handlers must not run meanwhile; further kinds of timers are not inherited */
        if (sigprocmask(SIG_SETMASK, &all, ret_before) < 0)
                return errno;
        for (size_t i = 0; i < sizeof(timers) / sizeof(timers[0]); i++)
                if (setitimer(timers[i], &never, NULL) < 0)
                        return errno;
        return 0;
}

int warm_alone_begin(sigset_t *ret_before) {
        int e = alone_in_timers(ret_before);

        if (e == 0)
                e = alone_in_threads();
        if (e == 0)
                e = alone_each(".", alone_one_process);
        if (e == 0)
                e = alone_each("self/fd", alone_one_descriptor);
        if (e == 0)
                e = alone_in_mappings();
        if (e == 0)
                e = alone_in_limits();
        return e == 0 ? alone_size(size_then, sizeof(size_then)) : e;
}

int warm_alone_still(void) {
        char now[sizeof(size_then)];
        int e = alone_in_threads();

        if (e == 0)
                e = alone_size(now, sizeof(now));
        return e != 0 ? e : strcmp(now, size_then) == 0 ? 0 : EBUSY;
}
