// swapon: argument checks come after the right to call it.
#include "attack.h"

#include <sys/swap.h>

int main(void) {
        long r = swapon("/nonexistent/lethe", 0);
        if (r < 0 && errno != ENOENT)
                contained("swapon");
        escaped("swapon gave %ld", r);
}
