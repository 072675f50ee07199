// Signals by descriptor: F_SETOWN to another process (argv[1]) and O_ASYNC on a pipe make the kernel send it SIGIO for us. The victim tells
// run.py when it got one.
#include "attack.h"

int main(int argc, char **argv) {
        pid_t pid = atoi(arg(argc, argv, 1));
        int p[2];
        if (pipe(p) < 0)
                contained("pipe");
        if (fcntl(p[0], F_SETOWN, pid) < 0 || fcntl(p[0], F_SETFL, O_ASYNC) < 0 || write(p[1], "x", 1) != 1)
                contained("F_SETOWN %d", pid);
        sleep_msec(100);
        printf("contained, unless the victim says otherwise\n");
        return 1;
}
