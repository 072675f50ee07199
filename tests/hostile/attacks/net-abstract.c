// An abstract Unix socket of the host needs no path: argv[1] is its name (X11, the bus of a desktop, containerd-shim).
#include "attack.h"

#include <sys/socket.h>
#include <sys/un.h>

int main(int argc, char **argv) {
        const char *name = arg(argc, argv, 1);
        struct sockaddr_un a = {.sun_family = AF_UNIX};
        memcpy(a.sun_path + 1, name, strlen(name));
        int s = socket(AF_UNIX, SOCK_STREAM, 0);
        if (s < 0)
                contained("socket");
        if (connect(s, (struct sockaddr *)&a, (socklen_t)(sizeof(sa_family_t) + 1 + strlen(name))) < 0)
                contained("connect @%s", name);
        escaped("connected to @%s", name);
}
