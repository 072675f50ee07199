// a name of the host's abstract namespace is taken, and its clients with it: a socket without a file that listens at argv[1].
#include "attack.h"

#include <sys/socket.h>
#include <sys/un.h>

int main(int argc, char **argv) {
        struct sockaddr_un a = {.sun_family = AF_UNIX};
        int n = snprintf(a.sun_path + 1, sizeof a.sun_path - 1, "%s-%d", arg(argc, argv, 1), getpid());
        int s = socket(AF_UNIX, SOCK_STREAM, 0);
        if (s < 0)
                contained("socket");
        if (bind(s, (struct sockaddr *)&a, (socklen_t)(sizeof(sa_family_t) + 1 + (size_t)n)) < 0 || listen(s, 8) < 0)
                contained("listen @%s", a.sun_path + 1);
        escaped("listens at @%s", a.sun_path + 1);
}
