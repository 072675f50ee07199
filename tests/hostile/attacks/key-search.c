// I-21: reads a key (argv[1]: its description) that somebody planted, from the user's, session and process keyrings.
#include "attack.h"

int main(int argc, char **argv) {
        const char *name = arg(argc, argv, 1);
        for (int ring = -1; ring >= -5; ring--) {
                long k = syscall(SYS_keyctl, 10, ring, "user", name, 0);
                char b[64];
                if (k >= 0 && syscall(SYS_keyctl, 11, k, b, sizeof b) > 0 && memcmp(b, CANARY, strlen(CANARY)) == 0)
                        escaped("read key %ld in ring %d", k, ring);
        }
        contained("keyctl");
}
