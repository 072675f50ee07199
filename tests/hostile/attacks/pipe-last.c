// A whole line and death in the same moment, without waiting for the answer; the pipe's end and the death race. argv[1] is the line.
#include "pipe.h"

int main(int argc, char **argv) {
        const char *line = arg(argc, argv, 1);
        pipe_say(line, strlen(line));
        pipe_say("\n", 1);
        printf("contained: said and gone\n");
        fflush(stdout);
        _exit(1);
}
