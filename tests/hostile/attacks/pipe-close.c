// Closes both ends of the pipe at once and goes on: nobody may wait for it, spin on it, or die of it.
#include "pipe.h"

int main(void) {
        close(PIPE_OUT);
        close(PIPE_IN);
        sleep_msec(300);
        printf("contained: the pipe is closed\n");
        return 1;
}
