/* Runs: lethe-serve. The place of the daemon: sockets with names and mode. */
#include "serve/serve.h"

#include "base/clock.h"
#include "base/io.h"
#include "base/log.h"
#include "base/owner.h"
#include "request/paths.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>

#define BACKLOG 512
#define PLACE_SAY_USEC 1000000   /* of waiting for a second starting daemon, before a message */
#define PLACE_LOOK_MSEC 10

/* Bound beside the name, and renamed to the name: so the name always leads to a listening socket. */
static int listen_bind(const char *path, Diag *reterr) {
        struct sockaddr_un a = {.sun_family = AF_UNIX};
        _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        mode_t was;
        int e;

        if (fd < 0)
                return -errno;
        if (snprintf(a.sun_path, sizeof(a.sun_path), "%s.%d", path, (int)getpid()) >= (int)sizeof(a.sun_path))
                return diag(reterr, -ENAMETOOLONG, "socket %s: its name is too long: at most %zu bytes", path,
                            sizeof(a.sun_path) - 12);
        unlink(a.sun_path);
        was = umask(0077);
        e = bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(fd, BACKLOG) < 0 ? -errno : 0;
        umask(was);
        if (e == 0 && rename(a.sun_path, path) < 0) {
                e = -errno;
                unlink(a.sun_path);
        }
        return e < 0 ? diag(reterr, e, "socket %s: %s", path, strerror(-e)) : TAKE_FD(fd);
}

/* The folder of a path, owned; NULL: out of memory. */
static char *listen_folder(const char *path) {
        const char *slash = strrchr(path, '/');

        return slash ? strndup(path, slash > path ? (size_t)(slash - path) : 1) : strdup(".");
}

static int listen_make_folder(const char *path, Diag *reterr) {
        _cleanup_free_ char *folder = listen_folder(path);
        int e = folder ? io_mkdir_parents(folder, 0711) : -ENOMEM;

        return e < 0 && folder ? diag(reterr, e, "folder %s: %s", folder, strerror(-e)) : e;
}

/* A second starting daemon has the lock for a moment, or longer when a person stops that daemon there. The lock file
 * holds the pid. Signals are blocked here. */
static int listen_wait_for_place(int lock, const char *path) {
        const uint64_t began = clock_mono_usec();
        char number[12];
        bool said = false;
        sigset_t set;

        while (flock(lock, LOCK_EX | LOCK_NB) < 0) {
                if (errno != EWOULDBLOCK)
                        return -errno;
                if (sigpending(&set) == 0 && (sigismember(&set, SIGTERM) == 1 || sigismember(&set, SIGINT) == 1))
                        return -EINTR;
                if (!said && clock_mono_usec() - began > PLACE_SAY_USEC) {
                        ssize_t n = pread(lock, number, sizeof(number) - 1, 0);

                        number[n > 0 ? n : 0] = 0;
                        log_warning("%s: waiting for %s%.*s, which is about to serve there", path,
                                    atoi(number) > 0 ? "process " : "another process",
                                    (int)strspn(number, "0123456789"), number);
                        said = true;
                }
                poll(NULL, 0, PLACE_LOOK_MSEC);
        }
        snprintf(number, sizeof(number), "%d\n", (int)getpid());
        if (pwrite(lock, number, strlen(number), 0) < 0)
                log_debug("%s: %s", path, strerror(errno));
        return 0;
}

/* The lock lets one daemon at a time look and take the place. */
static int listen_take_place(const char *path, int *ret, Diag *reterr) {
        _cleanup_free_ char *lock_path = NULL;
        _cleanup_close_ int lock = -1, other = -1;
        int e;

        if (asprintf(&lock_path, "%s.lock", path) < 0) {
                lock_path = NULL;
                return -ENOMEM;
        }
        lock = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        e = lock < 0 ? -errno : listen_wait_for_place(lock, lock_path);
        if (e < 0)
                return diag(reterr, e, "%s: %s", lock_path, strerror(-e));
        other = path_connect(path);
        if (other == -ETIMEDOUT)
                return diag(reterr, -EADDRINUSE,
                            "socket %s: a process listens there and does not answer; end the process, or name a "
                            "different place with --socket", path);
        if (other >= 0)
                return diag(reterr, -EADDRINUSE,
                            "socket %s: a daemon answers there already (--replace takes its place)", path);
        *ret = listen_bind(path, reterr);
        return MIN(*ret, 0);
}

/* Takes the socket of the daemon at this path, which then ends. Returns 0, -ENOENT, -ECONNREFUSED (no daemon),
 * -errno. */
static int listen_take_over(const char *path, int *ret, Diag *reterr) {
        static const char request[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"takeover\"}\n";
        char line[4096];
        _cleanup_close_ int other = path_ask(path), fd = -1;
        ssize_t n;

        if (other == -EPERM)
                return diag(reterr, other,
                            "socket %s: a different user listens there, and root does not take that place", path);
        if (other < 0)
                return other;
        if (io_write_full(other, request, sizeof(request) - 1) < 0 ||
            (n = io_receive_fd(other, -1, line, sizeof(line) - 1, &fd)) <= 0)
                return diag(reterr, -EPROTO, "socket %s: the daemon there does not answer", path);
        line[n] = 0;
        if (fd < 0 || sd_is_socket(fd, AF_UNIX, SOCK_STREAM, 1) <= 0)
                return diag(reterr, -EPROTO, "socket %s: the daemon there does not give its place: %.300s", path, line);
        *ret = TAKE_FD(fd);
        return 0;
}

static int listen_given(Server *s, Diag *reterr) {
        int n = sd_listen_fds(true);

        if (n < 0)
                return diag(reterr, n, "LISTEN_FDS: %s", strerror(-n));
        if (n == 0)
                return 0;
        if (n > 1)
                return diag(reterr, -EINVAL, "LISTEN_FDS: %d sockets were passed, and one is served", n);
        if (sd_is_socket(SD_LISTEN_FDS_START, AF_UNIX, SOCK_STREAM, 1) <= 0)
                return diag(reterr, -EINVAL, "LISTEN_FDS: the passed descriptor is no listening Unix stream socket");
        s->listener = SD_LISTEN_FDS_START;
        return io_set_nonblock(s->listener);
}

/* A user who can change the folder could make the name lead to a foreign file, whose mode the daemon would set, or to a
 * foreign socket (I-82). */
static int listen_check_folder(const char *path, Diag *reterr) {
        _cleanup_free_ char *folder = listen_folder(path);
        char said[sizeof(reterr->text)];
        int e = folder ? owner_check(folder, geteuid(), reterr) : -ENOMEM;

        if (e != OWNER_E_OTHER)
                return e;
        snprintf(said, sizeof(said), "%s", reterr->text);
        return diag(reterr, -EPERM, "socket %.300s: %.700s", path, said);
}

/* The kernel names the user of each connection. Still, only a policy with clients opens the socket to all users. */
int listen_set_mode(const Server *s, const Policy *p, Diag *reterr) {
        const mode_t mode = p->n_clients > 0 && !s->discard_is_full ? 0666 : 0600;
        struct sockaddr_un a = {};
        socklen_t n = sizeof(a) - 1;
        Diag d = {};
        int e;

        /* A passed socket (lethe.socket) has its name already. Its unit has set the mode where the daemon may not. */
        if (!s->socket_path) {
                if (s->listener < 0 || getsockname(s->listener, (struct sockaddr *)&a, &n) < 0 || a.sun_path[0] != '/')
                        return 0;
                if (listen_check_folder(a.sun_path, &d) != 0 || chmod(a.sun_path, mode) < 0)
                        log_warning("socket %s: its mode cannot be set: %s", a.sun_path,
                                    *d.text ? d.text : strerror(errno));
                return 0;
        }
        e = listen_check_folder(s->socket_path, reterr);
        if (e != 0)
                return e;
        if (chmod(s->socket_path, mode) == 0)
                return 0;
        return diag(reterr, -errno, "socket %s: its mode cannot be set: %s", s->socket_path, strerror(errno));
}

/* Takes over or makes the socket of the options. */
static int listen_by_name(Server *s, Diag *reterr) {
        const char *path = s->options.socket;
        int e = listen_check_folder(path, reterr);

        if (e != 0)
                return e;
        e = s->options.replace ? listen_take_over(path, &s->listener, reterr) : -ENOENT;
        if (e == -ENOENT || e == -ECONNREFUSED)
                e = listen_make_folder(path, reterr) ?: listen_take_place(path, &s->listener, reterr);
        if (e == 0 && !(s->socket_path = strdup(path)))
                e = -ENOMEM;
        return e;
}

int listen_open(Server *s, Diag *reterr) {
        char path[STORE_SOCKET_MAX];
        int e = listen_given(s, reterr);

        if (e == 0 && s->listener < 0 && !s->options.private_)
                e = listen_by_name(s, reterr);
        if (e == 0)
                e = listen_set_mode(s, s->policy->policy, reterr);
        if (e < 0)
                return e;
        /* Named by the daemon's place in the store: a search for a region's supervisor works without the first name. */
        store_sweep_sockets(s->store);
        store_place_socket(s->store, store_own_lock(s->store), path);
        s->own_listener = listen_bind(path, reterr);
        if (s->own_listener < 0)
                return s->own_listener;
        s->own_path = strdup(path);
        return s->own_path ? 0 : -ENOMEM;
}
