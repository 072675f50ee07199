/* Deleted files that no descriptor of a process shows: a thread's own table has them, or a socket's queue, or a call that waits. Each way sees first that the
 * bytes are there. */
#include "foe.h"
#include "tests/support/hidden.h"

#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <sys/un.h>

static volatile int made, leader;
static int held, ends[2], full[2];
static char *held_page;

static int held_deleted(void) {
        char *p = planted(MB);
        int fd = open("t", O_RDWR | O_CREAT, 0600);
        char first = p[0], last = p[MB - 1];

        if (fd < 0 || write(fd, p, MB) != (ssize_t)MB || unlink("t") < 0)
                syscall(SYS_exit_group, 95);
        /* Read back, not counted by fstat(): ext4 shows no blocks for a moment while a sync allocates them. */
        memset(p, 0, MB);
        if (pread(fd, p, MB, 0) != (ssize_t)MB || p[0] != first || p[MB - 1] != last)
                syscall(SYS_exit_group, 95);
        munmap(p, MB);
        return fd;
}

static void held_thread(int (*f)(void *), int flags) {
        char *stack = malloc(1 << 18);

        if (!stack || clone(f, stack + (1 << 18), flags, NULL) < 0)
                _exit(96);
        while (!made)
                usleep(100);
}

static void held_send(int through, int fd, int flags) {
        if (hidden_send(through, fd, flags) < 0)
                syscall(SYS_exit_group, 97);
        close(fd);
}

static void held_pair(int s[2]) {
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, s) < 0)
                syscall(SYS_exit_group, 98);
}

static int held_waits(void *arg) {
        made = 1;
        for (;;)
                pause();
        return 0;
}

static int held_in_queue(void *arg) {
        int s[2], fd = held_deleted();

        if (hidden_in_queue(fd, 0, s) < 0)
                syscall(SYS_exit_group, 97);
        close(fd);
        return held_waits(arg);
}

static void held_end(int n) {
        if (n)
                wait_for_end();
}

/* The queue of a socket that only a thread with a table of its own has. n: waits for its end. */
void way_thread_queue(int n) {
        held_thread(held_in_queue, HIDDEN_TABLE);
        held_end(n);
}

/* The same of a table that all threads have, and the first one is gone. */
static int held_goes_on(void *arg) {
        int s[2];

        while (leader != 0)
                usleep(100);
        held_pair(s);
        held_send(s[0], held_deleted(), 0);
        if (held)
                wait_for_end();
        syscall(SYS_exit_group, 0);
        return 0;
}

void way_leader_gone(int n) {
        char *stack = malloc(1 << 18);

        held = n;
        leader = 1;
        syscall(SYS_set_tid_address, &leader); /* the kernel clears it when the first thread is gone */
        if (!stack || clone(held_goes_on, stack + (1 << 18), HIDDEN_TABLE | CLONE_FILES, NULL) < 0)
                _exit(96);
        syscall(SYS_exit, 0);
}

/* Behind a byte that was sent out of band. */
void way_sent_urgent(int n) {
        int s[2];

        held_pair(s);
        held_send(s[0], held_deleted(), MSG_OOB);
        if (n) {
                int outer[2];

                held_pair(outer);
                held_send(outer[0], s[1], 0);
        }
}

/* With n bytes out of band that were read: the descriptors that came with them lie in the sockets for ever, and nobody gets them. */
void way_read_urgent(int n) {
        char byte;

        for (int i = 0; i < n; i++) {
                int s[2];

                held_pair(s);
                held_send(s[0], held_deleted(), MSG_OOB);
                if (recv(s[1], &byte, 1, MSG_OOB) != 1)
                        _exit(94);
        }
}

/* A connection that nobody accepts, to a socket that only a thread with a table of its own has. */
static int held_listens(void *arg) {
        struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "\0held"};
        int from = socket(AF_UNIX, SOCK_STREAM, 0), to = socket(AF_UNIX, SOCK_STREAM, 0);

        if (bind(to, (struct sockaddr *)&name, sizeof(name)) < 0 || listen(to, 1) < 0 || connect(from, (struct sockaddr *)&name, sizeof(name)) < 0)
                syscall(SYS_exit_group, 97);
        held_send(from, held_deleted(), 0);
        close(from);
        return held_waits(arg);
}

void way_thread_waiting(int n) {
        held_thread(held_listens, HIDDEN_TABLE);
        held_end(n);
}

/* A call that waits until somebody reads from its pipe, while the file that it sends is closed; where that is denied, from its socket. */
static int held_sends(void *arg) {
        off_t at = 0;

        made = 1;
        if (sendfile(ends[1], held, &at, MB) < 0)
                hidden_send(full[0], held, 0);
        syscall(SYS_exit, 0); /* the file was closed before the call had it */
        return 0;
}

static bool held_bytes_are_there(void) {
        struct statfs st;

        return statfs(".", &st) == 0 && (st.f_blocks - st.f_bfree) * (unsigned long)st.f_bsize >= MB;
}

void way_call(int n) {
        char byte = 0;

        if (pipe(ends) < 0 || fcntl(ends[1], F_SETFL, O_NONBLOCK) < 0)
                _exit(97);
        while (write(ends[1], &byte, 1) == 1 || write(ends[1], planted(PAGE), PAGE) > 0)
                ;
        fcntl(ends[1], F_SETFL, 0);
        held_pair(full);
        while (send(full[0], planted(PAGE), PAGE, MSG_DONTWAIT) > 0)
                ;
        do {
                held = held_deleted();
                made = 0;
                held_thread(held_sends, HIDDEN_TABLE | CLONE_FILES);
                usleep(1000);
                close(held);
        } while (!held_bytes_are_there());
        held_end(n);
}

/* A call that waits at a socket with a full peer. A deleted file lies in the socket's queue, and the socket is closed meanwhile. */
static int held_polls;

static int held_waits_at_socket(void *arg) {
        struct pollfd p = {.fd = full[0], .events = POLLPRI};

        made = 1;
        if (held_polls)
                syscall(SYS_ppoll, &p, 1, NULL, NULL, 0);
        else
                write(full[0], held_page, PAGE);
        syscall(SYS_exit, 0); /* the socket was closed before the call had it */
        return 0;
}

void way_call_socket(int n) {
        held_polls = n & 1;
        held_page = planted(PAGE);
        do {
                held_pair(full);
                while (send(full[0], held_page, PAGE, MSG_DONTWAIT) > 0)
                        ;
                held_send(full[1], held_deleted(), 0);
                made = 0;
                held_thread(held_waits_at_socket, HIDDEN_TABLE | CLONE_FILES);
                usleep(1000);
                close(full[0]);
        } while (!held_bytes_are_there());
        held_end(n & 2);
}

/* A shared object, and a deleted file, of which one page is mapped, and the other ones live on. */
void way_one_page(int n) {
        char *p = shared(MB);

        munmap(p + PAGE, MB - PAGE);
        held_end(n);
}

void way_one_page_file(int n) {
        int fd = held_deleted();

        if (mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED)
                _exit(95);
        close(fd);
        held_end(n);
}
