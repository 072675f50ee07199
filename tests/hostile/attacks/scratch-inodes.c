// I-24: empty files cost no bytes of a quota but memory of the kernel: argv[1] of them in argv[2].
#include "attack.h"

int main(int argc, char **argv) {
        int want = atoi(arg(argc, argv, 1));
        if (chdir(arg(argc, argv, 2)) < 0)
                contained("chdir");
        for (int i = 0; i < want; i++) {
                char name[32];
                snprintf(name, sizeof name, "e%d", i);
                if (mknod(name, S_IFREG | 0600, 0) < 0)
                        contained("file %d", i);
        }
        escaped("%d files", want);
}
