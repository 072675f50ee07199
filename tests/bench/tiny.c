/* Runs: in a region, and bare. The smallest real program: it writes one line and ends. */
#include <unistd.h>

int main(void) {
        return write(1, "ok\n", 3) == 3 ? 0 : 1;
}
