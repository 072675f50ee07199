// One line of argv[1] MiB without an end, then a good one: the memory it takes must be bounded.
#include "pipe.h"

int main(int argc, char **argv) {
        static char b[1 << 20], answer[65536];
        memset(b, 'a', sizeof b);
        b[0] = '"';
        for (int i = 0; i < atoi(arg(argc, argv, 1)); i++)
                pipe_say(b, sizeof b);
        pipe_say("\"\n", 2);
        if (!pipe_hear(answer, sizeof answer, 3000))
                contained("no answer");
        printf("%.300s\n", answer);
        errno = 0;
        if (!is_result(answer))
                contained("the line was refused");
        escaped("the line was accepted");
}
