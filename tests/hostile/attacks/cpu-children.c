// I-24: many short-lived children, each below the limit of a process, together argv[1] seconds.
#include "attack.h"

#include <sys/times.h>

int main(int argc, char **argv) {
        double want = atof(arg(argc, argv, 1)), got = 0;
        while (got < want) {
                pid_t pid = fork();
                if (pid == 0) {
                        while (now_sec(CLOCK_PROCESS_CPUTIME_ID) < 0.05)
                                ;
                        _exit(0);
                }
                if (pid < 0 || waitpid(pid, NULL, 0) < 0)
                        contained("fork");
                struct tms t;
                times(&t);
                got = (double)(t.tms_cutime + t.tms_cstime) / (double)sysconf(_SC_CLK_TCK);
        }
        escaped("children burned %.1f s", got);
}
