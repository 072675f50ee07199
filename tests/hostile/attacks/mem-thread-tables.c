// I-66, I-67: argv[1] threads, each with a table of descriptors of its own, and with argv[2] sockets or full pipes (argv[3] "pipes") in it.
#include "attack.h"

#include <sched.h>
#include <sys/socket.h>

#define TABLE_OF_ITS_OWN (CLONE_VM | CLONE_THREAD | CLONE_SIGHAND | CLONE_SYSVSEM | CLONE_FS)

static int each;
static bool pipes;
static volatile int held, failed;

static int fill(void *arg) {
        static char b[65536];

        for (int i = 0; i < each; i++) {
                int s[2], size = 8 << 20;

                if (pipes ? pipe2(s, O_NONBLOCK) < 0 : socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, s) < 0) {
                        __atomic_fetch_add(&failed, 1, __ATOMIC_SEQ_CST);
                        break;
                }
                for (int k = pipes; k < 2; k++) {
                        if (!pipes)
                                setsockopt(s[k], SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
                        while (write(s[k], b, sizeof b) > 0)
                                ;
                }
        }
        __atomic_fetch_add(&held, 1, __ATOMIC_SEQ_CST);
        for (;;)
                pause();
        return 0;
}

int main(int argc, char **argv) {
        int n = atoi(arg(argc, argv, 1));

        each = atoi(arg(argc, argv, 2));
        pipes = strcmp(arg(argc, argv, 3), "pipes") == 0;
        for (int i = 0; i < n; i++) {
                char *stack = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

                if (stack == MAP_FAILED || clone(fill, stack + 65536, TABLE_OF_ITS_OWN, NULL) < 0)
                        contained("thread %d", i);
        }
        while (held < n)
                sleep_msec(1);
        sleep_msec(argc > 4 ? atoi(argv[4]) : 0);
        if (failed)
                contained("%d of %d threads have not all", failed, n);
        escaped("%d threads with %d %s each", n, each, pipes ? "pipes" : "pairs of sockets");
}
