// userfaultfd stops the kernel in the middle of a copy, which makes races easy to win.
#include "attack.h"

int main(void) {
        long r = syscall(SYS_userfaultfd, 1 /* UFFD_USER_MODE_ONLY */);
        if (r < 0)
                contained("userfaultfd");
        escaped("userfaultfd gave %ld", r);
}
