/* Runs: lethe-serve; discard_serve(): a separate process. Ends the connections of other users.
 *
 * A thread that drops the last reference to a file waits for its release: of a pipe kept locked by another process, of
 * a TCP socket with SO_LINGER, of a file whose server does not answer. A client controls this by the descriptors in its
 * messages; the kernel drops them in the process that reads or closes the connection. So the daemon finds a message
 * with descriptors before reading (MSG_PEEK), never reads the message, and gives the connection to a process without
 * further work and without rights. A child of the process closes each connection: a blocked child delays no work. */
#include "serve/serve.h"

#include "base/io.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define CHILDREN_MAX 64 /* blocked at the same time */
#define NOBODY 65534
#define ROOM_MSEC 2000 /* only once: afterwards the daemon serves no other users */

static int discard_receive(int from) {
        char byte;
        int fd;
        ssize_t n = io_receive_fd(from, -1, &byte, 1, &fd);

        return n > 0 || n == -EINTR || n == -EAGAIN ? fd : -2;
}

/* A child holds the last reference, and ends only after its parent closed the copy. Returns false without a child: then
 * the copy of the parent stays open. */
static bool discard_in_child(int fd) {
        int p[2];
        pid_t pid;
        char byte;

        if (pipe(p) < 0)
                return false;
        pid = fork();
        if (pid == 0) {
                close(p[1]);
                _exit((int)read(p[0], &byte, 1));
        }
        close(p[0]);
        if (pid > 0)
                close(fd);
        close(p[1]);
        return pid > 0;
}

/* Each message says that the daemon has closed the descriptor of the message before. */
static _noreturn_ void discard_serve(int from) {
        unsigned n_children = 0;
        int before = -1;

        for (;;) {
                int fd = discard_receive(from);

                n_children += before >= 0 && discard_in_child(before);
                if (fd == -2)
                        _exit(0);
                before = fd;
                while (n_children > 0 && waitpid(-1, NULL, n_children < CHILDREN_MAX ? WNOHANG : 0) > 0)
                        n_children--;
        }
}

/* The process keeps only its end of the socket pair, and has no right that a client of any user lacks. */
static void discard_confine(int from) {
        static const int ignored[] = {SIGTERM, SIGINT, SIGHUP};

        prctl(PR_SET_NAME, "lethe-discard", 0, 0, 0);
        for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
                signal(ignored[i], SIG_IGN); /* the process ends with the daemon */
        if (dup3(from, STDERR_FILENO + 1, O_CLOEXEC) < 0 && from != STDERR_FILENO + 1)
                _exit(1);
        closefrom(STDERR_FILENO + 2);
        if (geteuid() == 0 &&
            (setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 || setresuid(NOBODY, NOBODY, NOBODY) < 0))
                _exit(1);
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                _exit(1);
        discard_serve(STDERR_FILENO + 1);
}

int server_start_discarder(Server *s, Diag *reterr) {
        int p[2];

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, p) < 0)
                return diag(reterr, -errno, "a socket pair: %s", strerror(errno));
        s->discarder = fork();
        if (s->discarder == 0)
                discard_confine(p[1]);
        close(p[1]);
        if (s->discarder < 0)
                close(p[0]);
        else
                s->discard = p[0];
        return s->discarder < 0 ? diag(reterr, -errno, "fork: %s", strerror(errno)) : io_set_nonblock(s->discard);
}

void server_end_discarder(Server *s) {
        closep(&s->discard);
        if (s->discarder > 0)
                waitpid(s->discarder, NULL, 0);
        s->discarder = 0;
}

/* Whether a message with descriptors waits unread: the connection must then not be closed here. */
static bool discard_has_fds(int fd) {
        char bytes[4096];

        for (;;) {
                struct iovec v = {.iov_base = bytes, .iov_len = sizeof(bytes)};
                struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
                ssize_t n = recvmsg(fd, &m, MSG_DONTWAIT | MSG_PEEK);

                if (n > 0 && m.msg_flags & MSG_CTRUNC)
                        return true;
                if (n <= 0 || recv(fd, bytes, (size_t)n, MSG_DONTWAIT) <= 0)
                        return false;
        }
}

/* The queue of the socket pair is short, and clients may connect faster than processes are made. */
static bool discard_has_room(const Server *s) {
        struct pollfd p = {.fd = s->discard, .events = POLLOUT};

        return !s->discard_is_full && poll(&p, 1, ROOM_MSEC) > 0 && p.revents & POLLOUT;
}

void discard_connection(Server *s, int fd) {
        Diag d = {};

        shutdown(fd, SHUT_RD); /* no more input */
        if (!discard_has_fds(fd)) {
                close(fd);
                return;
        }
        shutdown(fd, SHUT_RDWR);
        if (io_send_fds(s->discard, "", 1, &fd, 1) == 0 ||
            (discard_has_room(s) && io_send_fds(s->discard, "", 1, &fd, 1) == 0)) {
                close(fd); /* not the last reference */
                io_send_fds(s->discard, "", 1, NULL, 0); /* when the queue is full, the next message says the same */
                return;
        }
        if (s->discard_is_full) /* the descriptor stays open */
                return;
        log_warning("connections of other users cannot be closed: too many of their descriptors block; "
                    "other users are not served until the daemon is restarted");
        s->discard_is_full = true;
        /* No new connections of other users, so that few stay open. */
        listen_set_mode(s, s->policy->policy, &d);
}
