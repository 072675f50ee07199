// A Unix socket by its path: argv[1].
#include "attack.h"

#include <sys/socket.h>
#include <sys/un.h>

int main(int argc, char **argv) {
        struct sockaddr_un a = {.sun_family = AF_UNIX};
        snprintf(a.sun_path, sizeof a.sun_path, "%s", arg(argc, argv, 1));
        int s = socket(AF_UNIX, SOCK_STREAM, 0);
        if (s < 0)
                contained("socket");
        if (connect(s, (struct sockaddr *)&a, sizeof a) < 0)
                contained("connect %s", a.sun_path);
        escaped("connected to %s", a.sun_path);
}
