// connector ADDRESS PORT: many threads connect again and again, while another one makes their sockets blocking as often as it can.
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { THREADS = 24 };

static struct sockaddr_in address = {.sin_family = AF_INET};
static int sockets[THREADS];

static void *make_blocking(void *arg) {
        for (unsigned i = 0;; i++) {
                int s = __atomic_load_n(&sockets[i % THREADS], __ATOMIC_ACQUIRE);

                if (s > 0)
                        fcntl(s, F_SETFL, O_RDWR);
        }
        return arg;
}

static void *connect_all(void *arg) {
        int *mine = arg;

        for (;;) {
                int s = socket(AF_INET, SOCK_STREAM, 0);

                if (s < 0)
                        return NULL;
                __atomic_store_n(mine, s, __ATOMIC_RELEASE);
                usleep(1000);
                connect(s, (const struct sockaddr *)&address, sizeof(address));
                __atomic_store_n(mine, 0, __ATOMIC_RELEASE);
                close(s);
        }
}

int main(int argc, char **argv) {
        pthread_attr_t small;
        pthread_t t;

        /* A stack of the usual size each would be beyond the region's memory budget, where stacks count as soon as they are made. */
        if (pthread_attr_init(&small) != 0 || pthread_attr_setstacksize(&small, 64 << 10) != 0)
                return 1;
        if (argc != 3 || inet_pton(AF_INET, argv[1], &address.sin_addr) != 1 || pthread_create(&t, &small, make_blocking, NULL) != 0)
                return 1;
        address.sin_port = htons((unsigned short)atoi(argv[2]));
        for (int i = 0; i < THREADS; i++)
                if (pthread_create(&t, &small, connect_all, &sockets[i]) != 0)
                        return 1;
        pause();
}
