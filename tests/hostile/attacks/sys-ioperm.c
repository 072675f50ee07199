// Input and output ports.
#include "attack.h"

#include <sys/io.h>

int main(void) {
        long r = ioperm(0x80, 1, 1);
        if (r < 0)
                contained("ioperm");
        escaped("ioperm gave %ld", r);
}
