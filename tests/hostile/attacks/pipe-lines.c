// I-18: says each argument as one line and takes the answer; what the last one asks for must not be given. What is told about the region
// (argv "%s" in a line) is not needed: lines name regions, slots and methods that are not this region's.
#include "pipe.h"

int main(int argc, char **argv) {
        static char answer[2 << 20];
        bool ok = false;
        for (int i = 1; i < argc; i++) {
                ok = pipe_ask(argv[i], answer, sizeof answer, 3000);
                printf("%.200s\n  -> %.300s\n", argv[i], ok ? answer : "(no answer)");
                if (!ok)
                        break;
        }
        errno = 0;
        if (!ok || !is_result(answer))
                contained("the last line was refused");
        escaped("the last line was accepted");
}
