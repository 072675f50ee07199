/* Runs: tests, in a region of discipline multipass. Races what overwrites its memory while it gives it back, in the way that argv[1] names, for a
 * bounded time, or for ever where there is an argv[3]; argv[2] is = and a folder of the operator, of which nothing may change. Exits 0, or 1 with
 * what it did not expect. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIZE (256UL << 10)
#define ROUNDS 300

#define check(condition)                                                                                               \
        do {                                                                                                           \
                if (!(condition)) {                                                                                    \
                        dprintf(2, "line %d: %s (%s)\n", __LINE__, #condition, strerror(errno));                       \
                        _exit(1);                                                                                      \
                }                                                                                                      \
        } while (0)

static const char *folder;
static int for_ever; /* until somebody ends it */
static volatile int stop;
static char *place; /* where the threads meet */

static char *map(char *at, int flags) {
        char *p = mmap(at, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

        check(p != MAP_FAILED);
        return p;
}

/* Writes there, in the kernel, whether anything is mapped or not. */
static void *writes(void *fd) {
        while (!stop)
                if (pread(*(int *)fd, place, SIZE, 0) < 0)
                        sched_yield();
        return NULL;
}

static void *maps(void *arg) {
        while (!stop) {
                mmap(place, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        }
        return NULL;
}

static void *moves(void *arg) {
        char *other = map(NULL, 0);

        while (!stop) {
                mremap(place, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, other);
                mremap(other, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, place);
        }
        return NULL;
}

/* What the main thread does not share is its own: nobody may have written there. */
static void memory(int remap) {
        char *own = map(NULL, 0);
        pthread_t t[2];
        int fd = open("block", O_RDWR | O_CREAT, 0600);

        memset(own, 0x5a, SIZE);
        check(fd >= 0 && write(fd, own, SIZE) == (ssize_t)SIZE);
        place = map(NULL, 0);
        check(pthread_create(&t[0], NULL, writes, &fd) == 0 && pthread_create(&t[1], NULL, remap ? moves : maps, &fd) == 0);
        for (int i = 0; i < ROUNDS || for_ever; i++) {
                munmap(place, SIZE);
                if (i % 3 == 0)
                        map(place, MAP_FIXED);
                if (i % 3 == 1)
                        madvise(place, SIZE, MADV_DONTNEED);
        }
        stop = 1;
        pthread_join(t[0], NULL);
        pthread_join(t[1], NULL);
        for (size_t i = 0; i < SIZE; i++)
                check(own[i] == 0x5a);
}

/* Processes that share pages by fork give them back at the same time, and make more of them. */
static void forks(void) {
        place = map(NULL, 0);
        memset(place, 0x5a, SIZE);
        for (int i = 0; i < 40; i++) {
                pid_t pid[3];

                for (int k = 0; k < 3; k++) {
                        pid[k] = k == 2 ? vfork() : fork();
                        if (pid[k] == 0) {
                                if (k == 0)
                                        munmap(place, SIZE);
                                _exit(k == 1 && place[SIZE - 1] != 0x5a);
                        }
                        check(pid[k] > 0);
                }
                for (int k = 0; k < 3; k++) {
                        int status;

                        check(waitpid(pid[k], &status, 0) == pid[k] && status == 0);
                }
        }
        for (size_t i = 0; i < SIZE; i++)
                check(place[i] == 0x5a);
}

/* A child that goes on doing f until its parent is gone. */
static void beside(void (*f)(void)) {
        pid_t pid = fork();

        check(pid >= 0);
        if (pid > 0)
                return;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
                f();
}

static void put(const char *name) {
        static char block[SIZE];
        int fd = open(name, O_RDWR | O_CREAT, 0600);

        memset(block, 0x5a, sizeof(block));
        if (fd >= 0 && write(fd, block, sizeof(block)) >= 0)
                close(fd);
}

/* The name leads to the operator's file, or to one of the region. */
static void exchange(void) {
        char target[300];

        snprintf(target, sizeof(target), "%s/kept", folder);
        check(access(target, F_OK) == 0);
        symlink(target, "link");
        rename("link", "name");
        put("file");
        rename("file", "name");
}

static void names(void) {
        beside(exchange);
        for (int i = 0; i < ROUNDS || for_ever; i++) {
                unlink("name");
                put("over");
                rename("over", "name");
        }
}

static void cut_other(void) {
        truncate("shared", 100);
        put("shared");
}

static void cut(void) {
        put("shared");
        beside(cut_other);
        for (int i = 0; i < ROUNDS || for_ever; i++) {
                int fd = open("shared", O_RDWR);

                check(fd >= 0 && ftruncate(fd, 0) == 0);
                close(fd);
        }
}

static char name[32] = "/bin/true", word[4096];

static void *rewrites(void *arg) {
        while (!stop) {
                memset(word, 'a' + (stop + 1) % 20, sizeof(word) - 1);
                strcpy(name, "/bin/trux");
                strcpy(name, "/bin/true");
        }
        return NULL;
}

/* The names and arguments of an execve change while it is judged. Every child ends in one way or another. */
static void executes(void) {
        char *const argv[] = {name, word, NULL}, *const env[] = {word, NULL};

        for (int i = 0; i < 40; i++) {
                pid_t pid = fork();
                int status;

                if (pid == 0) {
                        pthread_t t;

                        check(pthread_create(&t, NULL, rewrites, NULL) == 0);
                        execve(name, argv, env);
                        _exit(0);
                }
                check(pid > 0 && waitpid(pid, &status, 0) == pid);
                check(WIFEXITED(status) ? WEXITSTATUS(status) == 0 : WTERMSIG(status) == SIGKILL);
        }
}

/* Threads that are stopped and continued, and killed, while others give memory back. */
static void stops(void) {
        for (int i = 0; i < 20 || for_ever; i++) {
                pid_t pid = fork();
                int status;

                if (pid == 0) {
                        pthread_t t;
                        int fd = open("block", O_RDWR | O_CREAT, 0600);

                        place = map(NULL, 0);
                        check(pthread_create(&t, NULL, writes, &fd) == 0);
                        for (;;)
                                check(munmap(map(NULL, MAP_POPULATE), SIZE) == 0);
                }
                check(pid > 0);
                for (int k = 0; k < 10; k++) {
                        usleep(1000);
                        check(kill(pid, SIGSTOP) == 0);
                        check(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status));
                        munmap(map(NULL, MAP_POPULATE), SIZE);
                        check(kill(pid, SIGCONT) == 0);
                }
                check(kill(pid, SIGKILL) == 0 && waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
        }
}

static void *opens(void *arg) {
        int fd = open("fifo", O_WRONLY | O_TRUNC);

        check(fd >= 0);
        close(fd);
        return NULL;
}

/* A thread waits for ever in a call that could have given something back, and its process goes on. */
static void waits(void) {
        for (int i = 0; i < 10; i++) {
                pthread_t t;
                int fd;

                unlink("fifo");
                check(mkfifo("fifo", 0600) == 0 && pthread_create(&t, NULL, opens, NULL) == 0);
                for (int k = 0; k < 20; k++)
                        check(munmap(map(NULL, MAP_POPULATE), SIZE) == 0);
                put("shared");
                check(truncate("shared", 10) == 0 && (fd = open("fifo", O_RDONLY)) >= 0 && pthread_join(t, NULL) == 0);
                close(fd);
        }
}

int main(int argc, char **argv) {
        static const struct {
                const char *way;
                void (*f)(void);
        } ways[] = {{"fork", forks}, {"names", names}, {"cut", cut}, {"exec", executes}, {"stop", stops}, {"fifo", waits}};

        check(argc == 3 || argc == 4);
        for_ever = argc == 4;
        folder = argv[2] + 1;
        if (strcmp(argv[1], "munmap") == 0 || strcmp(argv[1], "mremap") == 0) {
                memory(argv[1][1] == 'r');
                return 0;
        }
        for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
                if (strcmp(ways[i].way, argv[1]) == 0) {
                        ways[i].f();
                        return 0;
                }
        check(!"a way");
}
