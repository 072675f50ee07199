// The path of a connect to a socket of its own is swapped, while it is judged, for the socket of a host's service (argv[1]): the bytes in memory, the
// link that the path leads through (in argv[2], which can be written), the name itself, and the descriptor. Who answered is asked of the socket.
#include "attack.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>

static struct sockaddr_un to_whom, own, host, target, linked, named;
static char other[108], spare[108], named_own[108];
static int ours, fd;

static void *flip(void *p) {
        for (unsigned i = 0;; i++) {
                memcpy(&target, i % 2 ? &own : &host, sizeof target);
                syscall(SYS_renameat2, AT_FDCWD, linked.sun_path, AT_FDCWD, other, 2); // RENAME_EXCHANGE: two links
                syscall(SYS_renameat2, AT_FDCWD, named.sun_path, AT_FDCWD, spare, 2);  // a socket and a link
                dup2(ours, fd);
        }
        return p;
}

// The listener is this process, or a service outside: its name is the one that it was bound to.
static void judge(int s, const char *how) {
        struct sockaddr_un peer = {0};
        socklen_t n = sizeof peer;
        if (getpeername(s, (struct sockaddr *)&peer, &n) == 0 && strcmp(peer.sun_path, own.sun_path) != 0 && strcmp(peer.sun_path, named_own) != 0)
                escaped("%s: connected to another's socket", how);
}

static int listening(struct sockaddr_un *a) {
        int s = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
        unlink(a->sun_path);
        if (s < 0 || bind(s, (struct sockaddr *)a, sizeof *a) < 0 || listen(s, 4096) < 0)
                contained("a socket of its own");
        return s;
}

int main(int argc, char **argv) {
        const char *out = arg(argc, argv, 2);
        pthread_t t;
        own.sun_family = host.sun_family = linked.sun_family = named.sun_family = AF_UNIX;
        snprintf(host.sun_path, sizeof host.sun_path, "%s", arg(argc, argv, 1));
        snprintf(own.sun_path, sizeof own.sun_path, "%s/own-%d", out, getpid());
        snprintf(named.sun_path, sizeof named.sun_path, "%s/named-%d", out, getpid());
        memcpy(named_own, named.sun_path, sizeof named_own);
        snprintf(spare, sizeof spare, "%s/spare-%d", out, getpid());
        snprintf(linked.sun_path, sizeof linked.sun_path, "%s/link-%d", out, getpid());
        snprintf(other, sizeof other, "%s/other-%d", out, getpid());
        int a = listening(&own), b = listening(&named), n = 0, i = 0;
        if (symlink(own.sun_path, linked.sun_path) < 0 || symlink(host.sun_path, other) < 0 || symlink(host.sun_path, spare) < 0)
                contained("symlink");
        fd = socket(AF_UNIX, SOCK_STREAM, 0);
        ours = socket(AF_INET, SOCK_STREAM, 0);
        if (pthread_create(&t, NULL, flip, NULL) != 0)
                contained("pthread_create");
        for (double until = now_sec(CLOCK_MONOTONIC) + 3; i < 100 || (i < 1500 && now_sec(CLOCK_MONOTONIC) < until); i++) {
                struct sockaddr_un *const to[] = {&target, &linked, &named};
                for (int k = 0; k < 3; k++) {
                        int s = socket(AF_UNIX, SOCK_STREAM, 0);
                        if (s >= 0 && connect(s, (struct sockaddr *)to[k], sizeof *to[k]) == 0) {
                                judge(s, k == 0 ? "memory" : k == 1 ? "link" : "name");
                                n++;
                        }
                        close(s);
                }
                int s = socket(AF_UNIX, SOCK_STREAM, 0);
                dup2(s, fd);
                if (connect(fd, (struct sockaddr *)&target, sizeof target) == 0 &&
                    getpeername(s, (struct sockaddr *)&to_whom, &(socklen_t){sizeof to_whom}) == 0)
                        judge(s, "descriptor"); // not fd, which may be the other socket by now
                close(s);
                for (int k = 0; k < 2; k++) // queues of closed clients count as full
                        while ((s = accept(k ? a : b, NULL, NULL)) >= 0)
                                close(s);
        }
        contained("%d of %d connects, all to sockets of its own", n, 3 * i);
}
