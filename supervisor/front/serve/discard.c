/* Runs: lethe-serve; discarder(): a process of its own. Ends the connections of other users.
 *
 * A thread that drops the last reference to a file waits for its release: of a pipe that another process keeps locked,
 * of a TCP socket with SO_LINGER, of a file whose server does not answer. A client decides that when it sends
 * descriptors, and the kernel drops them in the process that reads or closes the connection. So a message with
 * descriptors is seen before it is taken (MSG_PEEK), is never taken, and its connection is given to a process that has
 * nothing else to do and no rights. Each connection is closed there by a child of its own: one that is held up holds up
 * nobody. */
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

#define CHILDREN_MAX 64 /* that are held up at once */
#define NOBODY 65534
#define ROOM_MSEC 2000 /* once: after that nobody else is served */

static int discard_receive(int from) {
        char byte, control[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8)));
        struct iovec v = {.iov_base = &byte, .iov_len = 1};
        struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
        ssize_t n = recvmsg(from, &m, MSG_CMSG_CLOEXEC);
        struct cmsghdr *h = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;
        int fd = -1;

        if (h && h->cmsg_type == SCM_RIGHTS)
                memcpy(&fd, CMSG_DATA(h), sizeof(fd));
        return n > 0 || (n < 0 && errno == EINTR) ? fd : -2;
}

/* In a child, which is the last to have it: it ends only when we have let go of ours. Returns false when there is no
 * child: then ours stays open. */
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

/* Each message says that the daemon has let go of what came with the one before it. */
static _noreturn_ void discarder(int from) {
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

/* The process keeps nothing of the daemon's but its end of the socket pair, and has no right that a client of any user
 * lacks. */
static void discarder_confine(int from) {
        static const int ignored[] = {SIGTERM, SIGINT, SIGHUP};

        prctl(PR_SET_NAME, "lethe-discard", 0, 0, 0);
        for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
                signal(ignored[i], SIG_IGN); /* it ends when the daemon has */
        if (dup3(from, STDERR_FILENO + 1, O_CLOEXEC) < 0 && from != STDERR_FILENO + 1)
                _exit(1);
        closefrom(STDERR_FILENO + 2);
        if (geteuid() == 0 &&
            (setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 || setresuid(NOBODY, NOBODY, NOBODY) < 0))
                _exit(1);
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                _exit(1);
        discarder(STDERR_FILENO + 1);
}

int server_start_discarder(Server *s, Diag *reterr) {
        int p[2];

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, p) < 0)
                return diag(reterr, -errno, "a socket pair: %s", strerror(errno));
        s->discarder = fork();
        if (s->discarder == 0)
                discarder_confine(p[1]);
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

/* Something waits to be read there, with descriptors: then it must not be closed here. */
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

/* Its queue is short, and whoever connects fills it faster than a process is made for each. */
static bool discard_has_room(const Server *s) {
        struct pollfd p = {.fd = s->discard, .events = POLLOUT};

        return !s->discard_is_full && poll(&p, 1, ROOM_MSEC) > 0 && p.revents & POLLOUT;
}

void discard_connection(Server *s, int fd) {
        Diag d = {};

        shutdown(fd, SHUT_RD); /* nothing comes any more */
        if (!discard_has_fds(fd)) {
                close(fd);
                return;
        }
        shutdown(fd, SHUT_RDWR);
        if (io_send_fds(s->discard, "", 1, &fd, 1) == 0 ||
            (discard_has_room(s) && io_send_fds(s->discard, "", 1, &fd, 1) == 0)) {
                close(fd); /* not the last reference */
                io_send_fds(s->discard, "", 1, NULL, 0); /* if it does not fit, what comes next says the same */
                return;
        }
        if (s->discard_is_full) /* the descriptor stays open */
                return;
        log_warning(
                "connections of other users cannot be closed: too many of what they sent are held up; nobody else is served until the daemon is started anew");
        s->discard_is_full = true;
        server_set_mode(s, s->policy->policy, &d); /* nobody else connects any more, so that not many stay open */
}
