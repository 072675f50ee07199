/* Runs: tests. What reap must notice, one way of it a word on the command line; "good" is the control. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A grandchild in a session of its own, whose parent is gone. */
static void leave_process(void) {
        if (fork() == 0) {
                if (fork() == 0) {
                        setsid();
                        pause();
                }
                _exit(0);
        }
        wait(NULL);
}

static volatile int most = 0x7fffffff;

int main(int argc, char **argv) {
        const char *way = argc > 1 ? argv[1] : "";

        if (strcmp(way, "no-test") == 0) {
                puts("1..0");
                return 0;
        }
        puts("1..1");
        fflush(stdout);
        if (strcmp(way, "left-behind") == 0)
                leave_process();
        if (strcmp(way, "report") == 0)
                fprintf(stderr, "==1==ERROR: AddressSanitizer: heap-use-after-free\n");
        if (strcmp(way, "overflow") == 0 && most + 1 == 7) /* a finding only in a build with -fsanitize=undefined */
                puts("#");
        if (strcmp(way, "taken") == 0) { /* as Criterion: needs the socket's name for its own pid */
                char name[64];

                snprintf(name, sizeof(name), "/tmp/criterion_%d.sock", (int)getpid());
                if (access(name, F_OK) == 0)
                        abort();
        }
        if (strcmp(way, "dies") == 0)
                raise(SIGKILL);
        if (strcmp(way, "too-few") == 0)
                return 0;
        if (strcmp(way, "not-ok") == 0)
                puts("not ok - control");
        else if (strcmp(way, "skip") == 0)
                puts("ok - control # SKIP no reason");
        else
                puts("ok - control");
        if (strcmp(way, "status") == 0)
                return 3;
        return 0;
}
