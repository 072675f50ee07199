/* Runs: tests. Gives memory back while it runs, in the way that argv[1] names, under a filter that notifies the test of it. Before, the pages
 * that it will give back are put into a pipe: who reads that later sees the bytes of the same physical pages, whatever became of the mapping.
 *
 * 3: the filter, as seccomp instructions. 4: the pipe. 5: words to the test ("listener N", "done", or what went wrong). 6: bytes that say go, the second one
 * when somebody was not held. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096UL
#define SHOWN (16 * PAGE) /* what goes into the pipe */
#define LONG (32UL << 20) /* overwriting it takes so long that somebody else runs meanwhile */

static uint64_t secret(void) {
        volatile uint64_t low = 0x0badcafe;

        return 0x5ec2e7a2UL << 32 | low;
}

static void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *fmt, ...) {
        char line[256];
        va_list ap;
        int n;

        va_start(ap, fmt);
        n = vsnprintf(line, sizeof(line) - 1, fmt, ap);
        va_end(ap);
        line[n++] = '\n';
        if (write(5, line, (size_t)n) != n)
                _exit(9);
}

#define check(condition)                                                                                               \
        do {                                                                                                           \
                if (!(condition)) {                                                                                    \
                        say("line %d: %s (%s)", __LINE__, #condition, strerror(errno));                                \
                        _exit(1);                                                                                      \
                }                                                                                                      \
        } while (0)

static void fill(void *at, size_t n) {
        uint64_t *p = at;

        for (size_t i = 0; i < n / 8; i++)
                p[i] = secret();
}

static size_t intact(const void *at, size_t n) {
        const uint64_t *p = at;
        size_t found = 0;

        for (size_t i = 0; i < n / 8; i++)
                found += p[i] == secret();
        return found == n / 8;
}

static void show(void *at) {
        struct iovec v = {at, SHOWN};

        check(vmsplice(4, &v, 1, 0) == (ssize_t)SHOWN);
}

static void show_file(int fd, off_t at) {
        loff_t from = at;
        size_t left = SHOWN;

        while (left > 0) {
                ssize_t n = splice(fd, &from, 4, NULL, left, 0);

                check(n > 0);
                left -= (size_t)n;
        }
}

static char *area(size_t n, int flags) {
        char *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | flags, -1, 0);

        check(p != MAP_FAILED);
        fill(p, n);
        return p;
}

static int file(const char *name, size_t n) {
        int fd = open(name, O_RDWR | O_CREAT, 0600);
        char *block = area(n, MAP_PRIVATE);

        check(fd >= 0 && write(fd, block, n) == (ssize_t)n);
        explicit_bzero(block, n);
        munmap(block, n);
        show_file(fd, 0);
        return fd;
}

static int file_intact(int fd, size_t n) {
        _Alignas(8) char block[PAGE];

        for (size_t at = 0; at < n; at += PAGE)
                if (pread(fd, block, PAGE, (off_t)at) != (ssize_t)PAGE || !intact(block, PAGE))
                        return 0;
        return 1;
}

static void confine(void) {
        static struct sock_filter code[4096];
        struct sock_fprog program = {.filter = code};
        ssize_t n = read(3, code, sizeof(code));
        long listener;
        char go;

        check(n > 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
        program.len = (unsigned short)((size_t)n / sizeof(*code));
        listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER | 1UL << 5 /* WAIT_KILLABLE_RECV */, &program);
        check(listener >= 0);
        say("listener %ld", listener);
        check(read(6, &go, 1) == 1);
        close((int)listener);
}

static void *nothing(void *arg) {
        pause();
        return arg;
}

/* A child that shares what its parent gives back, and still has it afterwards. */
static void shared_with_child(char *p, size_t n) {
        int to[2], from[2], status;
        char byte = 0;
        pid_t pid;

        check(pipe(to) == 0 && pipe(from) == 0);
        pid = fork();
        if (pid == 0) {
                check(read(to[0], &byte, 1) == 1);
                _exit(intact(p, n) ? 0 : 7);
        }
        check(pid > 0 && munmap(p, n) == 0 && write(to[1], "x", 1) == 1);
        check(waitpid(pid, &status, 0) == pid);
        check(status == 0);
}

static void memory(const char *way) {
        size_t n = SHOWN;
        char *p, *q;

        if (strcmp(way, "large") == 0)
                n = 40UL << 20;
        p = area(2 * n, strncmp(way, "shared", 6) == 0 ? MAP_SHARED : MAP_PRIVATE);
        if (strcmp(way, "brk") == 0) {
                p = sbrk(0);
                p += -(uintptr_t)p & (PAGE - 1);
                check(brk(p + 2 * n) == 0);
                fill(p, 2 * n);
        } else if (strcmp(way, "brk-under") == 0) { /* a copied page of a file: nothing calls it the heap, and a shorter one takes it */
                int fd = open("under", O_RDWR | O_CREAT, 0600);

                p = sbrk(0);
                p += -(uintptr_t)p & (PAGE - 1);
                check(fd >= 0 && ftruncate(fd, (off_t)n) == 0 && brk(p + 2 * n) == 0);
                check(mmap(p + n, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd, 0) == p + n);
                fill(p + n, n);
        }
        q = p + n; /* the second half is what goes */
        show(q);
        if (strcmp(way, "protected") == 0)
                check(mprotect(q, n, PROT_NONE) == 0);
        confine();
        if (strncmp(way, "brk", 3) == 0)
                check(brk(p + 2 * n) == 0); /* as it is: of a region every one was notified */
        if (strcmp(way, "munmap") == 0 || strcmp(way, "large") == 0 || strcmp(way, "protected") == 0)
                check(munmap(q, n) == 0 && intact(p, n));
        else if (strcmp(way, "brk") == 0)
                check(brk(q) == 0 && intact(p, n));
        else if (strcmp(way, "dontneed") == 0)
                check(madvise(q, n, MADV_DONTNEED) == 0 && *q == 0 && q[n - 1] == 0 && intact(p, n));
        else if (strcmp(way, "free") == 0) {
                check(madvise(q, n, MADV_FREE) == 0 && intact(p, n));
                for (size_t i = 0; i < n; i++)
                        check(q[i] == 0); /* nothing that was never there */
        } else if (strcmp(way, "fixed") == 0)
                check(mmap(q, n, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == q && *q == 0 && intact(p, n));
        else if (strcmp(way, "fixed-fails") == 0)
                check(mmap(q, n, PROT_READ, MAP_PRIVATE | MAP_FIXED, 777, 0) == MAP_FAILED && intact(p, 2 * n));
        else if (strcmp(way, "mremap") == 0)
                check(mremap(p, 2 * n, n, 0) == p && intact(p, n));
        else if (strcmp(way, "mremap-over") == 0)
                check(mremap(p, n, n, MREMAP_MAYMOVE | MREMAP_FIXED, q) == q && intact(q, n));
        else if (strcmp(way, "brk-under") == 0)
                check(brk(p) == 0);
        else if (strcmp(way, "mremap-second") == 0) { /* of shared memory, where the secret was */
                char *other = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | MAP_SHARED, -1, 0);

                check(other != MAP_FAILED && mremap(other, 0, n, MREMAP_MAYMOVE | MREMAP_FIXED, q) == q && *q == 0 && intact(p, n));
        } else if (strcmp(way, "droppable") == 0) {
                check(mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | 8, -1, 0) == MAP_FAILED && errno == EINVAL);
        } else if (strcmp(way, "fixed-wrong") == 0) {
                check(mmap(q, n, PROT_READ, MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED);
                check(mmap(q, n, PROT_READ, MAP_ANONYMOUS | MAP_PRIVATE | MAP_FIXED | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED && intact(p, 2 * n));
        } else if (strcmp(way, "unaligned") == 0)
                check(munmap(q + 1, n) < 0 && intact(p, 2 * n));
        else if (strcmp(way, "shared") == 0)
                check(munmap(p, 2 * n) == 0);
        else if (strcmp(way, "shared-part") == 0) /* the other half is the same object: it keeps the pages, for nobody */
                check(munmap(q, n) == 0 && intact(p, n));
        else if (strcmp(way, "shared-halves") == 0)
                check(munmap(q, n) == 0 && munmap(p, n) == 0);
        else if (strcmp(way, "shared-unseen") == 0) /* no entry of the process's leads to the pages any more */
                check(madvise(p, 2 * n, MADV_DONTNEED) == 0 && munmap(p, 2 * n) == 0);
        else if (strcmp(way, "shared-advice") == 0)
                check(madvise(p, 2 * n, MADV_DONTNEED) == 0 && intact(p, 2 * n));
        else if (strcmp(way, "shared-remove") == 0)
                check(madvise(q, n, MADV_REMOVE) == 0 && *q == 0 && intact(p, n));
        else if (strcmp(way, "shared-fork") == 0 || strcmp(way, "fork") == 0)
                shared_with_child(p, 2 * n);
        else
                check(!"a way");
}

static void threaded(void) {
        char *p = area(SHOWN, MAP_PRIVATE);
        pthread_t t[2];

        show(p);
        confine();
        check(pthread_create(&t[0], NULL, nothing, NULL) == 0 && pthread_create(&t[1], NULL, nothing, NULL) == 0);
        check(munmap(p, SHOWN) == 0);
}

/* Writes the secret there without end, in the kernel: where nothing is mapped any more, that fails. */
static void *writes(void *at) {
        int fd = open("again", O_RDWR | O_CREAT | O_EXCL, 0600);
        char *block = area(SHOWN, MAP_PRIVATE);

        check(fd >= 0 && write(fd, block, SHOWN) == (ssize_t)SHOWN);
        for (;;)
                if (pread(fd, at, SHOWN, 0) < 0)
                        sched_yield();
        return NULL;
}

/* The one who gives back is a process of one thread; its parent has another one. */
static void written_by_thread(bool by_child) {
        char *p = area(LONG, MAP_PRIVATE);
        pthread_t t;
        int status;
        pid_t pid;

        show(p);
        confine();
        check(pthread_create(&t, NULL, writes, p) == 0 && usleep(20000) == 0);
        if (!by_child) {
                check(munmap(p, LONG) == 0);
                return;
        }
        pid = vfork();
        if (pid == 0)
                _exit(munmap(p, LONG) == 0 ? 0 : 7);
        check(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
}

static void vforked(void) {
        char *p = area(SHOWN, MAP_PRIVATE);
        int status = 0;
        pid_t pid;

        show(p);
        confine();
        pid = vfork();
        if (pid == 0) {
                execl("/bin/true", "true", NULL);
                _exit(7);
        }
        check(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0 && intact(p, SHOWN));
}

static void image(const char *way, char **argv) {
        char *p = area(SHOWN, MAP_PRIVATE), *const after[] = {argv[0], "after", "one two", NULL}, *const env[] = {"PLAIN=word", NULL};

        show(p);
        confine();
        if (strcmp(way, "exec-fails") == 0) {
                check(execve("/no/such/program", after, env) < 0 && execve("/etc/passwd", after, env) < 0 && execve("/", after, env) < 0);
                check(intact(p, SHOWN));
        } else
                check(execve(argv[0], after, env) == 0);
}

/* The pages that a private mapping copied go with those of the file. */
static void copies(void) {
        int fd = open("copied", O_RDWR | O_CREAT, 0600);
        char *p;

        check(fd >= 0 && ftruncate(fd, 2 * SHOWN) == 0);
        p = mmap(NULL, 2 * SHOWN, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
        check(p != MAP_FAILED);
        fill(p, 2 * SHOWN);
        show(p + SHOWN);
        confine();
        check(ftruncate(fd, SHOWN) == 0 && intact(p, SHOWN));
}

static void files(const char *way) {
        int fd = file("secret", 2 * SHOWN), other, status;
        char *p, go;

        pid_t pid = 0;

        if (strcmp(way, "unlink") == 0 || strcmp(way, "read-only") == 0 || strcmp(way, "two-names") == 0 || strcmp(way, "other-name") == 0 || strcmp(way, "rename") == 0)
                close(fd);
        if (strcmp(way, "read-only") == 0)
                check(chmod("secret", 0400) == 0);
        if (strcmp(way, "other-name") == 0 || strcmp(way, "two-names") == 0)
                check(link("secret", "second") == 0);
        if (strcmp(way, "rename") == 0)
                close(open("first", O_RDWR | O_CREAT, 0600));
        confine();
        if (strcmp(way, "unlink") == 0 || strcmp(way, "read-only") == 0)
                check(unlink("secret") == 0);
        else if (strcmp(way, "dotdot") == 0) { /* by name alone it is the wrong folder */
                check(mkdir("folder", 0700) == 0 && mkdir("folder/sub", 0700) == 0 && symlink("folder/sub", "link") == 0);
                check(rename("secret", "folder/secret") == 0 && close(fd) == 0 && unlink("link/../secret") == 0);
        } else if (strcmp(way, "deep") == 0) { /* where no path leads */
                char name[201] = "";

                memset(name, 'd', sizeof(name) - 1);
                other = open(".", O_PATH);
                for (int i = 0; i < 25; i++)
                        check(mkdir(name, 0700) == 0 && chdir(name) == 0);
                check(renameat(other, "secret", AT_FDCWD, "secret") == 0 && close(fd) == 0 && unlink("secret") == 0);
        } else if (strcmp(way, "unlink-open") == 0)
                check(unlink("secret") == 0 && usleep(20000) == 0 && file_intact(fd, 2 * SHOWN) && close(fd) == 0);
        else if (strcmp(way, "unlink-mapped") == 0) {
                p = mmap(NULL, 2 * SHOWN, PROT_READ, MAP_SHARED, fd, 0);
                check(p != MAP_FAILED && close(fd) == 0 && unlinkat(AT_FDCWD, "secret", 0) == 0);
                check(usleep(20000) == 0 && intact(p, 2 * SHOWN) && munmap(p, 2 * SHOWN) == 0);
        } else if (strcmp(way, "other-name") == 0) {
                check(unlink("secret") == 0 && usleep(20000) == 0);
                fd = open("second", O_RDONLY);
                check(fd >= 0 && file_intact(fd, 2 * SHOWN));
        } else if (strcmp(way, "rename") == 0)
                check(rename("first", "secret") == 0);
        else if (strcmp(way, "truncate") == 0)
                check(truncate("secret", 0) == 0);
        else if (strcmp(way, "ftruncate") == 0)
                check(ftruncate(fd, 0) == 0 && ftruncate(fd, 4096) == 0 && !file_intact(fd, PAGE));
        else if (strcmp(way, "ftruncate-part") == 0) {
                struct stat st;

                check(ftruncate(fd, SHOWN + 100) == 0 && file_intact(fd, SHOWN) && fstat(fd, &st) == 0 && st.st_size == SHOWN + 100);
        } else if (strcmp(way, "hole") == 0)
                check(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, SHOWN) == 0 && !file_intact(fd, PAGE) &&
                      lseek(fd, 0, SEEK_END) == 2 * SHOWN);
        else if (strcmp(way, "open") == 0) {
                other = open("secret", O_WRONLY | O_CREAT | O_TRUNC, 0600);
                check(other >= 0 && lseek(fd, 0, SEEK_END) == 0);
        } else if (strcmp(way, "tail") == 0) {
                check(ftruncate(fd, SHOWN - 8) == 0);
                p = mmap(NULL, SHOWN, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
                check(p != MAP_FAILED);
                fill(p + SHOWN - 8, 8); /* beyond the end of the file, but in its last page */
                check(munmap(p, SHOWN) == 0 && ftruncate(fd, 0) == 0);
        } else if (strcmp(way, "race") == 0) { /* somebody writes while it is cut off, to what the next cut takes */
                check(fallocate(fd, 0, 0, LONG) == 0);
                p = mmap(NULL, SHOWN, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
                check(p != MAP_FAILED);
                pid = fork();
                if (pid == 0)
                        prctl(PR_SET_PDEATHSIG, SIGKILL);
                while (pid == 0)
                        fill(p, SHOWN);
                check(pid > 0 && usleep(20000) == 0 && ftruncate(fd, 0) == 0);
        } else if (strcmp(way, "two-names") == 0) {
                pid = fork();
                if (pid == 0)
                        _exit(unlink("second") == 0 ? 0 : 7);
                check(pid > 0 && unlink("secret") == 0 && waitpid(pid, &status, 0) == pid && status == 0);
        } else if (strcmp(way, "remove") == 0) {
                p = mmap(NULL, 2 * SHOWN, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
                check(p != MAP_FAILED && madvise(p, SHOWN, MADV_REMOVE) < 0 && errno == EOPNOTSUPP && intact(p, 2 * SHOWN));
        } else if (strcmp(way, "fifo") == 0) { /* it waits in the call until its parent opens the other end */
                check(mkfifo("fifo", 0600) == 0);
                pid = fork();
                if (pid == 0)
                        _exit(open("fifo", O_WRONLY | O_CREAT | O_TRUNC, 0600) >= 0 ? 0 : 7);
                check(pid > 0 && read(6, &go, 1) == 1 && (other = open("fifo", O_RDONLY)) >= 0);
                check(waitpid(pid, &status, 0) == pid && status == 0);
        } else if (strcmp(way, "unnamed") == 0)
                check(open(".", O_RDWR | O_TMPFILE, 0600) < 0 && errno == EOPNOTSUPP && file_intact(fd, 2 * SHOWN));
        else
                check(!"a way");
}

int main(int argc, char **argv) {
        const char *way = argv[1];
        char end;

        if (strcmp(way, "after") == 0)
                check(argc == 3 && strcmp(argv[2], "one two") == 0 && strcmp(getenv("PLAIN"), "word") == 0);
        else if (strncmp(way, "file-", 5) == 0)
                files(way + 5);
        else if (strncmp(way, "exec", 4) == 0)
                image(way, argv);
        else if (strcmp(way, "threads") == 0)
                threaded();
        else if (strcmp(way, "threads-write") == 0 || strcmp(way, "vfork-free") == 0)
                written_by_thread(*way == 'v');
        else if (strcmp(way, "copies") == 0)
                copies();
        else if (strcmp(way, "vfork") == 0)
                vforked();
        else
                memory(way);
        say("done");
        return read(6, &end, 1) < 0;
}
