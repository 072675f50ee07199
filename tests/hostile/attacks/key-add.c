// I-3, I-21: a key in the user's keyring outlives the region and is shared with every process of that uid.
#include "attack.h"

int main(void) {
        long k = syscall(SYS_add_key, "user", "lethe-hostile:new", CANARY, sizeof CANARY, -4); /* -4: the user's keyring */
        if (k < 0)
                contained("add_key");
        syscall(SYS_keyctl, 9, k, -4); /* unlink */
        escaped("made key %ld", k);
}
