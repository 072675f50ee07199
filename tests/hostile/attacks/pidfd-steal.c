// pidfd_getfd takes a descriptor out of another process: argv[1] pid, argv[2] descriptor.
#include "attack.h"

int main(int argc, char **argv) {
        pid_t pid = atoi(arg(argc, argv, 1));
        int p = (int)syscall(SYS_pidfd_open, pid, 0);
        if (p < 0)
                contained("pidfd_open %d", pid);
        int fd = (int)syscall(SYS_pidfd_getfd, p, atoi(arg(argc, argv, 2)), 0);
        if (fd < 0)
                contained("pidfd_getfd");
        escaped("took a descriptor of %d", pid);
}
