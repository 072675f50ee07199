// I-24: argv[1] seconds of CPU.
#include "attack.h"

int main(int argc, char **argv) {
        double want = atof(arg(argc, argv, 1));
        signal(SIGXCPU, SIG_IGN);
        while (now_sec(CLOCK_PROCESS_CPUTIME_ID) < want)
                ;
        escaped("burned %.1f s", want);
}
