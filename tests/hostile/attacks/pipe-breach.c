// I-24: says its lines, all of them in order and answered, and then breaks its output budget: what was acknowledged must not become state.
#include "pipe.h"

int main(int argc, char **argv) {
        static char answer[65536];
        for (int i = 1; i < argc; i++)
                if (!pipe_ask(argv[i], answer, sizeof answer, 60000) || !is_result(answer))
                        contained("line %d was refused: %s", i, answer);
        printf("all lines were accepted\n");
        fflush(stdout);
        sleep_msec(3000);
        escaped("nobody stopped it");
}
