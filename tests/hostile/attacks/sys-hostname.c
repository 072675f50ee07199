// The host's name: set to what it is.
#include "attack.h"

int main(void) {
        long r = ({ char b[65] = {0}; gethostname(b, 64); sethostname(b, strlen(b)); });
        if (r < 0)
                contained("sethostname");
        escaped("sethostname gave %ld", r);
}
