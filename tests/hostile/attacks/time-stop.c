// I-34: SIGSTOPs its children and itself; nobody is left who could end in time. A child would go on after argv[1] seconds.
#include "attack.h"

int main(int argc, char **argv) {
        int s = atoi(arg(argc, argv, 1));
        pid_t parent = getpid(), stopped[2];
        for (int i = 0; i < 3; i++) {
                pid_t pid = fork();
                if (pid == 0) {
                        sleep_msec(1000L * s);
                        kill(parent, SIGCONT);
                        _exit(0);
                }
                if (i < 2)
                        kill(stopped[i] = pid, SIGSTOP);
        }
        raise(SIGSTOP);
        kill(stopped[0], SIGKILL);
        kill(stopped[1], SIGKILL);
        escaped("went on after %d s", s);
}
