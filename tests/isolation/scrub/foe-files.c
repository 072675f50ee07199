/* Files that have no name any more, or none that can be reached, and what was put into sockets and pipes and never taken out. */
#include "foe.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

static int filled(const char *name) {
        char *p = planted(MB);
        int fd = open(name, O_RDWR | O_CREAT, 0600);

        if (fd < 0 || write(fd, p, MB) != (ssize_t)MB)
                _exit(95);
        munmap(p, MB);
        return fd;
}

static int deleted(const char *name) {
        int fd = filled(name);

        unlink(name);
        return fd;
}

#define SENT_MAX 253 /* descriptors in one message */

#define LONG 100000  /* bytes: more than anybody looks at at once */

static void send_all(int through, const int *fds, size_t n, size_t bytes) {
        static char data[LONG];
        union {
                struct cmsghdr align;
                char bytes[CMSG_SPACE(sizeof(int) * SENT_MAX)];
        } control = {};
        struct iovec v = {data, bytes};
        struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = CMSG_SPACE(sizeof(int) * n)};
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);

        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int) * n);
        memcpy(CMSG_DATA(c), fds, sizeof(int) * n);
        if (sendmsg(through, &m, 0) != (ssize_t)bytes)
                _exit(96);
        for (size_t i = 0; i < n; i++)
                if (fds[i] > 0)
                        close(fds[i]);
}

/* fd is the last of n in one message; the others are standard input. */
static void send_as_last(int through, int fd, size_t n) {
        int fds[SENT_MAX] = {};

        fds[n - 1] = fd;
        send_all(through, fds, n, 1);
}

static void send_away(int through, int fd) {
        send_as_last(through, fd, 1);
}

static void pair(int type, int s[2]) {
        if (socketpair(AF_UNIX, type, 0, s) < 0)
                _exit(97);
}

void way_sent(int n) {
        int s[2];

        pair(n ? SOCK_SEQPACKET : SOCK_STREAM, s);
        if (write(s[0], "before", 6) != 6)
                _exit(98);
        send_away(s[0], deleted("a"));
        send_away(s[0], deleted("b"));
}

void way_sent_nested(int n) {
        int outer[2], inner[2];

        pair(SOCK_SEQPACKET, outer);
        pair(SOCK_STREAM, inner);
        send_away(inner[0], deleted("a"));
        send_away(outer[0], inner[1]);
}

/* Who sent it is said before the descriptors, and takes room. */
void way_sent_by(int n) {
        int s[2], one = 1;

        pair(SOCK_STREAM, s);
        if (setsockopt(s[1], SOL_SOCKET, SO_PASSCRED, &one, sizeof(one)) < 0)
                _exit(97);
        send_as_last(s[0], deleted("a"), SENT_MAX);
}

/* In sockets one in the other, behind so many that they are looked into where they are. */
void way_sent_deep(int n) {
        int s[2], fd;

        for (int i = 0; i < 300; i++)
                pair(SOCK_STREAM, s);
        fd = deleted("a");
        for (int i = 0; i < n; i++) {
                pair(SOCK_STREAM, s);
                send_away(s[0], fd);
                close(s[0]);
                fd = s[1];
        }
}

/* In a child that ends while the region goes on, and what it leaves unread with it. */
static bool in_child(void) {
        bool is = fork() == 0;

        if (!is)
                wait(NULL);
        return is;
}

/* In the last one of n sockets that lie in another one. */
void way_sent_wide(int n) {
        int s[2], outer[2], fds[SENT_MAX], k = 0;

        if (!in_child())
                return;
        pair(SOCK_STREAM, outer);
        for (int i = 0; i < n; i++) {
                pair(SOCK_STREAM, s);
                if (i == n - 1)
                        send_away(s[0], deleted("a"));
                close(s[0]);
                fds[k++] = s[1];
                if (k == SENT_MAX || i == n - 1) {
                        send_all(outer[0], fds, (size_t)k, 1);
                        k = 0;
                }
        }
        _exit(0);
}

/* An empty message that was looked at before is left out by who looks with an offset. n 0: a long message lies behind it, with a descriptor that is none of
 * a file; 1: the socket lies in another one. */
void way_sent_seen(int n) {
        struct msghdr m = {};
        int s[2], outer[2];

        if (!in_child())
                return;
        pair(SOCK_SEQPACKET, s);
        send_all(s[0], (int[]){deleted("a")}, 1, 0);
        if (recvmsg(s[1], &m, MSG_PEEK) != 0)
                _exit(98);
        if (n) {
                pair(SOCK_STREAM, outer);
                send_away(outer[0], s[1]);
        } else
                send_all(s[0], (int[]){dup(0)}, 1, LONG);
        _exit(0);
}

/* ServeClient a connection that nobody accepts. */
void way_sent_waiting(int n) {
        struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "\0waiting"};
        int from = socket(AF_UNIX, SOCK_STREAM, 0), to = socket(AF_UNIX, SOCK_STREAM, 0);

        if (bind(to, (struct sockaddr *)&name, sizeof(name)) < 0 || listen(to, 1) < 0 || connect(from, (struct sockaddr *)&name, sizeof(name)) < 0)
                _exit(97);
        send_away(from, deleted("a"));
        close(from);
}

/* A deleted file that is neither open nor mapped: it is what is executed, and the image is given back. */
void way_executed(int n) {
        extern char __executable_start, _end;
        static const unsigned char code[] = {0xb8, 11, 0, 0, 0, 0x0f, 0x05, 0xb8, 231, 0, 0, 0, 0x31, 0xff, 0x0f, 0x05}; /* munmap, exit_group(0) */
        uintptr_t start = (uintptr_t)&__executable_start & ~(PAGE - 1), end = ((uintptr_t)&_end + PAGE - 1) & ~(PAGE - 1);
        char bytes[65536], *p;
        ssize_t k;
        int from, to;

        if (n == 0) {
                from = open(self, O_RDONLY | O_CLOEXEC);
                to = open("x", O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
                while ((k = read(from, bytes, sizeof(bytes))) > 0)
                        if (write(to, bytes, (size_t)k) != k)
                                _exit(93);
                if (write(to, planted(MB), MB) != (ssize_t)MB)
                        _exit(93);
                close(to);
                execl("./x", "./x", "executed", "1", NULL);
                _exit(94);
        }
        unlink("x");
#if defined(__x86_64__)
        p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memcpy(p, code, sizeof(code));
        mprotect(p, PAGE, PROT_READ | PROT_EXEC);
        __asm__ volatile("jmp *%0" : : "r"(p), "D"(start), "S"(end - start));
#endif
}

/* Links so long that each is in a page, which nobody can write to. */
void way_links(int n) {
        char target[4000], name[16];

        for (size_t i = 0; i < sizeof(target); i++)
                target[i] = (char)('a' + i % 26);
        target[sizeof(target) - 1] = 0;
        for (int i = 0; i < n; i++) {
                snprintf(name, sizeof(name), "%d", i);
                if (symlink(target, name) < 0)
                        _exit(95);
        }
}

/* A child has them; the region ends while parent and child live. */
void way_sent_child(int n) {
        if (fork() == 0) {
                way_sent(0);
                wait_for_end();
        }
        for (;;)
                pause();
}

void way_unnamed(int n) {
        int fd = open(".", O_TMPFILE | O_RDWR, 0600);
        char *p = planted(MB);

        if (fd < 0 || write(fd, p, MB) != (ssize_t)MB)
                _exit(95);
        /* One that is mapped only, behind its end, and closed to everybody. */
        fd = filled("m");
        p = mmap(NULL, MB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (p == MAP_FAILED || ftruncate(fd, (off_t)(MB - 4000)) < 0)
                _exit(95);
        plant(p, MB - PAGE);
        plant(p + MB - 64, 64);
        unlink("m");
        close(fd);
}

static void descend(int n) {
        char name[256];

        memset(name, '\n', 255);
        name[255] = 0;
        for (int i = 0; i < n; i++)
                if (mkdir(name, 0700) < 0 || chdir(name) < 0)
                        _exit(99);
}

/* The path of what it maps takes far more than a page in /proc/PID/maps. */
void way_deep(int n) {
        char *p;
        int fd;

        descend(n);
        fd = filled("f");
        p = mmap(NULL, MB, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
        if (p == MAP_FAILED)
                _exit(95);
        plant(p, MB / 2);
        close(fd);
}

/* Folders that are closed to their owner, and nested deeper than anybody has descriptors; waits for its end. */
void way_closed(int n) {
        close(filled("x"));
        mkdir("d", 0700);
        if (chdir("d") < 0)
                _exit(99);
        close(filled("in"));
        link("in", "too");
        if (chdir("..") < 0)
                _exit(99);
        chmod("d", 0400);
        for (int i = 0; i < n; i++)
                if (mkdir("e", 0700) < 0 || chdir("e") < 0)
                        _exit(99);
        close(filled("last"));
        wait_for_end();
}

void way_queues(int n) {
        char *p = planted(MB);
        int s[2];

        for (int i = 0; i < n; i++) {
                if (pipe2(s, O_NONBLOCK) < 0 || write(s[1], p, 50000) <= 0)
                        _exit(97);
                pair(SOCK_STREAM, s);
                if (send(s[0], p, 20000, MSG_DONTWAIT) <= 0)
                        _exit(97);
        }
}

/* A file of the host's, mapped like a library; waits for its end. */
void way_mapped(int n) {
        int fd = open(argument, O_RDONLY | O_CLOEXEC);
        volatile char *p = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);

        if (fd < 0 || p == MAP_FAILED || p[0] == 0)
                _exit(95);
        planted(MB);
        wait_for_end();
}

/* A named pipe of the host's, open in the region at its end. */
void way_fifo(int n) {
        int fd = open(argument, O_RDWR | O_NONBLOCK | O_CLOEXEC);

        if (fd < 0 || write(fd, "from the region ", 16) != 16)
                _exit(95);
        planted(MB);
}
