// I-24: nobody waits for them: double fork and setsid, SIGCHLD ignored, so that no getrusage of a parent sees their time; argv[1] seconds.
#include "attack.h"

int main(int argc, char **argv) {
        double want = atof(arg(argc, argv, 1));
        int n = (int)(want / 0.1), p[2];
        if (pipe(p) < 0)
                contained("pipe");
        signal(SIGCHLD, SIG_IGN);
        for (int i = 0; i < n; i++) {
                if (fork() == 0) {
                        setsid();
                        if (fork() == 0) {
                                while (now_sec(CLOCK_PROCESS_CPUTIME_ID) < 0.1)
                                        ;
                                _exit(write(p[1], "+", 1) == 1 ? 0 : 1);
                        }
                        _exit(0);
                }
                char c;
                if (read(p[0], &c, 1) != 1)
                        contained("orphan %d", i);
        }
        escaped("orphans burned %.1f s", want);
}
