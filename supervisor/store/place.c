#include "store/store-internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

/* A supervisor's place is a file run/<number> that it holds with flock(2) while it lives; the kernel lets go when it
 * dies, however it dies. Numbers are random and never used twice, so that a dead supervisor's number cannot come to
 * mean a living one. The file gets its name only after it is locked: nobody ever sees a living supervisor's file
 * unlocked. */

#define NAME_MAX_ 32

static void place_name(uint64_t n, char out[static NAME_MAX_]) {
        snprintf(out, NAME_MAX_, "run/%016" PRIx64, n);
}

/* Removes the files of dead supervisors, and names that a supervisor died before finishing. */
static void sweep(Store *s) {
        int fd = openat(s->dir_fd, "run", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        struct dirent *e;
        DIR *d;

        if (fd < 0 || !(d = fdopendir(fd))) {
                if (fd >= 0)
                        close(fd);
                return;
        }
        while ((e = readdir(d))) {
                _cleanup_close_ int f = -1;
                struct stat st;

                if (e->d_name[0] == '.')
                        continue;
                f = openat(fd, e->d_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
                if (f < 0 || fstat(f, &st) < 0)
                        continue;
                /* A file still without its name may belong to one that is just about to lock it. */
                if (strncmp(e->d_name, "new.", 4) == 0 && st.st_mtime + 60 > time(NULL))
                        continue;
                if (flock(f, LOCK_EX | LOCK_NB) == 0)
                        unlinkat(fd, e->d_name, 0);
        }
        closedir(d);
}

int place_take(Store *s, Diag *reterr) {
        _cleanup_close_ int fd = -1;
        char name[NAME_MAX_], made[NAME_MAX_];
        uint64_t n;

        if (mkdirat(s->dir_fd, "run", 0700) < 0 && errno != EEXIST)
                return store_refusal(s, -errno, "cannot make folder run", reterr);
        sweep(s);
        if (getrandom(&n, sizeof(n), 0) != (ssize_t)sizeof(n))
                return -EIO;
        n = (n >> 11) | 1; /* 53 bits: a number that JSON keeps, never 0 */
        place_name(n, name);
        snprintf(made, sizeof(made), "run/new.%016" PRIx64, n);
        fd = openat(s->dir_fd, made, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0)
                return store_refusal(s, -errno, "cannot make a lock file in run", reterr);
        if (flock(fd, LOCK_EX | LOCK_NB) < 0 || renameat(s->dir_fd, made, s->dir_fd, name) < 0) {
                int e = errno;

                unlinkat(s->dir_fd, made, 0);
                return diag(reterr, STORE_E_LOCKED, "store %s: cannot lock a file in run: %s", s->dir, strerror(e));
        }
        s->lock = n;
        s->lock_fd = TAKE_FD(fd);
        return 0;
}

void place_leave(Store *s) {
        char name[NAME_MAX_];

        if (s->lock_fd < 0)
                return;
        place_name(s->lock, name);
        unlinkat(s->dir_fd, name, 0);
        closep(&s->lock_fd);
}

bool store_lock_is_free(Store *s, uint64_t lock) {
        _cleanup_close_ int fd = -1;
        char name[NAME_MAX_];

        if (lock == 0)
                return true;
        place_name(lock, name);
        fd = openat(s->dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (fd < 0)
                return errno == ENOENT;
        /* Shared, so that two who ask at once do not take each other for the owner. */
        return flock(fd, LOCK_SH | LOCK_NB) == 0;
}

uint64_t store_own_lock(const Store *s) {
        return s->lock;
}
