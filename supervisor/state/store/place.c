#include "store/store-internal.h"

#include "base/clock.h"
#include "base/log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

/* A supervisor's place is one byte of the file run/alive, far beyond its end, that it holds with an open file description lock (fcntl(2))
 * while it lives; the kernel lets go when it dies, however it dies, and nothing is left to clear away. Which byte is a random number that
 * is never used twice, so that a dead supervisor's number cannot come to mean a living one; it is told to others only after it is locked.
 * The file is never removed: who holds a byte of a removed file would look dead. Byte 0 is nobody's place: who holds it finishes what dead supervisors left. */

#define ALIVE "run/alive"
#define SOCKET_SUFFIX ".s"
#define TURN_LOOK_MS 5

/* The file, made when it is not there: also in a store that was made or copied without its folder. */
static int open_alive(Store *s) {
        int fd = openat(s->dir_fd, ALIVE, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);

        if (fd < 0 && errno == ENOENT && (mkdirat(s->dir_fd, "run", 0700) == 0 || errno == EEXIST))
                fd = openat(s->dir_fd, ALIVE, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
        return fd < 0 ? -errno : fd;
}

int place_take(Store *s, Diag *reterr) {
        struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
        _cleanup_close_ int fd = open_alive(s);
        uint64_t n;

        if (fd < 0)
                return store_refusal(s, fd, "cannot open " ALIVE, reterr);
        if (getrandom(&n, sizeof(n), 0) != (ssize_t)sizeof(n))
                return -EIO;
        n = (n >> 11) | 1; /* 53 bits: a number that JSON keeps, never 0 */
        l.l_start = (off_t)n;
        if (fcntl(fd, F_OFD_SETLK, &l) < 0)
                return diag(reterr, STORE_E_LOCKED, "store %s: cannot lock a byte of " ALIVE ": %s", s->dir, strerror(errno));
        s->lock = n;
        s->lock_fd = TAKE_FD(fd);
        return 0;
}

void place_leave(Store *s) {
        closep(&s->lock_fd);
}

bool store_lock_is_free(Store *s, uint64_t lock) {
        _cleanup_close_ int fd = -1;
        struct flock l = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = (off_t)lock, .l_len = 1};

        if (lock == 0 || lock > INT64_MAX)
                return true;
        /* A descriptor of its own: asked through the one that holds it, our own lock would look free. */
        fd = openat(s->dir_fd, ALIVE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (fd < 0)
                return errno == ENOENT;
        return fcntl(fd, F_OFD_GETLK, &l) == 0 && l.l_type == F_UNLCK;
}

/* A waiting process is told for whom. */
static void turn_sign(const Store *s, int fd) {
        char mine[12] = "";

        snprintf(mine, sizeof(mine), "%d\n", (int)getpid());
        if (pwrite(fd, mine, sizeof(mine) - 1, 0) < 0)
                log_debug("store %s: " ALIVE " cannot be written: %s", s->dir, strerror(errno));
}

int store_turn_take(Store *s, uint64_t wait_usec) {
        struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
        _cleanup_close_ int fd = open_alive(s);
        const uint64_t began = clock_mono_usec();
        bool said = false;

        if (fd < 0)
                return fd;
        while (fcntl(fd, F_OFD_SETLK, &l) < 0) {
                uint64_t waited = clock_mono_usec() - began;
                char holder[12] = "";

                if (errno != EAGAIN && errno != EACCES)
                        return -errno;
                if (waited > wait_usec || gate_wait_is_over(waited))
                        return -EAGAIN;
                if (waited > GATE_SAY_USEC && !said) {
                        said = true;
                        if (pread(fd, holder, sizeof(holder) - 1, 0) < 0)
                                *holder = 0;
                        log_warning("store %s: waiting for %s%.*s, which finishes what a dead supervisor left, for %llu s at most", s->dir,
                                    atoi(holder) > 0 ? "process " : "another process", (int)strspn(holder, "0123456789"), holder, (unsigned long long)wait_usec / 1000000);
                }
                poll(NULL, 0, TURN_LOOK_MS);
        }
        turn_sign(s, fd);
        return TAKE_FD(fd);
}

void store_turn_leave(int *fd) {
        struct flock l = {.l_type = F_UNLCK, .l_whence = SEEK_SET, .l_len = 1};

        if (*fd >= 0)
                fcntl(*fd, F_OFD_SETLK, &l); /* a process that was being made at this moment may have a copy of it still */
        closep(fd);
}

void store_place_socket(const Store *s, uint64_t lock, char ret[static STORE_SOCKET_MAX]) {
        snprintf(ret, STORE_SOCKET_MAX, "/proc/self/fd/%d/run/%016" PRIx64 SOCKET_SUFFIX, s->dir_fd, lock);
}

int store_each_dead(Store *s, const char *suffix, int (*fn)(void *userdata, int folder, const char *name, uint64_t lock), void *userdata) {
        _cleanup_close_ int fd = openat(s->dir_fd, "run", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *d = fd < 0 ? NULL : fdopendir(fd);
        struct dirent *e;
        int first = 0;

        if (!d)
                return errno == ENOENT ? 0 : -errno;
        TAKE_FD(fd); /* d's */
        while ((e = readdir(d))) {
                char *end;
                uint64_t lock = strtoull(e->d_name, &end, 16);
                int r;

                if (end == e->d_name || strcmp(end, suffix) != 0 || !store_lock_is_free(s, lock))
                        continue;
                r = fn(userdata, dirfd(d), e->d_name, lock);
                first = first < 0 ? first : r;
        }
        closedir(d);
        return first;
}

static int remove_socket(void *userdata, int folder, const char *name, uint64_t lock) {
        (void)userdata;
        (void)lock;
        return unlinkat(folder, name, 0) < 0 ? -errno : 0;
}

/* One that stays is in nobody's way: no place is taken twice. */
void store_sweep_sockets(Store *s) {
        store_each_dead(s, SOCKET_SUFFIX, remove_socket, NULL);
}

uint64_t store_own_lock(const Store *s) {
        return s->lock;
}

_Atomic uint64_t *store_regions_ahead(Store *s) {
        return &s->regions_ahead;
}
