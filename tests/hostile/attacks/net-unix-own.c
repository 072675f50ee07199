// A file that was a socket of its own becomes that of a host's service (argv[1], in the folder argv[2] that can be written): renamed over, linked, and
// with its own socket still listening at the removed file.
#include "attack.h"

#include <sys/socket.h>
#include <sys/un.h>

// The peer's name is the one that it was bound to.
static int reaches(const char *path, const char *own) {
        struct sockaddr_un a = {.sun_family = AF_UNIX}, peer = {0};
        socklen_t n = sizeof peer;
        int s = socket(AF_UNIX, SOCK_STREAM, 0);
        snprintf(a.sun_path, sizeof a.sun_path, "%s", path);
        if (s < 0 || connect(s, (struct sockaddr *)&a, sizeof a) < 0)
                return 0;
        return getpeername(s, (struct sockaddr *)&peer, &n) == 0 && strcmp(peer.sun_path, own) != 0;
}

int main(int argc, char **argv) {
        const char *host = arg(argc, argv, 1), *out = arg(argc, argv, 2);
        struct sockaddr_un a = {.sun_family = AF_UNIX};
        char link_name[108];
        int s = socket(AF_UNIX, SOCK_STREAM, 0);
        snprintf(a.sun_path, sizeof a.sun_path, "%s/own-%d", out, getpid());
        snprintf(link_name, sizeof link_name, "%s/hard-%d", out, getpid());
        if (s < 0 || bind(s, (struct sockaddr *)&a, sizeof a) < 0 || listen(s, 8) < 0)
                contained("a socket of its own");
        const char *how = NULL;
        if (link(host, link_name) == 0 && reaches(link_name, a.sun_path))
                how = "a second name";
        if (!how && rename(link_name, a.sun_path) == 0 && reaches(a.sun_path, a.sun_path))
                how = "the name of its own socket";
        if (!how && chdir(out) == 0 && reaches(a.sun_path + strlen(out) + 1, a.sun_path))
                how = "a relative name";
        if (!how && reaches(host, a.sun_path))
                how = "its name";
        unlink(link_name);
        unlink(a.sun_path);
        if (how)
                escaped("by %s", how);
        contained("no socket but its own");
}
