// chroot is the first half of the classic way out.
#include "attack.h"

int main(void) {
        long r = chroot(".");
        if (r < 0)
                contained("chroot");
        escaped("chroot gave %ld", r);
}
