// I-12: a daemon (double fork, setsid, every descriptor closed) that outlives the skill; it makes the file argv[1] after argv[2] ms.
#include "attack.h"

int main(int argc, char **argv) {
        const char *path = arg(argc, argv, 1);
        long ms = atol(arg(argc, argv, 2));
        if (fork() == 0) {
                setsid();
                signal(SIGHUP, SIG_IGN);
                if (fork() == 0) {
                        for (int fd = 0; fd < 64; fd++)
                                close(fd);
                        sleep_msec(ms);
                        int fd = open(path, O_WRONLY | O_CREAT, 0600);
                        _exit(fd < 0);
                }
                _exit(0);
        }
        wait(NULL);
        printf("contained: the daemon was left behind: only run.py can see whether it lives\n");
        return 1;
}
