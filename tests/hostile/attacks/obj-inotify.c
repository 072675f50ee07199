// I-67: instances of inotify, which are counted per user: argv[1] of them.
#include "attack.h"

#include <sys/inotify.h>

int main(int argc, char **argv) {
        int n = atoi(arg(argc, argv, 1));

        for (int i = 0; i < n; i++)
                if (inotify_init1(0) < 0)
                        contained("%d instances", i);
        escaped("%d instances of inotify", n);
}
