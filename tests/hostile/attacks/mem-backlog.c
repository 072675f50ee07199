// I-66: argv[1] connections that nobody accepts, full, of which argv[2] clients are "closed" or "open" with nothing sent. argv[3]: milliseconds that they stay. argv[4]: the
// socket's file, else it has an abstract name.
#include "attack.h"

#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

int main(int argc, char **argv) {
        int n = atoi(arg(argc, argv, 1)), listener = socket(AF_UNIX, SOCK_STREAM, 0);
        bool closed = strcmp(arg(argc, argv, 2), "closed") == 0;
        struct sockaddr_un name = {.sun_family = AF_UNIX};
        socklen_t n_name = sizeof name;
        static char b[65536];
        size_t got = 0;

        snprintf(name.sun_path, sizeof name.sun_path, "%s", argc > 4 ? argv[4] : "");
        if (listener < 0 || bind(listener, (struct sockaddr *)&name, argc > 4 ? n_name : offsetof(struct sockaddr_un, sun_path)) < 0 ||
            listen(listener, n) < 0 ||
            getsockname(listener, (struct sockaddr *)&name, &n_name) < 0)
                contained("a listening socket");
        for (int i = 0; i < n; i++) {
                int client = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

                if (client < 0 || connect(client, (struct sockaddr *)&name, n_name) < 0)
                        contained("connection %d", i);
                if (!closed)
                        continue;
                for (ssize_t k; (k = write(client, b, sizeof b)) > 0;)
                        got += (size_t)k;
                close(client);
        }
        sleep_msec(argc > 3 ? atoi(argv[3]) : 0);
        if (!closed)
                contained("%d connections with nothing in them", n);
        escaped("%zu KiB in connections that nobody accepted", got >> 10);
}
