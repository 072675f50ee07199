/* Threads that end while their process does, or that execute something while they are killed. */
#include "foe.h"

#include <fcntl.h>
#include <pthread.h>

static void *ends(void *arg) {
        spin((unsigned)(uintptr_t)arg % 2000);
        syscall(SYS_exit, 0);
        return NULL;
}

void way_threads(int n) {
        for (int i = 0; i < n; i++) {
                pid_t pid = fork();

                if (pid == 0) {
                        pthread_t t;

                        planted(64 * PAGE);
                        for (int k = 0; k < 6; k++)
                                pthread_create(&t, NULL, ends, (void *)(uintptr_t)(unsigned)(i * 7919 + k * 331));
                        spin((unsigned)(i * 104729) % 20000);
                        syscall(SYS_exit_group, 0);
                }
                waitpid(pid, NULL, 0);
        }
}

static void *executes(void *arg) {
        usleep(50);
        execl(self, self, "wait", NULL);
        return NULL;
}

void way_thread_exec(int n) {
        for (int i = 0; i < n; i++) {
                pid_t pid = fork();

                if (pid == 0) {
                        pthread_t t;

                        planted(16 * PAGE);
                        pthread_create(&t, NULL, executes, NULL);
                        for (;;)
                                pause();
                }
                usleep((unsigned)i * 7 % 700);
                kill(pid, SIGKILL);
                waitpid(pid, NULL, 0);
        }
}

static volatile int opened;

static int opens(void *arg) {
        char *p = planted(MB);
        int fd = open("t", O_RDWR | O_CREAT, 0600);

        if (fd < 0 || write(fd, p, MB) != (ssize_t)MB || unlink("t") < 0)
                syscall(SYS_exit_group, 95);
        opened = 1;
        for (;;)
                pause();
        return 0;
}

/* A thread with a table of descriptors of its own. */
void way_thread_file(int n) {
        char *stack = malloc(65536);

        if (!stack || clone(opens, stack + 65536, CLONE_VM | CLONE_THREAD | CLONE_SIGHAND | CLONE_FS, NULL) < 0)
                _exit(96);
        while (!opened)
                usleep(100);
}
