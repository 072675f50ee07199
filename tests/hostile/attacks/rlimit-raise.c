// I-24: raises its own limits past the budget, and its parent's.
#include "attack.h"

#include <sys/resource.h>

int main(void) {
        static const int all[] = {RLIMIT_NOFILE, RLIMIT_FSIZE, RLIMIT_NPROC, RLIMIT_DATA, RLIMIT_CPU, RLIMIT_CORE};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
                struct rlimit r;
                getrlimit(all[i], &r);
                rlim_t was = r.rlim_max;
                r.rlim_max = was == RLIM_INFINITY ? was : was + 1;
                if (was != RLIM_INFINITY && setrlimit(all[i], &r) == 0) {
                        r.rlim_max = was;
                        setrlimit(all[i], &r);
                        escaped("limit %d was raised", all[i]);
                }
        }
        contained("setrlimit");
}
