// Joins another process's namespaces (argv[1], a pid of the host; and PID 1, the parent) by /proc and by pidfd.
#include "attack.h"

#include <sched.h>

int main(int argc, char **argv) {
        pid_t pids[] = {atoi(arg(argc, argv, 1)), 1, getppid()};
        static const char *const kinds[] = {"net", "ipc", "uts", "mnt", "user"};
        for (int i = 0; i < 3; i++) {
                int p = (int)syscall(SYS_pidfd_open, pids[i], 0);
                if (p >= 0 && setns(p, CLONE_NEWUTS) == 0)
                        escaped("joined %d by pidfd", pids[i]);
                for (int k = 0; k < 5; k++) {
                        char path[64];
                        snprintf(path, sizeof path, "/proc/%d/ns/%s", pids[i], kinds[k]);
                        int fd = open(path, O_RDONLY);
                        if (fd >= 0 && setns(fd, 0) == 0)
                                escaped("joined %s", path);
                }
        }
        if (setns(0, 0) == 0)
                escaped("setns");
        contained("setns");
}
