#include "store/store-internal.h"
#include "base/clock.h"
#include "base/dirents.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

/* The place of a supervisor is one byte of the file run/alive, far beyond the file's end, held by an open file
 * description lock (fcntl(2)) during the supervisor's life. The kernel frees the lock at any kind of death, so no
 * cleaning is needed. The byte's number is random and never used twice: a dead supervisor's number can never belong to
 * a living one. The number is published only after the lock. The file is never removed: the holder of a byte in a
 * removed file would look dead. Byte 0 is no supervisor's place: its holder finishes the regions of dead
 * supervisors. */

#define ALIVE "run/alive"
#define SOCKET_SUFFIX ".s"
#define TURN_LOOK_MS 5

/* Opens the file. Makes a missing file, also in a store copied without the folder run. */
static int place_open(Store *s) {
        int fd = openat(s->dir_fd, ALIVE, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);

        if (fd < 0 && errno == ENOENT && (mkdirat(s->dir_fd, "run", 0700) == 0 || errno == EEXIST))
                fd = openat(s->dir_fd, ALIVE, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
        return fd < 0 ? -errno : fd;
}

int place_take(Store *s, Diag *reterr) {
        struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
        _cleanup_close_ int fd = place_open(s);
        uint64_t n;

        if (fd < 0)
                return store_refusal(s, fd, "cannot open " ALIVE, reterr);
        if (getrandom(&n, sizeof(n), 0) != (ssize_t)sizeof(n))
                return -EIO;
        n = (n >> 11) | 1; /* 53 bits: exact in JSON, never 0 */
        l.l_start = (off_t)n;
        if (fcntl(fd, F_OFD_SETLK, &l) < 0)
                return diag(reterr, STORE_E_LOCKED, "store %s: cannot lock a byte of " ALIVE ": %s", s->dir,
                            strerror(errno));
        s->lock = n;
        s->lock_fd = TAKE_FD(fd);
        return 0;
}

bool store_lock_is_free(Store *s, uint64_t lock) {
        _cleanup_close_ int fd = -1;
        struct flock l = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = (off_t)lock, .l_len = 1};

        if (lock == 0 || lock > INT64_MAX)
                return true;
        /* A descriptor of its own: through the lock's own descriptor, the own lock would look free. */
        fd = openat(s->dir_fd, ALIVE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (fd < 0)
                return errno == ENOENT;
        return fcntl(fd, F_OFD_GETLK, &l) == 0 && l.l_type == F_UNLCK;
}

/* Names the holder for waiting processes. */
static void place_sign_turn(const Store *s, int fd) {
        char mine[12] = "";

        snprintf(mine, sizeof(mine), "%d\n", (int)getpid());
        if (pwrite(fd, mine, sizeof(mine) - 1, 0) < 0)
                log_debug("store %s: " ALIVE " cannot be written: %s", s->dir, strerror(errno));
}

int store_turn_take(Store *s, uint64_t wait_usec) {
        struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
        _cleanup_close_ int fd = place_open(s);
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
                        log_warning("store %s: waiting for %s%.*s, which finishes what a dead supervisor left, for "
                                    "%llu s at most",
                                    s->dir, atoi(holder) > 0 ? "process " : "another process",
                                    (int)strspn(holder, "0123456789"), holder, (unsigned long long)wait_usec / 1000000);
                }
                poll(NULL, 0, TURN_LOOK_MS);
        }
        place_sign_turn(s, fd);
        return TAKE_FD(fd);
}

void store_turn_leave(int *fd) {
        struct flock l = {.l_type = F_UNLCK, .l_whence = SEEK_SET, .l_len = 1};

        if (*fd >= 0)
                fcntl(*fd, F_OFD_SETLK, &l); /* a process in the middle of a fork may still have a copy */
        closep(fd);
}

void store_place_socket(const Store *s, uint64_t lock, char ret[static STORE_SOCKET_MAX]) {
        snprintf(ret, STORE_SOCKET_MAX, "/proc/self/fd/%d/run/%016" PRIx64 SOCKET_SUFFIX, s->dir_fd, lock);
}

int store_each_dead(Store *s, const char *suffix,
                    int (*fn)(void *userdata, int folder, const char *name, uint64_t lock), void *userdata) {
        _cleanup_closedir_ DIR *d = opendirat(s->dir_fd, "run");
        struct dirent *e;
        int first = 0;

        if (!d)
                return errno == ENOENT ? 0 : -errno;
        while ((e = readdir(d))) {
                char *end;
                uint64_t lock = strtoull(e->d_name, &end, 16);
                int r;

                if (end == e->d_name || strcmp(end, suffix) != 0 || !store_lock_is_free(s, lock))
                        continue;
                r = fn(userdata, dirfd(d), e->d_name, lock);
                first = first < 0 ? first : r;
        }
        return first;
}

static int place_remove_socket(void *userdata, int folder, const char *name, uint64_t lock) {
        (void)userdata;
        (void)lock;
        return unlinkat(folder, name, 0) < 0 ? -errno : 0;
}

/* A remaining socket does no harm: no place is taken twice. */
void store_sweep_sockets(Store *s) {
        store_each_dead(s, SOCKET_SUFFIX, place_remove_socket, NULL);
}

uint64_t store_own_lock(const Store *s) {
        return s->lock;
}

_Atomic uint64_t *store_regions_ahead(Store *s) {
        return &s->regions_ahead;
}
