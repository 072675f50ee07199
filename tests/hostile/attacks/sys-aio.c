// Ruleset AIO is a large, little used way into the block layer.
#include "attack.h"

int main(void) {
        long r = ({ unsigned long c = 0; syscall(SYS_io_setup, 4, &c); });
        if (r < 0)
                contained("io_setup");
        escaped("io_setup gave %ld", r);
}
