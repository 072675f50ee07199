// PR_SET_MM changes what /proc tells about a process.
#include "attack.h"

#include <sys/prctl.h>

int main(void) {
        long r = prctl(PR_SET_MM, PR_SET_MM_MAP_SIZE, (unsigned long)&(unsigned){0}, 0, 0);
        if (r < 0)
                contained("PR_SET_MM");
        escaped("PR_SET_MM gave %ld", r);
}
