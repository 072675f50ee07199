// A user namespace of one's own gives back every capability inside it, and with it the kernel's largest attack surface.
#include "attack.h"

#include <sched.h>

int main(void) {
        if (unshare(CLONE_NEWUSER) < 0 && unshare(CLONE_NEWNS) < 0 && unshare(CLONE_NEWNET) < 0)
                contained("unshare");
        escaped("in a new namespace");
}
