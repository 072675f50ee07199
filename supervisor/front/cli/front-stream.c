#include "cli/front-stream.h"

#include "base/io.h"
#include "base/mounts.h"
#include "base/quiet.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define CHUNK 65536

static bool front_says; /* to the process that has the real standard error */

/* A stream that is no place (a pipe, a socket, a file in memory) has a mount that is unknown. */
bool front_stream_is_served(int fd) {
        uint64_t mount;

        return quiet_mount(fd, &mount) == 0 && mounts_kind(mount) == MOUNT_SERVED;
}

/* Has the two descriptors, and nothing else that could stay open while it waits. parent: with which it ends; 0: it ends by itself, as who writes to it has. */
static _noreturn_ void front_stream_copy(int from, int to, pid_t parent) {
        static char chunk[CHUNK];
        int low = from < to ? from : to, high = from < to ? to : from;
        ssize_t n;

        signal(SIGPIPE, SIG_DFL);
        if (parent > 0 && (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != parent))
                _exit(1);
        if (low > 0)
                close_range(0, (unsigned)low - 1, 0);
        if (high > low + 1)
                close_range((unsigned)low + 1, (unsigned)high - 1, 0);
        close_range((unsigned)high + 1, ~0U, 0);
        while ((n = read(from, chunk, sizeof(chunk))) > 0 || (n < 0 && errno == EINTR))
                if (n > 0 && io_write_full(to, chunk, (size_t)n) < 0)
                        _exit(1);
        _exit(n < 0);
}

int front_stream_begin(int number, FrontStream *ret) {
        const pid_t parent = getpid();
        const bool reads = number == 0;
        int ends[2];

        *ret = (FrontStream){.number = number, .fd = number, .pidfd = -1};
        if (!front_stream_is_served(number))
                return 0;
        if (pipe2(ends, O_CLOEXEC) < 0)
                return -errno;
        ret->pid = fork();
        if (ret->pid == 0)
                front_stream_copy(reads ? number : ends[0], reads ? ends[1] : number, reads ? parent : 0);
        close(ends[reads ? 1 : 0]);
        ret->fd = ends[reads ? 0 : 1];
        ret->pidfd = ret->pid < 0 ? -1 : (int)syscall(SYS_pidfd_open, ret->pid, 0);
        return ret->pidfd < 0 ? -errno : 0;
}

void front_stream_handed(FrontStream *s) {
        if (s->pid > 0)
                closep(&s->fd);
}

void front_stream_say(FrontStream *s) {
        char path[64];
        FILE *f;
        int fd;

        if (s->pid <= 0)
                return;
        snprintf(path, sizeof(path), "/proc/self/fd/%d", s->fd);
        fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC); /* where nothing is taken any more, nothing is said */
        f = fd >= 0 ? fdopen(fd, "w") : NULL;
        if (!f)
                return;
        setvbuf(f, NULL, _IONBF, 0);
        stderr = f; /* nothing is written to the other one, and it is not closed, which may wait too */
        front_says = true;
}

bool front_stream_end(FrontStream *s, uint64_t usec) {
        struct pollfd p = {.fd = s->pidfd, .events = POLLIN};
        int status = 0;
        bool done;

        if (s->pid <= 0)
                return true;
        closep(&s->fd);
        if (s->number == STDERR_FILENO && front_says) { /* from here on nobody hears us */
                fclose(stderr);
                stderr = fopen("/dev/null", "we");
                front_says = false;
        }
        done = poll(&p, 1, (int)(usec / 1000)) > 0 && waitpid(s->pid, &status, 0) == s->pid && status == 0;
        if (!done)
                kill(s->pid, SIGKILL);
        closep(&s->pidfd);
        return done;
}
