// while a listen is judged, its descriptor becomes another socket: of the Internet, at a port of the host's.
#include "attack.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>

static int file, internet, fd;

static void *flip(void *p) {
        for (;;) {
                dup2(file, fd);
                dup2(internet, fd);
        }
        return p;
}

int main(void) {
        struct sockaddr_un a = {.sun_family = AF_UNIX};
        pthread_t t;
        snprintf(a.sun_path, sizeof a.sun_path, "./listen-%d", getpid());
        file = socket(AF_UNIX, SOCK_STREAM, 0);
        internet = socket(AF_INET, SOCK_STREAM, 0); // a listen without an address takes one
        fd = dup(file);
        if (file < 0 || internet < 0 || bind(file, (struct sockaddr *)&a, sizeof a) < 0)
                contained("a socket of each kind");
        if (pthread_create(&t, NULL, flip, NULL) != 0)
                contained("pthread_create");
        int n = 0, i = 0;
        for (double until = now_sec(CLOCK_MONOTONIC) + 1; i < 200 || now_sec(CLOCK_MONOTONIC) < until; i++) {
                int listens = 0;
                n += listen(fd, 8) == 0;
                if (getsockopt(internet, SOL_SOCKET, SO_ACCEPTCONN, &listens, &(socklen_t){sizeof listens}) == 0 && listens)
                        escaped("a port of the host's");
        }
        unlink(a.sun_path);
        contained("%d of %d listens, all at its own file", n, i);
}
