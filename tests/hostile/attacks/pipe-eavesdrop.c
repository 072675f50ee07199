// The pipe's descriptors used the other way round: reading what was said to the supervisor, or writing to oneself.
#include "pipe.h"

int main(void) {
        char c;
        if (read(PIPE_OUT, &c, 1) >= 0 || write(PIPE_IN, "\n", 1) >= 0)
                escaped("the pipe's ends go both ways");
        contained("the other ends of the pipe");
}
