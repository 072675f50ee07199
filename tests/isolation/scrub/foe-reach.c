/* Memory and files that are out of the reach of who looks through descriptors and mappings: more of them than anybody keeps, behind more messages than
 * anybody reads, marked so that they cannot be changed, or held by who made a lock for the region. */
#include "foe.h"
#include "tests/support/hidden.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define SEAL 462 /* mseal */

static int reach_deleted(size_t bytes) {
        static char *p, name[32];
        int fd;

        p = p ? p : planted(MB);
        snprintf(name, sizeof(name), "t%d", (int)getpid());
        fd = open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
        if (fd < 0 || write(fd, p, bytes) != (ssize_t)bytes || unlink(name) < 0)
                syscall(SYS_exit_group, 95);
        return fd;
}

static void reach_send(int through, int fd) {
        if (hidden_send(through, fd, 0) < 0)
                syscall(SYS_exit_group, 97);
        close(fd);
}

static void reach_pair(int s[2], int type) {
        if (socketpair(AF_UNIX, type, 0, s) < 0)
                syscall(SYS_exit_group, 98);
}

/* The last of n sockets, of which each has a descriptor on its way. */
void way_sockets(int n) {
        for (int i = 0; i < n; i++) {
                int s[2];

                reach_pair(s, SOCK_STREAM);
                reach_send(s[0], i == n - 1 ? reach_deleted(MB) : open("/dev/null", O_RDONLY));
                close(s[0]);
        }
}

/* Behind n messages, which are empty or have a byte. */
static void reach_behind(int n, size_t bytes) {
        int s[2], size = 4 << 20;

        reach_pair(s, SOCK_SEQPACKET);
        setsockopt(s[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
        for (int i = 0; i < n; i++)
                if (send(s[0], "x", bytes, MSG_DONTWAIT) < 0)
                        syscall(SYS_exit_group, 99);
        reach_send(s[0], reach_deleted(MB));
}

void way_behind(int n) {
        reach_behind(n, 1);
}

void way_behind_empty(int n) {
        reach_behind(n, 0);
}

/* More deleted files than a guard has descriptors. */
void way_many_deleted(int n) {
        int ready[2];
        char byte;

        if (pipe(ready) < 0)
                _exit(93);
        for (int i = 0; i < n; i++) {
                if (fork() == 0) {
                        for (int k = 0; k < 200; k++)
                                reach_deleted(PAGE);
                        if (write(ready[1], "x", 1) == 1)
                                for (;;)
                                        pause();
                }
        }
        for (int i = 0; i < n; i++)
                if (read(ready[0], &byte, 1) != 1)
                        _exit(93);
        wait_for_end();
}

/* A lock of a file is made by who watches over the region, on a description of its own: the file is deleted and closed meanwhile. */
void way_locked(int n) {
        struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        int fd = reach_deleted(MB), r;

        if (n != 1)
                r = fcntl(fd, F_SETLK, &l);
        else
                r = fcntl(fd, 37 /* F_OFD_SETLK */, &l);
        if (r < 0)
                _exit(92);
        close(fd);
        if (n == 2)
                wait_for_end();
}

/* A descriptor that is a path only, of a file without a name. n: it lies in a socket. */
void way_path_only(int n) {
        int fd, only, s[2];

        fd = open("p", O_RDWR | O_CREAT | O_EXCL, 0600);
        if (fd < 0 || write(fd, planted(MB), MB) != (ssize_t)MB)
                _exit(95);
        only = open("p", O_PATH);
        if (only < 0 || unlink("p") < 0)
                _exit(95);
        close(fd);
        if (n) {
                reach_pair(s, SOCK_STREAM);
                reach_send(s[0], only);
        }
}

/* Mappings that nobody may change any more. */
void way_sealed(int n) {
        char *p = planted(MB), *q = planted(MB);

        mprotect(p, MB, PROT_READ);
        mprotect(q, MB, PROT_NONE);
        if (syscall(SEAL, p, MB, 0) < 0 && errno != ENOSYS)
                _exit(92);
        syscall(SEAL, q, MB, 0);
}

/* An object of shared memory by a second mapping that the kernel made of the first, which is gone. */
void way_doubled(int n) {
        char *p = shared(MB), *q = mremap(p, 0, MB, MREMAP_MAYMOVE);

        if (q == MAP_FAILED)
                _exit(92);
        munmap(p, MB);
        if (n) {
                char *r = mremap(q, MB, MB, MREMAP_MAYMOVE | 4 /* MREMAP_DONTUNMAP */);
                if (r != MAP_FAILED)
                        munmap(r, MB);
        }
}

/* A page of a deleted file, read only and private. */
void way_private_page(int n) {
        int fd = reach_deleted(MB);
        volatile char *p = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);

        if (p == MAP_FAILED)
                _exit(95);
        close(fd);
        (void)*p;
        wait_for_end();
}

/* n objects of shared memory, of each of which one page is mapped. */
void way_pages(int n) {
        for (int i = 0; i < n; i++) {
                char *p = shared(16 * PAGE);

                munmap(p + PAGE, 15 * PAGE);
        }
        wait_for_end();
}

/* Marks without a page, amid pages. */
void way_marks(int n) {
        char *p = planted(MB);

        for (size_t i = 0; i < MB; i += 2 * PAGE)
                madvise(p + i, PAGE, 102);
        madvise(p, MB, MADV_DONTFORK);
        madvise(p, MB, 18 /* MADV_WIPEONFORK */);
        madvise(p, MB, MADV_FREE);
}

/* Shared memory: half of each window of a fault was never touched, the other half has secrets, and no fault maps what is behind guard pages. */
void way_guarded(int n) {
        char *p = mmap(NULL, MB + 16 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

        if (p == MAP_FAILED)
                _exit(90);
        p += 16 * PAGE - (uintptr_t)p % (16 * PAGE); /* a window begins here */
        for (size_t i = 0; i < MB; i += 16 * PAGE) {
                plant(p + i + 8 * PAGE, 8 * PAGE);
                madvise(p + i + 8 * PAGE, 8 * PAGE, 102);
        }
}

/* Two processes have a megabyte in common and give it back at one moment, forty times: by munmap, madvise, the end or execve of the one of them. */
void way_together(int how) {
        volatile int *step = (int *)shared(PAGE);

        for (int i = 0; i < 40; i++) {
                char *p = how == 4 ? shared(MB) : planted(MB);
                pid_t child;

                step[0] = step[1] = 0;
                child = fork();
                if (child == 0) {
                        step[0] = 1;
                        while (!step[1])
                                ;
                        if (how == 3)
                                execl("/bin/true", "true", (char *)NULL);
                        if (how == 1)
                                madvise(p, MB, MADV_DONTNEED);
                        else if (how != 2)
                                munmap(p, MB);
                        _exit(0);
                }
                while (!step[0])
                        ;
                step[1] = 1;
                if (how == 1)
                        madvise(p, MB, MADV_DONTNEED);
                munmap(p, MB);
                if (child < 0 || waitpid(child, NULL, 0) != child)
                        _exit(97);
        }
}
