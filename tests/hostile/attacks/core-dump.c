// A core file is a region's memory on the host's disk: a limit of 0 does not stop a core_pattern that is a pipe,
// a limit of 1 stops both (core(5)).
#include "attack.h"

#include <sys/resource.h>

int main(void) {
        struct rlimit r;
        getrlimit(RLIMIT_CORE, &r);
        if (r.rlim_max != 1)
                escaped("core files of up to %llu bytes", (unsigned long long)r.rlim_max);
        contained("RLIMIT_CORE is 1");
}
