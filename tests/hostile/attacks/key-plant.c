// Not an attack: puts the canary under argv[1] into this uid's keyring for the others to look for, or with "remove" takes it out again.
#include "attack.h"

int main(int argc, char **argv) {
        const char *name = arg(argc, argv, 1);
        long k = argc > 2 ? syscall(SYS_keyctl, 10, -4, "user", name, 0) : syscall(SYS_add_key, "user", name, CANARY, sizeof CANARY, -4);
        if (k < 0)
                contained("add_key");
        if (argc > 2)
                syscall(SYS_keyctl, 9, k, -4);
        else
                syscall(SYS_keyctl, 5, k, 0x3f3f3f00); /* whoever has the uid may read it */
        syscall(SYS_keyctl, 8, -4, -3); /* the session's ring shows the user's */
        return 0;
}
