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

static void on_signal(int signal) {
}

/* Only the kernel touches what is new: a system call, until no more is given; then it is to write signals' frames where no page is. */
static void memory_by_the_kernel(void) {
        size_t n = 256UL << 20, at = 0;
        char *m = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        struct sigaction act = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
        int fd = open("/dev/zero", O_RDONLY);

        sigaction(SIGUSR1, &act, NULL);
        for (int refused = 0; at < n && refused < 20;) {
                ssize_t k = read(fd, m + at, n - at);

                refused += k <= 0;
                at += k > 0 ? (size_t)k : 0;
        }
        for (size_t end = n; end > n - (64 << 20); end -= 256 << 10) {
                stack_t stack = {.ss_sp = m + end - (256 << 10), .ss_size = 256 << 10};

                if (sigaltstack(&stack, NULL) == 0)
                        raise(SIGUSR1);
        }
}

/* The kernel refuses the page in the middle of a system call, and the program never touches another one. */
static void until_refused(int status) {
        int fd = open("/work/f", O_WRONLY | O_CREAT, 0600);

        for (int i = 0; i < 768; i++)
                if (write(fd, block, sizeof(block)) != (ssize_t)sizeof(block)) {
                        unlink("/work/f");
                        _exit(status);
                }
        pause();
}

static void memory_by_a_file(void) {
        until_refused(1);
}

static void gets_along(void) {
        until_refused(0);
}

/* What was read, page by page up to the limit, can be had again, and is given up. */
static void read_and_drop(void) {
        int fd = open("/file", O_RDWR);

        if (fd < 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM) != 0)
                _exit(9);
        while (read(fd, block, sizeof(block)) > 0)
                ;
        sleep(1); /* long enough to be seen as it is */
        if (ftruncate(fd, 0) != 0)
                _exit(8);
}

/* A crash of its own, after files filled what it may use with pages that can be had again: no breach. */
static void crash_after_files(void) {
        int fd = open("/file", O_RDONLY);

        if (fd < 0)
                _exit(9);
        while (read(fd, block, sizeof(block)) > 0)
                ;
#if defined(__x86_64__)
        *(volatile char *)0x8000000000000000 = 1; /* no address at all: the kernel tells none */
#else
        *(volatile char *)NULL = 1;
#endif
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
        pause(); /* until somebody has looked */
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
                {"memory-by-the-kernel", memory_by_the_kernel}, {"crash-after-files", crash_after_files},
                {"memory-by-a-file", memory_by_a_file}, {"gets-along", gets_along}, {"read-and-drop", read_and_drop},
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
