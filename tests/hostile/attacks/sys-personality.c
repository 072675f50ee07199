// Turns address randomization off, which helps whoever attacks the next program.
#include "attack.h"

#include <sys/personality.h>

int main(void) {
        long r = personality(ADDR_NO_RANDOMIZE | READ_IMPLIES_EXEC);
        if (r < 0)
                contained("personality");
        escaped("personality gave %ld", r);
}
