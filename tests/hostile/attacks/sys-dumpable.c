// A process that is not dumpable hides its memory from the supervisor.
#include "attack.h"

#include <sys/prctl.h>

int main(void) {
        long r = prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
        if (r < 0)
                contained("PR_SET_DUMPABLE");
        escaped("PR_SET_DUMPABLE gave %ld", r);
}
