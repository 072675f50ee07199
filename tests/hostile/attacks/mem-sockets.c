// I-24: the same in socket buffers: descriptors in flight and datagrams, argv[1] MiB.
#include "attack.h"

#include <sys/socket.h>

int main(int argc, char **argv) {
        size_t mib = (size_t)atoi(arg(argc, argv, 1)), got = 0;
        static char b[65536];
        for (size_t i = 0; i < 2000 && got < mib << 20; i++) {
                int s[2], size = 8 << 20;
                if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, s) < 0)
                        contained("socketpair after %zu KiB", got >> 10);
                for (int k = 0; k < 2; k++) {
                        setsockopt(s[k], SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
                        for (ssize_t n; (n = write(s[k], b, sizeof b)) > 0;)
                                got += (size_t)n;
                }
        }
        while (argc > 2)
                pause();
        if (got < mib << 20)
                contained("%zu KiB in sockets", got >> 10);
        escaped("%zu MiB in sockets", got >> 20);
}
