/* Runs: tests, in a region. Breaks one budget, as its argument says, and tries to look as if it had not: nothing of it is reported by
 * the program itself, and where a call fails it goes on and exits 0. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static char block[65536];

static void touch(volatile char *m, size_t n) {
        for (size_t i = 0; i < n; i += 4096)
                m[i] = 1;
}

static void memory_at_once(void) {
        size_t n = 512UL << 20;
        char *m = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (m != MAP_FAILED)
                touch(m, n);
}

static void memory_in_small_pieces(void) {
        for (;;) {
                char *m = malloc(16000);

                if (!m)
                        return;
                touch(m, 16000);
        }
}

/* No process is large, all together are. */
static void memory_of_many(void) {
        for (int i = 0; i < 20; i++)
                if (fork() == 0) {
                        char *m = malloc(6 << 20);

                        if (m)
                                touch(m, 6 << 20);
                        pause();
                        _exit(0);
                }
        pause();
}

static void memory_shared(void) {
        size_t n = 256UL << 20;
        char *m = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

        if (m != MAP_FAILED)
                touch(m, n);
        pause();
}

static void burn(void) {
        for (;;)
                ;
}

/* Each child is short and nobody waits for it. */
static void cpu_of_children(void) {
        signal(SIGCHLD, SIG_IGN);
        for (;;) {
                pid_t pid = fork();

                if (pid == 0) {
                        for (volatile int i = 0; i < 100000000; i++)
                                ;
                        _exit(0);
                }
                usleep(50000);
        }
}

static void processes(void) {
        for (int i = 0; i < 200; i++)
                if (fork() == 0) {
                        pause();
                        _exit(0);
                }
}

static void *sleeper(void *arg) {
        pause();
        return NULL;
}

static void threads(void) {
        pthread_attr_t a;
        pthread_t t;

        pthread_attr_init(&a);
        pthread_attr_setstacksize(&a, 65536);
        for (int i = 0; i < 200; i++)
                pthread_create(&t, &a, sleeper, NULL);
}

static void write_much(int fd, size_t n) {
        for (size_t i = 0; i < n; i += sizeof(block))
                if (write(fd, block, sizeof(block)) < 0)
                        return;
}

static void scratch(void) {
        for (int i = 0; i < 200; i++) {
                char name[32];
                int fd;

                snprintf(name, sizeof(name), "/work/f%d", i);
                fd = open(name, O_WRONLY | O_CREAT, 0600);
                write_much(fd, 100000);
                close(fd);
        }
        unlink("/work/f0"); /* so that there is room again */
}

static void file_size(void) {
        int fd;

        signal(SIGXFSZ, SIG_IGN);
        fd = open("/tmp/big", O_WRONLY | O_CREAT, 0600);
        write_much(fd, 8 << 20);
        close(fd);
}

static void file_size_sparse(void) {
        int fd = open("/tmp/big", O_WRONLY | O_CREAT, 0600);

        signal(SIGXFSZ, SIG_IGN);
        lseek(fd, 1 << 20, SEEK_SET);
        for (int i = 0; i < 64 && write(fd, "x", 1) == 1; i++)
                ;
        close(fd);
}

static void open_files(void) {
        for (int i = 0; i < 1000; i++)
                if (open("/dev/null", O_RDONLY) < 0)
                        break;
}

static void duplicates(void) {
        while (dup(0) >= 0)
                ;
        usleep(200000);
}

static void ignore_everything(void) {
        for (int s = 1; s < 65; s++)
                signal(s, SIG_IGN);
        if (fork() == 0)
                setsid();
        for (;;)
                pause();
}

int main(int argc, char **argv) {
        static const struct {
                const char *name;
                void (*fn)(void);
        } ways[] = {
                {"memory-at-once", memory_at_once}, {"memory-in-small-pieces", memory_in_small_pieces},
                {"memory-of-many", memory_of_many}, {"memory-shared", memory_shared},
                {"cpu", burn},                      {"cpu-of-children", cpu_of_children},
                {"processes", processes},           {"threads", threads},
                {"scratch", scratch},               {"file-size", file_size},
                {"file-size-sparse", file_size_sparse}, {"open-files", open_files},
                {"duplicates", duplicates},         {"wall", ignore_everything},
        };

        memset(block, 'x', sizeof(block));
        if (argc == 2 && strcmp(argv[1], "output") == 0)
                write_much(1, 1 << 20);
        for (size_t i = 0; argc == 2 && i < sizeof(ways) / sizeof(ways[0]); i++)
                if (strcmp(argv[1], ways[i].name) == 0)
                        ways[i].fn();
        return 0;
}
