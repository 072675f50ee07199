#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>

int io_write_full(int fd, const void *p, size_t n) {
        const char *s = p;

        while (n > 0) {
                ssize_t w = write(fd, s, n);

                if (w < 0 && errno == EINTR)
                        continue;
                if (w < 0)
                        return -errno;
                s += w;
                n -= (size_t)w;
        }
        return 0;
}

int io_read_all(int fd, size_t max, char **ret, size_t *ret_n) {
        _cleanup_free_ char *b = NULL;
        size_t n = 0, room = 0;

        for (;;) {
                ssize_t r;

                if (room - n < 2) {
                        char *p = realloc(b, room = room ? room * 2 : 4096);

                        if (!p)
                                return -ENOMEM;
                        b = p;
                }
                r = read(fd, b + n, room - n - 1);
                if (r < 0 && errno == EINTR)
                        continue;
                if (r < 0)
                        return -errno;
                if (r == 0)
                        break;
                n += (size_t)r;
                if (n > max)
                        return -EFBIG;
        }
        b[n] = 0;
        *ret = TAKE_PTR(b);
        *ret_n = n;
        return 0;
}

int io_read_file(int dirfd, const char *path, size_t max, char **ret, size_t *ret_n) {
        _cleanup_close_ int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        struct stat st;

        if (fd < 0)
                return -errno;
        if (fstat(fd, &st) < 0)
                return -errno;
        if (S_ISDIR(st.st_mode))
                return -EISDIR;
        return io_read_all(fd, max, ret, ret_n);
}

int io_write_file(int dirfd, const char *path, const void *p, size_t n, mode_t mode, bool sync) {
        char tmp[PATH_MAX];
        _cleanup_close_ int fd = -1;
        const char *slash = strrchr(path, '/');
        uint32_t r;
        int e;

        if (getrandom(&r, sizeof(r), 0) != (ssize_t)sizeof(r))
                return -EIO;
        if (snprintf(tmp, sizeof(tmp), "%s.%08x.tmp", path, r) >= (int)sizeof(tmp))
                return -ENAMETOOLONG;
        fd = openat(dirfd, tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
        if (fd < 0)
                return -errno;
        e = io_write_full(fd, p, n);
        if (e == 0 && sync && fsync(fd) < 0)
                e = -errno;
        if (e == 0 && renameat(dirfd, tmp, dirfd, path) < 0)
                e = -errno;
        if (e < 0) {
                unlinkat(dirfd, tmp, 0);
                return e;
        }
        if (sync) {
                _cleanup_free_ char *folder = slash ? strndup(path, (size_t)(slash - path)) : strdup(".");
                _cleanup_close_ int dfd = -1;

                if (!folder)
                        return -ENOMEM;
                dfd = openat(dirfd, *folder ? folder : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                if (dfd < 0 || fsync(dfd) < 0)
                        return -errno;
        }
        return 0;
}

/* A rename over a device, or over the link /dev/stdout, would remove the device for all programs. */
static bool io_is_special(const char *path) {
        struct stat link, st;

        if (lstat(path, &link) < 0 || S_ISREG(link.st_mode))
                return false;
        if (stat(path, &st) < 0 || S_ISREG(st.st_mode))
                return strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0;
        return true;
}

int io_write_named(const char *path, const void *p, size_t n, mode_t mode) {
        _cleanup_close_ int fd = -1;

        if (!io_is_special(path))
                return io_write_file(AT_FDCWD, path, p, n, mode, false);
        /* A pipe without a reader is an error, not a wait. */
        fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        if (fd < 0 || fcntl(fd, F_SETFL, 0) < 0)
                return -errno;
        return io_write_full(fd, p, n);
}

int io_mkdir_parents(const char *path, mode_t mode) {
        _cleanup_free_ char *s = strdup(path);
        struct stat st;

        if (!s)
                return -ENOMEM;
        if (!*s)
                return -ENOENT;
        for (char *p = s + 1; *p; p++)
                if (*p == '/') {
                        *p = 0;
                        if (mkdir(s, mode) < 0 && errno != EEXIST)
                                return -errno;
                        *p = '/';
                }
        if (mkdir(s, mode) == 0)
                return 0;
        if (errno != EEXIST)
                return -errno;
        if (stat(s, &st) < 0)
                return -errno;
        return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
}

int io_set_nonblock(int fd) {
        int flags = fcntl(fd, F_GETFL);

        if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
                return -errno;
        return 0;
}

int io_send_fds(int fd, const void *p, size_t n, const int *fds, size_t n_fds) {
        union {
                struct cmsghdr head;
                char space[CMSG_SPACE(IO_SEND_FDS_MAX * sizeof(int))];
        } control = {0};
        struct iovec v = {.iov_base = (void *)p, .iov_len = n};
        struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
        ssize_t sent;

        assert(n_fds <= IO_SEND_FDS_MAX);
        if (n_fds > 0) {
                struct cmsghdr *c;

                m.msg_control = &control;
                m.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
                c = CMSG_FIRSTHDR(&m);
                c->cmsg_level = SOL_SOCKET;
                c->cmsg_type = SCM_RIGHTS;
                c->cmsg_len = CMSG_LEN(n_fds * sizeof(int));
                memcpy(CMSG_DATA(c), fds, n_fds * sizeof(int));
        }
        sent = TEMP_FAILURE_RETRY(sendmsg(fd, &m, MSG_NOSIGNAL));
        if (sent < 0)
                return errno == ECONNRESET ? -EPIPE : -errno;
        return (size_t)sent == n ? 0 : -EIO;
}

ssize_t io_receive_fd(int fd, int msec, void *p, size_t n, int *ret_fd) {
        int fds[2] = {-1, -1}; /* the room of one is padded, and the kernel fills it with a second */
        union {
                struct cmsghdr head;
                char space[CMSG_SPACE(sizeof(fds))];
        } control;
        struct iovec v = {.iov_base = p, .iov_len = n};
        struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        struct cmsghdr *c;
        ssize_t got;

        *ret_fd = -1;
        while ((got = poll(&ready, 1, msec)) < 0 && errno == EINTR)
                ;
        if (got <= 0)
                return got < 0 ? -errno : -ETIMEDOUT;
        got = recvmsg(fd, &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
        if (got < 0)
                return -errno;
        c = CMSG_FIRSTHDR(&m);
        if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
                memcpy(fds, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
        if (fds[1] >= 0 || m.msg_flags & MSG_TRUNC) {
                closep(&fds[0]);
                closep(&fds[1]);
                return -EPROTO;
        }
        *ret_fd = fds[0];
        return got;
}

char *io_absolute(const char *path) {
        _cleanup_free_ char *here = *path == '/' ? NULL : getcwd(NULL, 0);
        char *out;

        if (*path == '/')
                return strdup(path);
        return here && asprintf(&out, "%s/%s", here, path) >= 0 ? out : NULL;
}

void io_wipe(int fd) {
        static const char zeros[65536];
        struct stat st;

        if (fstat(fd, &st) < 0)
                return;
        for (off_t at = 0; at < st.st_size; at += (off_t)sizeof(zeros))
                if (pwrite(fd, zeros, MIN(sizeof(zeros), (size_t)(st.st_size - at)), at) < 0)
                        return;
}
