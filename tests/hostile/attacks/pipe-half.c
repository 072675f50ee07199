// Half a line, then death: what was not said to the end was not said. argv[1] is the half.
#include "pipe.h"

int main(int argc, char **argv) {
        const char *half = arg(argc, argv, 1);
        pipe_say(half, strlen(half));
        kill(getpid(), SIGKILL);
        return 1;
}
