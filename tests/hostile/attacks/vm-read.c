// I-21: process_vm_readv of argv[1] at argv[2].
#include "attack.h"

#include <sys/uio.h>

int main(int argc, char **argv) {
        pid_t pid = atoi(arg(argc, argv, 1));
        char b[sizeof CANARY];
        struct iovec l = {b, sizeof b}, r = {(void *)strtoull(arg(argc, argv, 2), NULL, 16), sizeof b};
        if (process_vm_readv(pid, &l, 1, &r, 1, 0) != sizeof b)
                contained("process_vm_readv %d", pid);
        escaped("%zu bytes of process %d", sizeof b, pid);
}
