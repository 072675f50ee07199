// I-24: argv[1] open files.
#include "attack.h"

int main(int argc, char **argv) {
        int want = atoi(arg(argc, argv, 1)), n = 0;
        while (n < want && dup(0) >= 0)
                n++;
        if (n < want) {
                sleep_msec(20000); /* the limit holds at once; that it was reached is seen when somebody looks */
                contained("%d descriptors", n);
        }
        escaped("%d descriptors", n);
}
