// All ports at once.
#include "attack.h"

#include <sys/io.h>

int main(void) {
        long r = iopl(3);
        if (r < 0)
                contained("iopl");
        escaped("iopl gave %ld", r);
}
