// modify_ldt installs segments of one's own, an old source of holes.
#include "attack.h"

int main(void) {
        long r = ({ char b[16] = {0}; syscall(SYS_modify_ldt, 0, b, sizeof b); });
        if (r < 0)
                contained("modify_ldt");
        escaped("modify_ldt gave %ld", r);
}
