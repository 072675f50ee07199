// I-34: a child holds standard output and the pipe open after the skill ended: a supervisor that waits for their end waits for ever.
#include "attack.h"

int main(int argc, char **argv) {
        if (fork() == 0) {
                setsid();
                sleep_msec(1000L * atoi(arg(argc, argv, 1)));
                _exit(0);
        }
        printf("contained: the child holds the pipes\n");
        return 1;
}
