// a terminal of the host or of another region has a name: one that this program has not made.
#include "attack.h"

int main(void) {
        char path[32];
        for (int i = 0; i < 4096; i++) {
                snprintf(path, sizeof path, "/dev/pts/%d", i);
                if (open(path, O_RDWR | O_NOCTTY | O_NONBLOCK) >= 0 || errno != ENOENT)
                        escaped("%s is there", path);
        }
        contained("no name");
}
