// I-66: argv[1] empty files with long names in the folder argv[2].
#include "attack.h"

int main(int argc, char **argv) {
        long n = atol(arg(argc, argv, 1)), i;
        char name[600];
        int dir = open(arg(argc, argv, 2), O_RDONLY | O_DIRECTORY);

        if (dir < 0)
                contained("%s", argv[2]);
        for (i = 0; i < n; i++) {
                snprintf(name, sizeof name, "%0250ld", i);
                if (mknodat(dir, name, S_IFREG | 0600, 0) < 0)
                        contained("file %ld", i);
        }
        sleep_msec(argc > 3 ? atoi(argv[3]) : 0);
        escaped("%ld names", n);
}
