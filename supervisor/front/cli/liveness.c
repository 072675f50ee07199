#include "cli/liveness.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/proc.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#define LIVENESS_FIRST_USEC 500000U    /* to the first ping */
#define LIVENESS_AGAIN_USEC 5000000U   /* from an answer to the next ping */
#define LIVENESS_LATE_USEC 500000U     /* for a ping's answer, until a warning */
#define LIVENESS_PATIENCE_USEC 3000000U /* after a signal */

void liveness_begin(Liveness *s, int fd, const char *socket_or_null) {
        uint64_t now = clock_mono_usec();

        *s = (Liveness){.socket = socket_or_null, .daemon = fd, .probe = -1, .since = now,
                        .next = now + LIVENESS_FIRST_USEC};
}

void liveness_end(Liveness *s) {
        closep(&s->probe);
}

int liveness_poll(Liveness *s, struct pollfd *ret) {
        uint64_t now = clock_mono_usec();

        *ret = (struct pollfd){.fd = s->probe, .events = POLLIN};
        return !s->socket ? -1 : now >= s->next ? 0 : (int)((s->next - now) / 1000 + 1);
}

/* Sends a ping. Returns -1 also when the listener's queue is full: the daemon has not accepted a connection for a
 * while. */
static int liveness_ping(const Liveness *s) {
        static const char ping[] = "{\"id\":1,\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"params\":{}}\n";
        struct sockaddr_un a = {.sun_family = AF_UNIX};
        _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        if (fd < 0 || strlen(s->socket) >= sizeof(a.sun_path))
                return -1;
        strcpy(a.sun_path, s->socket);
        if (connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0 ||
            send(fd, ping, sizeof(ping) - 1, MSG_NOSIGNAL) != (ssize_t)sizeof(ping) - 1)
                return -1;
        return TAKE_FD(fd);
}

/* Warns, and names the listening process, unless another process made the socket (systemd). */
static void liveness_warn(Liveness *s, uint64_t now) {
        char path[40], comm[32], who[96] = "";
        struct ucred cred;
        socklen_t n = sizeof(cred);
        uint64_t state = 0;

        if (getsockopt(s->daemon, SOL_SOCKET, SO_PEERCRED, &cred, &n) == 0 && cred.pid > 0) {
                snprintf(path, sizeof(path), "/proc/%d/comm", cred.pid);
                if (proc_read(path, comm, sizeof(comm)) > 0 && strcmp(comm, "lethe-serve\n") == 0) {
                        proc_stat(cred.pid, &state, 1);
                        snprintf(who, sizeof(who), " (process %d%s)", cred.pid,
                                 state == 'T' || state == 't' ? ", which is stopped" : "");
                }
        }
        log_warning("lethe serve at %s%s does not answer, for %llu s: waiting for the answer", s->socket, who,
                    (unsigned long long)((now - s->since + 500000) / 1000000));
        s->warned = true;
}

static void liveness_heard(Liveness *s, uint64_t now) {
        closep(&s->probe);
        s->since = now;
        s->asked = 0;
        s->next = now + LIVENESS_AGAIN_USEC;
        if (s->warned)
                log_note("lethe serve answers again");
        s->warned = false;
}

/* An ending daemon does not read the ping any more. */
static bool liveness_is_dead(const Liveness *s) {
        char byte;

        return recv(s->probe, &byte, 1, MSG_DONTWAIT) < 0;
}

int liveness_check(Liveness *s, short revents, bool heard) {
        uint64_t now = clock_mono_usec();

        if (!s->socket)
                return 0;
        if (revents && liveness_is_dead(s))
                liveness_end(s);
        else if (heard || revents)
                liveness_heard(s, now);
        if (s->signalled && s->asked && now >= MAX(s->signalled, s->asked) + LIVENESS_PATIENCE_USEC)
                return -ETIMEDOUT;
        if (now < s->next)
                return 0;
        s->next = now + LIVENESS_LATE_USEC;
        s->asked = s->asked ? s->asked : now;
        if (s->probe < 0 && (s->probe = liveness_ping(s)) >= 0)
                return 0;
        if (!s->warned)
                liveness_warn(s, now);
        return 0;
}

void liveness_signal(Liveness *s, int signo) {
        uint64_t now = clock_mono_usec();

        s->signo = signo;
        s->signalled = s->signalled ? s->signalled : now;
        if (s->probe < 0)
                s->next = now;
}
