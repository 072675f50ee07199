// A-6 I-34: argv[1] rounds of each signal that stops, to its group and to its parent. A child lets the program go on. Whoever has the terminal outside
// looks who is stopped. Ends when a byte is typed. Never to all (-1): the control runs outside of a region.
#include "attack.h"

static const int stops[] = {SIGTSTP, SIGTTIN, SIGTTOU, SIGSTOP};

int main(int argc, char **argv) {
        int rounds = atoi(arg(argc, argv, 1));
        pid_t self = getpid(), parent = getppid(), child;
        char b;
        for (int i = 0; i < 3; i++)
                signal(stops[i], SIG_IGN);
        child = fork();
        if (child == 0)
                for (;;) { // the stopped program goes on
                        kill(self, SIGCONT);
                        sleep_msec(1);
                }
        for (int r = 0; r < rounds; r++)
                for (int i = 0; i < 4; i++) {
                        kill(parent, stops[i]);
                        if (stops[i] == SIGSTOP)
                                raise(SIGSTOP);
                        else
                                kill(0, stops[i]);
                        kill(child, SIGCONT);
                }
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        printf("%d rounds\n", rounds);
        fflush(stdout);
        return read(0, &b, 1) == 1 ? 1 : 2;
}
