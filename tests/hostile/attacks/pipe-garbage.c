// Bytes that are no JSON at all: every line must be refused, none of them may hurt anybody else; argv[1] lines.
#include "pipe.h"

int main(int argc, char **argv) {
        int n = atoi(arg(argc, argv, 1)), accepted = 0;
        unsigned x = 12345;
        char line[300];
        static char answer[65536];
        for (int i = 0; i < n; i++) {
                size_t len = 1 + x % 250;
                for (size_t k = 0; k < len; k++) {
                        x = x * 1664525u + 1013904223u;
                        line[k] = (char)(x >> 24);
                        if (line[k] == '\n')
                                line[k] = 0;
                }
                line[len] = '\n';
                pipe_say(line, len + 1);
                if (!pipe_hear(answer, sizeof answer, 3000))
                        contained("no answer to line %d", i);
                accepted += is_result(answer);
        }
        errno = 0;
        if (accepted == 0)
                contained("%d lines of noise were refused", n);
        escaped("%d lines of noise were accepted", accepted);
}
