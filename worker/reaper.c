/* Tier landlock: no PID namespace ends the rest of the region, so the first process, a child subreaper, does it. An orphan anywhere below
 * becomes its child; when it has no child left, nothing of the region is left. */
#include "worker/worker.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* Kills each direct child. What they leave behind comes to us and is found by the next round. */
static void kill_children(void) {
        char path[64], text[4096];
        long pid = 0;
        ssize_t n;
        int fd;

        snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
        fd = openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC); /* not open(): the filter of init.c knows this call */
        if (fd < 0)
                return;
        while ((n = read(fd, text, sizeof(text))) > 0)
                for (ssize_t i = 0; i < n; i++)
                        if (text[i] >= '0' && text[i] <= '9')
                                pid = pid * 10 + (text[i] - '0');
                        else if (pid > 1) {
                                kill((pid_t)pid, SIGKILL);
                                pid = 0;
                        }
        close(fd);
}

void reap_all(void) {
        do
                kill_children();
        while (waitpid(-1, NULL, 0) > 0 || errno == EINTR);
}
