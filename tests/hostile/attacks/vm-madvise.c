// process_madvise and move_pages act on another process's memory: argv[1] is its pid, argv[2] an address.
#include "attack.h"

#include <sys/uio.h>

int main(int argc, char **argv) {
        pid_t pid = atoi(arg(argc, argv, 1));
        int fd = (int)syscall(SYS_pidfd_open, pid, 0);
        if (syscall(SYS_move_pages, pid, 1UL, (void *[]){(void *)0x10000}, NULL, (int[]){0}, 0) == 0)
                escaped("looked at the pages of %d", pid);
        struct iovec v = {(void *)(strtoull(arg(argc, argv, 2), NULL, 16) & ~4095ULL), 4096};
        if (fd < 0 || syscall(SYS_process_madvise, fd, &v, 1UL, MADV_COLD, 0U) < 0)
                contained("process_madvise %d", pid);
        escaped("moved memory of %d", pid);
}
